//! What a plan would do, as text.

use plimsoll_lab::execute::dry_run::{ActionPlan, DryRun, SettingPlan, VariantPlan};
use plimsoll_lab::preflight::permission::words;
use plimsoll_model::number::{counted, duration};
use plimsoll_model::samples::Phase;
use plimsoll_model::text::escaped;
use plimsoll_model::tune::by_reason;

/// Characters of the widest column.
const WIDEST: usize = 48;

pub fn text(found: &DryRun) -> String {
    let mut lines = Vec::new();
    let preset = found.preset.as_ref().map_or(String::new(), |preset| format!(", preset {preset}"));
    lines.push(format!("{}{preset}, seed {}", found.name, found.seed));
    trials(found, &mut lines);
    actions(found, &mut lines);
    search(found, &mut lines);
    found.variants.iter().for_each(|variant| one_variant(variant, &mut lines));
    lines.iter().map(|line| escaped(line).trim_end().to_owned() + "\n").collect()
}

fn trials(found: &DryRun, lines: &mut Vec<String>) {
    let estimate = &found.estimate;
    let up_to = if found.complete { "" } else { "up to " };
    lines.push(format!(
        "{up_to}{}, about {}, about {} MB of disk; nothing was started",
        counted(estimate.trials as f64, "trial"),
        duration(estimate.seconds),
        estimate.bytes.div_ceil(1_000_000)
    ));
    let phases = estimate.phases.iter().filter(|(_, seconds)| *seconds > 0.0);
    let phases: Vec<String> =
        phases.map(|(phase, seconds)| format!("{} {}", name(*phase), duration(*seconds))).collect();
    lines.push(format!("each trial, about: {}", phases.join(", ")));
    reach(found, lines);
    lines.push(String::new());
    let widths = [
        widest(found.trials.iter().map(|trial| &trial.variant)),
        widest(found.trials.iter().map(|trial| &trial.point)),
    ];
    for trial in &found.trials {
        let [variant, point] = widths;
        lines.push(format!(
            "{:5}  {:variant$}  {:point$}  round {}",
            trial.index, trial.variant, trial.point, trial.round
        ));
    }
    if !found.complete {
        lines.push("    …  what comes next depends on the results of these".to_owned());
    }
}

/// What the rounds would show, where a recording tells.
fn reach(found: &DryRun, lines: &mut Vec<String>) {
    let Some(reach) = &found.reach else { return };
    lines.push(String::new());
    lines.push(format!("judging by {} that were recorded:", counted(reach.trials as f64, "trial")));
    lines.extend(reach.in_words().into_iter().map(|line| format!("  {line}")));
}

/// What a search may try, what bounds it here, and what it leaves alone.
fn search(found: &DryRun, lines: &mut Vec<String>) {
    let Some(space) = &found.search else { return };
    lines.push(String::new());
    lines.push(format!("{} searched:", counted(space.dimensions.len() as f64, "setting")));
    let name = widest(space.dimensions.iter().map(|of| &of.name));
    for of in &space.dimensions {
        let is_set = if of.written.is_some() { "today" } else { "by default" };
        let today = of.todays().map_or_else(|| "not set".to_owned(), |value| format!("{is_set} {value}"));
        let cap = of.cap.as_ref().map(|cap| format!("; at most {cap}")).unwrap_or_default();
        let needs = of.needs.as_ref().map(|need| format!("; only if {} fits", space.dimensions[need.of].name));
        lines.push(format!("  {:name$}  {}  ({today}{cap}{})", of.name, of.in_words(), needs.unwrap_or_default()));
    }
    lines.extend(found.arms.iter().map(|arm| {
        let settings: Vec<String> = arm.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("  in any case: {}: {}", arm.name, settings.join(", "))
    }));
    lines.extend(space.limits.iter().map(|limit| format!("  always: {}", limit.why)));
    if !space.left_out.is_empty() {
        lines.push(format!("{} left alone:", counted(space.left_out.len() as f64, "setting")));
        lines.extend(
            by_reason(&space.left_out).into_iter().map(|(why, names)| format!("  {why}: {}", names.join(", "))),
        );
    }
}

/// What is done outside the database: what a user has to read before giving --allow-commands.
fn actions(found: &DryRun, lines: &mut Vec<String>) {
    if found.actions.is_empty() {
        return;
    }
    lines.push(String::new());
    for ActionPlan { origin, of, what } in &found.actions {
        let permission = if what.needs_permission() { ", with --allow-commands" } else { "" };
        let (words, value) = words(what);
        lines.push(format!("{origin}: {of} {words}{permission}: {value}"));
    }
}

fn one_variant(variant: &VariantPlan, lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push(format!("{}: {}, data in {}", variant.name, variant.server, variant.storage));
    let own: Vec<&SettingPlan> = variant.settings.iter().chain(&variant.places).collect();
    settings(&own, "  ", lines);
    for note in &variant.notes {
        lines.push(format!("  note: {note}"));
    }
    for rung in &variant.rungs {
        let refused = rung.refused.as_ref().map_or(String::new(), |why| format!(": {why}"));
        lines.push(format!("  rung {}{refused}", rung.name));
        settings(&rung.settings.iter().collect::<Vec<_>>(), "    ", lines);
    }
}

fn settings(all: &[&SettingPlan], indent: &str, lines: &mut Vec<String>) {
    let name = widest(all.iter().map(|setting| &setting.name));
    let value = widest(all.iter().map(|setting| &setting.value));
    for setting in all {
        let cost = setting.class.map_or(String::new(), |class| format!("  {class}: {}", class.words()));
        lines.push(format!("{indent}{:name$}  {:value$}  {}{cost}", setting.name, setting.value, setting.origin));
    }
}

/// The width of a column; a text that is far too long for one does not count.
fn widest<'t>(texts: impl Iterator<Item = &'t String>) -> usize {
    texts.map(|text| text.chars().count()).filter(|width| *width <= WIDEST).max().unwrap_or(0)
}

/// The name of a phase in recordings.
fn name(phase: Phase) -> String {
    serde_json::to_value(phase).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
