//! What a gate in continuous integration was given.

use clap::{Args, ValueHint};
use plimsoll_model::gate::GateLimit;
use plimsoll_plan::gate::limit;
use std::path::PathBuf;

pub const HELP: &str = "\
As a gate in continuous integration, a limit fails only if the whole 95 % interval is beyond it:
  --fail-if 'p99 > 20ms'      p50, p90, p95, p99, p999 or mean: response time at a set rate, else latency
  --fail-if 'tps < 1000'      or qps, nopm; 20k and 1.5M are read
  --fail-if 'errors > 0'      error answers and lost connections, also where a retry succeeded
  --fail-if 'failed > 1%'     transactions that failed: a number, or a share
At each load point every limit is judged. Without samples it fails; if the interval extends to both sides of it, the \
gate is undecided: it says so, and exits 4 with --fail-if-unclear.";

/// Limits on what is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gate")]
pub struct LimitArgs {
    /// Exit 1 if this holds at a load point and the whole interval says so; may be repeated.
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    pub fail_if: Vec<GateLimit>,
    /// With --fail-if-slower: compare with what `plimsoll recordings keep NAME` has kept.
    #[arg(long, value_name = "NAME", requires = "fail_if_slower")]
    pub baseline: Option<String>,
}

/// How a gate tells what it decided.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gate")]
pub struct VerdictArgs {
    /// Exit 4 if an interval cannot tell on which side of its limit it is.
    #[arg(long)]
    pub fail_if_unclear: bool,
    /// Write what the gate decided as JUnit XML, replacing the file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// Show what the gate decided in GitHub Actions: annotations, and a summary of the job.
    #[arg(long)]
    pub github: bool,
}
