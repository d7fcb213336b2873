//! Storage trials: their answers, the matrix of what was published, and the sheet and figures of each variant.

use super::answer::bases;
use crate::document::{Block, Section};
use crate::figure::requests::{self, Request};
use crate::io;
use crate::subject::Recorded;
use plimsoll_model::io::{IoSummary, Probe};
use std::fmt::Display;

/// The sections of a storage evaluation that a lab shows for each variant.
const SHOWN: [&str; 5] = ["sheet", "depth", "commits", "cache", "burst"];

/// What a plan calls the rate of a measurement.
const RATE: &str = "requests_per_second";

/// The last evaluation of a variant.
fn last<'a>(recorded: &'a Recorded, base: &str) -> Option<&'a IoSummary> {
    recorded.trials.iter().rev().filter(|trial| trial.base == base).find_map(|trial| trial.io.as_deref())
}

/// The answer of each variant's evaluation, in one sentence; `None` for trials of servers.
pub fn answer(recorded: &Recorded) -> Option<String> {
    let answers =
        bases(recorded).into_iter().filter_map(|base| Some((base, io::answer::answer(last(recorded, base)?))));
    told(answers).map(|told| format!("{told}."))
}

/// `write-back: Good for at most …; write-through: …`, without the full stop: the answers of evaluations, each after
/// the name of its variant; `None` if there are none.
pub fn told(answers: impl IntoIterator<Item = (impl Display, String)>) -> Option<String> {
    let named = |(name, answer): (_, String)| format!("{name}: {}", answer.trim_end_matches('.'));
    let each: Vec<String> = answers.into_iter().map(named).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// All measurements of a matrix, if its source printed some of them.
pub fn matrix(recorded: &Recorded) -> Option<Section> {
    let printed = |base: &str, probe: &Probe| {
        let mut all = recorded.published.iter().map(|of| &of.printed);
        let is_of = |name: &Option<String>, id: &str| name.as_deref() == Some(id);
        all.find(|of| of.metric == RATE && is_of(&of.variant, base) && is_of(&of.probe, &probe.id))?.value
    };
    // The name of the group need not be repeated in each name.
    let request = |base: &str, probe: &Probe| Request {
        group: base.to_owned(),
        name: probe.name.replace(&format!(", {base}"), ""),
        value: io::tables::iops(probe),
        published: printed(base, probe),
    };
    let of_base =
        |base| last(recorded, base).into_iter().flat_map(move |io| io.probes.iter().map(move |of| (base, of)));
    let all: Vec<Request> =
        bases(recorded).into_iter().flat_map(of_base).map(|(base, probe)| request(base, probe)).collect();
    let caption = "Each measurement of the last round beside what the source printed, under its name there; the sets of the \
                   source may have been larger. Strokes are 95 % intervals. Other hardware gives other rates: what can \
                   be expected to hold is what more threads and more files bring.";
    let any = all.iter().any(|of| of.published.is_some());
    let figure = requests::draw("requests", &all, caption).filter(|_| any)?;
    Section::of("matrix", "Requests per second", vec![Block::Figure(figure)])
}

/// The last evaluation of each variant, with the variant's name before its headings and ids.
pub fn sections(recorded: &Recorded) -> Vec<Section> {
    let of = |(place, base): (usize, &str)| -> Vec<Section> {
        let Some(summary) = last(recorded, base) else { return Vec::new() };
        let of_variant = io::document(recorded, summary).sections.into_iter();
        of_variant
            .filter(|section| SHOWN.contains(&section.id.as_str()))
            .map(|section| named(section, place, base))
            .collect()
    };
    bases(recorded).into_iter().enumerate().flat_map(of).collect()
}

fn named(section: Section, place: usize, variant: &str) -> Section {
    let unique = |id: &str| format!("{id}-{}", place + 1);
    let block = |block: Block| match block {
        Block::Figure(mut figure) => {
            figure.id = unique(&figure.id);
            Block::Figure(figure)
        }
        other => other,
    };
    Section {
        id: unique(&section.id),
        heading: format!("{variant}: {}", section.heading),
        found: section.found,
        blocks: section.blocks.into_iter().map(block).collect(),
    }
}
