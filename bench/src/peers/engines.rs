//! Plimsoll's engines of file I/O with their measuring loop, in a process of their own on the file that their peers take.
//! The command `plimsoll io` never opens a file that it did not make, and would be charged with writing its own.

use super::{AccessPattern, BLOCK, FileLoad, IoEngine, Transfers};
use crate::args::EnginesArgs;
use crate::ground::Ground;
use anyhow::{Context, bail};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::tally::Tally;
use plimsoll_load::window::Limit;
use plimsoll_model::OpKind;
use plimsoll_model::samples::Phase;
use plimsoll_storage::files::FileSet;
use plimsoll_storage::job::{self, Mix, Places, Syncs};
use plimsoll_storage::layout::{Allocation, Content, FileLayout, Open};
use plimsoll_storage::op::Durable;
use plimsoll_storage::{Job, JobRun, RunEvent};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(50);

/// What the process says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    iops: f64,
    operations: f64,
    loop_cpu_ns: u64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Runs this program in that role.
pub fn run(ground: &Ground, load: &FileLoad) -> anyhow::Result<Transfers> {
    let mut command = Command::new(&ground.tools().own);
    command.arg("engines").arg("--file").arg(ground.file()).arg(format!("--bytes={}", ground.file_bytes()));
    command.args([format!("--access={}", load.access.name()), format!("--engine={}", load.engine.name())]);
    command.args([format!("--depth={}", load.depth), format!("--seconds={}", load.seconds)]);
    command.arg(format!("--seed={}", ground.next_seed()));
    let finished = ground.run(command, load.patience())?;
    let said: Said = serde_json::from_str(&finished.stdout).context("the report of the engines")?;
    Ok(Transfers {
        iops: said.iops,
        operations: said.operations,
        cpu: finished.cpu,
        loop_cpu: Some(Duration::from_nanos(said.loop_cpu_ns)),
        mean_us: Some(said.mean_us),
        p50_us: Some(said.p50_us),
        p99_us: Some(said.p99_us),
    })
}

/// That role: one job, then one line of JSON.
pub fn serve(args: &EnginesArgs) -> anyhow::Result<()> {
    let job = job(args)?;
    let files = open(&args.file, &job)?;
    let run = JobRun::begin(&job, Arc::new(files), args.seed)?;
    run.start();
    let measured = measure(&run);
    run.finish();
    let measured = measured?;
    let kind = match args.access {
        AccessPattern::Read => OpKind::Read,
        AccessPattern::Write => OpKind::Write,
    };
    let done = measured.transactions.get(kind as usize).context("nothing of the kind was measured")?;
    let microseconds = |share| done.service.value_at_quantile(share) as f64 / 1e3;
    let operations = done.committed as f64;
    let said = Said {
        iops: operations * 1e9 / (measured.end_ns - measured.start_ns) as f64,
        operations,
        loop_cpu_ns: measured.counters.loop_cpu_ns,
        mean_us: done.service.mean() / 1e3,
        p50_us: microseconds(0.50),
        p99_us: microseconds(0.99),
    };
    serde_json::to_writer(io::stdout(), &said)?;
    Ok(())
}

fn job(args: &EnginesArgs) -> anyhow::Result<Job> {
    let name = args.file.file_stem().and_then(|name| name.to_str()).context("the file needs a name in UTF-8")?;
    let depth = args.depth;
    Ok(Job {
        layout: FileLayout {
            name: name.to_owned(),
            files: 1,
            bytes_per_file: args.bytes,
            allocation: Allocation::Overwrite,
            content: Content::Random,
            fresh: false,
        },
        open: Open { direct: true, ..Open::default() },
        access: job::Access::Random {
            block: BLOCK,
            places: Places::Anywhere,
            mix: match args.access {
                AccessPattern::Read => Mix::Reads,
                AccessPattern::Write => Mix::Writes,
            },
            syncs: Syncs::NEVER,
            durable: Durable::No,
        },
        engine: match args.engine {
            IoEngine::Threads => job::JobEngine::Threads { workers: depth },
            IoEngine::IoUring => job::JobEngine::Uring { loops: 1, depth },
            IoEngine::Null => job::JobEngine::Null { workers: depth },
        },
        arrivals: Arrivals::Closed,
        limit: Limit::Time(u64::from(args.seconds) * 1_000_000_000),
        warmup_ns: 0,
        verify: false,
    })
}

/// The one file, which this program laid out in another process.
fn open(path: &Path, job: &Job) -> anyhow::Result<FileSet> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).with_context(|| format!("opening {}", path.display()))?;
    Ok(FileSet {
        layout: job.layout.clone(),
        open: job.open,
        files: vec![File::from(file)],
        paths: vec![path.to_owned()],
        directory: path.parent().unwrap_or(Path::new("/")).to_owned(),
    })
}

/// What all loops counted.
fn measure(run: &JobRun) -> anyhow::Result<Tally> {
    let mut sum: Option<Box<Tally>> = None;
    let mut drained = 0;
    while drained < run.facts.loops {
        match run.next(LOOK) {
            Some(RunEvent::Interval(tally)) if tally.phase == Phase::Measure => match &mut sum {
                Some(sum) => {
                    sum.add(&tally);
                    run.recycle(*tally);
                }
                None => sum = Some(tally),
            },
            Some(RunEvent::Interval(tally)) => run.recycle(*tally),
            Some(RunEvent::Drained(_)) => drained += 1,
            Some(RunEvent::Failed(reason)) => bail!("{reason}"),
            Some(RunEvent::Mismatch(mismatch)) => bail!("{mismatch}"),
            None if run.ended() == run.facts.loops => bail!("the loops ended by themselves"),
            Some(RunEvent::ReadBack) | None => {}
        }
    }
    sum.map(|sum| *sum).context("nothing was measured")
}
