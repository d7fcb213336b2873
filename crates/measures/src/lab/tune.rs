//! What a search has found, in words.

use super::words::{change, quantity};
use plimsoll_model::number::{counted, percent, signed_percent};
use plimsoll_model::tune::{FoundSetting, SearchedSetting, TriedSettings, TuneConclusion, TuneSummary};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::space::{Dimension, Levels, SearchSpace};
use plimsoll_schedule::Quantity;
use plimsoll_schedule::tune::{FoundTune, TriedConfiguration};

/// `None` if the plan has no search.
pub fn summary(plan: &LabPlan, found: FoundTune) -> Option<TuneSummary> {
    let rules = plan.tune.as_ref()?;
    let space = rules.space.as_ref()?;
    Some(TuneSummary {
        variant: plan.variants.first()?.name.clone(),
        metric: found.metric,
        conclusion: found.conclusion,
        decide: rules.decide,
        floor: found.floor.clone(),
        searched: space.dimensions.iter().map(searched).collect(),
        left_out: space.left_out.clone(),
        tried: found.tried.iter().map(|tried| told(space, tried)).collect(),
        believed: found.winner.as_ref().map(|winner| winner.believed),
        confirmed: found.confirmation.clone(),
        found: found_settings(space, &found),
        kept: found.rest.and_then(|(_, gain)| gain),
    })
}

fn searched(dimension: &Dimension) -> SearchedSetting {
    SearchedSetting {
        name: dimension.name.clone(),
        values: dimension.in_words(),
        today: dimension.text(dimension.today),
    }
}

fn told(space: &SearchSpace, tried: &TriedConfiguration) -> TriedSettings {
    TriedSettings {
        label: tried.label.clone(),
        changed: changed(space, &tried.levels),
        gain: tried.gain,
        why: tried.why.clone(),
    }
}

fn changed(space: &SearchSpace, levels: &Levels) -> Vec<(String, String)> {
    space.changed(levels).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn found_settings(space: &SearchSpace, found: &FoundTune) -> Vec<FoundSetting> {
    let Some(winner) = &found.winner else { return Vec::new() };
    let setting = |place: &usize| {
        let dimension = space.dimensions.get(*place)?;
        let worth = found.worths.iter().find(|worth| worth.place == *place);
        Some(FoundSetting {
            name: dimension.name.clone(),
            value: dimension.text(*winner.levels.get(*place)?)?,
            today: dimension.text(dimension.today),
            worth: worth.and_then(|worth| worth.change.clone()),
            is_kept: !worth.is_some_and(|worth| worth.is_dropped),
        })
    };
    winner.changed.iter().filter_map(setting).collect()
}

/// `+38.0 % throughput (95 % interval +31.0 % to +45.0 %) on data that the search has not seen; two settings bring it: …`.
pub fn sentence(tune: &TuneSummary) -> String {
    let what = quantity(Quantity::Of(tune.metric));
    let trials = counted(tune.tried.len() as f64, "trial");
    match tune.conclusion {
        TuneConclusion::Open => format!("The search of {} has not come to its end: {trials} so far", tune.variant),
        TuneConclusion::Nothing => {
            format!(
                "Nothing in {trials} is believed to better {what} of {} by more than {}",
                tune.variant,
                percent(tune.decide)
            )
        }
        TuneConclusion::NotConfirmed => {
            let believed = tune.believed.map(|gain| format!(" of {}", signed_percent(gain))).unwrap_or_default();
            let shown =
                tune.confirmed.as_ref().map(|gain| format!(", which shows {}", change(gain))).unwrap_or_default();
            format!(
                "The gain in {what}{believed} that the search of {} found was not confirmed on other data{shown}",
                tune.variant
            )
        }
        TuneConclusion::Confirmed => confirmed(tune, what),
    }
}

fn confirmed(tune: &TuneSummary, what: &str) -> String {
    let listed = |settings: Vec<&FoundSetting>| {
        let all = settings.into_iter().map(|setting| format!("{} = {}", setting.name, setting.value));
        all.collect::<Vec<_>>().join(", ")
    };
    let gain = tune.kept.as_ref().or(tune.confirmed.as_ref()).map(change).unwrap_or_default();
    let kept: Vec<&FoundSetting> = tune.found.iter().filter(|setting| setting.is_kept).collect();
    let is_known = kept.len() == 1 || kept.iter().any(|setting| setting.worth.is_some());
    let bring = match (is_known, kept.len()) {
        (true, 1) => format!("one setting brings it: {}", listed(kept)),
        (true, several) => format!("{several} settings bring it: {}", listed(kept)),
        (false, several) => format!(
            "which of its {several} settings bring it was not measured, a longer time would tell: {}",
            listed(kept)
        ),
    };
    format!("On {} {gain} {what}, confirmed on other data; {bring}", tune.variant)
}
