//! `plimsoll report`: a recording as a page, as text or as data.

use super::{DONE, has_directory, write_whole};
use crate::args::{ReportArgs, ReportFormat};
use crate::terminal;
use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use plimsoll_analysis::{AnalysisError, find};
use plimsoll_host::Home;
use plimsoll_host::replace::replace;
use plimsoll_lab::LabError;
use plimsoll_record::read;
use plimsoll_render::{Format, render};
use plimsoll_report::document::Document;
use plimsoll_report::subject::Recorded;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a page in a recording is called: of that one alone, of it beside others, and of all of its name.
const REPORT: &str = "report.html";
const SYSTEMS: &str = "systems.html";
const TREND: &str = "trend.html";
/// As part of a file name.
const STANDARD_OUTPUT: &str = "-";

pub fn run(args: &ReportArgs) -> anyhow::Result<u8> {
    let format = format(args)?;
    if let Some(path) = args.output.as_ref().filter(|path| *path != Path::new(STANDARD_OUTPUT)) {
        has_directory(path)?;
    }
    let home = Home::from_env().map_err(LabError::from)?;
    let listing = read::list(&home.recordings()).map_err(LabError::from)?;
    // All are found before any is read.
    if args.trend {
        return trend(args, format, &listing);
    }
    let found = args.recordings.iter().map(|text| find::latest(&listing, text));
    let found = found.collect::<Result<Vec<PathBuf>, AnalysisError>>().map_err(LabError::from)?;
    let recorded = found.iter().map(|directory| recorded(directory)).collect::<anyhow::Result<Vec<Recorded>>>()?;
    let name = if found.len() == 1 { REPORT } else { SYSTEMS };
    give(document(&recorded), args, format, &found[0].join(name))
}

/// The recordings of a name over time; a page of it lies in the latest.
fn trend(args: &ReportArgs, format: ReportFormat, listing: &read::Listing) -> anyhow::Result<u8> {
    let [name] = &args.recordings[..] else {
        return Err(LabError::Refused("--trend shows the recordings of one name".to_owned()).into());
    };
    let latest = find::latest(listing, name).map_err(LabError::from)?;
    let trend = plimsoll_analysis::trend(listing, name).map_err(LabError::from)?;
    terminal::note(plimsoll_report::trend::terminal(&trend, terminal::look_of_notes()).trim_end());
    give(plimsoll_report::trend::document(&trend, &generated()), args, format, &latest.join(TREND))
}

/// Writes a document where it was asked for; a page without a place goes to `page`, in a recording.
fn give(document: Document, args: &ReportArgs, format: ReportFormat, page: &Path) -> anyhow::Result<u8> {
    let document = if args.short { document.short() } else { document };
    let text = text(&document, args, format)?;
    match (&args.output, format) {
        (Some(path), _) if path == Path::new(STANDARD_OUTPUT) => terminal::document(&text)?,
        (Some(path), _) => {
            let bytes = if format == ReportFormat::Png { picture(&text)? } else { text.into_bytes() };
            write_whole(path, bytes).with_context(|| format!("the report cannot be written: {}", path.display()))?;
            terminal::note(&format!("written: {}", path.display()));
        }
        (None, ReportFormat::Html) => {
            let path = into_recording(page, &text)?;
            terminal::result(&path.canonicalize().unwrap_or(path).display().to_string())?;
        }
        (None, _) => terminal::document(&text)?,
    }
    Ok(DONE)
}

fn picture(svg: &str) -> Result<Vec<u8>, LabError> {
    plimsoll_picture::png(svg).map_err(|error| LabError::Refused(error.to_string()))
}

/// As asked for, else by the ending of the output file.
fn format(args: &ReportArgs) -> Result<ReportFormat, LabError> {
    let format = match (args.format, &args.output) {
        (Some(format), _) => format,
        (None, None) => ReportFormat::Html,
        (None, Some(path)) if path == Path::new(STANDARD_OUTPUT) => ReportFormat::Html,
        (None, Some(path)) => by_ending(path)?,
    };
    match (&args.figure, format) {
        _ if args.print_all && format != ReportFormat::Html => Err(LabError::Refused(
            "--print-all opens the sections of html; the other formats have none closed".to_owned(),
        )),
        (Some(_), ReportFormat::Html | ReportFormat::Md | ReportFormat::Json | ReportFormat::Csv) => {
            Err(LabError::Refused(
                "--figure says which figure --format svg or png draws; the other formats contain all figures"
                    .to_owned(),
            ))
        }
        (_, ReportFormat::Png) if args.output.as_ref().is_none_or(|path| path == Path::new(STANDARD_OUTPUT)) => {
            Err(LabError::Refused("a png is written to a file: give -o FILE.png".to_owned()))
        }
        _ => Ok(format),
    }
}

fn by_ending(path: &Path) -> Result<ReportFormat, LabError> {
    named_by_ending(path).ok_or_else(|| {
        LabError::Refused(format!(
            "--output {}: the ending names no format; accepted are .html, .md, .json, .csv, .svg and .png, or give --format",
            path.display()
        ))
    })
}

/// The format that the ending of a file names.
pub fn named_by_ending(path: &Path) -> Option<ReportFormat> {
    match path.extension()?.to_string_lossy().to_ascii_lowercase().as_str() {
        "html" | "htm" => Some(ReportFormat::Html),
        "md" | "markdown" => Some(ReportFormat::Md),
        "json" => Some(ReportFormat::Json),
        "csv" => Some(ReportFormat::Csv),
        "svg" => Some(ReportFormat::Svg),
        "png" => Some(ReportFormat::Png),
        _ => None,
    }
}

fn text(document: &Document, args: &ReportArgs, format: ReportFormat) -> Result<String, LabError> {
    let format = match format {
        ReportFormat::Html if args.short => Format::HtmlSheet,
        ReportFormat::Html if args.print_all => Format::HtmlUnfolded,
        ReportFormat::Html => Format::Html,
        ReportFormat::Md => Format::Markdown,
        ReportFormat::Json => Format::Json,
        ReportFormat::Csv => Format::Csv,
        ReportFormat::Svg | ReportFormat::Png => Format::Svg(args.figure.as_deref()),
    };
    render(document, format).map_err(|error| LabError::Refused(error.to_string()))
}

fn document(recorded: &[Recorded]) -> Document {
    match recorded {
        [only] => plimsoll_report::document(only),
        several => plimsoll_report::systems::document(several),
    }
}

/// What a report shows of the recording in a directory.
///
/// # Errors
/// If it cannot be read.
pub fn recorded(directory: &Path) -> anyhow::Result<Recorded> {
    let read = || {
        let view = read::open(directory).map_err(LabError::from)?;
        plimsoll_analysis::recorded(&view, &generated(), parameters_of).map_err(LabError::from)
    };
    Ok(terminal::patiently(&format!("reading {}", directory.display()), read)?)
}

/// The parameters of a workload; none if there is no workload of that name.
pub fn parameters_of(workload: &str) -> Vec<&'static str> {
    plimsoll_workloads::chosen::parameters_of(workload).unwrap_or_default()
}

/// When and by what.
pub fn generated() -> String {
    let utc = Timestamp::now().to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M UTC");
    format!("{utc} by Plimsoll {}", env!("CARGO_PKG_VERSION"))
}

/// The most reports that one directory may have.
const MOST_BESIDE: u32 = 9999;

/// Writes a page as `report.html` into a directory, never over a file that exists: a second one gets a number.
///
/// # Errors
/// If it cannot be written, or if there are [`MOST_BESIDE`] already.
pub fn write_beside(directory: &Path, page: &str) -> anyhow::Result<PathBuf> {
    for number in 1..=MOST_BESIDE {
        let name = if number == 1 { REPORT.to_owned() } else { format!("report-{number}.html") };
        let path = directory.join(name);
        let file = fs::OpenOptions::new().write(true).create_new(true).open(&path);
        match file {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            other => {
                let written = other.and_then(|mut file| file.write_all(page.as_bytes()));
                written.with_context(|| format!("the report cannot be written: {}", path.display()))?;
                return Ok(path);
            }
        }
    }
    anyhow::bail!("{} has {MOST_BESIDE} reports already; remove some, or name a file with -o", directory.display())
}

/// Writes a page into a recording, in place of an earlier one: both say what was recorded.
fn into_recording(path: &Path, page: &str) -> anyhow::Result<PathBuf> {
    let written = read::must_be_ours(path.parent().unwrap_or(path)).map_err(LabError::from);
    let written = written.and_then(|()| replace(path, page.as_bytes()).map_err(LabError::from));
    written
        .with_context(|| format!("the report cannot be written: {}; -o FILE writes it elsewhere", path.display()))?;
    Ok(path.to_owned())
}

/// The page of a recording.
///
/// # Errors
/// If it cannot be rendered.
pub fn page(recorded: &Recorded) -> anyhow::Result<String> {
    Ok(render(&plimsoll_report::document(recorded), Format::Html)?)
}

/// Writes the page of a recording into it, for commands that do so at the end.
///
/// # Errors
/// If it cannot be written.
pub fn write_page(recording: &Path, recorded: &Recorded) -> anyhow::Result<PathBuf> {
    into_recording(&recording.join(REPORT), &page(recorded)?)
}

/// The same after a result that is worth more than its page: says where it is, or why there is none.
pub fn tell_page(recording: &Path, recorded: &Recorded) {
    match write_page(recording, recorded) {
        Ok(path) => terminal::note(&format!("report: {}", path.display())),
        Err(error) => terminal::note(&format!("{error:#}")),
    }
}
