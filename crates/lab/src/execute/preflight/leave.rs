//! What only a person may allow: commands of the plan; and what only a person can do.

use super::refused;
use crate::error::LabError;
use crate::execute::Options;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Action, Restore, Where};
use std::io::IsTerminal;

/// Something to be done outside of the database.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub at: Where,
    /// What it belongs to: the `before` of a variant, say.
    pub of: String,
    pub action: Action,
}

impl Asked {
    fn is_command(&self) -> bool {
        matches!(self.action, Action::Command(_))
    }
}

/// Refuses commands without leave, and prompts without anybody to answer them.
///
/// # Errors
/// [`LabError::Plan`] with the line of the first.
pub fn check(plan: &LabPlan, options: &Options) -> Result<(), LabError> {
    let asked = asked(plan);
    if let Some(Asked { at, of, .. }) = asked.iter().find(|asked| asked.is_command() && !options.allow_commands) {
        let problem = format!("{of} runs commands of the plan with `sh -c`; read them, then say --allow-commands");
        return Err(refused(at.clone(), problem));
    }
    match asked.iter().find(|asked| !asked.is_command() && !std::io::stdin().is_terminal()) {
        Some(Asked { at, of, .. }) => {
            let problem = format!("{of} waits for a person, and standard input is no terminal; start it in one");
            Err(refused(at.clone(), problem))
        }
        None => Ok(()),
    }
}

/// Everything that the plan wants done outside of the database: that of `restore` and of collectors, then that of
/// variants and rungs.
pub fn asked(plan: &LabPlan) -> Vec<Asked> {
    let mut all = Vec::new();
    if let Restore::Commands(commands) = &plan.procedure.restore {
        let at = plan.variants.first().map(|variant| variant.at("procedure.restore")).unwrap_or_default();
        all.extend(commands.iter().map(|text| one(at.clone(), "`restore`", Action::Command(text.clone()))));
    }
    all.extend(plan.collectors.iter().map(|collector| {
        let of = format!("collector `{}`", collector.name);
        one(collector.at.clone(), &of, Action::Command(collector.command.clone()))
    }));
    for variant in &plan.variants {
        for (key, actions) in [("before", &variant.before), ("after", &variant.after)] {
            let of = format!("`{key}` of `{}`", variant.name);
            all.extend(actions.iter().map(|action| one(variant.at(key), &of, action.clone())));
        }
    }
    for rung in &plan.rungs {
        for (key, actions) in [("before", &rung.change.before), ("after", &rung.change.after)] {
            let at = rung.change.lines.get(key).unwrap_or(&rung.at);
            let of = format!("`{key}` of rung `{}`", rung.name);
            all.extend(actions.iter().flatten().map(|action| one(at.clone(), &of, action.clone())));
        }
    }
    all
}

fn one(at: Where, of: &str, action: Action) -> Asked {
    Asked { at, of: of.to_owned(), action }
}
