//! The settings that were in effect, and what they cost in safety.

use super::places;
use crate::document::{Block, Item, Section};
use crate::section::settings;
use crate::subject::{Recorded, Trial};
use crate::table::{Column, Mark, Table};
use plimsoll_model::durability::{Class, Risks};
use plimsoll_model::lab::{LabSummary, Verification, VerificationVerdict};
use plimsoll_model::number::{NOTHING, counted};
use std::collections::BTreeSet;

/// More labels than this are counted instead of named.
const MOST_LABELS: usize = 3;

/// A verification, and the variants whose trials had it.
struct Verified<'a> {
    verification: &'a Verification,
    labels: Vec<&'a str>,
}

pub fn section(recorded: &Recorded, summary: &LabSummary) -> Option<Section> {
    let verified = verified(recorded);
    let mut blocks = Vec::new();
    if !verified.is_empty() {
        let remark = "Read back from the running server, in separate connections and in those of the load. Where the \
                      effect of a setting shows, that was checked as well.";
        blocks.push(Block::table("verifications", table(recorded, &verified), [remark.to_owned()]));
    } else if let Some(first) = recorded.trials.iter().find(|trial| !trial.settings.is_empty()) {
        blocks.push(Block::table("settings", settings::table(&first.settings), []));
    }
    let (risks, fingerprint) = (risks(recorded, summary), fingerprint(recorded, summary));
    let cost = match risks.len() {
        0 => Class::D0.words().to_owned(),
        some => format!("{} in safety", counted(some as f64, "cost")),
    };
    if fingerprint.is_some() || !risks.is_empty() {
        blocks.push(Block::subheading("What they cost in safety"));
        blocks.extend((!risks.is_empty()).then_some(Block::List(risks)));
        blocks.extend(fingerprint);
    }
    let found = match verified.len() {
        0 => cost,
        all => settings::told(all, verified.iter().filter(|of| differs(of)).count()),
    };
    Some(Section::of("settings", "Settings in effect", blocks)?.found(found))
}

/// The verifications of all trials, each different one once.
fn verified(recorded: &Recorded) -> Vec<Verified<'_>> {
    let mut all: Vec<Verified<'_>> = Vec::new();
    for trial in &recorded.trials {
        for verification in &trial.verifications {
            let label = trial.variant.as_str();
            match all.iter_mut().find(|known| is_alike(known.verification, verification)) {
                Some(known) if known.labels.contains(&label) => {}
                Some(known) => known.labels.push(label),
                None => all.push(Verified { verification, labels: vec![label] }),
            }
        }
    }
    all.sort_by_key(|of| of.verification.name.as_str());
    all
}

fn differs(of: &Verified<'_>) -> bool {
    of.verification.verdict != VerificationVerdict::InEffect
}

fn is_alike(a: &Verification, b: &Verification) -> bool {
    (&a.name, &a.requested, &a.effective, a.verdict, a.class)
        == (&b.name, &b.requested, &b.effective, b.verdict, b.class)
}

fn table(recorded: &Recorded, verified: &[Verified<'_>]) -> Table {
    let mut labels: Vec<&str> = recorded.trials.iter().map(|trial: &Trial| trial.variant.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let words = |of: &dyn Fn(&Verified<'_>) -> String| verified.iter().map(of).collect::<Vec<_>>();
    let mut columns = vec![
        Column::words("setting", words(&|of| of.verification.name.clone())),
        Column::words("requested", words(&|of| of.verification.requested.clone())),
        Column::words(
            "in effect",
            words(&|of| of.verification.effective.clone().unwrap_or_else(|| NOTHING.to_owned())),
        ),
        Column::words("verdict", words(&|of| verdict(of.verification))),
        Column::words(
            "class",
            words(&|of| format!("{}: {}", of.verification.class.name(), of.verification.class.words())),
        ),
    ];
    if labels.len() > 1 {
        columns.insert(1, Column::words("of", words(&|of| whose(&of.labels, labels.len()))));
    }
    if verified.iter().any(|of| of.verification.behaviour.is_some() || of.verification.remark.is_some()) {
        columns.push(Column::words("what it does", words(&|of| remark(of.verification))));
    }
    columns.push(Column::words("origin", words(&|of| of.verification.origin.clone())));
    let marks = verified.iter().map(|of| differs(of).then_some(Mark::Differs));
    Table { marks: marks.collect(), columns }
}

/// `fc, nfs`, `all`, `5 of 12`.
fn whose(labels: &[&str], of: usize) -> String {
    match labels.len() {
        all if all == of => "all".to_owned(),
        few if few <= MOST_LABELS => labels.join(", "),
        many => format!("{many} of {of}"),
    }
}

fn verdict(verification: &Verification) -> String {
    let words = match verification.verdict {
        VerificationVerdict::InEffect => "in effect",
        VerificationVerdict::NotApplied => "not applied",
        VerificationVerdict::Removed => "removed on this server",
    };
    words.to_owned()
}

fn remark(verification: &Verification) -> String {
    [verification.behaviour.as_deref(), verification.remark.as_deref()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

/// The settings that decide what a commit survives, as they were in effect in each variant, with the risk.
fn fingerprint(recorded: &Recorded, summary: &LabSummary) -> Option<Block> {
    let mut told: Vec<(&Trial, &Risks)> = Vec::new();
    for cell in &summary.cells {
        let is_it = |trial: &&Trial| places::variant(trial) == cell.variant && !trial.durability.is_empty();
        let is_new = told.iter().all(|(known, _)| known.base != cell.variant);
        told.extend(recorded.trials.iter().find(is_it).filter(|_| is_new).map(|trial| (trial, &cell.risks)));
    }
    let mut names: Vec<&String> = told.iter().flat_map(|(trial, _)| trial.durability.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let value =
        |trial: &Trial, name: &str| trial.durability.get(name).map_or(NOTHING, |durable| &durable.value).to_owned();
    let mut columns = vec![
        Column::words("variant", told.iter().map(|(trial, _)| trial.base.clone()).collect()),
        Column::words("what may happen", told.iter().map(|(_, risks)| in_words(risks)).collect()),
    ];
    columns.extend(
        names.iter().map(|name| Column::words(name, told.iter().map(|(trial, _)| value(trial, name)).collect())),
    );
    (!told.is_empty() && !names.is_empty()).then(|| Block::table("durability", Table::new(columns), []))
}

/// `d1: loses the last second of commits if the machine fails`.
fn in_words(risks: &Risks) -> String {
    let words: Vec<String> = risks.iter().map(|class| format!("{class}: {}", class.words())).collect();
    if words.is_empty() { Class::D0.words().to_owned() } else { words.join("; ") }
}

/// What each variant risked and by which settings, as a warning; a risk that all share stands once.
fn risks(recorded: &Recorded, summary: &LabSummary) -> Vec<Item> {
    let Some(first) = summary.cells.first() else { return Vec::new() };
    let of_all = summary.cells.iter().fold(first.risks.clone(), |common, cell| &common & &cell.risks);
    let mut told: Vec<Item> = Vec::new();
    for class in &of_all {
        let text = format!("the configuration that all variants share {}{}", class.words(), by(recorded, *class, None));
        told.push(Item { warning: true, ..Item::of(text) });
    }
    for cell in &summary.cells {
        for class in &cell.risks - &of_all {
            let text = format!("{} {}{}", cell.variant, class.words(), by(recorded, class, Some(&cell.variant)));
            let item = Item { warning: true, ..Item::of(text) };
            if !told.contains(&item) {
                told.push(item);
            }
        }
    }
    told
}

/// ` (sync_binlog = 0)`: the settings of any trial of the variant, or of all variants, with that risk.
fn by(recorded: &Recorded, class: Class, variant: Option<&str>) -> String {
    let is_of = |trial: &&Trial| match variant {
        Some(name) => places::variant(trial) == name,
        None => places::variant(trial) == trial.base,
    };
    let trials = recorded.trials.iter().filter(is_of);
    let costly = trials.flat_map(|trial| &trial.durability).filter(|(_, durable)| durable.risks.contains(&class));
    let settings: BTreeSet<String> = costly.map(|(name, durable)| format!("{name} = {}", durable.value)).collect();
    match settings.is_empty() {
        true => String::new(),
        false => format!(" ({})", settings.into_iter().collect::<Vec<_>>().join(", ")),
    }
}
