//! sysbench's fileio: a thread per operation under way, pread(2) and pwrite(2), one percentile per run.

use super::{AccessPattern, BLOCK, FileLoad, Transfers};
use crate::ground::Ground;
use anyhow::Context;
use std::process::Command;

pub fn run(ground: &Ground, load: &FileLoad) -> anyhow::Result<Transfers> {
    let mut command = Command::new("sysbench");
    // It knows its files only as `test_file.N` of the directory it is in.
    command.current_dir(ground.directory()).args(["fileio", "--file-num=1", "--file-extra-flags=direct"]);
    command.arg(format!("--file-total-size={}", ground.file_bytes()));
    command.args([format!("--file-block-size={BLOCK}"), format!("--file-test-mode={}", mode(load.access))]);
    command.args(["--file-fsync-freq=0", "--file-fsync-end=off", "--events=0", "--percentile=99"]);
    command.args([format!("--threads={}", load.depth), format!("--time={}", load.seconds)]);
    command.args([format!("--rand-seed={}", ground.next_seed()), "run".to_owned()]);
    let finished = ground.run(command, load.patience())?;
    let said = Said::read(&finished.stdout).with_context(|| format!("sysbench printed:\n{}", finished.stdout))?;
    Ok(Transfers {
        iops: said.events / said.seconds,
        operations: said.events,
        cpu: finished.cpu,
        loop_cpu: None,
        mean_us: None,
        p50_us: None,
        p99_us: Some(said.p99_ms * 1e3),
    })
}

fn mode(access: AccessPattern) -> &'static str {
    match access {
        AccessPattern::Read => "rndrd",
        AccessPattern::Write => "rndwr",
    }
}

/// The numbers in its report.
#[derive(Debug, PartialEq)]
struct Said {
    events: f64,
    seconds: f64,
    p99_ms: f64,
}

impl Said {
    fn read(report: &str) -> Option<Said> {
        let number = |label: &str| {
            let rest = report.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
            rest.trim().trim_end_matches('s').parse::<f64>().ok().filter(|number| *number > 0.0)
        };
        Some(Said {
            events: number("total number of events:")?,
            seconds: number("total time:")?,
            p99_ms: number("99th percentile:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_report_is_understood() {
        let report = "
Throughput:
    read, MiB/s:                  0.00
    written, MiB/s:               955.43

General statistics:
    total time:                          2.0003s
    total number of events:              122366

Latency (ms):
         max:                                   44.03
         99th percentile:                        0.53
         sum:                                31959.04
";
        assert_eq!(Said::read(report), Some(Said { events: 122366.0, seconds: 2.0003, p99_ms: 0.53 }));
        assert_eq!(Said::read(&report.replace("122366", "0")), None, "nothing was done");
    }
}
