//! `plimsoll check`: the data's invariants.

use super::{CHECK_FAILED, DONE, parameters, target, workload};
use crate::args::CheckArgs;
use crate::terminal::{self, Progress};
use plimsoll_lab::check::check;
use plimsoll_lab::{LabError, OpenTarget, dataset};
use plimsoll_server::Home;

pub fn run(args: CheckArgs) -> anyhow::Result<u8> {
    let kind = workload(&args.workload)?;
    parameters(kind, &args.params.0, None)?;
    let spec = target::spec(&args.target, &format!("plimsoll check {}", kind.name()))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let marker = match target.enter_database()? {
        true => dataset::marker(&mut target.control, kind.dataset_family())?,
        false => None,
    };
    let parameters = parameters(kind, &args.params.0, marker.as_ref().map(|marker| &marker.description))?;
    let findings = check(&mut target, kind, &parameters, &mut progress);
    progress.clear();
    let findings = findings?;
    let broken = findings.iter().filter(|finding| !finding.holds).count();
    if args.json {
        let document =
            serde_json::json!({ "schema_version": 1, "workload": kind.name(), "checks": findings, "broken": broken });
        terminal::result(&serde_json::to_string_pretty(&document)?)?;
    } else {
        let line = |finding: &plimsoll_lab::check::Finding| match &finding.found {
            None => format!("ok      {}\n", finding.name),
            Some(found) => format!("BROKEN  {}: {found}\n", finding.name),
        };
        let lines: String = findings.iter().map(line).collect();
        terminal::result(&format!("{lines}{} checks, {broken} broken", findings.len()))?;
    }
    Ok(if broken == 0 { DONE } else { CHECK_FAILED })
}
