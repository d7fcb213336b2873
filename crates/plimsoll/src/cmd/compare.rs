//! `plimsoll compare`: two sides, each some recordings, set against each other.

use super::{CHECK_FAILED, DONE};
use crate::args::CompareArgs;
use crate::terminal;
use plimsoll_lab::LabError;
use plimsoll_lab::compare::compare;
use plimsoll_report::comparison;
use plimsoll_server::Home;

pub fn run(args: &CompareArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let found = compare(&home.recordings(), &args.a, &args.b, args.equivalent)?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&found)?,
        false => comparison::terminal(&found, terminal::colour()),
    };
    terminal::result(&text)?;
    let Some(limit) = args.fail_if_slower else { return Ok(DONE) };
    let gate = comparison::gate(&found, limit);
    terminal::note(&gate.why);
    Ok(if gate.failed { CHECK_FAILED } else { DONE })
}
