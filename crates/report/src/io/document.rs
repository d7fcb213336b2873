//! What a report of a storage evaluation shows, in the order in which a reader asks.

use super::answer::answer;
use super::{figure, tables};
use crate::document::{Block, Document, Finding, Item, Section};
use crate::section::{caveats, repeat};
use crate::subject::Recorded;
use plimsoll_model::io::{IoSummary, Probe, SheetLine};
use plimsoll_model::layout::sentence;
use plimsoll_model::number::{counted, tick};
use serde_json::json;

/// The report of a storage evaluation, as complete as that of a run.
pub fn document(recorded: &Recorded, summary: &IoSummary) -> Document {
    let sections = [
        sheet(summary),
        depths(summary),
        commits(summary),
        cache(summary),
        burst(summary),
        validation(summary),
        published(summary),
        probes(summary),
        environment(summary),
        caveats(summary, &recorded.missing),
        repeat::section(&recorded.how_to_repeat, summary.recording.as_deref()),
    ];
    let told = recorded.state.iter().map(|state| sentence(state)).chain(warnings(summary)).map(Finding::of);
    Document {
        title: format!("Storage of {}", summary.directory),
        answer: answer(summary),
        findings: told.chain(caveats::findings(&recorded.missing)).collect(),
        facts: facts(summary),
        sections: sections.into_iter().flatten().collect(),
        generated: recorded.generated.clone(),
        data: json!({"io": summary}),
    }
}

/// The warnings of the sheet.
fn warnings(summary: &IoSummary) -> impl Iterator<Item = String> {
    summary.sheet.iter().filter(|line| line.warning).map(|line| line.statement.clone())
}

fn facts(summary: &IoSummary) -> Vec<String> {
    let below = below(summary);
    let seconds: f64 = summary.probes.iter().map(|probe| probe.seconds).sum();
    let measured = counted(summary.probes.len() as f64, "measurement");
    let mut facts = vec![summary.suite.clone()];
    facts.extend((!below.is_empty()).then(|| below.join(" on ")));
    facts.push(format!("{measured}, {} s in all", tick(seconds.round())));
    facts
}

/// The file system and its device, as far as they are known.
fn below(summary: &IoSummary) -> Vec<&str> {
    let device = &summary.device;
    [device.filesystem.as_deref(), device.name.as_deref()].into_iter().flatten().collect()
}

/// The first statement of the sheet that rests on one of these probes.
fn stated(summary: &IoSummary, numbers: &[u8]) -> String {
    let is_of = |id: &String| summary.probes.iter().any(|probe| probe.id == *id && numbers.contains(&probe.probe));
    let first = summary.sheet.iter().find(|line| line.probes.iter().any(is_of));
    first.map(|line| line.statement.clone()).unwrap_or_default()
}

/// What a DBA reads, by topic.
fn sheet(summary: &IoSummary) -> Option<Section> {
    let topics = summary.sheet.chunk_by(|a, b| a.topic == b.topic);
    let mut blocks: Vec<Block> = topics.flat_map(topic).collect();
    if !blocks.is_empty() {
        let without = tables::without_interval(summary).map(|text| sentence(&text));
        let remarks: Vec<String> = [SHEET_REMARK.to_owned()].into_iter().chain(without).collect();
        blocks.push(Block::remark(remarks.join(" ")));
    }
    let statements = counted(summary.sheet.len() as f64, "statement");
    let marked = warnings(summary).count();
    let found = if marked > 0 { format!("{statements}, {marked} of them marked") } else { statements };
    Some(Section::of("sheet", "The sheet", blocks)?.found(found))
}

const SHEET_REMARK: &str = "Each statement names the probes that it rests on; ± is half of a 95 % interval. Statements that must \
                            not be overlooked are marked.";

fn topic(lines: &[SheetLine]) -> Vec<Block> {
    let heading = lines.first().map(|line| Block::subheading(&line.topic));
    let items = lines.iter().map(|line| Item {
        text: line.statement.clone(),
        small: (!line.probes.is_empty()).then(|| line.probes.join(" · ")),
        warning: line.warning,
    });
    heading.into_iter().chain([Block::List(items.collect())]).collect()
}

fn depths(summary: &IoSummary) -> Option<Section> {
    let caption = "Page reads (probe 6) and page writes (probe 7) by how many were under way at once. Dots are means over the \
                   measured window; thin strokes with caps are their 95 % intervals. Below: the median and the 99th percentile \
                   of one read or write.";
    let figure = figure::depth::draw(&summary.probes, caption)?;
    Some(Section::of("depth", "Latency over depth", vec![Block::Figure(figure)])?.found(stated(summary, &[6, 7])))
}

fn commits(summary: &IoSummary) -> Option<Section> {
    let caption = "How long a session waits until its commit is synced, by how many sessions commit at once (probes 1 and 2): \
                   the percentage of commits that took so long. The number at the peak of a line is its number of sessions.";
    let figures = figure::commits::draw(&summary.probes, caption).into_iter().map(Block::Figure);
    Some(Section::of("commits", "Commit latency", figures.collect())?.found(stated(summary, &[1, 2])))
}

fn cache(summary: &IoSummary) -> Option<Section> {
    let caption = "Latency of random reads over the size of the set that they are drawn from (probe 13). A cache ends where the \
                   line steps up; a level line means that one tier answers everything.";
    let figure = figure::cache::draw(&summary.probes, caption)?;
    Some(Section::of("cache", "Cache map", vec![Block::Figure(figure)])?.found(stated(summary, &[13])))
}

fn burst(summary: &IoSummary) -> Option<Section> {
    let caption = "Page writes second by second (probes 13 and 14). Where the rate falls for good, a cache is full or credits \
                   are used up.";
    let figures = figure::burst::draw(&summary.probes, caption).into_iter().map(Block::Figure);
    Some(Section::of("burst", "Write burst", figures.collect())?.found(stated(summary, &[13, 14])))
}

fn validation(summary: &IoSummary) -> Option<Section> {
    let note = "What the probes predict beside what a private server on the same directory reached. No intervals: one run each. \
                Commits are predicted by committers that work as sessions do, page reads by the storage alone.";
    let table = Block::table("validation", tables::validation(summary)?, [note.to_owned()]);
    let known = summary.validation.iter().filter_map(|row| Some(row.prediction()?.contains(row.reached?)));
    let (held, all) = known.fold((0, 0), |(held, all), holds| (held + usize::from(holds), all + 1));
    let all = counted(f64::from(all), "prediction");
    Some(Section::of("validation", "Predicted and reached", vec![table])?.found(format!("{held} of {all} held")))
}

fn published(summary: &IoSummary) -> Option<Section> {
    let note =
        "In the format of the document that was repeated, which prints no intervals. Its hardware was different.";
    let table = Block::table("published", tables::published(summary)?, [note.to_owned()]);
    let found = counted(summary.published.len() as f64, "published number");
    Some(Section::of("published", "Published and measured", vec![table])?.found(found))
}

fn probes(summary: &IoSummary) -> Option<Section> {
    let all: Vec<&Probe> = summary.probes.iter().collect();
    if all.is_empty() {
        return None;
    }
    let remark = "Latencies are those of the kind of operation that is named.".to_owned();
    let mut blocks = vec![Block::table("probes", tables::probes(&all, true), [remark])];
    let failures: Vec<Item> =
        tables::failures(&summary.probes).into_iter().chain(tables::dropped(&summary.probes)).map(Item::of).collect();
    if !failures.is_empty() {
        blocks.extend([Block::subheading("Not measured, or not completely"), Block::List(failures)]);
    }
    Some(Section::of("probes", "Probes", blocks)?.found(counted(all.len() as f64, "measurement")))
}

fn environment(summary: &IoSummary) -> Option<Section> {
    let of_run = [
        ("directory", summary.directory.clone()),
        ("suite", summary.suite.clone()),
        ("seed", summary.seed.to_string()),
    ];
    let pairs = of_run.into_iter().chain(tables::device(&summary.device));
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value)).collect();
    let found = below(summary).join(" on ");
    Some(Section::of("environment", "Test environment", vec![Block::Pairs(pairs)])?.found(found))
}

/// The caveats of the whole, then those of each measurement.
fn caveats(summary: &IoSummary, missing: &[String]) -> Option<Section> {
    let mut section = caveats::section(&summary.caveats, None, missing)?;
    for probe in summary.probes.iter().filter(|probe| !probe.caveats.is_empty()) {
        section.blocks.push(Block::subheading(format!("Of {}", probe.id)));
        section.blocks.push(Block::Caveats(probe.caveats.clone()));
    }
    Some(section)
}
