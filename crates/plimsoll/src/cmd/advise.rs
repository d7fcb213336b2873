//! `plimsoll advise`: what to do about a server's configuration, and why.

use super::report::{generated, named_by_ending};
use super::{CHECK_FAILED, DONE, ENVIRONMENT, INTERRUPTED, target};
use crate::args::{AdviseArgs, ReportFormat};
use crate::terminal::{self, Progress};
use anyhow::Context;
use plimsoll_advice::config::judge;
use plimsoll_advice::config::read::{ConfigSources, read};
use plimsoll_analysis::find;
use plimsoll_data::target::OpenTarget;
use plimsoll_host::Home;
use plimsoll_host::regular::{self, Unread};
use plimsoll_lab::LabError;
use plimsoll_lab::watched::watch;
use plimsoll_model::advice::Advice;
use plimsoll_plan::knowledge::Release;
use plimsoll_record::read as recordings;
use plimsoll_render::{Format, render};
use plimsoll_report::advice::{data, document, terminal as told};
use plimsoll_server::find::{Selector, find as server};
use plimsoll_watch::Watcher;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Looking more often would be a load of its own.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// Longest option file that is read.
const MOST_BYTES: u64 = 64 << 20;

pub fn run(args: &AdviseArgs) -> anyhow::Result<u8> {
    let format = args.output.as_deref().map(format_of).transpose()?;
    let (advice, code) = match (&args.recording, &args.config_file) {
        (Some(recording), _) => (of_recording(recording)?, DONE),
        (None, Some(file)) => (of_file(file, args.release)?, DONE),
        (None, None) => of_target(args)?,
    };
    if let (Some(path), Some(format)) = (&args.output, format) {
        write(&advice, path, format)?;
    }
    if args.json {
        terminal::json(&data(&advice))?;
    } else {
        terminal::styled(&told(&advice, terminal::look()))?;
    }
    let fails = args.fail_on.is_some_and(|least| advice.worst() >= Some(least.severity()));
    Ok(if fails && code == DONE { CHECK_FAILED } else { code })
}

fn of_recording(text: &str) -> anyhow::Result<Advice> {
    let home = Home::from_env().map_err(LabError::from)?;
    let listing = recordings::list(&home.recordings()).map_err(LabError::from)?;
    let directory = find::latest(&listing, text).map_err(LabError::from)?;
    let view = recordings::open(&directory).map_err(LabError::from)?;
    Ok(plimsoll_analysis::advice::advice(&view).map_err(LabError::from)?)
}

/// What the load of others on a server calls for, and the exit code: the server may be lost meanwhile.
fn of_target(args: &AdviseArgs) -> anyhow::Result<(Advice, u8)> {
    if args.interval < LEAST_INTERVAL {
        let found = format!("--interval {:?}: accepted is {LEAST_INTERVAL:?} and more", args.interval);
        return Err(LabError::Refused(found).into());
    }
    let spec = target::spec(&args.target, "plimsoll advise")?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut progress = Progress::new(0)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let interval = args.interval.min(args.time);
    let watched = watch(&mut target, args.time, interval, &mut progress)?;
    progress.clear();
    let advice = plimsoll_analysis::advice::advice_of(target.describe(), &watched.observed());
    let mut advice = advice.map_err(LabError::from)?;
    advice.unseen.extend(watched.unseen());
    let Some(lost) = watched.lost else { return Ok((advice, DONE)) };
    terminal::note(&format!("plimsoll: {lost}; what was seen until then is judged"));
    let code = if progress.interrupted() { INTERRUPTED } else { ENVIRONMENT };
    Ok((advice, code))
}

fn of_file(file: &Path, asked: Option<Release>) -> anyhow::Result<Advice> {
    let (release, chosen) = release(asked)?;
    let file = file.to_string_lossy();
    let options = read(&file, &mut Disk).map_err(|why| LabError::Refused(format!("--config-file {file}: {why}")))?;
    let mut advice = judge(options, release);
    advice.looked_at.extend(chosen);
    Ok(advice)
}

/// The release asked for, else that of the server of this machine and where it comes from.
fn release(asked: Option<Release>) -> anyhow::Result<(Release, Option<String>)> {
    if let Some(release) = asked {
        return Ok((release, None));
    }
    let build = server(&Selector::Auto).map_err(|_| {
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
    fs::write(path, page).with_context(|| format!("the advice cannot be written: {}", path.display()))?;
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
