//! `plimsoll tune`: a search for better settings of a private server under a load.

use super::lab::{
    begun_with, goes_on, option_file, recording, resumed, tell_damage, tell_dry_run, tell_end, write_option_file,
};
use super::report::{recorded, tell_page};
use super::run::random_seed;
use super::{CHECK_FAILED, DONE, drafted, has_directory, write_whole};
use crate::args::TuneArgs;
use crate::terminal::{self, Progress};
use anyhow::Context;
use plimsoll_advice::measured::proposals;
use plimsoll_advice::window::LEAST_SECONDS;
use plimsoll_advice::window::seen::SeenContext;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::execute::dry_run::dry_run;
use plimsoll_lab::execute::resume::plan_of;
use plimsoll_lab::execute::{Finished, execute};
use plimsoll_lab::options::Options;
use plimsoll_lab::preflight::Machine;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_model::number::counted;
use plimsoll_model::text::shell_word;
use plimsoll_model::tune::TuneConclusion;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::file::draft::{DraftAsks, OF_TUNE, PlanDraft};
use plimsoll_plan::lab::file::{self, PlanChoices};
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::lab::space::build::AskedSettings;
use plimsoll_plan::lab::tune::{TuneArm, TuneRules};
use plimsoll_plan::plan::script_of;
use plimsoll_record::read::Entry;
use plimsoll_record::{EarlyEnd, read};
use plimsoll_report::lab;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Settings that are searched if none are named.
const TOP: u8 = 12;
/// How long a trial waits for a quiet machine.
const WAIT_QUIET: Duration = Duration::from_secs(120);
/// What Plimsoll's own advice is called where it is tried.
const ADVISOR: &str = "advisor";

pub fn run(args: &TuneArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let resume = args.resume.as_deref();
    let resume = resume.map(|text| recording(&home, text, is_open_search)).transpose()?;
    check_arguments(args)?;
    let mut tuning = Tuning { args, home: &home, options: options(args, resume.clone()), progress: Progress::new(0)? };
    let plan = match (&resume, &args.workload) {
        (Some(directory), _) => Some(begun(directory, args)?),
        (None, Some(workload)) => tuning.new_plan(workload)?,
        (None, None) => return Err(LabError::Refused("give --workload, or --resume RECORDING".to_owned()).into()),
    };
    let Some(plan) = plan else { return Ok(DONE) };
    terminal::note(&format!("{}, seed {}", plan.title.as_ref().unwrap_or(&plan.name), plan.seed));
    let finished = tuning.execute(&plan)?;
    show(args, &plan, finished)
}

/// What can be known to be wrong before anything is started.
fn check_arguments(args: &TuneArgs) -> Result<(), LabError> {
    if let (Some(_), Some((name, _))) = (&args.resume, args.params.0.first()) {
        let problem = format!("--{name} cannot go with --resume: the search has its workload");
        return Err(LabError::Refused(problem));
    }
    let Some(path) = &args.write_config else { return Ok(()) };
    has_directory(path)?;
    match path.is_dir() {
        true => Err(LabError::Refused(format!("{}: it is a directory; accepted is a file", path.display()))),
        false => Ok(()),
    }
}

/// A search that has not come to its end.
fn is_open_search(entry: &Entry) -> bool {
    goes_on(entry) && entry.manifest.plan.lab().is_some_and(|plan| plan.tune.is_some())
}

/// A search under way.
struct Tuning<'a> {
    args: &'a TuneArgs,
    home: &'a Home,
    options: Options,
    progress: Progress,
}

impl Tuning<'_> {
    /// The plan of a search, with what Plimsoll's own advice would set, which takes a look at the server under its load. `None` if
    /// the plan is all that was asked for.
    fn new_plan(&mut self, workload: &str) -> anyhow::Result<Option<LabPlan>> {
        let (args, seed) = (self.args, self.args.seed.unwrap_or_else(random_seed));
        let draft = draft(args, workload)?;
        let plan = self.plan(&draft, seed)?;
        if let Some(path) = &args.plan {
            let text = draft.text_alone(args.own.server.as_deref(), seed);
            write_whole(path, text).with_context(|| format!("the plan cannot be written: {}", path.display()))?;
            terminal::note(&format!("written: {}", path.display()));
            return Ok(None);
        }
        let mut machine = Machine::dry(self.home, &self.options.given);
        let prospects = machine.check(&plan)?;
        let searched = machine.with_search_space(&plan)?;
        if args.dry_run {
            let found = dry_run(&mut machine, &searched, &prospects, &self.options.given)?;
            tell_dry_run(&found, args.json)?;
            return Ok(None);
        }
        drop(machine);
        let (arms, took) = self.advised(&draft, seed)?;
        let DraftAsks::Tune(rules) = &draft.asks else { return Ok(Some(plan)) };
        let seconds = (rules.seconds - took).max(searched.least_tune_seconds()).ceil();
        let asks = DraftAsks::Tune(TuneRules { arms, seconds, ..rules.clone() });
        let mut plan = self.plan(&PlanDraft { asks, ..draft }, seed)?;
        plan.tune.iter_mut().for_each(|rules| rules.looked_seconds = took);
        Ok(Some(plan))
    }

    fn plan(&self, draft: &PlanDraft, seed: u64) -> anyhow::Result<LabPlan> {
        let plan =
            file::read(OF_TUNE, &draft.text(), PlanChoices::of_seed(seed), &|name| option_file(Path::new(name)))?;
        Ok(match &self.args.own.server {
            Some(server) => plan.on(server),
            None => plan,
        })
    }

    fn execute(&mut self, plan: &LabPlan) -> anyhow::Result<Finished> {
        let finished = execute(self.home, plan, &self.options, &mut self.progress);
        self.progress.clear();
        Ok(finished?)
    }

    /// What Plimsoll's own advice would set, none if it calls for nothing; and the seconds that the look took.
    ///
    /// # Errors
    /// The server under its load could not be looked at.
    fn advised(&mut self, draft: &PlanDraft, seed: u64) -> anyhow::Result<(Vec<TuneArm>, f64)> {
        let look = PlanDraft {
            name: format!("{}-look", draft.name),
            measure_seconds: draft.measure_seconds.max(LEAST_SECONDS),
            asks: DraftAsks::Look,
            ..draft.clone()
        };
        terminal::note("a look at the server under its load, for what advice would set");
        let plan = self.plan(&look, seed)?;
        let finished = self.execute(&plan)?;
        match (&finished.ended, finished.failed.first()) {
            (Some(EarlyEnd::Interrupted), _) => return Err(LabError::Interrupted.into()),
            (_, Some((_, why))) | (Some(EarlyEnd::Failed(why)), None) => {
                let problem = format!("today's configuration cannot be measured: {why}");
                return Err(LabError::Environment(problem).into());
            }
            (None, None) => {}
        }
        let view = read::open(&finished.recording).map_err(LabError::from)?;
        let asked_for = SeenContext { allowed: self.args.allow.iter().copied().collect(), ..SeenContext::default() };
        let advice = plimsoll_analysis::advice::advice(&view, &asked_for).map_err(LabError::from)?;
        let mut settings: Vec<(String, String)> = Vec::new();
        for (name, value) in proposals(&advice, &[]).iter().flat_map(|finding| finding.changes()) {
            if settings.iter().all(|(known, _)| known != name) {
                settings.push((name.to_owned(), value.to_owned()));
            }
        }
        let took = view.trials.iter().filter_map(|trial| trial.outcome.as_ref()).map(TrialOutcome::seconds).sum();
        let arm = (!settings.is_empty()).then(|| TuneArm { name: ADVISOR.to_owned(), settings });
        Ok((arm.into_iter().collect(), took))
    }
}

fn options(args: &TuneArgs, resume: Option<PathBuf>) -> Options {
    let is_script = args.workload.as_deref().is_some_and(|workload| script_of(workload).is_some());
    Options {
        // Who types the path of a script means to run it; an option file is another matter.
        allow_commands: args.own.allow_commands || is_script && args.own.config_file.is_none(),
        given: Given { server: args.own.server.clone(), ..Given::default() },
        resume,
        holder: "plimsoll tune".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        threads: 2,
        wait_quiet: WAIT_QUIET,
        noisy_host: args.noisy_host,
        ..Options::default()
    }
}

/// The plan of a recording that is to go on.
fn begun(directory: &Path, args: &TuneArgs) -> Result<LabPlan, LabError> {
    let plan = begun_with(plan_of(directory)?, args.own.server.as_deref())?;
    if plan.tune.is_none() {
        let problem = format!("{}: it is no search; `plimsoll lab --resume` continues it", directory.display());
        return Err(LabError::Refused(problem));
    }
    Ok(plan)
}

/// The plan that the arguments ask for.
fn draft(args: &TuneArgs, workload: &str) -> anyhow::Result<PlanDraft> {
    let settings = match args.settings.is_empty() {
        true => AskedSettings::Top(usize::from(args.top.unwrap_or(TOP))),
        false => AskedSettings::Named(args.settings.clone()),
    };
    Ok(PlanDraft {
        name: drafted::name("tune", workload),
        title: format!("better settings for {workload} at {}", counted(f64::from(args.connections), "connection")),
        config_file: drafted::config_file(args.own.config_file.as_ref())?,
        config: drafted::settings(&args.own.set)?,
        lane: args.lane.clone(),
        workload: drafted::workload(workload, args.data.as_deref(), &args.params)?,
        connections: usize::from(args.connections),
        warmup: args.warmup.clone(),
        measure_seconds: args.measure.as_secs_f64(),
        noisy_host: args.noisy_host,
        allow: args.allow.clone(),
        asks: DraftAsks::Tune(TuneRules {
            seconds: args.time.as_secs_f64(),
            looked_seconds: 0.0,
            objective: args.objective.objective(),
            keep: args.keep.clone(),
            recovery_seconds: args.recovery.map(|limit| limit.as_secs_f64()),
            decide: args.decide,
            settings,
            sampler: args.sampler.sampler(),
            in_memory: args.in_memory,
            arms: Vec::new(),
            space: None,
        }),
    })
}

/// What no recording can say; to continue one, it has to be said again.
fn said_again(args: &TuneArgs, plan: &LabPlan) -> String {
    let runs_script = plan.variants.iter().any(|variant| variant.workload.script.is_some());
    let permission = if args.own.allow_commands || runs_script { " --allow-commands" } else { "" };
    let place = args.write_config.as_ref();
    let place = place.map_or(String::new(), |path| format!(" --write-config {}", shell_word(&path.to_string_lossy())));
    format!("{permission}{place}")
}

fn show(args: &TuneArgs, plan: &LabPlan, finished: Finished) -> anyhow::Result<u8> {
    let Finished { summary, recording, ended, broken, goes_on, .. } = finished;
    let printed = match args.json {
        true => terminal::json(&summary),
        false => terminal::styled(&lab::terminal(&summary, terminal::look())),
    };
    let again =
        goes_on.then(|| resumed("plimsoll tune", &recording, args.own.server.as_deref()) + &said_again(args, plan));
    tell_damage(&broken);
    let is_refuted = summary.tune.as_ref().is_some_and(|tune| tune.conclusion == TuneConclusion::NotConfirmed);
    let code = tell_end(ended.as_ref(), if is_refuted { CHECK_FAILED } else { DONE }, again.as_deref());
    terminal::note(&format!("recording: {}", recording.display()));
    let written = summary.tune.as_ref().map_or(Ok(()), |tune| {
        write_option_file(plan, tune, &recording, args.write_config.as_deref()).or_else(|error| {
            terminal::note(&format!("{error:#}"));
            write_option_file(plan, tune, &recording, None)
        })
    });
    match recorded(&recording) {
        Ok(recorded) => tell_page(&recording, &recorded),
        Err(error) => terminal::note(&format!("the recording cannot be read: {error:#}")),
    }
    written?;
    printed?;
    Ok(code)
}
