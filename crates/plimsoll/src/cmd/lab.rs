//! `plimsoll lab`: executes a plan, or says what it would do.

mod gated;
mod listing;

use super::baseline::Baseline;
use super::gate::{self, GateOutcome, Gated};
use super::report::tell_page;
use super::run::random_seed;
use super::{CHECK_FAILED, DONE, ENVIRONMENT, INTERRUPTED, target, write_whole};
use crate::args::LabArgs;
use crate::terminal::{self, Progress};
use anyhow::Context;
use plimsoll_analysis::find::{latest, only};
use plimsoll_analysis::{reach, replay};
use plimsoll_data::text_file;
use plimsoll_fleet::own::OwnPlace;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::execute::dry_run::{DryRun, dry_run};
use plimsoll_lab::execute::resume::plan_of;
use plimsoll_lab::execute::{Finished, execute};
use plimsoll_lab::options::Options;
use plimsoll_lab::preflight::Machine;
use plimsoll_measures::lab::compares;
use plimsoll_measures::lab::tune::option_file as found_file;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::number::{counted, tick};
use plimsoll_model::text::{escaped, shell_word};
use plimsoll_model::tune::{TuneConclusion, TuneSummary};
use plimsoll_plan::LabPlan;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::lab::{TrialPlan, TrialRules, file};
use plimsoll_record::read::{Entry, State};
use plimsoll_record::{EarlyEnd, read};
use plimsoll_report::lab;
use std::io;
use std::path::{Path, PathBuf};

/// As many as tell by how much trials vary.
const PILOT_ROUNDS: u32 = 3;
/// For at most this many failed trials the reason is shown.
const TOLD: usize = 12;

/// The broker that the command line names, or of the fleet that was begun here; a plan without a fleet asks for none.
fn broker(home: &Home, args: &LabArgs, plan: &LabPlan) -> Result<Option<BrokerAddress>, LabError> {
    match (&plan.fleet, &args.fleet.fleet) {
        (None, _) => Ok(None),
        (Some(_), Some(named)) => Ok(Some(named.clone())),
        (Some(_), None) => Ok(OwnPlace::of(home.path()).read()?.map(|own| own.address)),
    }
}

pub fn run(args: &LabArgs) -> anyhow::Result<u8> {
    let rounds = args.rounds.as_deref();
    let read = args.plan.as_deref().map(|path| read_plan(path, args, rounds)).transpose()?;
    let home = Home::from_env().map_err(LabError::from)?;
    let resume = args.resume.as_deref().map(|text| recording(&home, text, goes_on)).transpose()?;
    let mut plan = match (read, &resume) {
        (Some(plan), _) => plan,
        (None, Some(directory)) => begun_with(plan_of(directory)?, args.server.as_deref())?,
        (None, None) => return Err(LabError::Refused("give a plan, or --resume RECORDING".to_owned()).into()),
    };
    if resume.is_some() {
        fits_a_begun_lab(args, &plan)?;
    }
    gated::check(args, &plan)?;
    // A lab that goes on asks for what it asked for: it no longer waits, and judges its trials as before.
    if resume.is_none() {
        plan.trials.noisy_host |= args.noisy_host;
        limit_rounds(args, &mut plan)?;
    }
    let given = Given { server: args.server.clone(), broker: broker(&home, args, &plan)? };
    let of_pilot = args.plan.as_deref().filter(|_| args.pilot).map(|path| pilot(path, args, &plan)).transpose()?;
    if args.dry_run {
        return only_say(args, &home, &plan, &given);
    }
    let of_rungs = plan.rungs.iter().map(|rung| &rung.change.target);
    let has_target = plan.variants.iter().map(|variant| &variant.target).chain(of_rungs).any(Option::is_some);
    let baseline = Baseline::find(&home, args.limits.baseline.as_deref())?;
    let options = Options {
        allow_commands: args.allow_commands,
        given,
        login: target::login(args, args.ask_password && has_target)?,
        resume,
        holder: format!("plimsoll lab {}", plan.name),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        threads: usize::from(args.threads),
        wait_quiet: args.wait_quiet,
        noisy_host: args.noisy_host,
    };
    terminal::note(&format!("{}, seed {}", plan.title.as_ref().unwrap_or(&plan.name), plan.seed));
    let mut progress = Progress::new(0)?;
    let finished = execute(&home, of_pilot.as_ref().unwrap_or(&plan), &options, &mut progress);
    progress.clear();
    let finished = finished?;
    let recording = finished.recording.clone();
    let code = show(args, of_pilot.as_ref().unwrap_or(&plan), baseline.as_ref(), finished)?;
    if args.pilot && code == DONE {
        tell_reach(&recording, &plan)?;
    }
    Ok(code)
}

/// Refuses what would mean nothing to a lab that goes on.
fn fits_a_begun_lab(args: &LabArgs, plan: &LabPlan) -> Result<(), LabError> {
    let why = match &args.fleet {
        fleet if fleet.fleet.is_some() && plan.fleet.is_none() => "--fleet: the lab was begun without agents",
        fleet if fleet.agents.is_some() => "--agents: the lab goes on with the agents that it was begun with",
        fleet if fleet.tolerate_lost > 0 => "--tolerate-lost: the lab goes on with the number that it was begun with",
        _ => return Ok(()),
    };
    Err(LabError::Refused(why.to_owned()))
}

/// Rounds that end by themselves end sooner, if less is asked, and no later than they may.
fn limit_rounds(args: &LabArgs, plan: &mut LabPlan) -> Result<(), LabError> {
    if args.max_time.is_some() && !plan.rungs.is_empty() {
        return Err(LabError::Refused(format!(
            "{}: --max-time cannot be kept by a ladder, whose rungs build on each other; accepted is max_rounds in \
             [trials]",
            plan.file
        )));
    }
    match (&mut plan.trials.stopping, args.max_time) {
        (Some(rule), most) => {
            rule.fail_if_slower = args.fail_if_slower.filter(|_| args.limits.baseline.is_none());
            rule.max_seconds = most.map_or(rule.max_seconds, |most| Some(most.as_secs_f64()));
            Ok(())
        }
        (None, Some(_)) => Err(LabError::Refused(format!(
            "{}: --max-time limits rounds that end by themselves, and the plan has {}; give --rounds auto as well",
            plan.file,
            counted(f64::from(plan.trials.rounds), "round")
        ))),
        (None, None) => Ok(()),
    }
}

/// The same plan with three rounds.
fn pilot(path: &Path, args: &LabArgs, plan: &LabPlan) -> anyhow::Result<LabPlan> {
    compares(plan)
        .map_err(|why| LabError::Refused(format!("{}: --pilot has nothing to tell: {why}", path.display())))?;
    // Blocks on a running server are always rounds that end by themselves.
    if plan.trials.switchback.is_some() {
        let trials = TrialRules { rounds: PILOT_ROUNDS, ..plan.trials.clone() };
        return Ok(LabPlan { trials, ..plan.clone() });
    }
    let of_pilot = read_plan(path, args, Some(&PILOT_ROUNDS.to_string()))?;
    let trials = TrialRules { noisy_host: plan.trials.noisy_host, ..of_pilot.trials };
    Ok(LabPlan { trials, seed: plan.seed, ..of_pilot })
}

/// What the rounds of the plan would show, judging by its pilot.
fn tell_reach(pilot: &Path, plan: &LabPlan) -> anyhow::Result<()> {
    let view = read::open(pilot).map_err(LabError::from)?;
    let found = reach(&view, plan, &replay::prospects(&view)).map_err(LabError::from)?;
    terminal::note("the plan as it is written:");
    found.in_words().iter().for_each(|line| terminal::note(&format!("  {line}")));
    Ok(())
}

fn only_say(args: &LabArgs, home: &Home, plan: &LabPlan, given: &Given) -> anyhow::Result<u8> {
    let mut machine = Machine::dry(home, given);
    let prospects = machine.check(plan)?;
    let plan = &machine.with_search_space(plan)?;
    let mut found = dry_run(&mut machine, plan, &prospects, given)?;
    if let Some(text) = &args.from {
        let listing = read::list(&home.recordings()).map_err(LabError::from)?;
        let view = read::open(&latest(&listing, text).map_err(LabError::from)?).map_err(LabError::from)?;
        found.reach = Some(reach(&view, plan, &prospects).map_err(LabError::from)?);
    }
    tell_dry_run(&found, args.json)?;
    Ok(DONE)
}

/// Says what would be done.
pub fn tell_dry_run(found: &DryRun, is_json: bool) -> io::Result<()> {
    match is_json {
        true => terminal::json(found),
        false => terminal::result(&listing::text(found)),
    }
}

/// The text of an option file that a plan names. Old ones are in some encoding of their time; their settings are plain ASCII.
pub fn option_file(path: &Path) -> Result<String, String> {
    text_file::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a plan. Option files that it names are beside it.
fn read_plan(path: &Path, args: &LabArgs, rounds: Option<&str>) -> anyhow::Result<LabPlan> {
    let refuse = |problem: String| LabError::Refused(format!("{}: {problem}", path.display()));
    let text = text_file::read_utf8(path).map_err(refuse)?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let option_file = |name: &str| option_file(&beside.join(name));
    let seed = args.seed.unwrap_or_else(random_seed);
    let name = path.display().to_string();
    let chosen = file::PlanChoices { preset: args.preset.as_deref(), rounds, seed };
    let plan = file::read(&name, &text, chosen, &option_file)?;
    let plan = match args.fleet.plan() {
        Some(fleet) => file::by_agents(plan, fleet)?,
        None => plan,
    };
    Ok(match &args.server {
        Some(server) => plan.on(server),
        None => plan,
    })
}

/// The plan of a recording, if `--server` names the server that it was started with: a recording cannot vouch for the
/// program that it names.
pub fn begun_with(plan: LabPlan, server: Option<&str>) -> Result<LabPlan, LabError> {
    match (&plan.server, server) {
        (Some(begun), Some(given)) if begun != given => Err(LabError::Refused(format!(
            "the lab was started with --server {}; give the same option to continue it",
            escaped(begun)
        ))),
        (None, Some(_)) => {
            Err(LabError::Refused("the lab was started without --server; continue it without that option".to_owned()))
        }
        _ => Ok(plan),
    }
}

/// The recording that a text means among those that are wanted: found as by every command. One that is not wanted is found if
/// no other is meant; what is wrong with it is told later.
pub fn recording(home: &Home, text: &str, is_wanted: impl Fn(&Entry) -> bool) -> Result<PathBuf, LabError> {
    let mut listing = read::list(&home.recordings())?;
    let of_all = only(&listing, text);
    listing.recordings.retain(is_wanted);
    Ok(only(&listing, text).or(of_all)?)
}

/// Whether it is of a lab that has not come to its end.
pub fn goes_on(entry: &Entry) -> bool {
    !matches!(entry.state(), State::Done | State::Running) && entry.manifest.plan.lab().is_some()
}

fn show(args: &LabArgs, plan: &LabPlan, baseline: Option<&Baseline>, finished: Finished) -> anyhow::Result<u8> {
    let Finished { summary, recording, ended, failed, broken, goes_on } = finished;
    let findings = gated::findings(args, plan, baseline, &summary, &recording);
    let printed = match args.json {
        true => terminal::json(&Gated { document: &summary, gate: &findings }),
        false => terminal::styled(&lab::terminal(&summary, terminal::look())),
    };
    let again = goes_on.then(|| resumed("plimsoll lab", &recording, args.server.as_deref()) + &said_again(args));
    tell_failures(&failed, summary.trials.done + summary.trials.failed);
    tell_damage(&broken);
    let missed = summary.load_lines.iter().any(|line| line.rate.is_none());
    let is_lost = summary.crashes.iter().any(|cell| cell.breaks_its_promise());
    let is_good = match &summary.tune {
        // Settings that do not work are what a search is there to find.
        Some(tune) => tune.conclusion != TuneConclusion::NotConfirmed,
        None => failed.is_empty() && broken.is_empty() && !missed && !is_lost,
    };
    let code = tell_end(ended.as_ref(), if is_good { DONE } else { CHECK_FAILED }, again.as_deref());
    let recorded = super::report::recorded(&recording);
    match &recorded {
        Ok(recorded) => terminal::what_limited(recorded),
        Err(error) => terminal::note(&format!("the recording cannot be read: {error:#}")),
    }
    terminal::note(&format!("recording: {}", recording.display()));
    tell_kept(&summary, &recording);
    // What was found stands in the recording too.
    let written = summary.tune.as_ref().map_or(Ok(()), |tune| write_option_file(plan, tune, &recording, None));
    written.unwrap_or_else(|error| terminal::note(&format!("{error:#}")));
    recorded.iter().for_each(|recorded| tell_page(&recording, recorded));
    let ended_early = ended.as_ref().map(|ended| ended.why().to_owned());
    let judged = GateOutcome { suite: "plimsoll lab", answer: summary.headline, findings, ended_early };
    let code = gate::conclude(&args.verdict, &judged, code)?;
    printed?;
    Ok(code)
}

/// What continues a recording, by the command that made it.
pub fn resumed(command: &str, recording: &Path, server: Option<&str>) -> String {
    let name = recording.file_name().unwrap_or(recording.as_os_str()).to_string_lossy();
    let server = server.map_or(String::new(), |server| format!(" --server {}", shell_word(server)));
    format!("{command} --resume {}{server}", shell_word(&name))
}

/// Says how it ended before its end, and with which command, if any, it goes on; the exit code is `done` if it did not.
pub fn tell_end(ended: Option<&EarlyEnd>, done: u8, again: Option<&str>) -> u8 {
    let goes_on = again.map_or(String::new(), |again| format!("; `{again}` continues it"));
    match ended {
        None => done,
        Some(EarlyEnd::Interrupted) => {
            terminal::note(&format!("interrupted; results so far are kept{goes_on}"));
            INTERRUPTED
        }
        Some(EarlyEnd::Failed(why)) => {
            terminal::note(&format!("plimsoll: it ended early: {why}{goes_on}"));
            ENVIRONMENT
        }
    }
}

/// What no recording can say; to continue one, it has to be said again.
fn said_again(args: &LabArgs) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut option = |name: &str, value: &str| words.push(format!(" --{name} {}", shell_word(value)));
    args.password_for.iter().for_each(|place| option("password-for", &place.to_string()));
    args.defaults_file.iter().for_each(|file| option("defaults-file", &file.to_string_lossy()));
    args.fleet.fleet.iter().for_each(|broker| option("fleet", &broker.to_string()));
    let switches =
        [("allow-commands", args.allow_commands), ("ask-password", args.ask_password), ("noisy-host", args.noisy_host)];
    words.extend(switches.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| format!(" --{name}")));
    words.concat() + &gate_again(args)
}

/// What the gate was given: a lab that goes on is judged as it would have been.
fn gate_again(args: &LabArgs) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut option = |name: &str, value: &str| words.push(format!(" --{name} {}", shell_word(value)));
    args.limits.fail_if.iter().for_each(|limit| option("fail-if", &limit.text));
    args.limits.baseline.iter().for_each(|name| option("baseline", name));
    args.fail_if_slower.iter().for_each(|share| option("fail-if-slower", &format!("{}%", tick(100.0 * share))));
    args.verdict.junit.iter().for_each(|file| option("junit", &file.to_string_lossy()));
    for (name, is_given) in [("fail-if-unclear", args.verdict.fail_if_unclear), ("github", args.verdict.github)] {
        words.extend(is_given.then(|| format!(" --{name}")));
    }
    words.concat()
}

/// Writes what a search found as an option file, into its recording unless a place is given; nothing if that was not confirmed.
pub fn write_option_file(
    plan: &LabPlan,
    tune: &TuneSummary,
    recording: &Path,
    place: Option<&Path>,
) -> anyhow::Result<()> {
    let about = plan.title.as_ref().unwrap_or(&plan.name);
    let Some(text) = found_file(tune, about) else { return Ok(()) };
    let path = place.map_or_else(|| recording.join("my.cnf"), Path::to_owned);
    write_whole(&path, text).with_context(|| format!("the option file cannot be written: {}", path.display()))?;
    terminal::note(&format!("option file: {}", path.display()));
    Ok(())
}

/// Says after which trials' crashes data were damaged.
pub fn tell_damage(broken: &[(TrialPlan, String)]) {
    for (trial, what) in broken {
        terminal::note(&format!("damaged after the crash: {}: {what}", terminal::title(trial)));
    }
}

/// Says where the data are that faults left.
pub fn tell_kept(summary: &LabSummary, recording: &Path) {
    let kept: usize = summary.crashes.iter().map(|cell| cell.kept).sum();
    if kept > 0 {
        let (trials, place) = (counted(kept as f64, "trial"), recording.join("trials/*/kept"));
        terminal::note(&format!("data of {trials} as the fault left them: {}", place.display()));
    }
}

/// Says which trials failed and why; a setting that was not in effect is one reason.
pub fn tell_failures(failed: &[(TrialPlan, String)], all: usize) {
    if failed.is_empty() {
        return;
    }
    terminal::note(&format!("{} of {all} trials failed; their outcome.json says more:", failed.len()));
    for (trial, why) in failed.iter().take(TOLD) {
        terminal::note(&format!("  {}: {why}", terminal::title(trial)));
    }
    if failed.len() > TOLD {
        terminal::note(&format!("  … and {} more", failed.len() - TOLD));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use std::fs;

    #[test]
    fn a_name_means_the_lab_that_can_go_on() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/systems/eight-cpus/manifest.json");
        let of_lab = fs::read_to_string(fixture).unwrap();
        let all = [("20260101T000000Z-pool-size-0001", "done"), ("20260102T000000Z-pool-size-0002", "failed")];
        for (id, status) in all {
            let named = format!(r#""name":"pool-size","status":"{status}""#);
            let manifest = of_lab.replacen(r#""name":"bourke-systems","status":"done""#, &named, 1);
            fs::create_dir_all(home.recordings().join(id)).unwrap();
            fs::write(home.recordings().join(id).join("manifest.json"), manifest).unwrap();
        }
        let found = |text| recording(&home, text, goes_on).map(|path| path.file_name().unwrap().to_owned());
        for text in ["pool-size", "pool_size", "POOL_size", "0002"] {
            assert_eq!(found(text).unwrap(), "20260102T000000Z-pool-size-0002", "{text}");
        }
        assert_eq!(found("size-0001").unwrap(), "20260101T000000Z-pool-size-0001", "its end is told later");
        assert!(found("pool-sizes").unwrap_err().to_string().contains("no recording is called `pool-sizes`"));
    }

    #[test]
    fn what_continues_a_lab_has_its_login_and_can_be_typed() {
        let typed = ["plimsoll", "lab", "p.toml", "--defaults-file", "my file.cnf", "--ask-password", "--noisy-host"];
        let Command::Lab(args) = Cli::try_parse_from(typed).unwrap().command else { panic!("it is a lab") };
        let again = said_again(&args);
        assert_eq!(again, " --defaults-file 'my file.cnf' --ask-password --noisy-host");
        let line = ["plimsoll", "lab", "--resume", "x", "--defaults-file", "my file.cnf"];
        assert!(Cli::try_parse_from(line.into_iter().chain(["--ask-password", "--noisy-host"])).is_ok());
    }
}
