//! What a search has found, in words.

use super::words::{change, quantity};
use plimsoll_model::layout::clean;
use plimsoll_model::number::{percent, signed_percent};
use plimsoll_model::tune::{
    FoundSetting, SearchedSetting, SettingInteraction, TriedSettings, TuneConclusion, TuneSummary,
};
use plimsoll_model::{Estimate, Metric};
use plimsoll_plan::LabPlan;
use plimsoll_plan::knowledge::classes;
use plimsoll_plan::lab::space::{Dimension, Levels, SearchSpace, SettingLevel};
use plimsoll_schedule::Quantity;
use plimsoll_schedule::tune::{FoundInteraction, FoundTune, TriedConfiguration};

/// `None` if the plan has no search.
pub fn summary(plan: &LabPlan, found: FoundTune) -> Option<TuneSummary> {
    let rules = plan.tune.as_ref()?;
    let space = rules.space.as_ref()?;
    Some(TuneSummary {
        variant: plan.variants.first()?.name.clone(),
        metric: found.metric,
        line_within: rules.line_within().map(|keep| keep.text.clone()),
        conclusion: found.conclusion,
        decide: rules.decide,
        floor: found.floor.clone(),
        searched: space.dimensions.iter().map(searched).collect(),
        left_out: space.left_out.clone(),
        tried: found.tried.iter().map(|tried| told(space, tried)).collect(),
        believed: found.winner.as_ref().map(|winner| winner.believed),
        confirmed: found.confirmation.clone(),
        confirming: found.confirming,
        missed: found.missed,
        misses_today: found.misses_today,
        is_same_data: plan.variants.first()?.workload.dataset.is_some(),
        found: found_settings(space, &found),
        elsewhere: found.elsewhere.clone(),
        interaction: found.winner.as_ref().and_then(|winner| Some(interaction(space, winner.interaction.as_ref()?))),
        kept: found.rest.and_then(|(_, gain)| gain),
    })
}

fn searched(dimension: &Dimension) -> SearchedSetting {
    SearchedSetting { name: dimension.name.clone(), values: dimension.in_words(), today: dimension.todays() }
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
        let value = dimension.text(*winner.levels.get(*place)?)?;
        Some(FoundSetting {
            costs: space.flavour.map(|flavour| classes(&dimension.name, &value, flavour)).unwrap_or_default(),
            name: dimension.name.clone(),
            value,
            today: dimension.todays(),
            worth: worth.and_then(|worth| worth.change.clone()),
            is_kept: !worth.is_some_and(|worth| worth.is_dropped),
        })
    };
    winner.changed.iter().filter_map(setting).collect()
}

fn interaction(space: &SearchSpace, of: &FoundInteraction) -> SettingInteraction {
    let texts = |place: usize, levels: &[SettingLevel]| {
        let dimension = &space.dimensions[place];
        levels.iter().map(|level| dimension.text(*level).or_else(|| dimension.todays()).unwrap_or_default()).collect()
    };
    let share = |cell: &Option<f64>| cell.map(f64::exp_m1);
    SettingInteraction {
        a: space.dimensions[of.a].name.clone(),
        b: space.dimensions[of.b].name.clone(),
        values_of_a: texts(of.a, &of.levels_of_a),
        values_of_b: texts(of.b, &of.levels_of_b),
        gains: of.gains.iter().map(|row| row.iter().map(share).collect()).collect(),
        most: of.most.exp_m1(),
    }
}

/// `On base +38.0 % (95 % interval +31.0 % to +45.0 %) throughput, confirmed on other data; 2 settings bring it: …`.
pub fn sentence(tune: &TuneSummary) -> String {
    let what = what(tune);
    let trials = tune.tried_in_words();
    let today = if tune.misses_today { "; today’s configuration misses what has to hold" } else { "" };
    match tune.conclusion {
        TuneConclusion::Open => {
            format!("The search of {} has not come to its end: {trials} so far{}{today}", tune.variant, so_far(tune))
        }
        TuneConclusion::Nothing if tune.tried.iter().all(|tried| tried.changed.is_empty()) => nothing_tried(tune),
        TuneConclusion::Nothing => {
            let decide = percent(tune.decide);
            format!(
                "Nothing in {trials} is believed to improve {what} of {} by more than {decide}{today}",
                tune.variant
            )
        }
        TuneConclusion::NotConfirmed => not_confirmed(tune, &what) + today,
        TuneConclusion::Confirmed => confirmed(tune, &what) + today,
    }
}

/// What was to become better.
fn what(tune: &TuneSummary) -> String {
    let what = quantity(Quantity::Of(tune.metric));
    tune.line_within.as_ref().map_or_else(|| what.to_owned(), |limit| format!("{what} within {limit}"))
}

/// The best that a search has seen, as long as not everything of it is known.
fn so_far(tune: &TuneSummary) -> String {
    let best = tune.best().next().filter(|(_, gain)| *gain > 0.0);
    match (tune.shown_gain(), best) {
        (Some(again), _) => {
            format!(", and what was found shows {} when it is measured again", change(&natural(tune.metric, again)))
        }
        (None, Some((_, gain))) => format!(", the best {}, which is not confirmed", natural_percent(tune.metric, gain)),
        (None, None) => String::new(),
    }
}

/// Nothing but today's configuration.
fn nothing_tried(tune: &TuneSummary) -> String {
    let failed = tune.tried.iter().find_map(|tried| tried.why.as_deref()).filter(|_| tune.floor.is_none());
    match failed {
        Some(why) => {
            format!("Today’s configuration of {} fails, so that nothing can be held against it: {why}", tune.variant)
        }
        None => format!(
            "The time of the search of {} was over before anything but today’s configuration was tried; a longer one would tell",
            tune.variant
        ),
    }
}

fn not_confirmed(tune: &TuneSummary, what: &str) -> String {
    let believed = tune.believed.map(|gain| natural_percent(tune.metric, gain)).unwrap_or_default();
    let why = match (tune.missed, &tune.confirmed) {
        (1.., _) => {
            format!("it failed or missed what has to hold in {} of {} rounds", tune.missed, tune.confirming)
        }
        (0, Some(gain)) => format!("it shows {}", change(&natural(tune.metric, gain))),
        (0, None) => "none of its trials could be measured".to_owned(),
    };
    format!(
        "What the search of {} found, believed to bring {believed} {what}, was not confirmed {}: {why}",
        tune.variant,
        tune.on_what()
    )
}

fn confirmed(tune: &TuneSummary, what: &str) -> String {
    let listed = |settings: Vec<&FoundSetting>| {
        let all = settings.into_iter().map(|setting| format!("{} = {}", setting.name, setting.value));
        all.collect::<Vec<_>>().join(", ")
    };
    let gain = tune.shown_gain().map(|gain| change(&natural(tune.metric, gain))).unwrap_or_default();
    let kept = tune.kept_settings();
    let is_shown = |setting: &&FoundSetting| {
        setting.worth.as_ref().and_then(|worth| worth.interval()).is_some_and(|(low, _)| low > 0.0)
    };
    let bring = match (kept.iter().all(is_shown) || kept.len() == 1, kept.len()) {
        (true, 1) => format!("one setting brings it: {}", listed(kept)),
        (true, several) => format!("{several} settings bring it: {}", listed(kept)),
        (false, several) => format!(
            "which of its {several} settings bring it is not known, a longer search might show it: {}",
            listed(kept)
        ),
    };
    let on = tune.on_what();
    format!("On {} {gain} {what}, confirmed {on}; {bring}; {}", tune.variant, costs_in_words(tune))
}

/// The same of a number without an interval: `−37.5 %` of a gain of 60 % where less is better.
fn natural_percent(metric: Metric, gain: f64) -> String {
    signed_percent(if metric.more_is_better() { gain } else { fall(gain) })
}

/// What of a time or a cost is left less, where it is better by a share.
fn fall(gain: f64) -> f64 {
    1.0 / (1.0 + gain) - 1.0
}

/// A gain as the change of what was measured: of times and costs, a gain is a fall.
fn natural(metric: Metric, gain: &Estimate) -> Estimate {
    if metric.more_is_better() {
        return gain.clone();
    }
    Estimate { value: fall(gain.value), low: gain.high.map(fall), high: gain.low.map(fall), ..gain.clone() }
}

/// `nothing less durable`, or what is.
fn costs_in_words(tune: &TuneSummary) -> String {
    let costly = |setting: &&FoundSetting| setting.costs.iter().any(|class| class.costs_durability());
    let cost = |setting: &FoundSetting| {
        let classes: Vec<&str> = setting.costs.iter().map(|class| class.words()).collect();
        format!("{} {}", setting.name, classes.join(" and "))
    };
    let kept = tune.kept_settings();
    let all: Vec<String> = kept.into_iter().filter(costly).map(cost).collect();
    if all.is_empty() { "nothing less durable".to_owned() } else { format!("less safe: {}", all.join("; ")) }
}

/// What was found as an option file, each line below what it is worth and what it costs; `about` says what was measured. `None`
/// unless it was confirmed.
pub fn option_file(tune: &TuneSummary, about: &str) -> Option<String> {
    let gain = tune.shown_gain().filter(|_| tune.conclusion == TuneConclusion::Confirmed)?;
    let what = what(tune);
    let mut lines = vec![
        format!("# {}", clean(about)),
        format!("# all of it together: {} {what}, confirmed {}", change(&natural(tune.metric, gain)), tune.on_what()),
        "[mysqld]".to_owned(),
    ];
    for setting in tune.kept_settings() {
        let worth = setting.worth.as_ref().map(|worth| change(&natural(tune.metric, worth)));
        let class = setting.costs.iter().max().copied().unwrap_or_default();
        let today = setting.today.as_ref().map(|today| format!(", today {today}")).unwrap_or_default();
        lines.push(match worth {
            Some(worth) => format!("# brings {worth} {what} to all of it{today}"),
            None => format!("# what it brings alone was not measured{today}"),
        });
        lines.push(format!("# class {class}: {}", class.words()));
        lines.push(format!("{} = {}", setting.name, setting.value));
    }
    Some(lines.join("\n") + "\n")
}
