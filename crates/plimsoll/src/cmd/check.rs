//! `plimsoll check`: the data's invariants.

use super::{CHECK_FAILED, DONE, chosen, target};
use crate::args::CheckArgs;
use crate::terminal::{self, Progress};
use plimsoll_data::DataError;
use plimsoll_data::check;
use plimsoll_data::dataset;
use plimsoll_data::instance::put_back;
use plimsoll_data::same::{Unlike, contents, unlike};
use plimsoll_data::target::OpenTarget;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_model::number::counted;
use plimsoll_model::summary::InvariantFinding;
use plimsoll_workloads::chosen::ChosenWorkload;

pub fn run(args: CheckArgs) -> anyhow::Result<u8> {
    match (&args.same, &args.workload) {
        (Some(sides), _) => same(&args, sides),
        (None, Some(workload)) => of_workload(&args, workload),
        (None, None) => Err(LabError::Refused("give a workload, or --same A B".to_owned()).into()),
    }
}

/// Whether two databases are the same.
fn same(args: &CheckArgs, sides: &[String]) -> anyhow::Result<u8> {
    if let Some((name, _)) = args.params.0.first() {
        return Err(LabError::Refused(format!("--{name} with --same: it is for workloads")).into());
    }
    let mut specs = Vec::new();
    for (place, side) in ["first", "second"].iter().zip(sides) {
        if args.target.ask_password {
            terminal::note(&format!("of the {place} target:"));
            terminal::settle();
        }
        specs.push(target::spec_of(&args.target, Some(side), "plimsoll check --same")?);
    }
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut all = Vec::new();
    for spec in &specs {
        let mut target = OpenTarget::open(spec, &home, &mut progress)?;
        all.push(contents(&mut target, &mut progress)?);
        target::close(target, &mut progress);
    }
    progress.clear();
    let [a, b] = &all[..] else { return Err(LabError::Refused("--same compares two targets".to_owned()).into()) };
    let unlike = unlike(a, b);
    let has_views = a.keys().any(|object| object.starts_with("view "));
    match args.json {
        true => terminal::json(&serde_json::json!({ "schema_version": 1, "objects": a.len(), "unlike": unlike }))?,
        false => terminal::result(&in_words(a.len(), has_views, &unlike))?,
    }
    Ok(if unlike.is_empty() { DONE } else { CHECK_FAILED })
}

/// What differs, a line each, and the answer. What views say is not compared: each vendor writes them anew.
fn in_words(objects: usize, has_views: bool, unlike: &[Unlike]) -> String {
    let lines: String = unlike.iter().map(|of| format!("{}\n", of.in_words())).collect();
    let answer = match unlike.len() {
        0 => {
            let views = if has_views { "; what views say is not compared" } else { "" };
            format!("the same: {}, with all rows{views}", counted(objects as f64, "object"))
        }
        differences => format!("not the same: {}", counted(differences as f64, "difference")),
    };
    format!("{lines}{answer}")
}

fn of_workload(args: &CheckArgs, workload: &str) -> anyhow::Result<u8> {
    // What is wrong in any case is refused before anything is started.
    let typed = ChosenWorkload::before_data(workload, &args.params.0)?;
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
    let found = findings(&mut target, &chosen, usize::from(args.threads), &mut progress)?;
    target::close(target, &mut progress);
    show(name, &found, args.json)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_with_views_are_the_same_but_for_what_those_say() {
        assert_eq!(in_words(3, false, &[]), "the same: 3 objects, with all rows");
        assert_eq!(in_words(3, true, &[]), "the same: 3 objects, with all rows; what views say is not compared");
    }
}
