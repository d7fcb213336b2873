//! What ladders and searches have found, with their reasons in words.

use super::words::{change, quantity};
use plimsoll_model::lab::{Ladder, LadderStep, LoadLine};
use plimsoll_model::number::{counted, percent, short, signed_range};
use plimsoll_schedule::evidence::NoLine;
use plimsoll_schedule::ladder::Climbed;
use plimsoll_schedule::load_line::Sought;
use plimsoll_schedule::rung::{Bound, FEWEST_PAIRS, MeasuredChange, Pairs, Remedy, RungReason, Step};

pub fn ladder(found: Climbed) -> Ladder {
    let Climbed { variant, metric, floor, steps, gain } = found;
    Ladder { variant, metric, floor, steps: steps.into_iter().map(step).collect(), gain }
}

fn step(found: Step) -> LadderStep {
    let why = rung(&found.reason);
    let Step { rung, verdict, reason: _, change, with, without, risks, worth, stopping } = found;
    LadderStep { rung, verdict, why, change, with, without, risks, worth, stopping }
}

fn rung(reason: &RungReason) -> String {
    match reason {
        RungReason::Known(words) => words.clone(),
        RungReason::NoFloor(pairs) => {
            let why = failure(pairs, "nothing was measured");
            let planned = counted(pairs.planned as f64, "pair");
            format!("of the base against itself {} of {planned} were completed: {why}", pairs.complete)
        }
        RungReason::TooFew(pairs) => {
            let why = failure(pairs, "nothing was measured in the others");
            let planned = counted(pairs.planned as f64, "pair");
            format!("{} of {planned} were completed, and {FEWEST_PAIRS} are needed: {why}", pairs.complete)
        }
        RungReason::NoSetting { name, remark } => format!("{name} is no setting here{}", remarked(remark)),
        RungReason::NotInEffect { name, requested, effective, remark } => {
            let found = effective.as_deref().unwrap_or("not known");
            format!("{name} was set to {requested} and is {found}{}", remarked(remark))
        }
        RungReason::Costs { class, settings } => {
            let by = if settings.is_empty() { String::new() } else { format!(" by {}", settings.join(", ")) };
            format!("it {} ({class}){by}, which the plan does not allow", class.words())
        }
        RungReason::GuardWorse { guard, bound: exceeded, change } => {
            format!("{}, beyond {}; {}", changed(guard), bound(exceeded), changed(change))
        }
        RungReason::Beyond { change, bound: exceeded } => format!("{}, beyond {}", changed(change), bound(exceeded)),
        RungReason::Within { quantity: of, most, interval } => {
            let within = signed_range(*interval);
            format!("no change of {} larger than {} (90 % interval {within})", quantity(*of), percent(*most))
        }
        RungReason::Chance { change, bound: reached, remedy: by } => {
            format!("{} may be chance beside {}; {}", changed(change), bound(reached), remedy(*by))
        }
        RungReason::Refused(refusal) => refusal.to_string(),
        RungReason::CarriedOver(over) => format!("{}; longer blocks would tell", over.in_words()),
    }
}

fn failure<'a>(pairs: &'a Pairs, otherwise: &'a str) -> &'a str {
    pairs.failure.as_ref().map_or(otherwise, |failure| failure.why.as_deref().unwrap_or("no reason is recorded"))
}

fn remarked(remark: &Option<String>) -> String {
    remark.as_ref().map(|remark| format!("; {remark}")).unwrap_or_default()
}

/// `throughput +3.1 % (95 % interval +1.0 % to +5.2 %)`.
fn changed(found: &MeasuredChange) -> String {
    format!("{} {}", quantity(found.of), change(&found.by))
}

fn bound(bound: &Bound) -> String {
    let share = percent(bound.share);
    if bound.is_noise { format!("the floor of {share}") } else { share }
}

fn remedy(remedy: Remedy) -> String {
    match remedy {
        Remedy::LongerTrials => "longer trials would lower the floor".to_owned(),
        Remedy::Pairs(pairs) => format!("about {pairs} pairs would tell"),
        Remedy::None => "no number of pairs that can be run would tell".to_owned(),
    }
}

pub fn load_line(found: Sought) -> LoadLine {
    let failed = found.failure.map(|why| format!("; the last trial that failed: {why}")).unwrap_or_default();
    let (rate, why_not) = match found.rate {
        Ok(rate) => (Some(rate), None),
        Err(reason) => (None, Some(format!("{}{failed}", no_line(&reason)))),
    };
    LoadLine {
        variant: found.variant,
        connections: found.connections,
        objective: found.objective.text,
        limit_ms: Some(found.objective.limit_ms),
        rate,
        why_not,
        noisy_host: found.noisy_host,
        tried: found.tried,
    }
}

fn no_line(reason: &NoLine) -> String {
    match reason {
        NoLine::NothingMeasured => "nothing was measured".to_owned(),
        NoLine::CutShort => "the search did not finish".to_owned(),
        NoLine::ClosedLoopFailed(why) => format!("the closed loop that shows where to look failed: {why}"),
        NoLine::NothingCompleted => {
            "no transaction was completed in the closed loop that shows where to look".to_owned()
        }
        NoLine::BusyMachine { left_out, trials } => format!(
            "the machine was busy with other work in {left_out} of {}, and the rest does not enclose a line; a quiet \
             machine would tell",
            counted(*trials as f64, "trial")
        ),
        NoLine::Contradiction { missed, kept } => format!(
            "{}/s was kept though {}/s, far below it, was missed, so something else than the rate decided; longer \
             trials on a quiet machine would tell",
            short(*kept),
            short(*missed)
        ),
        NoLine::Refused(refusal) => refusal.to_string(),
        NoLine::NoConfirmation => "no confirmation was run; running it again would tell".to_owned(),
        NoLine::BusyConfirmation { rate: at } => format!(
            "the machine was busy with other work while {}/s was being confirmed; a quiet machine would tell",
            short(*at)
        ),
        NoLine::NotConfirmed { rate: at, kept, trials } => format!(
            "{}/s was not confirmed, {kept} of {} met it; longer trials or more rounds would tell",
            short(*at),
            counted(*trials as f64, "confirmation")
        ),
        NoLine::TooWide { low, high } => format!(
            "it lies somewhere between {}/s and {}/s, too wide to name a rate; longer trials would tell",
            short(*low),
            short(*high)
        ),
    }
}
