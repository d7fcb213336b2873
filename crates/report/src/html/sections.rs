//! The sections of the page, one function each, in their order. A section without anything to say is left out.

use super::markup::{Section, caveat_list, figure as captioned, measured_table, pairs, remark, subheading, table};
use crate::figure::{cpu, operations, throughput, timeline};
use crate::input::{Limit, Report, SettingRow};
use crate::interval::Measured;
use crate::points::{self, Per, Room};
use crate::scaling;
use crate::sweep::{Sweep, Unit, errors_by_code};
use crate::table::{Column, Mark};
use crate::text::{escape, escape_lines, escape_table, escape_tied};

/// The main figure; of a single load point its seconds say more than a lonely dot.
pub(super) fn figure(report: &Report) -> Option<Section> {
    let (heading, body) = match throughput::throughput_and_latency(report) {
        Some(svg) => ("Throughput and latency", captioned(&svg, &main_caption(report))),
        None => ("Throughput", captioned(&timeline::seconds_of_load(report)?, TIMELINE_CAPTION)),
    };
    Some(Section::new("figure", heading, body))
}

fn main_caption(report: &Report) -> String {
    let sweep = Sweep::new(report);
    let measured: Vec<Measured> = sweep.points.iter().map(|point| sweep.measured(point)).collect();
    let has_interval = |measured: &Measured| measured.ends() != (None, None);
    let mut caption = vec!["Dots are means over the measured window."];
    if measured.iter().any(has_interval) {
        caption.push("Thin strokes with caps are their 95 % intervals.");
    }
    if measured.iter().any(|measured| measured.value.is_some() && !has_interval(measured)) {
        caption.push("Why a dot has no interval is said below the table of load points.");
    }
    let has_seconds = report.timeline.iter().any(|series| series.intervals.len() > 1);
    if has_seconds && sweep.unit == Unit::Transactions {
        caption.push("Broad pale strokes reach from the slowest to the fastest second.");
    }
    if let Some(knee) = sweep.knee() {
        caption.push(
            "The mark with the line through it is the knee: the smallest load that brings 95 % of the highest \
             throughput, interpolated between load points.",
        );
        if has_interval(&Measured::from(&knee.load)) {
            caption.push("The pale band is its 95 % interval.");
        }
    }
    match sweep.scaling.and_then(|scaling| scaling.saturation.as_ref()).map(|model| model.poor.is_some()) {
        Some(true) => caption.push(
            "The dashed line is the Universal Scalability model, which does not describe these load points well: see \
             Scaling.",
        ),
        Some(false) => caption.push("The dashed line is the Universal Scalability model, fitted to the dots."),
        None => {}
    }
    caption.join(" ")
}

pub(super) fn load_points(report: &Report) -> Option<Section> {
    let sweep = Sweep::new(report);
    if sweep.points.is_empty() {
        return None;
    }
    let rows = points::load_points(&sweep, Room::Page);
    let mut remarks = Vec::new();
    if rows.columns.iter().any(Column::has_intervals) {
        remarks.push("Grey: 95 % intervals; the pointer on one shows how it was found.".to_owned());
    }
    if rows.marks.contains(&Some(Mark::Knee)) {
        remarks.push("The knee marks the first load point that reaches 95 % of the peak.".to_owned());
    }
    if sweep.points.iter().any(|point| point.response_ms.is_some()) {
        remarks.push("Percentiles are of the response time: from the moment a transaction was due.".to_owned());
    }
    if sweep.unit == Unit::NewOrders {
        remarks.push(
            "NOPM: new orders committed per minute. The column new_order is about these alone; all others are about \
             all kinds together."
                .to_owned(),
        );
    }
    remarks.extend(errors_by_code(sweep.points).map(|named| format!("Errors by code: {named}.")));
    Some(Section::new("points", "Load points", measured_table(&rows, remarks)))
}

/// What the sweep tells as a whole.
pub(super) fn scaling(report: &Report) -> Option<Section> {
    let sweep = Sweep::new(report);
    let scaling = sweep.scaling?;
    let rows = scaling::table(&sweep, scaling);
    let mut body = if rows.rows() > 0 { table(&rows) } else { String::new() };
    let remarks = scaling::remarks(scaling);
    if !remarks.is_empty() {
        body.push_str(&remark(&remarks.join(" ")));
    }
    if !scaling.refusals.is_empty() {
        let items: String = scaling.refusals.iter().map(|why| format!("<li>{}</li>\n", escape(why))).collect();
        body.push_str(&format!("<ul class=\"facts-list\">\n{items}</ul>\n"));
    }
    (!body.is_empty()).then(|| Section::new("scaling", "Scaling", body))
}

/// The listings that the workload's original would have printed.
pub(super) fn original(report: &Report) -> Option<Section> {
    let listings = report.summary.points.iter().filter_map(|point| point.original_listing.as_deref());
    let body: String = listings.map(|listing| format!("<pre>{}</pre>\n", escape_table(listing))).collect();
    (!body.is_empty())
        .then(|| Section::new("original", "As the original prints it", body + &remark(points::ORIGINAL_REMARK)))
}

pub(super) fn limit(report: &Report) -> Option<Section> {
    let sweep = Sweep::new(report);
    if sweep.points.is_empty() {
        return None;
    }
    let what = match report.limit {
        Limit::ClientCpu(_) => "The load generator’s own CPU.",
        Limit::HostCpu(_) => "The host’s CPUs.",
        Limit::NotDetermined(_) => "Not determined.",
    };
    let mut body = format!("<p><b>{what}</b> {}</p>\n", escape_tied(report.limit.evidence()));
    if let Some(svg) = cpu::cpu_shares(report) {
        let caption = "Left: all CPU time of the host by kind, named at the last bar. Right: how much of its time the \
                       load generator was on a CPU; near 100 % it measures itself rather than the server. All are means \
                       over the measured window, with 95 % intervals as thin strokes or beside the names; why one is \
                       missing is said below the table of load points.";
        body.push_str(&captioned(&svg, caption));
    }
    Some(Section::new("limit", "What limited it", body))
}

pub(super) fn environment(report: &Report) -> Option<Section> {
    let summary = &report.summary;
    let mut body = String::new();
    let server = format!("{} {}", summary.target.flavour, summary.target.version);
    let facts = report.host_facts.iter().map(|(name, value)| (name.as_str(), value.clone()));
    body.push_str(&pairs([("server", server)].into_iter().chain(facts)));
    body.push_str(&subheading("Workload"));
    let shown = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parameters = summary.params.iter().map(|(name, value)| (name.as_str(), shown(value)));
    let fixed = [("workload", summary.workload.clone()), ("seed", summary.seed.to_string())];
    body.push_str(&pairs(fixed.into_iter().chain(parameters)));
    Some(Section::new("environment", "Test environment", body))
}

pub(super) fn cost(report: &Report) -> Option<Section> {
    let sweep = Sweep::new(report);
    let per_query = points::costs(&sweep, Per::Query)?;
    let mut body = subheading("Per query") + &measured_table(&per_query, []);
    if let Some(per_transaction) = points::costs(&sweep, Per::Transaction) {
        body.push_str(&(subheading("Per transaction") + &measured_table(&per_transaction, [])));
    }
    let note = "All within the measured window. CPU of the client is that of its loop threads; CPU, context switches \
                and I/O of the server are those of its whole process.";
    Some(Section::new("cost", "Cost", body + &remark(note)))
}

const TIMELINE_CAPTION: &str = "One value per second, load point after load point. Shaded and grey is what was not \
                                measured: warm-up and drain.";

pub(super) fn timeline(report: &Report) -> Option<Section> {
    // With a single load point it is the main figure already.
    throughput::throughput_and_latency(report)?;
    let body = captioned(&timeline::seconds_of_load(report)?, TIMELINE_CAPTION);
    Some(Section::new("timeline", "Timeline", body))
}

pub(super) fn latency(report: &Report) -> Option<Section> {
    let sweep = Sweep::new(report);
    let detailed = sweep.detailed()?;
    let mut body = measured_table(&points::latencies(&sweep), []);
    if let Some(svg) = operations::latency_ranges(detailed) {
        body.push_str(&subheading(&format!("By operation, at {}", sweep.load_text(detailed))));
        body.push_str(&captioned(
            &svg,
            "Filled dot: median; upright stroke: 95th, ring: 99th percentile; small dot: maximum. Blue: whole \
             transactions; green: statements.",
        ));
        body.push_str(&measured_table(&points::operations(detailed), []));
    }
    Some(Section::new("latency", "Latency", body))
}

pub(super) fn settings(report: &Report) -> Option<Section> {
    let durability = &report.summary.target.durability;
    if durability.is_empty() && report.settings.is_empty() {
        return None;
    }
    let mut body = String::new();
    if !durability.is_empty() {
        body.push_str(&subheading("Durability fingerprint"));
        body.push_str(&remark("What decides which commits survive a crash, as read from the running server."));
        body.push_str(&pairs(durability.iter().map(|(name, value)| (name.as_str(), value.clone()))));
    }
    if !report.settings.is_empty() {
        body.push_str(&subheading("Settings"));
        body.push_str(&settings_table(&report.settings));
    }
    Some(Section::new("settings", "Settings in effect", body))
}

fn settings_table(settings: &[SettingRow]) -> String {
    let mut html = String::from(
        "<div class=\"wide\"><table class=\"settings\">\n<thead>\n<tr><th scope=\"col\">setting</th>\
         <th scope=\"col\">requested</th><th scope=\"col\">in effect</th><th scope=\"col\">origin</th></tr>\n</thead>\n\
         <tbody>\n",
    );
    let shown = |value: &Option<String>| value.as_deref().map_or(crate::format::NOTHING.to_owned(), escape);
    for row in settings {
        let differs = matches!((&row.requested, &row.effective), (Some(a), Some(b)) if !is_same_value(a, b));
        let (class, tag) = match differs {
            true => (" class=\"differs\"", "<span class=\"tag\">differs</span> "),
            false => ("", ""),
        };
        html.push_str(&format!(
            "<tr{class}><td>{}</td><td>{}</td><td>{tag}{}</td><td>{}</td></tr>\n",
            escape(&row.name),
            shown(&row.requested),
            shown(&row.effective),
            escape(&row.origin),
        ));
    }
    html + "</tbody>\n</table></div>\n"
}

/// True if two spellings mean the same: `1G` and `1073741824`, `on` and `ON` and `1`.
fn is_same_value(requested: &str, effective: &str) -> bool {
    let plain = |text: &str| -> String {
        let lower = text.trim().trim_end_matches('/').to_ascii_lowercase();
        let shift = match lower.chars().last() {
            Some('k') => 10,
            Some('m') => 20,
            Some('g') => 30,
            Some('t') => 40,
            _ => 0,
        };
        let digits = if shift > 0 { &lower[..lower.len() - 1] } else { &lower[..] };
        match (digits.parse::<u64>(), digits.parse::<f64>(), &lower[..]) {
            (Ok(number), _, _) => number.saturating_mul(1 << shift).to_string(),
            (_, Ok(number), _) if shift == 0 => number.to_string(),
            (_, _, "on" | "true" | "yes") => "1".to_owned(),
            (_, _, "off" | "false" | "no") => "0".to_owned(),
            _ => lower,
        }
    };
    plain(requested) == plain(effective)
}

const ONE_ROUND: &str = "One round was run: intervals tell how sure the window's mean is; how far another run would differ is \
                         not known from this one: compare several rounds with plimsoll compare.";

pub(super) fn caveats(report: &Report) -> Option<Section> {
    let mut body = caveat_list(&report.summary.caveats);
    if !report.summary.points.is_empty() {
        body.push_str(&remark(ONE_ROUND));
    }
    Some(Section::new("caveats", "Caveats", body))
}

pub(super) fn repeat(report: &Report) -> Option<Section> {
    let mut body = format!("<pre>{}</pre>\n", escape_lines(&report.how_to_repeat));
    if let Some(recording) = &report.summary.recording {
        body.push_str(&remark(&format!("Everything that was measured is kept in {recording}.")));
    }
    Some(Section::new("repeat", "How to repeat it", body))
}

#[cfg(test)]
mod tests {
    use super::is_same_value;

    #[test]
    fn spellings_of_one_value_do_not_differ() {
        for (a, b) in [("1G", "1073741824"), ("on", "1"), ("OFF", "0"), ("O_DIRECT", "o_direct"), ("/d/", "/d")] {
            assert!(is_same_value(a, b), "{a} {b}");
        }
        for (a, b) in [("1G", "1000000000"), ("1", "2"), ("O_DIRECT", "fsync"), ("on", "off"), ("", "0")] {
            assert!(!is_same_value(a, b), "{a} {b}");
        }
    }
}
