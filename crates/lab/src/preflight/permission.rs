//! What only a person may permit, as [`LabPlan::asks`] lists it, and what only a person can do.

use crate::error::LabError;
use crate::error::refused;
use crate::options::Options;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::permission::{Ask, Asked};
use std::io::IsTerminal;

/// This many lines of what the plan asks for are shown; the rest is counted.
const SHOWN: usize = 200;
/// Characters of a value that are shown: whoever permits a command has to see all of it, but nobody reads a book here.
const WIDEST: usize = 2_000;

/// Refuses what needs permission and has none, and prompts without anybody to answer them. It judges a plan by its
/// values, wherever they were read, so a resumed recording passes the same check as a file.
///
/// # Errors
/// [`LabError::Refused`] with a line for everything that needs permission; [`LabError::Plan`] with the line of the
/// first prompt.
pub fn check(plan: &LabPlan, options: &Options) -> Result<(), LabError> {
    let asked = plan.asks(&options.given);
    let needing: Vec<&Asked> = asked.iter().filter(|asked| asked.what.needs_permission()).collect();
    if !needing.is_empty() && !options.allow_commands {
        return Err(LabError::Refused(all_of(&needing)));
    }
    match asked.iter().find(|asked| !asked.what.needs_permission() && !std::io::stdin().is_terminal()) {
        Some(Asked { at, of, .. }) => {
            let problem = format!("{of} waits for a person, but standard input is not a terminal; start it in one");
            Err(refused(at.clone(), problem))
        }
        None => Ok(()),
    }
}

fn all_of(needing: &[&Asked]) -> String {
    let things = if needing.len() == 1 { "1 thing" } else { &format!("{} things", needing.len()) };
    let mut text = format!("the plan wants {things} that need permission; read them, then add --allow-commands");
    for asked in needing.iter().take(SHOWN) {
        text += &format!("\n  {}", line(asked));
    }
    if needing.len() > SHOWN {
        text += &format!("\n  and {} more, which --dry-run lists", needing.len() - SHOWN);
    }
    text
}

/// `plan.toml, line 7: collector `array` runs with sh -c: read-array`.
fn line(Asked { at, of, what }: &Asked) -> String {
    let (words, value) = words(what);
    let mut shown: String = value.escape_debug().take(WIDEST).collect();
    if value.escape_debug().nth(WIDEST).is_some() {
        shown.push_str("… and more, which --dry-run shows");
    }
    format!("{at}: {of} {words}: {shown}")
}

/// What would be done, and with what.
pub fn words(what: &Ask) -> (&'static str, &str) {
    match what {
        Ask::Command(text) => ("runs with `sh -c`", text),
        Ask::Prompt(text) => ("waits for a person", text),
        Ask::Script(path) => ("runs this Lua script, which may do whatever you may", path),
        Ask::Program(path) => ("runs as a server this program, which --server does not name", path),
        Ask::Variable(text) => ("sets in the environment of a server", text),
        Ask::Broker(address) => ("comes with a key to this broker, which --fleet does not name", address),
        Ask::Setting(text) => ("gets a setting that may load code or name a path", text),
    }
}
