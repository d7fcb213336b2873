//! The answer of a lab, and what stands directly below it.

use super::peaks;
use super::places::{self, Agreed, agreed};
use crate::comparison::{interval_in_full, metric};
use crate::document::Finding;
use crate::section::caveats;
use crate::section::limit::words;
use crate::subject::Recorded;
use plimsoll_model::comparison::{Row, Verdict};
use plimsoll_model::lab::{LabSummary, TrialCounts, VariantComparison};
use plimsoll_model::layout::sentence;
use plimsoll_model::number::{counted, short};
use plimsoll_model::number::{percent, signed_percent};
use plimsoll_model::stopping::MAY_BE_CARRIED_OVER;

/// More comparisons than this are summed up in one.
const MOST_TOLD: usize = 2;
/// With more than this, all against the same variant, the answer is the best one.
const MOST_EACH: usize = 4;
/// At most this many sentences say what limited the variants.
const MOST_LIMITS: usize = 5;

/// A comparison of two variants, and its row over all load points.
type Compared<'a> = (&'a VariantComparison, &'a Row);

/// The answer in one sentence: the lab's own; for several variants the verdict on each; for many the best one; for
/// sweeps whose variants are not shown to differ, their shapes first.
pub fn answer(summary: &LabSummary) -> String {
    let compared: Vec<Compared<'_>> =
        summary.comparisons.iter().filter_map(|of| Some((of, of.rows.first()?))).collect();
    let is_grid = summary.ladders.is_empty() && summary.load_lines.is_empty();
    let is_sure = compared.is_empty() || compared.iter().any(|(_, row)| row.verdict != Verdict::Unclear);
    if let Some(peaks) = peaks::sentence(summary).filter(|_| is_grid && !is_sure) {
        let differ = (compared.len() <= MOST_EACH).then(|| differences(&compared)).filter(|told| !told.is_empty());
        return whole(summary, [Some(peaks), differ].into_iter().flatten().collect::<Vec<_>>().join("; "));
    }
    if !is_grid || compared.len() <= MOST_TOLD {
        return summary.headline.clone();
    }
    let of_one = compared.windows(2).all(|pair| pair[0].0.a == pair[1].0.a);
    let text = match compared.as_slice() {
        all if of_one && all.len() > MOST_EACH => best_of(all),
        [first, ..] if of_one => format!("Against {}: {}", measured(first), listed(&compared, |of| of.b.as_str())),
        all => differences(all),
    };
    whole(summary, text)
}

fn differences(compared: &[Compared<'_>]) -> String {
    of_members(compared).unwrap_or_else(|| compared.iter().map(change).collect::<Vec<_>>().join("; "))
}

/// `fast against slow: +12.0 % (+10.1 % to +14.0 %)`, with what a reader has to know before believing it.
fn change(compared: &Compared<'_>) -> String {
    let (of, _) = compared;
    format!("{} against {}: {}", of.b, of.a, told(compared))
}

/// `+12.0 % (+10.1 % to +14.0 %)`, and what a reader has to know before believing it.
pub(super) fn told(compared: &Compared<'_>) -> String {
    let (of, row) = compared;
    let sure = row.change.interval().map_or("no interval".to_owned(), |_| interval_in_full(&row.change));
    let change = format!("{} ({sure})", signed_percent(row.change.value));
    let doubt = match row.verdict {
        Verdict::Higher | Verdict::Lower => "",
        Verdict::Equivalent => ", no difference",
        Verdict::Unclear if row.change.missing.as_deref() == Some(MAY_BE_CARRIED_OVER) => {
            ", which the other side may have left"
        }
        Verdict::Unclear => ", which may be chance",
    };
    let unlike = of.unlike.as_ref().map(|unlike| format!(", not as safe: {unlike}")).unwrap_or_default();
    format!("{change}{doubt}{}{unlike}", of.other_work())
}

/// `nfs −16.0 % (…); iscsi −9.0 % (…)`.
fn listed<'a>(compared: &[Compared<'a>], name: impl Fn(&'a VariantComparison) -> &'a str) -> String {
    let each = compared.iter().map(|of| format!("{} {}", name(of.0), told(of)));
    each.collect::<Vec<_>>().join("; ")
}

/// `fc, with 1,000 transactions/s at 64 connections`.
fn measured(compared: &Compared<'_>) -> String {
    let (of, row) = compared;
    format!("{}, with {} {} {}", of.a, short(row.a), metric(row.metric), at(row))
}

/// `fsync against direct: 2g +40.0 % (…); 4g +30.0 % (…)`: comparisons of the same members in several groups, together;
/// `None` if other variants are compared, too.
fn of_members(compared: &[Compared<'_>]) -> Option<String> {
    let mut members: Vec<((&str, &str), Vec<Compared<'_>>)> = Vec::new();
    for of in compared {
        let ((group, a), (of_b, b)) = (of.0.a.split_once('/')?, of.0.b.split_once('/')?);
        if group != of_b {
            return None;
        }
        match members.iter_mut().find(|(known, _)| *known == (a, b)) {
            Some((_, all)) => all.push(*of),
            None => members.push(((a, b), vec![*of])),
        }
    }
    let told = |((a, b), all): &((&str, &str), Vec<Compared<'_>>)| format!("{b} against {a}: {}", listed(all, group));
    Some(members.iter().map(told).collect::<Vec<_>>().join(". "))
}

/// `2g` of `2g/direct`.
fn group(of: &VariantComparison) -> &str {
    of.a.split_once('/').map_or("", |(group, _)| group)
}

/// The sentence, with how many trials were disturbed, since its numbers include them, and how far the lab came.
pub fn whole(summary: &LabSummary, text: String) -> String {
    let TrialCounts { done, failed, disturbed } = summary.trials;
    let trials = |number: usize| counted(number as f64, "trial");
    let disturbed = match disturbed {
        0 => String::new(),
        disturbed => format!("; other processes disturbed {disturbed} of {}", trials(done)),
    };
    let interrupted = match summary.interrupted {
        true => format!("; interrupted after {}", trials(done + failed)),
        false => String::new(),
    };
    format!("{text}{disturbed}{interrupted}.")
}

/// The variant that is certainly better than the first by the most, and a count of the others.
fn best_of(compared: &[Compared<'_>]) -> String {
    let better = |row: &Row| if row.metric.more_is_better() { Verdict::Higher } else { Verdict::Lower };
    let with = |verdict| compared.iter().filter(|(_, row)| row.verdict == verdict).count();
    let faster: Vec<_> = compared.iter().filter(|(_, row)| row.verdict == better(row)).collect();
    let by = |row: &Row| if row.metric.more_is_better() { row.change.value } else { -row.change.value };
    let (first, equivalence) = compared.first().map_or(("the first", 0.0), |(of, _)| (of.a.as_str(), of.equivalence));
    let rest = format!(
        "of {} others, better than {first}: {}, worse: {}, equal within {}: {}, too close to tell: {}",
        compared.len(),
        faster.len(),
        with(Verdict::Higher) + with(Verdict::Lower) - faster.len(),
        percent(equivalence),
        with(Verdict::Equivalent),
        with(Verdict::Unclear),
    );
    match faster.iter().max_by(|(_, a), (_, b)| by(a).total_cmp(&by(b))) {
        Some((of, row)) => {
            let change = format!("{} ({})", signed_percent(row.change.value), interval_in_full(&row.change));
            let unlike = of.unlike.as_ref().map(|unlike| format!(", but not as safe: {unlike}")).unwrap_or_default();
            let work = of.other_work();
            format!("{} is best: {}, {change} against {first}{work}{unlike}; {rest}", of.b, rates(row))
        }
        None => format!("No variant is shown to be better than {first}: {rest}"),
    }
}

/// `1,300 against 1,000 transactions/s at 64 connections`.
fn rates(row: &Row) -> String {
    format!("{} against {} {} {}", short(row.b), short(row.a), metric(row.metric), at(row))
}

/// `at 64 connections`.
fn at(row: &Row) -> String {
    row.load.map_or("over all load points".to_owned(), |load| format!("at {load}"))
}

/// How far the lab came, what limited each variant, how sure that is, what speaks against it, and what is missing: a
/// sentence each, most after a label.
pub fn findings(recorded: &Recorded, summary: &LabSummary) -> Vec<Finding> {
    let mut findings: Vec<Finding> = recorded.state.iter().map(|state| Finding::of(sentence(state))).collect();
    findings.extend(limits(recorded, summary));
    findings.extend(how_sure(summary));
    let doubted = recorded.corroboration.iter().filter(|of| !of.corroborated);
    findings.extend(doubted.map(|of| Finding::labelled(format!("{} against {}", of.b, of.a), &of.sentence)));
    findings.extend(caveats::findings(&recorded.missing));
    findings
}

/// What limited each variant where it carried most; variants with the same sentence share it. If that is still more
/// than a reader can take in, each bottleneck stands with its variants, and the section has the sentences.
fn limits(recorded: &Recorded, summary: &LabSummary) -> Vec<Finding> {
    let groups = places::best_of_variants(recorded, summary);
    let judged: Vec<Agreed<'_>> = groups.iter().filter_map(agreed).collect();
    let sentences = by_what_is_told(&judged, |of| format!("{}{}", of.diagnosis.sentence, of.how_many()));
    match sentences.len() {
        1 => sentences.into_iter().map(|(text, _)| Finding::labelled("What limited it", text)).collect(),
        2..=MOST_LIMITS => {
            let label = |bases: Vec<&str>| format!("What limited {}", bases.join(", "));
            sentences.into_iter().map(|(text, bases)| Finding::labelled(label(bases), text)).collect()
        }
        0 => Vec::new(),
        _ => {
            let bottlenecks = by_what_is_told(&judged, |of| words(of.diagnosis).to_owned());
            let told = bottlenecks.into_iter().map(|(words, bases)| format!("{words}: {}", bases.join(", ")));
            vec![Finding::labelled("What limited it", sentence(&told.collect::<Vec<_>>().join("; ")))]
        }
    }
}

/// The variants that share a sentence, in the order in which sentences first occur.
fn by_what_is_told<'a>(judged: &[Agreed<'a>], tell: impl Fn(&Agreed<'a>) -> String) -> Vec<(String, Vec<&'a str>)> {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for of in judged {
        let text = tell(of);
        match told.iter_mut().find(|(known, _)| *known == text) {
            Some((_, bases)) => bases.push(&of.trial.base),
            None => told.push((text, vec![&of.trial.base])),
        }
    }
    told
}

/// How many rounds it rests on, and how far two of them differ by chance.
fn how_sure(summary: &LabSummary) -> Option<Finding> {
    let rounds = summary.cells.iter().map(|cell| cell.rounds).min().filter(|rounds| *rounds > 0);
    let of_variants = summary.comparisons.iter().find_map(|of| Some((&of.a, of.floor.as_ref()?)));
    let floor = of_variants.or_else(|| summary.ladders.iter().find_map(|of| Some((&of.variant, of.floor.as_ref()?))));
    let rounds = rounds.map(|rounds| format!("{} of each", counted(rounds as f64, "round")));
    let floor = floor.map(|(of, floor)| {
        format!("by chance, two trials of {of} differ by up to {} in 19 of 20 cases", percent(floor.value))
    });
    let known: Vec<String> = rounds.into_iter().chain(floor).collect();
    (!known.is_empty()).then(|| Finding::labelled("How sure", sentence(&known.join("; "))))
}

/// The variants of the plan, in the order in which they first occur.
pub fn bases(recorded: &Recorded) -> Vec<&str> {
    let mut bases: Vec<&str> = Vec::new();
    for trial in &recorded.trials {
        if !bases.contains(&trial.base.as_str()) {
            bases.push(&trial.base);
        }
    }
    bases
}
