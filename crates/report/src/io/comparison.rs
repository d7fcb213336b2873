//! Two storage evaluations side by side: their sheets, then the probes that both have.

use crate::comparison::differences_table;
use crate::document::{Block, Document, Finding, Item, Section};
use crate::io::tables::sheet_value;
use crate::section::caveats;
use crate::table::{Column, Table};
use crate::terminal::{BOLD, TextLook, rows};
use plimsoll_model::comparison::{Design, Verdict};
use plimsoll_model::io_comparison::{IoComparison, ProbeChange, ProbePair, SheetPair, SheetValue};
use plimsoll_model::layout::{aligned, clean};
use plimsoll_model::number::{NOTHING, counted, number, short};

/// The sentence, the sheets, the probes, then what else differs and the caveats; ends with a line break. With `colour`,
/// the sentence is bold and heads are dim; nothing else differs.
pub fn terminal(comparison: &IoComparison, look: TextLook) -> String {
    let mut blocks: Vec<Vec<String>> =
        vec![look.wrapped(&sentence(comparison)).into_iter().map(|line| look.style(BOLD, line)).collect()];
    if !comparison.sheet.is_empty() {
        blocks.push(rows(&sheet(comparison), look));
    }
    let mut measured = rows(&probes(comparison), look);
    let without = comparison.not_compared.iter().map(|of| clean(&format!("not compared: {}, {}", of.id, of.why)));
    measured.extend(missing(comparison).into_iter().chain(without).flat_map(|why| look.wrapped(&why)));
    blocks.push(measured);
    blocks.push(remarks(comparison, look));
    blocks.retain(|lines| !lines.is_empty());
    blocks.iter().map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// The report of a comparison: the sentence, the sheets, the probes, what else differs, the caveats. `generated` says
/// when and by what.
pub fn document(comparison: &IoComparison, generated: &str) -> Document {
    let (a, b) = (&comparison.a, &comparison.b);
    let not_compared = comparison.not_compared.iter().map(|of| format!("{}, {}", of.id, of.why));
    let not_compared: Vec<Item> = not_compared.map(Item::of).collect();
    let missing = missing(comparison).iter().map(|line| plimsoll_model::layout::sentence(line)).collect::<Vec<_>>();
    let mut measured = vec![Block::table("probes", probes(comparison), missing)];
    if !not_compared.is_empty() {
        measured.extend([Block::subheading("Not compared"), Block::List(not_compared)]);
    }
    let differences = differences_table(&a.name, &b.name, &comparison.differences);
    let sheets = (!comparison.sheet.is_empty()).then(|| Block::table("sheet", sheet(comparison), []));
    let compared = counted(comparison.probes.len() as f64, "probe");
    let differing = counted(comparison.differences.len() as f64, "difference");
    let found = |section: Option<Section>, found: String| section.map(|section| section.found(found));
    let sections = [
        Section::of("sheet", "The sheets", sheets.into_iter().collect()),
        found(Section::of("probes", "Probes", measured), compared),
        found(Section::of("differences", "What else differs", differences.into_iter().collect()), differing),
        caveats::section(&comparison.caveats, None, &[]),
    ];
    Document {
        title: format!("Storage: {} against {}", b.name, a.name),
        answer: sentence(comparison),
        findings: comparison
            .unpaired_because
            .iter()
            .map(|why| Finding::labelled("Not paired", format!("{why}.")))
            .collect(),
        facts: vec!["io".to_owned()],
        sections: sections.into_iter().flatten().collect(),
        generated: generated.to_owned(),
        data: serde_json::to_value(comparison).unwrap_or_default(),
    }
}

/// How many measurements certainly differ, as one plain sentence.
pub fn sentence(comparison: &IoComparison) -> String {
    let of = |verdict: Verdict| {
        let rates = comparison.probes.iter().filter_map(|probe| probe.iops.as_ref());
        rates.filter(|change| change.verdict == verdict).count()
    };
    let (a, b) = (&comparison.a, &comparison.b);
    let rounds = match comparison.design {
        Design::Paired if a.rounds == 1 => "1 pair".to_owned(),
        Design::Paired => format!("{} interleaved pairs", a.rounds),
        Design::Unpaired => format!("{} against {} rounds, not paired", b.rounds, a.rounds),
    };
    let all = comparison.probes.len();
    let (faster, slower, alike) = (of(Verdict::Higher), of(Verdict::Lower), of(Verdict::Equivalent));
    let found = match faster + slower + alike {
        0 => format!(
            "No verdict on {} against {}: {all} measurements, none with enough rounds or a clear difference",
            b.name, a.name
        ),
        _ => format!(
            "Of {all} measurements, {} is faster than {} in {faster}, slower in {slower}, equal in {alike}; the rest are unclear",
            b.name, a.name
        ),
    };
    clean(&format!("{found} ({rounds})."))
}

fn sheet(comparison: &IoComparison) -> Table {
    let lines = &comparison.sheet;
    let side = |of: fn(&SheetPair) -> &SheetValue| lines.iter().map(|line| shown(of(line))).collect();
    Table::new(vec![
        Column::words("sheet", lines.iter().map(|line| line.key.clone()).collect()),
        Column::numbers(&comparison.a.name, "", side(|line| &line.a)),
        Column::numbers(&comparison.b.name, "", side(|line| &line.b)),
        Column::words("unit", lines.iter().map(|line| line.unit.clone()).collect()),
    ])
}

/// A value of a sheet; a warning begins with an exclamation mark.
fn shown(line: &SheetValue) -> String {
    let value = sheet_value(line.value.as_ref());
    if line.warning { format!("! {value}") } else { value }
}

type Pick = fn(&ProbePair) -> Option<&ProbeChange>;

fn probes(comparison: &IoComparison) -> Table {
    let all = &comparison.probes;
    let cells = |pick: Pick, show: fn(&ProbeChange) -> String| -> Vec<String> {
        all.iter().map(|probe| pick(probe).map_or(NOTHING.to_owned(), show)).collect()
    };
    let (rate, tail): (Pick, Pick) = (|probe| probe.iops.as_ref(), |probe| probe.p99_us.as_ref());
    let (a, b) = (&comparison.a.name, &comparison.b.name);
    Table::new(vec![
        Column::words("probe", all.iter().map(|probe| probe.id.clone()).collect()),
        Column::numbers(a, "1/s", cells(rate, |change| short(change.a))),
        Column::numbers(b, "1/s", cells(rate, |change| short(change.b))),
        Column::numbers("ratio", "", cells(rate, ratio)),
        Column::numbers("interval", "95 %", cells(rate, interval)),
        Column::words("verdict", cells(rate, |change| verdict(change).to_owned())),
        Column::words(
            "p99 of",
            all.iter().map(|probe| probe.kind.map_or(String::new(), |kind| kind.to_string())).collect(),
        ),
        Column::numbers(a, "µs", cells(tail, |change| short(change.a))),
        Column::numbers(b, "µs", cells(tail, |change| short(change.b))),
        Column::numbers("ratio", "", cells(tail, ratio)),
        Column::numbers("interval", "95 %", cells(tail, interval)),
    ])
}

fn ratio(change: &ProbeChange) -> String {
    number(1.0 + change.change.value, 2)
}

fn interval(change: &ProbeChange) -> String {
    change
        .change
        .interval()
        .map_or(NOTHING.to_owned(), |(low, high)| format!("{}–{}", number(1.0 + low, 2), number(1.0 + high, 2)))
}

/// The verdict on the rate of b.
fn verdict(change: &ProbeChange) -> &'static str {
    match change.verdict {
        Verdict::Higher => "faster",
        Verdict::Lower => "slower",
        Verdict::Equivalent => "alike",
        Verdict::Unclear => "unclear",
    }
}

/// Why there are no intervals, each reason once.
fn missing(comparison: &IoComparison) -> Vec<String> {
    let changes = comparison.probes.iter().flat_map(|probe| [&probe.iops, &probe.p99_us]).flatten();
    let mut reasons: Vec<String> = Vec::new();
    for why in changes.filter_map(|change| change.change.missing.as_ref()) {
        let text = clean(&format!("no interval: {why}"));
        if !reasons.contains(&text) {
            reasons.push(text);
        }
    }
    reasons
}

fn remarks(comparison: &IoComparison, look: TextLook) -> Vec<String> {
    let mut lines: Vec<String> = comparison
        .unpaired_because
        .iter()
        .flat_map(|why| look.wrapped(&clean(&format!("not paired: {why}"))))
        .collect();
    if !comparison.differences.is_empty() {
        let value = |value: &Option<String>| value.as_deref().map_or("not known".to_owned(), clean);
        let head = format!("what else differs\t{}\t{}", clean(&comparison.a.name), clean(&comparison.b.name));
        let each = comparison
            .differences
            .iter()
            .map(|of| format!("  {}\t{}\t{}", clean(&of.what), value(&of.a), value(&of.b)));
        let table: Vec<String> = std::iter::once(head).chain(each).collect();
        lines.extend(aligned(&table.join("\n")).lines().map(str::to_owned));
    }
    let caveat = |of: &plimsoll_model::Caveat| clean(&format!("caveat {}: {}", of.code, of.message));
    lines.extend(comparison.caveats.iter().flat_map(|of| look.wrapped(&caveat(of))));
    lines
}
