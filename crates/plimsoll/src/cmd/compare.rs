//! `plimsoll compare`: compares two sides, each one or more recordings.

use super::{CHECK_FAILED, DONE, UNDECIDED};
use crate::args::CompareArgs;
use crate::terminal;
use plimsoll_analysis::compare::{Compared, compare};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_model::io_comparison::IoComparison;
use plimsoll_report::comparison::Decision;
use plimsoll_report::{comparison, io};

pub fn run(args: &CompareArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let found = match compare(&home.recordings(), &args.a, &args.b, args.equivalent).map_err(LabError::from)? {
        Compared::Runs(found) => found,
        Compared::Storage(found) => return storage(args, &found),
    };
    match args.json {
        true => terminal::json(&found)?,
        false => terminal::styled(&comparison::terminal(&found, terminal::look()))?,
    }
    let Some(limit) = args.fail_if_slower else { return Ok(DONE) };
    let gate = comparison::gate(&found, limit);
    terminal::note(&gate.why);
    Ok(match gate.decision {
        Decision::Failed => CHECK_FAILED,
        Decision::Undecided if args.fail_if_unclear => UNDECIDED,
        Decision::Undecided | Decision::Passed => DONE,
    })
}

/// Two storage evaluations: they have no single number that a gate could rest on.
fn storage(args: &CompareArgs, found: &IoComparison) -> anyhow::Result<u8> {
    if args.fail_if_slower.is_some() {
        let why = "--fail-if-slower decides by the throughput of a workload; for storage evaluations, use the rows of \
                   `plimsoll compare --json`";
        return Err(LabError::Refused(why.to_owned()).into());
    }
    match args.json {
        true => terminal::json(found)?,
        false => terminal::styled(&io::comparison::terminal(found, terminal::look()))?,
    }
    Ok(DONE)
}
