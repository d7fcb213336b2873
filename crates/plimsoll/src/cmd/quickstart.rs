//! `plimsoll quickstart`: goes from nothing to a measured report.

use super::report::{page, write_beside, write_page};
use super::target::close;
use super::{DONE, ENVIRONMENT, INTERRUPTED};
use crate::args::QuickstartArgs;
use crate::terminal::{self, Progress};
use plimsoll_data::dataset;
use plimsoll_data::dataset::Marker;
use plimsoll_data::drop::drop as drop_data;
use plimsoll_data::load::load;
use plimsoll_data::target::{OpenTarget, TargetSpec};
use plimsoll_engine::endpoint::Password;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::run::run_chosen;
use plimsoll_lab::run_record::{FinishedRun, Naming};
use plimsoll_model::LoadPoint;
use plimsoll_model::number::counted;
use plimsoll_plan::plan::{ArrivalSpread, Measure};
use plimsoll_plan::{Plan, RunPlan, Target};
use plimsoll_record::EarlyEnd;
use plimsoll_report::subject::Recorded;
use plimsoll_workloads::chosen::ChosenWorkload;
use std::fs;
use std::path::Path;

/// A database of its own, so that it never meets other data.
const DATABASE: &str = "quickstart";
const TABLES: u64 = 4;
const LOAD_THREADS: usize = 2;
const LOAD_SEED: u64 = 1;
const WORKLOAD: &str = "oltp_read_write";
const WARMUP_SECONDS: f64 = 1.0;

pub fn run(args: QuickstartArgs) -> anyhow::Result<u8> {
    let plan = plan(&args);
    plan.check()?;
    if let Some(out) = &args.out {
        make_writable(out)?;
    }
    let typed = [("tables", TABLES.to_string()), ("table-size", args.table_size.to_string())];
    let chosen = ChosenWorkload::new(WORKLOAD, &typed.map(|(name, text)| (name.to_owned(), text)), None)?;
    let spec = TargetSpec {
        target: Target::Private(args.server.clone()),
        password: Password::default(),
        default_user: "root".to_owned(),
        database: Some(DATABASE.to_owned()),
        holder: "plimsoll quickstart".to_owned(),
    };
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    terminal::note("1 of 3: starting a private server, which is stopped at the end");
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    terminal::note(&format!("        {} {}", target.flavour.title(), target.version));
    let marker = load_anew(&mut target, &args, &chosen, &mut progress)?;
    let seconds = args.time.as_secs_f64() + WARMUP_SECONDS;
    terminal::note(&format!(
        "3 of 3: {} over {} numbers of connections, {}, about {:.0} s",
        WORKLOAD,
        plan.points.len(),
        counted(f64::from(plan.rounds), "round"),
        seconds * plan.trials() as f64
    ));
    let naming = Naming { recording: "quickstart", kind: Plan::Quickstart, tool_version: env!("CARGO_PKG_VERSION") };
    let finished = run_chosen(&mut target, &home, &plan, &chosen, marker.as_ref(), &naming, &mut progress);
    close(target, &mut progress);
    show(&args, finished?)
}

/// Makes the directory, and a file in it for a moment: that nothing can be written there would only show at the end.
fn make_writable(directory: &Path) -> Result<(), LabError> {
    let refused = |error: std::io::Error| LabError::Refused(format!("--out {}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(refused)?;
    let probe = directory.join(format!(".plimsoll-{}", std::process::id()));
    fs::File::create_new(&probe).and_then(|_| fs::remove_file(&probe)).map_err(refused)
}

fn plan(args: &QuickstartArgs) -> RunPlan {
    RunPlan {
        workload: WORKLOAD.to_owned(),
        params: [("tables".to_owned(), TABLES.to_string()), ("table_size".to_owned(), args.table_size.to_string())]
            .into(),
        target: Target::Private(args.server.clone()).describe(),
        database: None,
        points: LoadPoint::cross(&args.connections.0, &[]),
        arrivals: ArrivalSpread::Poisson,
        warmup_seconds: WARMUP_SECONDS,
        measure: Measure::Seconds(args.time.as_secs_f64()),
        rounds: args.rounds,
        seed: super::run::random_seed(),
        loops: 1,
        protocol: "prepared".to_owned(),
        outage_limit_seconds: 30.0,
        ignore_errors: Vec::new(),
        report_interval_seconds: 0,
        check: false,
        repeat_disturbed: true,
        fleet: None,
    }
}

/// Loads the same data each time, whatever an earlier quickstart left; returns their marker.
fn load_anew(
    target: &mut OpenTarget,
    args: &QuickstartArgs,
    chosen: &ChosenWorkload,
    progress: &mut Progress,
) -> anyhow::Result<Option<Marker>> {
    if target.enter_database()? && dataset::marker(&mut target.control, chosen.family())?.is_some() {
        drop_data(target, chosen.family())?;
    }
    let data = chosen.dataset(LOAD_SEED);
    terminal::note(&format!("2 of 3: dataset {}, {TABLES} tables of {} rows", chosen.family(), args.table_size));
    let loaded = load(target, data.as_ref(), LOAD_THREADS, progress);
    progress.clear();
    let loaded = loaded?;
    let seconds = loaded.elapsed.as_secs_f64();
    terminal::note(&format!("        {} rows in {seconds:.1} s, {:.0} rows/s", loaded.rows, loaded.rows_per_second()));
    Ok(dataset::marker(&mut target.control, chosen.family())?)
}

fn show(args: &QuickstartArgs, finished: FinishedRun) -> anyhow::Result<u8> {
    let recorded = super::run::recorded(&finished);
    let recorded = recorded.unwrap_or_else(|| Recorded::of_run("quickstart", finished.summary.clone()));
    let recorded = Recorded { title: "quickstart".to_owned(), ..recorded };
    let printed = terminal::styled(&plimsoll_report::terminal(&recorded, terminal::look()));
    match &finished.ended {
        Some(EarlyEnd::Failed(why)) => terminal::note(&format!("plimsoll: the sweep ended early: {why}")),
        Some(EarlyEnd::Interrupted) => terminal::note("interrupted; results so far are kept"),
        None => {}
    }
    terminal::note(&format!("recording: {}", finished.recording.display()));
    let code = match &finished.ended {
        None => DONE,
        Some(EarlyEnd::Interrupted) => INTERRUPTED,
        Some(EarlyEnd::Failed(_)) => ENVIRONMENT,
    };
    let path = match &args.out {
        Some(directory) => page(&recorded).and_then(|page| write_beside(directory, &page)),
        None => write_page(&finished.recording, &recorded),
    };
    match path {
        Ok(path) if printed.is_err() => terminal::note(&format!("report: {}", path.display())),
        Ok(path) => terminal::result(&path.display().to_string())?,
        // It was asked for where it is to be.
        Err(error) if args.out.is_some() && code == DONE => return Err(error),
        // The result is worth more than its page.
        Err(error) => terminal::note(&format!("{error:#}")),
    }
    printed?;
    Ok(code)
}
