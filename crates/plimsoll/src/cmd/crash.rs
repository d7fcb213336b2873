//! `plimsoll crash`: what a server loses by faults under load, counted beside what its settings bring.

use super::lab::{option_file, resumed, tell_end, tell_failures, tell_kept};
use super::report::{recorded, tell_page};
use super::run::random_seed;
use super::{CHECK_FAILED, DONE, drafted, write_whole};
use crate::args::CrashArgs;
use crate::terminal::{self, Progress};
use anyhow::Context;
use plimsoll_analysis::find::latest;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::execute::resume::plan_to_repeat;
use plimsoll_lab::execute::{Finished, execute};
use plimsoll_lab::options::Options;
use plimsoll_lanes::spec::Spec;
use plimsoll_model::crash::FaultNeeds;
use plimsoll_model::number::counted;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::file::draft::{DraftAsks, OF_CRASH, PlanDraft};
use plimsoll_plan::lab::file::{self, PlanChoices};
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::lab::{CrashRules, PlannedFault, TrialRules};
use plimsoll_record::read;
use plimsoll_report::lab;
use std::path::Path;
use std::time::Duration;

/// Of the load without a fault.
const WARMUP: &str = "2s";
/// What is measured is what a crash costs; that others keep the machine busy does not change it.
const WAIT_QUIET: Duration = Duration::ZERO;
/// Where data are that can lose their power, and where those that a storage server has.
const LANE: &str = "ext4";
const NETWORK_LANE: &str = "nfs-files";
const VOLATILE: &str = "device=volatile";

pub fn run(args: &CrashArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let plan = match (&args.repeat, args.trial) {
        (Some(recording), Some(trial)) => again(&home, args, recording, trial)?,
        _ => {
            let (draft, seed) = (draft(args)?, args.seed.unwrap_or_else(random_seed));
            let choices = PlanChoices { seed, ..PlanChoices::default() };
            let plan = file::read(OF_CRASH, &draft.text(), choices, &|name| option_file(Path::new(name)))?;
            if let Some(path) = &args.plan {
                let text = draft.text_alone(args.own.server.as_deref(), seed);
                write_whole(path, text).with_context(|| format!("the plan cannot be written: {}", path.display()))?;
                terminal::note(&format!("written: {}", path.display()));
                return Ok(DONE);
            }
            plan
        }
    };
    let plan = match &args.own.server {
        Some(server) => plan.on(server),
        None => plan,
    };
    let options = Options {
        allow_commands: args.own.allow_commands,
        given: Given { server: args.own.server.clone(), ..Given::default() },
        holder: "plimsoll crash".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        threads: 2,
        wait_quiet: WAIT_QUIET,
        ..Options::default()
    };
    terminal::note(&format!("{}, seed {}", plan.title.as_ref().unwrap_or(&plan.name), plan.seed));
    let mut progress = Progress::new(0)?;
    let finished = execute(&home, &plan, &options, &mut progress);
    progress.clear();
    show(args, finished?)
}

/// The plan of a recording with one of its crash trials alone.
fn again(home: &Home, args: &CrashArgs, recording: &str, number: u32) -> anyhow::Result<LabPlan> {
    if let Some((name, _)) = args.params.0.first() {
        let problem = format!("--{name} cannot go with --repeat: the trial has its workload");
        return Err(LabError::Refused(problem).into());
    }
    let listing = read::list(&home.recordings()).map_err(LabError::from)?;
    let view = read::open(&latest(&listing, recording).map_err(LabError::from)?).map_err(LabError::from)?;
    let refused = |why: &str| LabError::Refused(format!("{}, trial {number}: {why}", view.directory.display()));
    let trial = view.trials.iter().find(|trial| trial.facts.index == number);
    let trial = trial.ok_or_else(|| refused(&format!("accepted is 1 to {}", view.trials.len())))?;
    let planned = trial.facts.load().and_then(|load| load.trial.as_ref());
    let crash = trial.outcome.as_ref().and_then(|outcome| outcome.crash.as_ref());
    let (Some(planned), Some(crash)) = (planned, crash) else {
        return Err(refused("it is no crash trial that came to its end; `plimsoll report` lists those that did").into());
    };
    let fault = planned.fault.ok_or_else(|| refused("it is recorded without its fault"))?;
    let plan = plan_to_repeat(&view.directory)?;
    let rules = plan.crash.clone().ok_or_else(|| refused("the plan has no faults"))?;
    let again = PlannedFault { after_commits: Some(crash.after_commits), load_seed: Some(planned.seed), ..fault };
    let crash = CrashRules {
        faults: vec![fault.kind],
        trials: args.trials,
        keep: args.keep || rules.keep,
        again: Some(again),
        ..rules
    };
    let allow = [&plan.trials.allow[..], &args.allow].concat();
    let trials = TrialRules { rounds: 0, stopping: None, allow, ..plan.trials.clone() };
    let title = format!("trial {number} of {} again", plan.title.as_ref().unwrap_or(&plan.name));
    Ok(LabPlan { variants: vec![planned.variant.clone()], crash: Some(crash), trials, title: Some(title), ..plan })
}

/// The plan that the arguments ask for.
fn draft(args: &CrashArgs) -> anyhow::Result<PlanDraft> {
    let faults: Vec<&str> = args.faults.iter().map(|fault| fault.words()).collect();
    Ok(PlanDraft {
        name: drafted::name("crash", &args.workload),
        title: format!(
            "{} under {} at {}",
            faults.join(", "),
            args.workload,
            counted(f64::from(args.connections), "connection")
        ),
        config_file: drafted::config_file(args.own.config_file.as_ref())?,
        config: drafted::settings(&args.own.set)?,
        lane: lane(args)?,
        workload: drafted::without_script(&args.workload, &args.params),
        connections: usize::from(args.connections),
        warmup: WARMUP.to_owned(),
        measure_seconds: args.time.as_secs_f64(),
        noisy_host: true,
        allow: args.allow.clone(),
        asks: DraftAsks::Crash(CrashRules {
            faults: args.faults.clone(),
            trials: args.trials,
            load_seconds: args.load.as_secs_f64(),
            keep: args.keep,
            again: None,
        }),
    })
}

/// The lane of the data, with a device that can lose its power if a fault needs one.
fn lane(args: &CrashArgs) -> Result<Option<String>, LabError> {
    let needs = |needed: FaultNeeds| args.faults.iter().any(|fault| fault.needs() == needed);
    let is_network = needs(FaultNeeds::Network) || needs(FaultNeeds::StorageServer);
    let is_volatile = needs(FaultNeeds::Device) || needs(FaultNeeds::StorageServer);
    let named = match &args.lane {
        None if is_network => NETWORK_LANE,
        None if is_volatile => LANE,
        None => return Ok(None),
        Some(name) => name,
    };
    let has_it = Spec::parse(named)?.is_volatile || !is_volatile;
    Ok(Some(if has_it { named.to_owned() } else { format!("{named},{VOLATILE}") }))
}

fn show(args: &CrashArgs, finished: Finished) -> anyhow::Result<u8> {
    let Finished { summary, recording, ended, failed, goes_on, .. } = finished;
    let printed = match args.json {
        true => terminal::json(&summary),
        false => terminal::styled(&lab::terminal(&summary, terminal::look())),
    };
    tell_failures(&failed, summary.trials.done + summary.trials.failed);
    let is_broken = summary.crashes.iter().any(|cell| cell.breaks_its_promise());
    let permission = if args.own.allow_commands { " --allow-commands" } else { "" };
    let again = goes_on.then(|| resumed("plimsoll lab", &recording, args.own.server.as_deref()) + permission);
    let code = if failed.is_empty() && !is_broken { DONE } else { CHECK_FAILED };
    let code = tell_end(ended.as_ref(), code, again.as_deref());
    terminal::note(&format!("recording: {}", recording.display()));
    tell_kept(&summary, &recording);
    match recorded(&recording) {
        Ok(recorded) => tell_page(&recording, &recorded),
        Err(error) => terminal::note(&format!("the recording cannot be read: {error:#}")),
    }
    printed?;
    Ok(code)
}
