//! What a search found.

use super::rounds::Rounds;
use super::search::{SearchedTrial, Winner};
use super::tried::{ValuedTrial, mean, of_today};
use super::{OtherLoad, Part, TuneSchedule};
use crate::stage::Stage;
use plimsoll_model::tune::{TuneConclusion, TuneElsewhere};
use plimsoll_model::{Estimate, Metric};
use plimsoll_plan::lab::space::Levels;
use plimsoll_stats::comparison::noise_floor;

/// A trial of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedConfiguration {
    /// `today`, `arm/NAME` or its number.
    pub label: String,
    pub levels: Levels,
    /// Against the mean of today's configuration, as a share; none if it failed or missed what has to hold.
    pub gain: Option<f64>,
    pub why: Option<String>,
}

/// What one setting of the winner is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// Its place in the space.
    pub place: usize,
    /// Of the winner against itself without it, as a share; none without a pair.
    pub change: Option<Estimate>,
    pub is_dropped: bool,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTune {
    pub metric: Metric,
    pub floor: Option<Estimate>,
    pub tried: Vec<TriedConfiguration>,
    pub winner: Option<Winner>,
    /// The winner against today's configuration.
    pub confirmation: Option<Estimate>,
    /// Rounds of that, and in how many of them the winner failed or missed what has to hold.
    pub confirming: usize,
    pub missed: usize,
    /// Today's configuration itself misses what has to hold.
    pub misses_today: bool,
    pub worths: Vec<Worth>,
    /// What is left of it without what brings nothing, and that against today's configuration; none unless that was confirmed.
    pub rest: Option<(Levels, Option<Estimate>)>,
    /// What is kept of it against today's configuration under other loads.
    pub elsewhere: Vec<TuneElsewhere>,
    pub conclusion: TuneConclusion,
}

pub(super) fn found(of: &TuneSchedule) -> FoundTune {
    let metric = of.metric();
    let tried = of.search.tried(&of.rules, metric);
    let values = of_today(&of.space, &tried);
    let reference = mean(&values);
    let told = |(trial, tried): (&SearchedTrial, &ValuedTrial)| TriedConfiguration {
        label: trial.label.clone(),
        levels: tried.levels.clone(),
        gain: tried.value.filter(|_| !values.is_empty()).map(|value| (value - reference).exp_m1()),
        why: trial.outcome.why.clone(),
    };
    let rest = of.confirmed_rest().filter(|_| of.is_confirmed());
    // It may be idle in what is left, without having been put back itself.
    let is_dropped =
        |place: usize| of.winner.iter().zip(&rest).any(|(winner, rest)| rest[place] != winner.levels[place]);
    let worth = |place: &usize| Worth { place: *place, change: of.worth(*place), is_dropped: is_dropped(*place) };
    let conclusion = match (of.has_next(), &of.winner) {
        (true, _) => TuneConclusion::Open,
        (false, None) => TuneConclusion::Nothing,
        (false, Some(_)) if of.is_confirmed() => TuneConclusion::Confirmed,
        (false, Some(_)) => TuneConclusion::NotConfirmed,
    };
    FoundTune {
        metric,
        floor: noise_floor(&values.iter().map(|value| value.exp()).collect::<Vec<_>>()).ok(),
        tried: of.search.trials().iter().zip(&tried).map(told).collect(),
        confirmation: of.gain(Part::Confirmation),
        confirming: of.part(Part::Confirmation).map_or(0, Rounds::rounds),
        missed: of.misses(Part::Confirmation),
        misses_today: of.search.misses_today(&of.rules, metric),
        worths: of.winner.iter().flat_map(|winner| &winner.changed).map(worth).collect(),
        rest: rest.map(|rest| (rest, of.gain(Part::Rest))),
        winner: of.winner.clone(),
        elsewhere: elsewhere(of),
        conclusion,
    }
}

fn elsewhere(of: &TuneSchedule) -> Vec<TuneElsewhere> {
    let looked_at = |(place, load): (usize, OtherLoad)| {
        let part = Part::Elsewhere(place);
        of.part(part).map(|_| TuneElsewhere { load: load.name, change: of.gain(part) })
    };
    of.other_loads().into_iter().enumerate().filter_map(looked_at).collect()
}
