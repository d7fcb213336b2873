//! `plimsoll check`: the data's invariants.

use super::{CHECK_FAILED, DONE, chosen, target};
use crate::args::CheckArgs;
use crate::terminal::{self, Progress};
use plimsoll_data::DataError;
use plimsoll_data::check;
use plimsoll_data::dataset;
use plimsoll_data::instance::put_back;
use plimsoll_data::target::OpenTarget;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_model::summary::InvariantFinding;
use plimsoll_workloads::chosen::ChosenWorkload;

pub fn run(args: CheckArgs) -> anyhow::Result<u8> {
    // What is wrong in any case is refused before anything is started.
    let typed = ChosenWorkload::before_data(&args.workload, &args.params.0)?;
    let name = typed.name();
    let spec = target::spec(&args.target, &format!("plimsoll check {name}"))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    put_back(&mut target)?;
    let marker = match target.enter_database()? {
        true => dataset::marker(&mut target.control, typed.family())?,
        false => None,
    };
    let chosen = chosen(name, &args.params.0, marker.as_ref())?;
    show(name, &findings(&mut target, &chosen, usize::from(args.threads), &mut progress)?, args.json)
}

/// Checks every invariant of the workload's data, over `threads` connections.
pub fn findings(
    target: &mut OpenTarget,
    chosen: &ChosenWorkload,
    threads: usize,
    progress: &mut Progress,
) -> Result<Vec<InvariantFinding>, DataError> {
    let findings = check::findings(target, chosen, threads, progress);
    progress.clear();
    findings
}

/// Prints the findings; the exit code says whether any is broken.
fn show(workload: &str, findings: &[InvariantFinding], json: bool) -> anyhow::Result<u8> {
    let (broken, skipped) = counts(findings);
    if json {
        let document = serde_json::json!({
            "schema_version": 1, "workload": workload, "checks": findings, "broken": broken, "skipped": skipped,
        });
        terminal::json(&document)?;
    } else {
        terminal::result(&listed(findings))?;
    }
    Ok(if broken == 0 { DONE } else { CHECK_FAILED })
}

/// How many are broken, and how many were skipped.
fn counts(findings: &[InvariantFinding]) -> (usize, usize) {
    let broken = findings.iter().filter(|finding| !finding.holds).count();
    (broken, findings.iter().filter(|finding| finding.skipped.is_some()).count())
}

/// One line for each, and their numbers.
pub fn listed(findings: &[InvariantFinding]) -> String {
    let line = |finding: &InvariantFinding| match (&finding.found, &finding.skipped) {
        (Some(found), _) => format!("BROKEN  {}: {found}\n", finding.name),
        (None, Some(why)) => format!("skipped {}: {why}\n", finding.name),
        (None, None) => format!("ok      {}\n", finding.name),
    };
    let lines: String = findings.iter().map(line).collect();
    let (broken, skipped) = counts(findings);
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    format!("{lines}{} checks, {broken} broken{skipped}", findings.len())
}
