//! The answer, and what stands directly below it.

use super::places::{self, agreed};
use crate::comparison::{interval_in_full, metric, percent, signed_percent};
use crate::document::Finding;
use crate::format::{counted, load, short};
use crate::section::caveats;
use crate::subject::Recorded;
use crate::text::sentence;
use plimsoll_model::comparison::{Row, Verdict};
use plimsoll_model::lab::{LabSummary, VariantComparison};

/// More comparisons than these are told as one.
const MOST_TOLD: usize = 2;

/// The answer in one sentence: that of the lab, but of many variants the best one.
pub fn answer(summary: &LabSummary) -> String {
    let compared: Vec<(&VariantComparison, &Row)> =
        summary.comparisons.iter().filter_map(|of| Some((of, of.rows.first()?))).collect();
    match compared.len() > MOST_TOLD && summary.ladders.is_empty() && summary.load_lines.is_empty() {
        true => best_of(summary, &compared),
        false => summary.headline.clone(),
    }
}

/// The variant that is surely better than the first by most, and what became of the others.
fn best_of(summary: &LabSummary, compared: &[(&VariantComparison, &Row)]) -> String {
    let better = |row: &Row| if row.metric.more_is_better() { Verdict::Higher } else { Verdict::Lower };
    let is_sure = |row: &Row| matches!(row.verdict, Verdict::Higher | Verdict::Lower);
    let faster: Vec<_> = compared.iter().filter(|(_, row)| row.verdict == better(row)).collect();
    let slower = compared.iter().filter(|(_, row)| is_sure(row) && row.verdict != better(row)).count();
    let by = |row: &Row| if row.metric.more_is_better() { row.change.value } else { -row.change.value };
    let first = compared.first().map_or("the first", |(of, _)| of.a.as_str());
    let all = compared.len();
    let unclear = all - faster.len() - slower;
    let rest = format!(
        "of {all} others better than {first}: {}, worse: {slower}, not shown to differ: {unclear}",
        faster.len()
    );
    let text = match faster.iter().max_by(|(_, a), (_, b)| by(a).total_cmp(&by(b))) {
        Some((of, row)) => {
            let change = format!("{} ({})", signed_percent(row.change.value), interval_in_full(&row.change));
            let unlike = of.unlike.as_ref().map(|unlike| format!(", but not as safe: {unlike}")).unwrap_or_default();
            format!("{} is best: {}, {change} against {first}{unlike}; {rest}", of.b, rates(row))
        }
        None => format!("No variant is shown to be better than {first}: {rest}"),
    };
    match summary.interrupted {
        true => format!(
            "{text}; interrupted after {}.",
            counted((summary.trials.done + summary.trials.failed) as f64, "trial")
        ),
        false => format!("{text}."),
    }
}

/// `1,300 against 1,000 transactions/s at 64 connections`.
fn rates(row: &Row) -> String {
    let at = row
        .connections
        .map_or("over all load points".to_owned(), |connections| format!("at {}", load(connections, row.rate_offered)));
    format!("{} against {} {} {at}", short(row.b), short(row.a), metric(row.metric))
}

/// How far it came, what limited each variant, how sure that is, what speaks against it, and what is missing: each a
/// sentence, most after a label.
pub fn findings(recorded: &Recorded, summary: &LabSummary) -> Vec<Finding> {
    let mut findings: Vec<Finding> = recorded.state.iter().map(|state| Finding::of(sentence(state))).collect();
    findings.extend(limits(recorded, summary));
    findings.extend(how_sure(summary));
    let doubted = recorded.corroboration.iter().filter(|of| !of.corroborated);
    findings.extend(doubted.map(|of| Finding::labelled(format!("{} against {}", of.b, of.a), &of.sentence)));
    findings.extend(caveats::findings(&recorded.missing));
    findings
}

/// What limited each variant where it carried most; variants of which the same is said stand together.
fn limits(recorded: &Recorded, summary: &LabSummary) -> Vec<Finding> {
    let mut told: Vec<(Vec<String>, String)> = Vec::new();
    for group in places::best_of_variants(recorded, summary) {
        let Some(agreed) = agreed(&group) else { continue };
        let text = format!("{}{}", agreed.diagnosis.sentence, agreed.how_many());
        let base = agreed.trial.base.clone();
        match told.iter_mut().find(|(_, known)| *known == text) {
            Some((bases, _)) => bases.push(base),
            None => told.push((vec![base], text)),
        }
    }
    let is_only = told.len() == 1;
    let words = |(bases, text): (Vec<String>, String)| match is_only {
        true => Finding::labelled("What limited it", text),
        false => Finding::labelled(format!("What limited {}", bases.join(", ")), text),
    };
    told.into_iter().map(words).collect()
}

/// How many rounds it stands on, and by what two of them differ without any reason.
fn how_sure(summary: &LabSummary) -> Option<Finding> {
    let rounds = summary.cells.iter().map(|cell| cell.rounds).min().filter(|rounds| *rounds > 0);
    let of_variants = summary.comparisons.iter().find_map(|of| Some((&of.a, of.floor.as_ref()?)));
    let floor = of_variants.or_else(|| summary.ladders.iter().find_map(|of| Some((&of.variant, of.floor.as_ref()?))));
    let rounds = rounds.map(|rounds| format!("{} of each", counted(rounds as f64, "round")));
    let floor = floor.map(|(of, floor)| {
        format!("two trials of {of} differ by up to {} in 19 of 20 cases without any reason", percent(floor.value))
    });
    let known: Vec<String> = rounds.into_iter().chain(floor).collect();
    (!known.is_empty()).then(|| Finding::labelled("How sure", sentence(&known.join("; "))))
}

/// The variants of the plan in the order in which they came first.
pub fn bases(recorded: &Recorded) -> Vec<&str> {
    let mut bases: Vec<&str> = Vec::new();
    for trial in &recorded.trials {
        if !bases.contains(&trial.base.as_str()) {
            bases.push(&trial.base);
        }
    }
    bases
}
