//! `plimsoll io`: evaluates storage for MySQL.

use super::report::{recorded, write_page};
use super::run::random_seed;
use super::{CHECK_FAILED, DONE, ENVIRONMENT, INTERRUPTED};
use crate::args::IoArgs;
use crate::terminal::{self, Progress};
use plimsoll_evaluate::{FinishedEvaluation, IoPlan, What, evaluate};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::validate::Servers;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_model::io::{IoSummary, Probe};
use plimsoll_model::layout::clean;
use plimsoll_model::text::shell_word;
use plimsoll_record::EarlyEnd;
use plimsoll_report::io as report;
use plimsoll_report::subject::{Recorded, Subject};
use plimsoll_storage::op::SyncMode;
use plimsoll_storage::probe::test::{IoMode, TestMode, TestOptions, listing, step};
use plimsoll_storage::sheet::is_refused;
use plimsoll_storage::suite::Suite;
use std::io;
use std::path::Path;
use std::time::Duration;

pub fn run(args: &IoArgs) -> anyhow::Result<u8> {
    let test = test(args);
    let plan = plan(args, test.as_ref())?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut servers = Servers::find(&plan.validate)?;
    let mut progress = Progress::new(0)?;
    terminal::note(&clean(&format!("evaluating {}, seed {}", plan.directory.display(), plan.seed)));
    let finished = evaluate(&home, &plan, env!("CARGO_PKG_VERSION"), &mut servers, &mut progress);
    progress.clear();
    show(args, test.as_ref(), finished.map_err(LabError::from)?)
}

fn plan(args: &IoArgs, test: Option<&TestOptions>) -> anyhow::Result<IoPlan> {
    if args.time.is_some_and(|time| time.is_zero()) {
        return Err(LabError::Refused("--time must be longer than 0".to_owned()).into());
    }
    let directory = std::path::absolute(&args.directory)
        .map_err(|error| LabError::Refused(format!("{}: {error}", args.directory.display())))?;
    let what = match test {
        Some(options) => What::Test(Box::new(step(options).map_err(LabError::from)?)),
        None => What::Suite { suite: suite(&args.suite)?, steady: args.steady },
    };
    Ok(IoPlan {
        directory,
        what,
        probes: args.probes.clone(),
        data_bytes: args.size,
        window: args.time,
        seed: args.seed.unwrap_or_else(random_seed),
        keep: args.keep,
        name: args.name.clone(),
        validate: args.validate.clone(),
    })
}

fn suite(name: &str) -> Result<Suite, LabError> {
    let known = Suite::ALL.into_iter().find(|suite| suite.name() == name);
    known.ok_or_else(|| LabError::Refused(format!("there is no suite `{name}`")))
}

/// What `--test` and its options ask for; `None` for a suite.
fn test(args: &IoArgs) -> Option<TestOptions> {
    let test = &args.test;
    let default = TestOptions::new(TestMode::parse(test.test.as_deref()?)?);
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Some(TestOptions {
        threads: test.threads,
        files: test.files,
        size: args.size.unwrap_or(default.size),
        block: test.block,
        io_mode: IoMode::parse(&test.io_mode).unwrap_or(default.io_mode),
        depth: test.depth,
        direct: test.direct,
        dsync: test.dsync,
        rw_ratio: test.rw_ratio,
        fsync_every: test.fsync_every,
        fsync_all: test.fsync_all,
        fsync_mode: if test.fsync_mode == "fsync" { SyncMode::Fsync } else { SyncMode::Fdatasync },
        fsync_at_end: test.fsync_at_end,
        merged: test.merged,
        arrivals: match (test.rate, test.arrivals.as_str()) {
            (None, _) => Arrivals::Closed,
            (Some(rate), "constant") => Arrivals::Constant { rate },
            (Some(rate), _) => Arrivals::Poisson { rate },
        },
        verify: test.verify,
        time_ns: args.time.map_or(default.time_ns, ns),
        events: test.events,
        warmup_ns: ns(test.warmup),
        ..default
    })
}

fn show(args: &IoArgs, test: Option<&TestOptions>, finished: FinishedEvaluation) -> anyhow::Result<u8> {
    let FinishedEvaluation { summary, recording, ended } = finished;
    let printed = print(args, test, &summary);
    match &ended {
        Some(EarlyEnd::Failed(why)) => terminal::note(&clean(&format!("plimsoll: the evaluation ended early: {why}"))),
        Some(EarlyEnd::Interrupted) => terminal::note("interrupted; results so far are kept"),
        None => {}
    }
    tell_failures(&summary);
    terminal::note(&clean(&format!("recording: {}", recording.display())));
    // The result is worth more than its page.
    match write_page(&recording, &shown(&recording, &summary)) {
        Ok(path) if args.json || printed.is_err() => {
            terminal::note(&clean(&format!("report: {}", path.display())));
        }
        Ok(path) => terminal::result(&path.display().to_string())?,
        Err(error) => terminal::note(&clean(&format!("{error:#}"))),
    }
    printed?;
    Ok(code(&summary, ended.as_ref()))
}

fn print(args: &IoArgs, test: Option<&TestOptions>, summary: &IoSummary) -> io::Result<()> {
    match (args.json, test, summary.probes.first()) {
        (true, _, _) => terminal::json(summary),
        (false, Some(options), Some(probe)) => terminal::result(&(listing(probe, options) + &caveats(summary, probe))),
        (false, _, _) => terminal::styled(&report::terminal(summary, terminal::look())),
    }
}

/// What was recorded, or only the summary if that cannot be read: a report is still possible.
fn shown(recording: &Path, summary: &IoSummary) -> Recorded {
    let recorded = recorded(recording).unwrap_or_else(|error| {
        terminal::note(&clean(&format!("the recording cannot be read: {error:#}")));
        Recorded::of("storage", Subject::Storage(Box::new(summary.clone())))
    });
    Recorded { how_to_repeat: how_to_repeat(summary.seed), ..recorded }
}

/// Below the listing of a test, one line each.
fn caveats(summary: &IoSummary, probe: &Probe) -> String {
    let all = summary.caveats.iter().chain(&probe.caveats);
    all.map(|caveat| format!("caveat: {}\n", clean(&caveat.message))).collect()
}

/// A measurement that ended in an error. A block size that the storage refuses is an answer, not a failure.
fn failed(probe: &Probe) -> bool {
    probe.error.is_some() && !is_refused(probe)
}

fn tell_failures(summary: &IoSummary) {
    let failed: Vec<&str> =
        summary.probes.iter().filter(|probe| failed(probe)).map(|probe| probe.id.as_str()).collect();
    if !failed.is_empty() {
        let (some, all) = (failed.len(), summary.probes.len());
        terminal::note(&clean(&format!("plimsoll: {some} of {all} measurements failed: {}", failed.join(", "))));
    }
}

fn code(summary: &IoSummary, ended: Option<&EarlyEnd>) -> u8 {
    let mismatch = |probe: &Probe| probe.found.get("mismatches").is_some_and(|mismatches| *mismatches > 0.0);
    match ended {
        Some(EarlyEnd::Interrupted) => INTERRUPTED,
        Some(EarlyEnd::Failed(_)) => ENVIRONMENT,
        None if summary.probes.iter().any(mismatch) => CHECK_FAILED,
        None if summary.probes.iter().all(failed) => ENVIRONMENT,
        None if summary.probes.iter().any(failed) => CHECK_FAILED,
        None => DONE,
    }
}

/// The command line as it was typed, with the seed.
fn how_to_repeat(seed: u64) -> String {
    let typed: Vec<String> =
        std::env::args_os().skip(1).map(|argument| shell_word(&argument.to_string_lossy())).collect();
    let seed = match typed.iter().any(|argument| argument.starts_with("--seed")) {
        true => String::new(),
        false => format!(" --seed {seed}"),
    };
    format!("plimsoll {}{seed}", typed.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_can_be_typed_again() {
        assert_eq!(shell_word("/mnt/a-b_c.d"), "/mnt/a-b_c.d");
        assert_eq!(shell_word("my disk's"), r"'my disk'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn the_exit_code_says_how_it_ended() {
        let summary = |probes: Vec<Probe>| IoSummary { probes, ..serde_json::from_str(EMPTY).unwrap() };
        let good = Probe::default();
        let failed = Probe { error: Some("EIO".to_owned()), ..Probe::default() };
        let corrupt = Probe { found: [("mismatches".to_owned(), 1.0)].into(), ..Probe::default() };
        let refusal = std::io::Error::from_raw_os_error(22);
        let refused = Probe { probe: 17, error: Some(format!("writing 17.0: {refusal}")), ..Probe::default() };
        assert_eq!(code(&summary(vec![good.clone(), refused]), None), DONE, "an answer");
        assert_eq!(code(&summary(vec![good.clone(), failed.clone()]), None), CHECK_FAILED);
        assert_eq!(code(&summary(vec![failed]), None), ENVIRONMENT);
        assert_eq!(code(&summary(vec![corrupt]), None), CHECK_FAILED);
        assert_eq!(code(&summary(vec![good]), Some(&EarlyEnd::Interrupted)), INTERRUPTED);
    }

    const EMPTY: &str = r#"{"schema_version": 1, "directory": "/x", "suite": "quick", "seed": 1,
        "device": {"mount_options": []}, "probes": [], "sheet": [], "caveats": [], "interrupted": false}"#;
}
