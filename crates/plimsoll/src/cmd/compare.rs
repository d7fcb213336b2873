//! `plimsoll compare`: compares two sides, each one or more recordings.

use super::DONE;
use super::gate::{self, GateOutcome, Gated};
use crate::args::CompareArgs;
use crate::terminal;
use plimsoll_analysis::compare::{Compared, compare};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_measures::gate::slower;
use plimsoll_model::comparison::Comparison;
use plimsoll_model::gate::GateFinding;
use plimsoll_model::io_comparison::IoComparison;
use plimsoll_report::{comparison, io};

pub fn run(args: &CompareArgs) -> anyhow::Result<u8> {
    gate::check(&args.verdict, "--fail-if-slower", args.fail_if_slower.is_some())?;
    let home = Home::from_env().map_err(LabError::from)?;
    let read = || compare(&home.recordings(), &args.a, &args.b, args.equivalent).map_err(LabError::from);
    let found = match terminal::patiently(&format!("reading {} and {}", args.a, args.b), read)? {
        Compared::Runs(found) => found,
        Compared::Storage(found) => return storage(args, &found),
    };
    let findings: Vec<GateFinding> = args.fail_if_slower.iter().map(|limit| judge(&found, *limit)).collect();
    let printed = match args.json {
        true => terminal::json(&Gated { document: &found, gate: &findings }),
        false => terminal::styled(&comparison::terminal(&found, terminal::look())),
    };
    let answer = comparison::sentence(&found);
    let judged = GateOutcome { suite: "plimsoll compare", answer, findings, ended_early: None };
    let code = gate::conclude(&args.verdict, &judged, DONE)?;
    printed?;
    Ok(code)
}

fn judge(found: &Comparison, limit: f64) -> GateFinding {
    slower(&found.a.name, &found.b.name, &found.unlike_work, &found.headline, found.switchback.as_ref(), limit)
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
