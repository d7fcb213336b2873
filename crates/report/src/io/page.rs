//! A storage evaluation as one HTML page, in the order in which a reader asks.

use super::answer::answer;
use super::{figure, tables};
use crate::format::{counted, tick};
use crate::html::markup::{
    Section, caveat_list, figure as captioned, measured_table, pairs, remark, sentence, subheading, table,
};
use crate::html::{caveats_link, document, header};
use crate::text::{escape, escape_lines, escape_tied};
use plimsoll_model::io::{IoSummary, SheetLine};

/// One page, as complete as [`crate::html::page`]. `how_to_repeat` is a command line; `generated` says when and by what.
pub fn page(summary: &IoSummary, how_to_repeat: &str, generated: &str) -> String {
    let sections: Vec<Section> = [
        sheet(summary),
        depths(summary),
        commits(summary),
        cache(summary),
        burst(summary),
        validation(summary),
        published(summary),
        probes(summary),
        environment(summary),
        caveats(summary),
        repeat(summary, how_to_repeat),
    ]
    .into_iter()
    .flatten()
    .collect();
    let title = format!("Storage of {}", summary.directory);
    document(&title, &head(summary, &title), &sections, generated)
}

fn head(summary: &IoSummary, title: &str) -> String {
    let device = &summary.device;
    let below = [device.filesystem.as_deref(), device.name.as_deref()];
    let below = below.into_iter().flatten().map(escape).collect::<Vec<_>>().join(" on ");
    let seconds: f64 = summary.probes.iter().map(|probe| probe.seconds).sum();
    let measured = counted(summary.probes.len() as f64, "measurement");
    let mut facts = vec![format!("<b>{}</b>", escape(&summary.suite))];
    facts.extend((!below.is_empty()).then_some(below));
    facts.push(format!("{measured}, {}\u{a0}s in all", tick(seconds.round())));
    let of_probes: usize = summary.probes.iter().map(|probe| probe.caveats.len()).sum();
    facts.push(caveats_link(summary.caveats.len() + of_probes));
    header(title, &answer(summary), &facts)
}

/// What a DBA reads, by topic.
fn sheet(summary: &IoSummary) -> Option<Section> {
    let topics = summary.sheet.chunk_by(|a, b| a.topic == b.topic);
    let body: String = topics.map(topic).collect();
    let without = tables::without_interval(summary).map(|text| sentence(&text));
    let remarks: Vec<&str> = [SHEET_REMARK].into_iter().chain(without.as_deref()).collect();
    (!body.is_empty()).then(|| Section::new("sheet", "The sheet", body + &remark(&remarks.join(" "))))
}

const SHEET_REMARK: &str = "Each statement names the probes that it rests on; ± is half of a 95 % interval. What must not be \
                            overlooked has a broad bar beside it.";

fn topic(lines: &[SheetLine]) -> String {
    let items: String = lines.iter().map(item).collect();
    let heading = lines.first().map_or(String::new(), |line| subheading(&line.topic));
    format!("{heading}<ul class=\"sheet\">\n{items}</ul>\n")
}

fn item(line: &SheetLine) -> String {
    let class = if line.warning { " class=\"warning\"" } else { "" };
    let probes = match line.probes.as_slice() {
        [] => String::new(),
        ids => format!(" <small>{}</small>", escape(&ids.join(" · "))),
    };
    format!("<li{class}>{}{probes}</li>\n", escape_tied(&line.statement))
}

fn depths(summary: &IoSummary) -> Option<Section> {
    let caption = "Page reads (probe 6) and page writes (probe 7) by how many were under way at once. Dots are means over the \
                   measured window, thin strokes with caps their 95 % intervals; below, the median and the 99th percentile of \
                   one read or write.";
    Some(Section::new("depth", "Latency over depth", captioned(&figure::depth::depths(&summary.probes)?, caption)))
}

fn commits(summary: &IoSummary) -> Option<Section> {
    let caption = "How long a session waits until its commit is durable, by how many commit at once (probes 1 and 2): of each \
                   hundred commits, how many took so long. Each line has the number of sessions at its peak.";
    let svgs = figure::commits::histograms(&summary.probes);
    let body: String = svgs.iter().map(|svg| captioned(svg, "")).collect();
    (!body.is_empty()).then(|| Section::new("commits", "Commit latency", body + &remark(caption)))
}

fn cache(summary: &IoSummary) -> Option<Section> {
    let caption = "Latency of random reads over the size of the set that they are drawn from (probe 13). A step upwards is \
                   where a cache ends; a level line means that one tier answers everything.";
    Some(Section::new("cache", "Cache map", captioned(&figure::cache::cache_map(&summary.probes)?, caption)))
}

fn burst(summary: &IoSummary) -> Option<Section> {
    let caption = "Page writes second by second (probes 13 and 14). Where the rate falls for good, a cache is full or credits \
                   are used up.";
    let body: String = figure::burst::bursts(&summary.probes).iter().map(|svg| captioned(svg, caption)).collect();
    (!body.is_empty()).then(|| Section::new("burst", "Write burst", body))
}

fn validation(summary: &IoSummary) -> Option<Section> {
    let body = table(&tables::validation(summary)?);
    let note = "What the probes predict beside what a private server on the same directory reached. No intervals: one run each. \
                Where the CPU was the limit, a prediction from storage alone is an upper bound.";
    Some(Section::new("validation", "Predicted and reached", body + &remark(note)))
}

fn published(summary: &IoSummary) -> Option<Section> {
    let body = table(&tables::published(summary)?);
    let note =
        "In the format of the document that was repeated; no intervals: it prints none. Its hardware was another.";
    Some(Section::new("published", "Published and measured", body + &remark(note)))
}

fn probes(summary: &IoSummary) -> Option<Section> {
    if summary.probes.is_empty() {
        return None;
    }
    let remarks = ["Latencies are of the kind of operation that is named.".to_owned()];
    let mut body = measured_table(&tables::probes(&summary.probes, true), remarks);
    let failures: Vec<String> =
        tables::failures(&summary.probes).into_iter().chain(tables::dropped(&summary.probes)).collect();
    if !failures.is_empty() {
        let items: String = failures.iter().map(|why| format!("<li>{}</li>\n", escape_tied(why))).collect();
        body.push_str(&format!(
            "{}<ul class=\"facts-list\">\n{items}</ul>\n",
            subheading("Not measured, or not to the end")
        ));
    }
    Some(Section::new("probes", "Probes", body))
}

fn environment(summary: &IoSummary) -> Option<Section> {
    let of_run = [
        ("directory", summary.directory.clone()),
        ("suite", summary.suite.clone()),
        ("seed", summary.seed.to_string()),
    ];
    Some(Section::new(
        "environment",
        "Test environment",
        pairs(of_run.into_iter().chain(tables::device(&summary.device))),
    ))
}

fn caveats(summary: &IoSummary) -> Option<Section> {
    let mut body = caveat_list(&summary.caveats);
    let of_probes = summary.probes.iter().filter(|probe| !probe.caveats.is_empty());
    let lists: String =
        of_probes.map(|probe| subheading(&format!("Of {}", probe.id)) + &caveat_list(&probe.caveats)).collect();
    body.push_str(&lists);
    Some(Section::new("caveats", "Caveats", body))
}

fn repeat(summary: &IoSummary, how_to_repeat: &str) -> Option<Section> {
    let mut body = format!("<pre>{}</pre>\n", escape_lines(how_to_repeat));
    if let Some(recording) = &summary.recording {
        body.push_str(&remark(&format!("Everything that was measured is kept in {recording}.")));
    }
    Some(Section::new("repeat", "How to repeat it", body))
}
