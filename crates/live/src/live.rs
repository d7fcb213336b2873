//! `/live/ID`: a growing recording. Without a script, the page shows the current state and reloads itself; with one,
//! its parts are replaced as they are pushed.

use crate::agents;
use crate::chart::{LiveLine, LivePanel};
use crate::follow::{AgendaTrial, Follower, MeasuredTrial, PhaseNow, Points};
use crate::page::Page;
use crate::plan::{self, load};
use crate::shown::{LiveSample, ShownState, Watched};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::layout::{escape, escape_tied};
use plimsoll_model::number::{NOTHING, counted, duration, number, short};
use plimsoll_report::lab::tuned;
use serde_json::{Map, Value};
use std::convert::Infallible;
use tokio::sync::OwnedSemaphorePermit;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::WatchStream;

/// Seconds between two reloads of a page without a script.
const REFRESH: u32 = 5;
/// Seconds: a collector is told no older numbers.
const LATEST: f64 = 5.0;
/// How many of the next trials are named.
const NAMED: usize = 5;

/// The complete page.
pub fn page(id: &str, shown: &ShownState) -> Page {
    let parts: String =
        shown.parts.iter().map(|(part, markup)| format!("<div id=\"{part}\">\n{markup}</div>\n")).collect();
    let id = escape(id);
    let body = format!(
        "<main>\n<h1>{}</h1>\n<p id=\"connection\" class=\"remark\" role=\"status\"></p>\n\
         <div class=\"following\" data-events=\"/live/{id}/events\">\n{parts}</div>\n</main>\n",
        escape(&shown.title)
    );
    Page { title: shown.title.clone(), body, refresh: (!shown.over).then_some(REFRESH), ..Page::default() }
}

/// The parts as they change, as long as somebody reads them; slow readers skip states. `place` is released with the
/// stream.
pub fn events(watched: Watched, place: OwnedSemaphorePermit) -> Response {
    let stream = WatchStream::new(watched).map(move |shown| {
        let _held = &place;
        let parts: Map<String, Value> =
            shown.parts.iter().map(|(part, markup)| ((*part).to_owned(), Value::from(markup.as_str()))).collect();
        let kind = if shown.over { "over" } else { "parts" };
        Ok::<_, Infallible>(Event::default().event(kind).data(Value::Object(parts).to_string()))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

/// The state of a recording at `now`.
pub fn shown(follower: &Follower, now: Timestamp) -> ShownState {
    // Each trial of a search is another server: its own figure says more than a row for each.
    let search = search(follower);
    let is_search = !search.is_empty();
    let parts = vec![
        ("state", state(follower, now)),
        ("plan", if is_search { String::new() } else { plan::whole(follower) }),
        ("search", search),
        ("charts", charts(follower)),
        ("agents", agents::table(follower)),
        ("results", if is_search { String::new() } else { results(follower) }),
        ("next", next(follower)),
        ("troubles", troubles(follower)),
    ];
    let samples = samples(follower, now);
    ShownState { title: follower.what.title.clone(), parts, samples, over: follower.is_over() }
}

/// What is known of the last second, and where the recording is.
fn samples(follower: &Follower, now: Timestamp) -> Vec<LiveSample> {
    let Some((turn, place)) = follower.under_way() else { return Vec::new() };
    let labels = [
        ("recording", follower.id()),
        ("variant", turn.variant),
        ("point", turn.point),
        ("round", turn.round.to_string()),
    ];
    let sample = |family, more: Option<(&'static str, &str)>, value| LiveSample {
        family,
        labels: labels.iter().cloned().chain(more.map(|(name, value)| (name, value.to_owned()))).collect(),
        value,
    };
    let series = &follower.series;
    // What is older than a few seconds is not what happens now.
    let last = |points: &Points| points.back().filter(|(at, _)| series.until - at < LATEST).map(|(_, value)| *value);
    let mut all = vec![sample("plimsoll_trials_begun", None, place as f64)];
    all.extend(follower.trials().map(|trials| sample("plimsoll_trials_planned", None, trials as f64)));
    all.extend(follower.phase(now).map(|of| sample("plimsoll_phase", Some(("phase", of.phase.words())), 1.0)));
    all.extend(last(&series.throughput).map(|rate| sample("plimsoll_transactions_per_second", None, rate)));
    for (quantile, points) in [("0.5", &series.median), ("0.99", &series.p99)] {
        all.extend(last(points).map(|ms| sample("plimsoll_latency_seconds", Some(("quantile", quantile)), ms / 1e3)));
    }
    for (of, points) in [("machine", &series.host), ("server", &series.server), ("load_generator", &series.client)] {
        all.extend(last(points).map(|cpus| sample("plimsoll_cpus_busy", Some(("of", of)), cpus)));
    }
    all
}

/// Phase, trial and time left.
fn state(follower: &Follower, now: Timestamp) -> String {
    let what = format!("{} on {}", follower.what.work, follower.what.on);
    if follower.removed {
        return "<p class=\"answer\">It was removed.</p>\n".to_owned();
    }
    if follower.is_over() {
        return format!(
            "<p class=\"answer\">It has ended: {}{}.</p>\n<p><a href=\"/recording/{}\">The report</a></p>\n",
            follower.state().word(),
            follower.ended_early().map_or(String::new(), |why| format!(": {}", escape(why.trim_end_matches('.')))),
            escape(&follower.id())
        );
    }
    let (doing, trial) = (doing(follower.phase(now)), trial(follower));
    let left = match follower.left(now) {
        Some(left) => format!("about {}", duration(left)),
        None => "not known".to_owned(),
    };
    let pairs = [
        ("Phase", doing),
        ("Trial", trial),
        ("Running for", duration(follower.seconds(now))),
        ("Time left", left),
        ("What", what),
    ];
    let pairs: String =
        pairs.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escape(value))).collect();
    format!("<dl class=\"now\">\n{pairs}</dl>\n{}", progress(follower))
}

fn doing(phase: Option<PhaseNow>) -> String {
    let Some(PhaseNow { phase, seconds, of }) = phase else { return "getting ready".to_owned() };
    match of {
        Some(of) if of > 0.0 => format!("{}, {} of {}", phase.words(), duration(seconds.min(of)), duration(of)),
        _ => format!("{}, {}", phase.words(), duration(seconds)),
    }
}

fn trial(follower: &Follower) -> String {
    let Some((turn, place)) = follower.under_way() else { return "before the first".to_owned() };
    match follower.trials() {
        Some(of) => format!("{place} of {}: {}", number(of as f64, 0), words(&turn)),
        None => format!("{place}: {}", words(&turn)),
    }
}

fn progress(follower: &Follower) -> String {
    match (follower.under_way(), follower.trials()) {
        (Some((_, place)), Some(of)) if of > 0 => format!(
            "<progress aria-label=\"Trials that have ended\" value=\"{}\" max=\"{of}\"></progress>\n",
            place.saturating_sub(1)
        ),
        _ => String::new(),
    }
}

/// A search, as its report shows it.
fn search(follower: &Follower) -> String {
    let of = |summary: &LabSummary| {
        let section = tuned::section(summary.tune.as_ref()?)?;
        let headline = escape_tied(&summary.headline);
        Some(format!("<p class=\"answer\">{headline}</p>\n{}", plimsoll_render::section(&section)))
    };
    follower.search.as_ref().and_then(of).unwrap_or_default()
}

fn charts(follower: &Follower) -> String {
    let series = &follower.series;
    let line = |name, class, points| LiveLine { name, class, points };
    let panel = |title, unit, lines, at_least| {
        let (measured, from, until) = (&series.measured, series.from(), series.until);
        LivePanel { title, unit, lines, measured, from, until, at_least }.markup()
    };
    let unit = follower.unit();
    let latency = [line("median", "s1", &series.median), line("99th percentile", "s2", &series.p99)];
    let cpus = [
        line("whole machine", "s1", &series.host),
        line("server", "s2", &series.server),
        line("load generator", "s3", &series.client),
    ];
    let of = format!("CPUs busy, of {}", follower.cpus());
    [
        panel("Throughput", unit, &[line("last second", "s1", &series.throughput)], 1.0),
        panel("Latency", "ms", &latency, 0.1),
        panel("CPU", &of, &cpus, follower.cpus().max(1) as f64),
        "<p class=\"remark\">Seconds since the recording began. Shaded areas are not measured: warm-up, pauses.</p>\n"
            .to_owned(),
    ]
    .concat()
}

/// A row for each variant and load point, in the order in which they were first run.
fn results(follower: &Follower) -> String {
    let measured = follower.measured();
    let mut rows: Vec<(&str, &str, Vec<&MeasuredTrial>)> = Vec::new();
    for trial in &measured {
        match rows.iter_mut().find(|(variant, point, _)| (*variant, *point) == (&trial.variant, &trial.point)) {
            Some((_, _, trials)) => trials.push(trial),
            None => rows.push((&trial.variant, &trial.point, vec![trial])),
        }
    }
    let cells = |trials: &[&MeasuredTrial], value: fn(&MeasuredTrial) -> Option<f64>| -> String {
        let each = trials.iter().map(|trial| match (&trial.failed, value(trial)) {
            (Some(why), _) => format!("<span class=\"broken\" title=\"{}\">failed</span>", escape(why)),
            (None, value) => value.map_or(NOTHING.to_owned(), short),
        });
        each.collect::<Vec<_>>().join(" · ")
    };
    let row = |(variant, point, trials): &(&str, &str, Vec<&MeasuredTrial>)| {
        format!(
            "<tr><td>{}<span class=\"on\">{}</span></td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            escape(variant),
            escape(&load(point)),
            cells(trials, |trial| trial.throughput),
            cells(trials, |trial| trial.p99_ms)
        )
    };
    let rows: String = rows.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h2>So far</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Results so \
         far\"><table>\n<thead><tr><th scope=\"col\">variant</th><th scope=\"col\" class=\"n\">throughput<span \
         class=\"unit\">{}</span></th><th scope=\"col\" class=\"n\">p99<span \
         class=\"unit\">ms</span></th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n<p class=\"remark\">A \
         value for each round, including the trial under way. The report says how certain they are.</p>\n",
        follower.unit()
    )
}

/// What comes after the trial under way.
fn next(follower: &Follower) -> String {
    if follower.is_over() {
        return String::new();
    }
    let (turns, complete) = follower.next();
    let items: String = turns.iter().take(NAMED).map(|turn| format!("<li>{}</li>\n", escape(&words(turn)))).collect();
    let more = turns.len().saturating_sub(NAMED);
    let rest = match (more, complete, turns.is_empty()) {
        (0, true, true) => "Nothing: this is the last trial.".to_owned(),
        (0, true, false) => String::new(),
        (0, false, _) => "What comes next depends on the results.".to_owned(),
        (more, true, _) => format!("And {} after these.", counted(more as f64, "trial")),
        (more, false, _) => {
            format!("And {} or more after these, depending on the results.", counted(more as f64, "trial"))
        }
    };
    let list = if items.is_empty() { items } else { format!("<ol class=\"next\">\n{items}</ol>\n") };
    format!("<h2>What comes next</h2>\n{list}<p class=\"remark\">{rest}</p>\n")
}

fn troubles(follower: &Follower) -> String {
    let items: String = follower.troubles.iter().map(|why| format!("<li>{}</li>\n", escape(why))).collect();
    match items.is_empty() {
        true => items,
        false => format!("<h2>What went wrong</h2>\n<ul class=\"caveats\">\n{items}</ul>\n"),
    }
}

/// `nfs, 64 connections, round 2`.
fn words(turn: &AgendaTrial) -> String {
    format!("{}, {}, round {}", turn.variant, load(&turn.point), turn.round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_plan::Plan;
    use plimsoll_record::read::Entry;
    use plimsoll_record::{Manifest, Recording};
    use plimsoll_testkit::simulated::run_plan;

    #[test]
    fn a_recording_that_is_removed_is_not_called_ended() {
        let home = tempfile::tempdir().unwrap();
        let manifest = Manifest::new("gone", "0.1.0", Timestamp::now(), Plan::Run(run_plan(&[])), HostFacts::default());
        let recording = Recording::create(home.path(), manifest).unwrap();
        let directory = recording.directory().to_owned();
        let entry = Entry { directory: directory.clone(), manifest: recording.manifest().clone(), being_written: true };
        let mut follower = Follower::new(entry);
        follower.look();
        assert!(!shown(&follower, Timestamp::now()).over);
        std::fs::remove_dir_all(directory).unwrap();
        follower.look();
        let shown = shown(&follower, Timestamp::now());
        let (_, state) = &shown.parts[0];
        assert!(shown.over && state.contains("removed") && !state.contains("href"), "{state}");
    }
}
