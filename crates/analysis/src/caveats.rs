//! What the samples of trials say against what they measured, told with the caveats of the whole.

use plimsoll_model::Caveat;
use plimsoll_model::number::counted;
use plimsoll_report::subject::{Recorded, Subject, Trial};

/// So many load points or trials are named after the first.
const NAMED: usize = 4;

/// With the caveats of its trials among those of its summary: each code once.
pub(super) fn with_those_of_trials(mut recorded: Recorded) -> Recorded {
    let trials = &recorded.trials;
    match &mut recorded.subject {
        Subject::Run(summary) => summary.caveats.extend(together(trials, of_run)),
        Subject::Lab(summary) => summary.caveats.extend(together(trials, of_lab)),
        Subject::Storage(_) => {}
    }
    recorded
}

/// Each code once, with what the first trial says that has it.
fn together(trials: &[Trial], told: fn(&[Trial], &[&Trial], &Caveat) -> String) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = Vec::new();
    for caveat in trials.iter().flat_map(|trial| &trial.caveats) {
        if found.iter().any(|of| of.code == caveat.code) {
            continue;
        }
        let has = |trial: &&Trial| trial.caveats.iter().any(|of| of.code == caveat.code);
        let all: Vec<&Trial> = trials.iter().filter(has).collect();
        found.push(Caveat::new(&caveat.code, told(trials, &all, caveat)));
    }
    found
}

/// The trials of a run are its load points.
fn of_run(_: &[Trial], all: &[&Trial], first: &Caveat) -> String {
    let others = all.iter().skip(1).map(|trial| trial.load.to_string());
    format!("{}{}", first.message, also("at", others.collect()))
}

fn of_lab(trials: &[Trial], all: &[&Trial], first: &Caveat) -> String {
    let name = |trial: &&Trial| format!("{} at {} in round {}", trial.variant, trial.load, trial.round);
    let begins = all.first().map_or(String::new(), |trial| format!(", first in {}", name(trial)));
    let others = all.iter().skip(1).map(name);
    let of = counted(trials.len() as f64, "trial");
    format!("in {} of {of}{begins}: {}{}", all.len(), first.message, also("in", others.collect()))
}

/// `; also at 16 connections, 64 connections, 3 more`.
fn also(preposition: &str, mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    if names.is_empty() { String::new() } else { format!("; also {preposition} {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_and_the_rest_are_counted() {
        let names = |many: usize| (1..=many).map(|n| format!("c{n}")).collect::<Vec<String>>();
        assert_eq!(also("at", names(0)), "");
        assert_eq!(also("at", names(1)), "; also at c1");
        assert_eq!(also("in", names(4)), "; also in c1, c2, c3, c4");
        assert_eq!(also("in", names(6)), "; also in c1, c2, c3, c4, 2 more");
    }
}
