//! `plimsoll run lua:FILE`: runs a script of one's own and measures it.

use super::baseline::Baseline;
use super::gate;
use super::run::{open, plan, show};
use super::target;
use crate::args::RunArgs;
use crate::terminal::{self, Progress};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::apart::look_at;
use plimsoll_lab::load_spec::{RANDOM, drawn_from};
use plimsoll_lab::planned_script::with_adapter;
use plimsoll_lab::run::run_adapted;
use plimsoll_lab::run_record::Naming;
use plimsoll_plan::Plan;
use plimsoll_record::manifest::name_of;
use plimsoll_script::Script;
use std::path::Path;

pub fn run(args: &RunArgs, path: &str) -> anyhow::Result<u8> {
    gate::check(&args.verdict, gate::LIMITS, args.has_gate())?;
    let script = read(args, Path::new(path))?;
    let spec = target::spec(&args.target, &format!("plimsoll run {}", args.workload))?;
    let random = args.params.0.iter().filter(|(name, _)| name.starts_with(RANDOM));
    let params = script.options.iter().chain(random).cloned().collect();
    let protocol = args.protocol.clone().unwrap_or_else(|| "prepared".to_owned());
    let plan = plan(args, &spec.target.describe(), params, protocol)?;
    let mut progress = Progress::new(args.report_interval)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let baseline = Baseline::find(&home, args.limits.baseline.as_deref())?;
    let remedy = ", which the script is to run in; --database names another, `plimsoll load WORKLOAD` makes one";
    let mut target = open(&spec, &home, remedy, &mut progress)?;
    terminal::note(&format!("{path} on {} {}, seed {}", target.flavour.title(), target.version, plan.seed));
    let recording = args.name.clone().unwrap_or_else(|| name_of(&stem(path)));
    let naming = Naming { recording: &recording, kind: Plan::Run, tool_version: env!("CARGO_PKG_VERSION") };
    let finished =
        with_adapter(script, |adapter| run_adapted(&mut target, &home, &plan, adapter, &naming, &mut progress));
    target::close(target, &mut progress);
    let finished = finished?;
    show(args, &plan, baseline.as_ref(), finished)
}

/// The script with its options, looked at before anything is started.
fn read(args: &RunArgs, path: &Path) -> anyhow::Result<Script> {
    let refused = |why: String| LabError::Refused(format!("the script {}: {why}", path.display()));
    if args.check {
        return Err(refused("--check is for workloads whose data Plimsoll has loaded".to_owned()).into());
    }
    let typed = args.params.0.iter().map(|(name, value)| (name, value));
    let distribution = drawn_from(typed.clone())?;
    let others = typed.filter(|(name, _)| !name.starts_with(RANDOM));
    let others = others.map(|(name, value)| (name.replace('-', "_"), value.clone()));
    let options = others.chain(args.set.iter().cloned()).collect();
    let script = Script::read(path, options, distribution).map_err(|error| refused(error.to_string()))?;
    look_at(&script).map_err(refused)?;
    Ok(script)
}

fn stem(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(|| "script".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
