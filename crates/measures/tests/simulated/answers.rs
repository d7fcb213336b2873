//! Answers of many simulated experiments, on quiet and on noisy machines: none says more than its own table has.

use super::headline::says_each_side_its_own;
use super::ladder::{ladder_plan, simulated};
use super::lines::{disturbed, queue, seeking};
use super::*;
use plimsoll_measures::lab::rate_with_interval;
use plimsoll_measures::lab::summary;
use plimsoll_model::comparison::Verdict;
use plimsoll_model::lab::{Cell, LabSummary, Ladder, LoadLine, RungVerdict, Tried, VariantComparison};
use plimsoll_model::number::short;
use plimsoll_report::lab::answer;

/// From a machine on which nothing else runs to one on which two trials have little in common.
const DEVIATIONS: [f64; 4] = [0.0, 0.01, 0.1, 0.6];
/// A rate kept that far above one that was missed is not the rate's doing.
const FAR: f64 = 2.7;

fn at(connections: usize) -> LoadPoint {
    LoadPoint { connections, rate: None }
}

/// The headline of the lab and the answer of its report.
fn answers(found: &LabSummary) -> [String; 2] {
    [found.headline.clone(), answer(found)]
}

/// What a sentence says faster or slower has an interval that says so, and no side has the other's number.
fn holds_of_comparison(text: &str, of: &VariantComparison) {
    let VariantComparison { a, b, rows, .. } = of;
    let row = &rows[0];
    let (low, high) = row.change.interval().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let better = if row.metric.more_is_better() { low > 0.0 } else { high < 0.0 };
    let worse = if row.metric.more_is_better() { high < 0.0 } else { low > 0.0 };
    for (claim, is_so) in [
        (format!("{b} is "), better || worse),
        (
            format!("No difference larger than {} between {a} and {b} ", percent_of(of)),
            row.verdict == Verdict::Equivalent,
        ),
        (format!("{b} is best: "), better),
    ] {
        assert!(!text.contains(&claim) || is_so, "{claim}: {row:?}\n{text}");
    }
    assert!(!text.contains(&format!("Against {a} {b} ")) || better || worse, "{text}");
    for sentence in text.split(". ").filter(|sentence| {
        sentence.contains(&format!("{a} and {b}"))
            || sentence.contains(&format!("Against {a} {b} "))
            || sentence.contains(&format!("on {b} against {a}"))
    }) {
        says_each_side_its_own(sentence, (a, b), row);
    }
}

fn percent_of(of: &VariantComparison) -> String {
    plimsoll_model::number::percent(of.equivalence)
}

/// Where a variant carries most is where its cells say so, with their number.
fn holds_of_cells(text: &str, cells: &[Cell]) {
    for of_variant in cells.chunk_by(|a, b| a.variant == b.variant) {
        let known = of_variant.iter().filter_map(|cell| Some((cell, cell.transactions_per_second.as_ref()?)));
        let Some((cell, most)) = known.max_by(|a, b| a.1.value.total_cmp(&b.1.value)) else { continue };
        let (name, connections) = (&cell.variant, cell.load.connections);
        if text.contains(&format!("{name} carries most ")) {
            let told =
                format!("{name} carries most at {connections} connections ({} transactions/s", short(most.value));
            assert!(text.contains(&told), "{told}\n{text}");
        }
        if text.contains(&format!(" {name} does ")) {
            let does = rate_with_interval(most, "transactions per second");
            let told = format!("At {connections} connections {name} does {does}");
            assert!(text.contains(&told), "{told}\n{text}");
        }
    }
}

#[test]
fn grids_and_sweeps_say_what_their_cells_and_intervals_do() {
    let mut told = [0; 3];
    for seed in 0..240u32 {
        let variants = [1, 2, 3, 6][seed as usize % 4];
        let points: Vec<LoadPoint> =
            [2, 8, 16, 64, 256][..[1, 5][seed as usize / 4 % 2]].iter().map(|n| at(*n)).collect();
        let names = ["small", "large", "fast", "slow", "other", "sixth"];
        let plan =
            plan(seed.into(), 1 + seed % 5, names[..variants].iter().map(|name| variant(name, &points)).collect());
        let deviation = DEVIATIONS[seed as usize / 8 % 4];
        let all = run(&plan, &Prospects::new(), |trial| {
            let place = names.iter().position(|name| *name == trial.label).unwrap_or(0) as f64;
            let load = trial.point.connections as f64;
            let carried =
                1000.0 * (1.0 + 0.08 * place * f64::from(seed % 3)) * load / (load + 8.0 + load * load / 500.0);
            reached(carried * noise(seed.into(), trial, deviation), 5.0)
        });
        let found = summary(&plan, &Prospects::new(), &all);
        for text in answers(&found) {
            found.comparisons.iter().for_each(|of| holds_of_comparison(&text, of));
            holds_of_cells(&text, &found.cells);
            told[0] += u32::from(text.contains("Against ") || text.contains(" is best: "));
            told[1] += u32::from(text.contains("No difference") || text.contains("No verdict"));
            told[2] += u32::from(text.contains(" carries most ") || text.contains(" does "));
        }
    }
    assert!(told.iter().all(|times| *times >= 20), "every kind of answer: {told:?}");
}

/// A rung is kept or worse only beyond what the base differs from itself by, and the headline names those that are kept.
fn holds_of_ladder(text: &str, ladder: &Ladder) {
    let floor = ladder.floor.as_ref().map_or(0.0, |floor| floor.value).max(0.01);
    for step in &ladder.steps {
        let interval = step.change.as_ref().and_then(|change| change.interval());
        let (low, high) = interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let by_itself = step.why.starts_with("throughput ");
        match step.verdict {
            RungVerdict::Kept => assert!(low > floor, "{step:?}, floor {floor}"),
            RungVerdict::Worse if by_itself => assert!(1.0 / (1.0 + high) > 1.0 + floor, "{step:?}, floor {floor}"),
            _ => {}
        }
        let names = text.split(" kept").next().unwrap_or_default();
        let is_named = names.contains(&step.rung) && !text.contains(" none of ");
        assert_eq!(is_named, step.verdict == RungVerdict::Kept, "{}: {text}", step.rung);
    }
}

#[test]
fn ladders_keep_and_refuse_only_beyond_their_floor() {
    let (mut kept, mut worse) = (0, 0);
    for seed in 0..120 {
        let plan = ladder_plan(seed, &["helpful", "useless", "harmful"]);
        let all = run(&plan, &Prospects::new(), simulated(seed, DEVIATIONS[seed as usize % 4]));
        let found = summary(&plan, &Prospects::new(), &all);
        holds_of_ladder(&found.headline, &found.ladders[0]);
        let with = |verdict| found.ladders[0].steps.iter().filter(|step| step.verdict == verdict).count();
        (kept, worse) = (kept + with(RungVerdict::Kept), worse + with(RungVerdict::Worse));
    }
    assert!(kept >= 50 && worse >= 50, "{kept} kept, {worse} worse");
}

/// A rate is an answer only if it was confirmed, where nothing else ran, and nothing speaks against it.
fn holds_of_line(text: &str, line: &LoadLine) {
    let start = format!("With {} {} carries ", line.objective, line.variant);
    let Some(found) = &line.rate else {
        assert!(
            !text.contains(&start) && text.contains(&format!("No load line found for {} ", line.variant)),
            "{text}"
        );
        assert!(line.why_not.is_some(), "{line:?}");
        return;
    };
    // Of a line that was not enclosed, only the end that is known.
    let told = match (found.low, found.high) {
        (Some(low), None) => format!("at least {} transactions per second", plimsoll_model::number::short(low)),
        (None, Some(high)) => format!("at most {} transactions per second", plimsoll_model::number::short(high)),
        _ => rate_with_interval(found, "transactions per second"),
    };
    assert!(text.contains(&format!("{start}{told} at {} connections", line.connections)), "{told}\n{text}");
    let counts = || line.tried.iter().filter(|tried| !tried.disturbed);
    let confirmations = counts().filter(|tried| tried.confirmation);
    let (kept, missed): (Vec<&Tried>, Vec<&Tried>) = confirmations.partition(|tried| tried.kept);
    assert!(!kept.is_empty() && kept.len() >= missed.len(), "{line:#?}");
    let highest = counts().filter(|tried| tried.kept).map(|tried| tried.rate).fold(0.0, f64::max);
    let lowest = counts().filter(|tried| !tried.kept).map(|tried| tried.rate).fold(f64::INFINITY, f64::min);
    assert!(highest < FAR * lowest, "{line:#?}");
    assert!(found.low.is_none_or(|low| low <= highest), "{line:#?}");
}

#[test]
fn searches_state_no_rate_that_was_not_confirmed() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..120u64 {
        let mut plan = seeking(seed, &["small", "large"][..1 + seed as usize % 2]);
        plan.trials.rounds = 1 + seed as u32 / 2 % 3;
        // From trial to trial the server is as fast as the machine lets it be, which is seen or not.
        let (deviation, busy) = (DEVIATIONS[seed as usize / 4 % 4], [0.0, 0.3, 0.9][seed as usize % 3]);
        let all = run(&plan, &Prospects::new(), |trial| {
            let served = if trial.label == "large" { 900.0 } else { 500.0 };
            let outcome = queue(seed, trial, served * noise(seed + 9, trial, deviation).min(1.0));
            let is_busy = Rng::new(seed, 17, trial.index.into()).unit() < busy;
            if is_busy { disturbed(outcome) } else { outcome }
        });
        let all_said = summary(&plan, &Prospects::new(), &all);
        for line in &all_said.load_lines {
            answers(&all_said).iter().for_each(|text| holds_of_line(text, line));
            found += u32::from(line.rate.is_some());
            none += u32::from(line.rate.is_none());
        }
        // Before its end a search has no answer.
        let half = summary(&plan, &Prospects::new(), &all[..all.len() / 2]);
        assert!(half.load_lines.iter().all(|line| line.rate.is_none()), "{}", half.headline);
    }
    assert!(found >= 40 && none >= 40, "{found} found, {none} not");
}
