//! A storage evaluation in the terminal.

use super::answer::answer;
use super::tables;
use crate::table::Table;
use crate::terminal::{BOLD, DIM, TextLook, rows};
use plimsoll_model::io::{IoSummary, SheetLine};
use plimsoll_model::layout::clean;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The answer first, then the sheet by topic, the probes, predictions and published figures, and the caveats; ends with
/// a line break. With `colour`, the answer and topics are bold and ids are dim; nothing else differs.
pub fn terminal(summary: &IoSummary, look: TextLook) -> String {
    let mut blocks =
        vec![look.wrapped(&clean(&answer(summary))).into_iter().map(|line| look.style(BOLD, line)).collect()];
    let topics = summary.sheet.chunk_by(|a, b| a.topic == b.topic);
    blocks.extend(topics.map(|lines| topic(lines, look)));
    blocks.push(tables::without_interval(summary).map_or_else(Vec::new, |remark| look.wrapped(&clean(&remark))));
    blocks.push(probes(summary, look));
    blocks.extend(titled("predicted and reached", tables::validation(summary), look));
    blocks.extend(titled("published and measured here", tables::published(summary), look));
    blocks.push(caveats(summary, look));
    blocks.retain(|lines: &Vec<String>| !lines.is_empty());
    blocks.iter().map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// The lines of one topic; a warning begins with an exclamation mark.
fn topic(lines: &[SheetLine], look: TextLook) -> Vec<String> {
    let mut shown: Vec<String> = lines.first().map(|line| look.style(BOLD, clean(&line.topic))).into_iter().collect();
    for line in lines {
        let mark = if line.warning { "!" } else { " " };
        let mut text = look.wrapped(&clean(&format!("  {}", line.statement)));
        if let Some(first) = text.first_mut() {
            first.replace_range(..1, mark);
        }
        shown.extend(text);
        if !line.probes.is_empty() {
            shown.extend(
                look.wrapped(&clean(&format!("    {}", line.probes.join(" "))))
                    .into_iter()
                    .map(|ids| look.style(DIM, ids)),
            );
        }
    }
    shown
}

/// The table, the remarks on its numbers, and what could not be measured.
fn probes(summary: &IoSummary, look: TextLook) -> Vec<String> {
    if summary.probes.is_empty() {
        return Vec::new();
    }
    let table = tables::probes(&summary.probes.iter().collect::<Vec<_>>(), false);
    let mut lines = rows(&table, look);
    let failures = tables::failures(&summary.probes).into_iter().map(|why| format!("not measured: {why}"));
    let remarks = table.missing().into_iter().chain(failures).chain(tables::dropped(&summary.probes));
    lines.extend(remarks.flat_map(|remark| look.wrapped(&clean(&remark))));
    lines
}

/// The caveats of the whole, then those of probes: one line for each code, with the ids of all other probes that have
/// it.
fn caveats(summary: &IoSummary, look: TextLook) -> Vec<String> {
    let mut lines: Vec<String> =
        summary.caveats.iter().map(|caveat| format!("caveat {}: {}", caveat.code, caveat.message)).collect();
    let mut by_code: BTreeMap<&str, (&str, Vec<&str>)> = BTreeMap::new();
    for (probe, caveat) in summary.probes.iter().flat_map(|probe| probe.caveats.iter().map(move |of| (probe, of))) {
        match by_code.entry(&caveat.code) {
            Entry::Vacant(first) => drop(first.insert((&caveat.message, Vec::new()))),
            Entry::Occupied(mut known) => known.get_mut().1.push(&probe.id),
        }
    }
    lines.extend(by_code.into_iter().map(|(code, (message, others))| match others.as_slice() {
        [] => format!("caveat {code}: {message}"),
        ids => format!("caveat {code}: {message} (the same holds for {})", ids.join(", ")),
    }));
    lines.iter().flat_map(|line| look.wrapped(&clean(line))).collect()
}

fn titled(title: &str, table: Option<Table>, look: TextLook) -> Option<Vec<String>> {
    let table = table?;
    let mut lines = vec![look.style(BOLD, title.to_owned())];
    lines.extend(rows(&table, look));
    Some(lines)
}
