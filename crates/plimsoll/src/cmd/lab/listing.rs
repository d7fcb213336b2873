//! What a plan would do, for a person.

use crate::terminal::duration;
use plimsoll_lab::execute::dry_run::{DryRun, SettingPlan, VariantPlan};
use plimsoll_model::samples::Phase;
use plimsoll_report::text::clean;

pub fn text(found: &DryRun) -> String {
    let mut lines = Vec::new();
    let preset = found.preset.as_ref().map_or(String::new(), |preset| format!(", preset {preset}"));
    lines.push(format!("{}{preset}, seed {}", found.name, found.seed));
    trials(found, &mut lines);
    found.variants.iter().for_each(|variant| one_variant(variant, &mut lines));
    lines.iter().map(|line| clean(line).trim_end().to_owned() + "\n").collect()
}

fn trials(found: &DryRun, lines: &mut Vec<String>) {
    let estimate = &found.estimate;
    let up_to = if found.complete { "" } else { "up to " };
    lines.push(format!(
        "{up_to}{} trials, about {}, about {} MB of disk; nothing was started",
        estimate.trials,
        duration(estimate.seconds),
        estimate.bytes.div_ceil(1_000_000)
    ));
    let phases = estimate.phases.iter().filter(|(_, seconds)| *seconds > 0.0);
    let phases: Vec<String> =
        phases.map(|(phase, seconds)| format!("{} {}", name(*phase), duration(*seconds))).collect();
    lines.push(format!("a trial, about: {}", phases.join(", ")));
    lines.push(String::new());
    for trial in &found.trials {
        lines.push(format!("{:5}  {:32} {:14} round {}", trial.index, trial.variant, trial.point, trial.round));
    }
    if !found.complete {
        lines.push("    …  what comes next depends on what these find".to_owned());
    }
}

fn one_variant(variant: &VariantPlan, lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push(format!("{}: {}, data in {}", variant.name, variant.server, variant.storage));
    variant.settings.iter().chain(&variant.places).for_each(|setting| one_setting(setting, lines));
    for note in &variant.notes {
        lines.push(format!("  note: {note}"));
    }
    for rung in &variant.rungs {
        let refused = rung.refused.as_ref().map_or(String::new(), |why| format!(": {why}"));
        lines.push(format!("  rung {}{refused}", rung.name));
        rung.settings.iter().for_each(|setting| one_setting(setting, lines));
    }
}

fn one_setting(setting: &SettingPlan, lines: &mut Vec<String>) {
    let cost = setting.class.map_or(String::new(), |class| format!("  {class}: {}", class.words()));
    lines.push(format!("  {:40} {:24} {}{cost}", setting.name, setting.value, setting.origin));
}

/// A phase as recordings call it.
fn name(phase: Phase) -> String {
    serde_json::to_value(phase).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
