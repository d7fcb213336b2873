//! fio 3: one process per job, whose engines have the names of the system calls.

use super::{AccessPattern, BLOCK, FileLoad, IoEngine, Transfers};
use crate::ground::Ground;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// How exact its percentiles are: it counts latencies in 64 buckets per doubling.
pub const RESOLUTION: f64 = 1.0 / 64.0;

/// Its name and version, as it says; `None` if it is not there.
pub fn version() -> Option<String> {
    let output = Command::new("fio").arg("--version").output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().replacen('-', " ", 1))
}

pub fn run(ground: &Ground, load: &FileLoad) -> anyhow::Result<Transfers> {
    let mut command = Command::new("fio");
    // Jobs as processes would each begin a session, and the kernel gives each session a CPU share of its own
    // (sched(7), autogroups): on a busy machine that is a lead.
    command.arg("--thread");
    // Nothing is laid out by fio: a file that is not there, or too short, is an error.
    command.args(["--name=peer", "--direct=1", "--allow_file_create=0", "--overwrite=1"]);
    command.arg(format!("--filename={}", ground.file().display()));
    command.args([format!("--bs={BLOCK}"), format!("--size={}", ground.file_bytes())]);
    command.arg(format!("--rw={}", pattern(load.access))).args(["--norandommap", "--randrepeat=0"]);
    command.arg(format!("--randseed={}", ground.next_seed()));
    let (engine, depth, jobs) = engine(load);
    command.args([format!("--ioengine={engine}"), format!("--iodepth={depth}"), format!("--numjobs={jobs}")]);
    command.args([format!("--runtime={}", load.seconds), "--time_based".to_owned(), "--group_reporting".to_owned()]);
    // Latency from submission to completion, as Plimsoll has it, rather than from the end of the submission.
    command.args(["--gtod_reduce=0", "--lat_percentiles=1", "--clat_percentiles=0", "--percentile_list=50:99"]);
    command.arg("--output-format=json");
    let finished = ground.run(command, load.patience())?;
    let said = Said::read(&finished.stdout, load.access)?;
    Ok(Transfers {
        iops: said.iops,
        operations: said.operations,
        cpu: finished.cpu,
        loop_cpu: Some(said.loop_cpu),
        mean_us: Some(said.mean_us),
        p50_us: said.p50_us,
        p99_us: said.p99_us,
    })
}

fn pattern(access: AccessPattern) -> &'static str {
    match access {
        AccessPattern::Read => "randread",
        AccessPattern::Write => "randwrite",
    }
}

/// Its engine, the depth of each job, and how many jobs.
fn engine(load: &FileLoad) -> (&'static str, u32, u32) {
    match load.engine {
        IoEngine::Threads => ("psync", 1, load.depth),
        IoEngine::IoUring => ("io_uring", load.depth, 1),
        IoEngine::Null => ("null", load.depth, 1),
    }
}

/// The numbers in its report.
#[derive(Debug, PartialEq)]
struct Said {
    iops: f64,
    operations: f64,
    /// Of its jobs, as it says; milliseconds are as fine as it tells.
    loop_cpu: Duration,
    mean_us: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
}

#[derive(Deserialize)]
struct Report {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i64,
    read: Direction,
    write: Direction,
    /// Milliseconds that all jobs ran, and per cent of that.
    job_runtime: f64,
    usr_cpu: f64,
    sys_cpu: f64,
}

#[derive(Deserialize)]
struct Direction {
    iops: f64,
    total_ios: u64,
    lat_ns: Latency,
}

#[derive(Deserialize)]
struct Latency {
    mean: f64,
    /// Nanoseconds by percentage, `99.000000`; not there without operations.
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

impl Said {
    /// Reads its JSON. Notes for people may come before it on the same stream.
    fn read(output: &str, access: AccessPattern) -> anyhow::Result<Said> {
        let whole = || format!("fio printed:\n{output}");
        let json = output.find('{').map(|start| &output[start..]).with_context(whole)?;
        let report: Report = serde_json::from_str(json).with_context(whole)?;
        let job = report.jobs.first().with_context(whole)?;
        let done = match access {
            AccessPattern::Read => &job.read,
            AccessPattern::Write => &job.write,
        };
        if job.error != 0 || done.total_ios == 0 {
            bail!("fio finished {} operations, its error is {}", done.total_ios, job.error);
        }
        let busy = (job.usr_cpu + job.sys_cpu) / 100.0;
        let microseconds = |percent: &str| done.lat_ns.percentile.get(percent).map(|ns| ns / 1e3);
        Ok(Said {
            iops: done.iops,
            operations: done.total_ios as f64,
            loop_cpu: Duration::try_from_secs_f64(job.job_runtime / 1e3 * busy).with_context(whole)?,
            mean_us: done.lat_ns.mean / 1e3,
            p50_us: microseconds("50.000000"),
            p99_us: microseconds("99.000000"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cut down to what has a meaning here.
    const REPORT: &str = r#"note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "peer",
      "groupid" : 0,
      "error" : 0,
      "read" : {
        "iops" : 0.000000,
        "total_ios" : 0,
        "lat_ns" : { "min" : 0, "max" : 0, "mean" : 0.000000, "stddev" : 0.000000, "N" : 0 }
      },
      "write" : {
        "iops" : 44932.533733,
        "runtime" : 2001,
        "total_ios" : 89910,
        "lat_ns" : {
          "min" : 364008,
          "max" : 57026001,
          "mean" : 1423423.0,
          "N" : 89910,
          "percentile" : { "50.000000" : 790528, "99.000000" : 9371648 }
        }
      },
      "job_runtime" : 2000,
      "usr_cpu" : 2.500000,
      "sys_cpu" : 28.800000
    }
  ]
}
"#;

    #[test]
    fn its_report_is_understood_after_whatever_it_notes() {
        let expected = Said {
            iops: 44932.533733,
            operations: 89910.0,
            loop_cpu: Duration::from_millis(626),
            mean_us: 1423.423,
            p50_us: Some(790.528),
            p99_us: Some(9371.648),
        };
        assert_eq!(Said::read(REPORT, AccessPattern::Write).unwrap(), expected);
        let error = Said::read(REPORT, AccessPattern::Read).unwrap_err().to_string();
        assert!(error.contains("0 operations"), "{error}");
        let failed = REPORT.replace(r#""error" : 0"#, r#""error" : 5"#);
        assert!(Said::read(&failed, AccessPattern::Write).is_err());
        let error = Said::read("fio: no such engine", AccessPattern::Read).unwrap_err().to_string();
        assert!(error.contains("no such engine"), "{error}");
    }

    #[test]
    fn synchronous_calls_are_deep_by_jobs() {
        let load = |engine| FileLoad { access: AccessPattern::Read, engine, depth: 16, seconds: 1 };
        assert_eq!(engine(&load(IoEngine::Threads)), ("psync", 1, 16));
        assert_eq!(engine(&load(IoEngine::IoUring)), ("io_uring", 16, 1));
    }
}
