//! What only a person may allow: commands of the plan; and what only a person can do.

use super::refused;
use crate::error::LabError;
use crate::execute::Options;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Action, Restore, Where};
use std::io::IsTerminal;

/// Refuses commands without leave, and prompts without anybody to answer them.
pub(super) fn check(plan: &LabPlan, options: &Options) -> Result<(), LabError> {
    let found = actions(plan);
    let command = commands(plan).or_else(|| first(&found, |action| matches!(action, Action::Command(_))));
    if let Some((at, what)) = command.filter(|_| !options.allow_commands) {
        let problem = format!("{what} runs commands of the plan with `sh -c`; read them, then say --allow-commands");
        return Err(refused(at, problem));
    }
    let prompt = first(&found, |action| matches!(action, Action::Prompt(_)));
    match prompt.filter(|_| !std::io::stdin().is_terminal()) {
        Some((at, what)) => {
            Err(refused(at, format!("{what} waits for a person, and standard input is no terminal; start it in one")))
        }
        None => Ok(()),
    }
}

/// Everything that is to be done outside of the database: where it stands and what it belongs to.
fn actions(plan: &LabPlan) -> Vec<(Where, String, &Action)> {
    let of_variants = plan.variants.iter().flat_map(|variant| {
        [("before", &variant.before), ("after", &variant.after)].into_iter().flat_map(move |(key, actions)| {
            actions.iter().map(move |action| (variant.at(key), format!("`{key}` of `{}`", variant.name), action))
        })
    });
    let of_rungs = plan.rungs.iter().flat_map(|rung| {
        [("before", &rung.change.before), ("after", &rung.change.after)].into_iter().flat_map(move |(key, actions)| {
            let at = rung.change.lines.get(key).unwrap_or(&rung.at);
            let what = format!("`{key}` of rung `{}`", rung.name);
            actions.iter().flatten().map(move |action| (at.clone(), what.clone(), action))
        })
    });
    of_variants.chain(of_rungs).collect()
}

fn first(found: &[(Where, String, &Action)], kind: impl Fn(&Action) -> bool) -> Option<(Where, String)> {
    found.iter().find(|(.., action)| kind(action)).map(|(at, what, _)| (at.clone(), what.clone()))
}

/// Commands that belong to no variant.
fn commands(plan: &LabPlan) -> Option<(Where, String)> {
    if matches!(plan.procedure.restore, Restore::Commands(_)) {
        return Some((Where::default(), format!("{}: `restore` in [procedure]", plan.file)));
    }
    plan.collectors.first().map(|collector| (collector.at.clone(), format!("collector `{}`", collector.name)))
}
