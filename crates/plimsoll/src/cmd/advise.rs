//! `plimsoll advise`: what to do about a server's configuration, and why.

mod measured;
mod walk;

use super::report::{generated, named_by_ending};
use super::{CHECK_FAILED, DONE, ENVIRONMENT, INTERRUPTED, has_directory, target, write_whole};
use crate::args::{AdviseArgs, ReportFormat};
use crate::terminal::{self, Progress};
use anyhow::Context;
use plimsoll_advice::config::judge;
use plimsoll_advice::config::read::{ConfigSources, read};
use plimsoll_advice::page::{data, document, terminal as told};
use plimsoll_advice::window::seen::SeenContext;
use plimsoll_analysis::advice::machine;
use plimsoll_analysis::find;
use plimsoll_data::target::OpenTarget;
use plimsoll_data::text_file;
use plimsoll_host::Home;
use plimsoll_host::facts::{host_facts, storage_facts};
use plimsoll_host::regular::{self, Unread};
use plimsoll_lab::LabError;
use plimsoll_lab::watched::{WatchedServer, watch};
use plimsoll_model::advice::{Advice, AdviceStep};
use plimsoll_plan::knowledge::Release;
use plimsoll_plan::lab::file::needs::{Needs, needs};
use plimsoll_record::read as recordings;
use plimsoll_render::{Format, render};
use plimsoll_server::find::{Selector, find as server};
use plimsoll_watch::Watcher;
use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a target is watched if nothing else is said.
const WATCHED: Duration = Duration::from_secs(60);
/// How often it is looked at then.
const INTERVAL: Duration = Duration::from_secs(1);
/// Looking more often would be a load of its own.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// Longest option file that is read.
const MOST_BYTES: u64 = 64 << 20;

pub fn run(args: &AdviseArgs) -> anyhow::Result<u8> {
    if let (None, Some((name, _))) = (&args.measure.workload, args.measure.params.0.first()) {
        return Err(LabError::Refused(format!("--{name}: it is a parameter of a --workload")).into());
    }
    if args.walk {
        return walk::run(args);
    }
    let format = args.output.as_deref().map(format_of).transpose()?;
    args.output.as_deref().map(has_directory).transpose()?;
    let asked = asked_for(args)?;
    let (advice, code) = match (&args.recording, &args.measure.workload, &args.config_file) {
        (Some(recording), ..) => (of_recording(recording, &asked)?, DONE),
        (None, Some(workload), file) => {
            let (advice, code) = measured::run(args, workload, &asked)?;
            (with_file(args, file.as_deref(), &asked, advice)?, code)
        }
        (None, None, Some(file)) => (of_file(args, file, &asked)?, DONE),
        (None, None, None) => of_target(args, asked)?,
    };
    let printed = match args.json {
        true => terminal::json(&data(&advice)),
        false => terminal::styled(&told(&advice, terminal::look())),
    };
    if let (Some(path), Some(format)) = (&args.output, format) {
        write(&advice, path, format)?;
    }
    printed?;
    let fails = args.fail_on.is_some_and(|least| advice.worst() >= Some(least.severity()));
    Ok(if fails && code == DONE { CHECK_FAILED } else { code })
}

/// Advice for a server, and what its option file calls for.
fn with_file(
    args: &AdviseArgs,
    file: Option<&Path>,
    asked_for: &SeenContext,
    mut advice: Advice,
) -> anyhow::Result<Advice> {
    let Some(file) = file else { return Ok(advice) };
    let of_file = judged(args, file, asked_for)?;
    advice.steps_seen.push(AdviceStep::Install);
    advice.looked_at.extend(of_file.looked_at);
    advice.findings.extend(of_file.findings);
    advice.findings.sort_by_key(|finding| (finding.step, Reverse(finding.severity)));
    Ok(advice)
}

/// What whoever asks has said of the application.
fn asked_for(args: &AdviseArgs) -> anyhow::Result<SeenContext> {
    let read = |path: &PathBuf| -> anyhow::Result<Needs> {
        let refused = |problem| LabError::Refused(format!("--needs {}: {problem}", path.display()));
        let text = text_file::read_utf8(path).map_err(refused)?;
        Ok(needs(&path.display().to_string(), &text)?)
    };
    let needs = args.needs.as_ref().map(read).transpose()?.unwrap_or_default();
    Ok(SeenContext { machine: None, allowed: args.allow.iter().copied().collect(), needs, recovered_seconds: None })
}

fn of_recording(text: &str, asked_for: &SeenContext) -> anyhow::Result<Advice> {
    let home = Home::from_env().map_err(LabError::from)?;
    let listing = recordings::list(&home.recordings()).map_err(LabError::from)?;
    let directory = find::latest(&listing, text).map_err(LabError::from)?;
    let view = recordings::open(&directory).map_err(LabError::from)?;
    Ok(plimsoll_analysis::advice::advice(&view, asked_for).map_err(LabError::from)?)
}

/// What the load of others on a server calls for, and the exit code: the server may be lost meanwhile.
fn of_target(args: &AdviseArgs, asked_for: SeenContext) -> anyhow::Result<(Advice, u8)> {
    let interval = args.interval.unwrap_or(INTERVAL);
    if interval < LEAST_INTERVAL {
        let found = format!("--interval {interval:?}: accepted is {LEAST_INTERVAL:?} and more");
        return Err(LabError::Refused(found).into());
    }
    let spec = target::spec(&args.target, "plimsoll advise")?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut progress = Progress::new(0)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let time = args.time.unwrap_or(WATCHED);
    let watched = watch(&mut target, time, interval.min(time), &mut progress)?;
    progress.clear();
    let advice =
        plimsoll_analysis::advice::advice_of(target.describe(), &watched.observed(), context(&watched, asked_for));
    let mut advice = advice.map_err(LabError::from)?;
    advice.unseen.extend(watched.unseen());
    let Some(lost) = watched.lost else { return Ok((advice, DONE)) };
    terminal::note(&format!("plimsoll: {lost}; what was seen until then is judged"));
    let code = if progress.interrupted() { INTERRUPTED } else { ENVIRONMENT };
    Ok((advice, code))
}

/// Over a socket, the server's machine is this one.
fn context(watched: &WatchedServer, asked_for: SeenContext) -> SeenContext {
    let machine = |directory: &Path| machine(&host_facts(directory), storage_facts(directory).as_ref());
    SeenContext { machine: watched.directory().map(machine), ..asked_for }
}

fn of_file(args: &AdviseArgs, file: &Path, asked_for: &SeenContext) -> anyhow::Result<Advice> {
    let target = &args.target;
    let names_server = target.target.is_some() || target.server.is_some() || target.defaults_file.is_some();
    if names_server || target.database.is_some() || target.ask_password {
        let found = "--config-file is judged without a server; --for names its release, --workload measures it";
        return Err(LabError::Refused(found.to_owned()).into());
    }
    if args.time.is_some() {
        let found = "--time: an option file is judged at once; with --workload it is measured";
        return Err(LabError::Refused(found.to_owned()).into());
    }
    judged(args, file, asked_for)
}

/// What an option file calls for, on the release that is named, or of the server.
fn judged(args: &AdviseArgs, file: &Path, asked_for: &SeenContext) -> anyhow::Result<Advice> {
    let (release, chosen) = release(args)?;
    let file = file.to_string_lossy();
    let options = read(&file, &mut Disk).map_err(|why| LabError::Refused(format!("--config-file {file}: {why}")))?;
    let mut advice = judge(options, release, asked_for.allowed());
    advice.looked_at.extend(chosen);
    Ok(advice)
}

/// The release asked for, else that of the server, and then where it comes from.
fn release(args: &AdviseArgs) -> anyhow::Result<(Release, Option<String>)> {
    if let Some(release) = args.release {
        return Ok((release, None));
    }
    let selector = args.target.server.as_deref().unwrap_or("auto").parse::<Selector>()?;
    let build = server(&selector).map_err(|_| {
        let found = "there is no server on this machine to judge the file for; name one: --for mysql-8.4";
        LabError::Refused(found.to_owned())
    })?;
    let release = Release::of(build.flavour, &build.version);
    let chosen = format!("judged for {release}, {}; --for RELEASE names another", build.binary.display());
    Ok((release, Some(chosen)))
}

fn format_of(path: &Path) -> Result<Format<'static>, LabError> {
    match named_by_ending(path) {
        Some(ReportFormat::Html) => Ok(Format::Html),
        Some(ReportFormat::Md) => Ok(Format::Markdown),
        Some(ReportFormat::Json) => Ok(Format::Json),
        Some(ReportFormat::Csv) => Ok(Format::Csv),
        // There is nothing to draw.
        Some(ReportFormat::Svg | ReportFormat::Png) | None => Err(LabError::Refused(format!(
            "--output {}: the ending names no format; accepted are .html, .md, .json and .csv",
            path.display()
        ))),
    }
}

fn write(advice: &Advice, path: &Path, format: Format<'_>) -> anyhow::Result<()> {
    let page = render(&document(advice, &generated()), format).map_err(|error| LabError::Refused(error.to_string()))?;
    write_whole(path, page).with_context(|| format!("the advice cannot be written: {}", path.display()))?;
    terminal::note(&format!("written: {}", path.display()));
    Ok(())
}

/// The files of this machine.
struct Disk;

impl ConfigSources for Disk {
    fn read(&mut self, file: &str) -> Result<Vec<u8>, String> {
        regular::read(Path::new(file), MOST_BYTES).map_err(|unread| match unread {
            Unread::Io(error) => format!("cannot be read: {error}"),
            Unread::Kind(kind) => format!("is {kind}, and not a file"),
            Unread::TooLong(bytes) => format!("has {bytes} bytes, and at most {MOST_BYTES} are read"),
        })
    }

    fn list(&mut self, directory: &str) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(directory).map_err(|error| format!("cannot be listed: {error}"))?;
        let is_option_file = |path: &Path| path.extension().is_some_and(|ending| ending == "cnf");
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_option_file(path));
        let mut files: Vec<String> = paths.map(|path| path.to_string_lossy().into_owned()).collect();
        files.sort();
        Ok(files)
    }
}
