//! What faults cost: of each variant how much, beside what it brings.

use crate::document::{Block, Section};
use crate::figure::price;
use crate::table::{Column, Mark, Table};
use plimsoll_model::crash::CrashCell;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::number::{NOTHING, at_least, at_most, counted, number, short, whole_percent};
use std::collections::BTreeSet;

/// By variant and fault.
pub fn table(cells: &[CrashCell]) -> Table {
    let words = |of: &dyn Fn(&CrashCell) -> String| words(cells, of);
    let columns = vec![
        Column::words("variant", words(&|cell| cell.variant.clone())),
        Column::words("fault", words(&CrashCell::words)),
        Column::numbers("faults", "", words(&|cell| cell.faults.to_string())),
        Column::numbers("acknowledged", "commits", words(&|cell| short(cell.acknowledged as f64))).ranked(3),
        Column::numbers("lost", "commits", words(&|cell| short(cell.lost as f64))),
        Column::words("losing faults, 95 %", words(&losing)).ranked(1),
        Column::numbers("median", "s", words(&|cell| seconds(cell.lost_seconds))).ranked(2),
        Column::numbers("worst", "s", words(&|cell| seconds(cell.worst_seconds))),
        Column::words("afterwards", words(&afterwards)),
    ];
    let marks = cells.iter().map(|cell| cell.breaks_its_promise().then_some(Mark::Differs)).collect();
    Table { columns, marks }
}

/// The way back from faults, by variant and fault.
pub fn recoveries(cells: &[CrashCell]) -> Table {
    let words = |of: &dyn Fn(&CrashCell) -> String| words(cells, of);
    Table::new(vec![
        Column::words("variant", words(&|cell| cell.variant.clone())),
        Column::words("fault", words(&CrashCell::words)),
        Column::numbers("recovery", "s", words(&|cell| seconds(cell.recovery_seconds))),
        Column::numbers("redo", "MiB", words(&|cell| redo(cell.redo_bytes))),
        Column::numbers("full after", "s", words(&|cell| seconds(cell.full_seconds))),
    ])
}

fn words(cells: &[CrashCell], of: &dyn Fn(&CrashCell) -> String) -> Vec<String> {
    cells.iter().map(of).collect()
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or(NOTHING.to_owned(), |seconds| number(seconds, 2))
}

fn redo(bytes: Option<f64>) -> String {
    bytes.map_or(NOTHING.to_owned(), |bytes| short(bytes / f64::from(1 << 20)))
}

/// `0 of 20, up to 14 %`, `20 of 20, 86 % or more`.
fn losing(cell: &CrashCell) -> String {
    let count = format!("{} of {}", cell.losing, cell.faults);
    let ends = cell.loss.as_ref().and_then(|loss| loss.interval());
    let share = ends.map(|(low, high)| match cell.losing {
        0 => format!(", up to {}", at_most(high)),
        all if all == cell.faults => format!(", {} or more", at_least(low)),
        _ => format!(", {} to {}", at_least(low), at_most(high)),
    });
    count + &share.unwrap_or_default()
}

/// `4 not started, 4 torn`; of online copies first what they took: `3.1 s, 82 % of the throughput meanwhile`.
fn afterwards(cell: &CrashCell) -> String {
    let of = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let damaged = cell.damaged.saturating_sub(cell.not_started);
    let seconds = cell.copy_seconds.map(|seconds| format!("{} s", number(seconds, 2)));
    let share = cell.copy_throughput.map(|share| format!("{} of the throughput meanwhile", whole_percent(share)));
    let all = [seconds, share, of(cell.not_started, "not started"), of(cell.torn, "torn"), of(damaged, "damaged")];
    let told = all.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if told.is_empty() { NOTHING.to_owned() } else { told }
}

/// The price of safety, and the numbers behind it.
pub fn section(summary: &LabSummary) -> Option<Section> {
    let cells = &summary.crashes;
    if cells.is_empty() {
        return None;
    }
    let remark = "A fault is one case, however many commits it hits: the interval is of the share of faults that lose any \
                  (Clopper and Pearson). Seconds, the median of the faults that lose and the worst of them, count from the first \
                  answer to a lost commit to the fault.";
    let way_back = "Medians. Recovery is the time from the start of the server to its first answer, redo what it had to read \
                    for that, and full after the time from the beginning of a load on it, once it was looked at, until it \
                    carried 90 % of what it had carried.";
    let mut blocks: Vec<Block> = price::draw("price-of-safety", summary).map(Block::Figure).into_iter().collect();
    blocks.push(Block::table("crashes", table(cells), [remark.to_owned()]));
    blocks.push(Block::table("recoveries", recoveries(cells), [way_back.to_owned()]));
    Some(Section::of("crashes", "What faults cost", blocks)?.found(found(cells)))
}

fn found(cells: &[CrashCell]) -> String {
    let broken: BTreeSet<&str> =
        cells.iter().filter(|cell| cell.breaks_its_promise()).map(|cell| cell.variant.as_str()).collect();
    let faults = cells.iter().map(|cell| cell.faults).sum::<usize>();
    match broken.len() {
        0 if faults == 0 => "no fault came to its end".to_owned(),
        0 => format!("{}, nothing lost or damaged that the settings do not announce", counted(faults as f64, "fault")),
        some => format!("{} lost or damaged what the settings promise to keep", counted(some as f64, "variant")),
    }
}
