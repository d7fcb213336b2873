//! What is asked of an evaluation.

use plimsoll_storage::probe::Step;
use plimsoll_storage::suite::Suite;
use std::path::PathBuf;
use std::time::Duration;

/// What to evaluate, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct IoPlan {
    pub directory: PathBuf,
    pub what: What,
    /// Only these probes, by number; empty for all of the suite.
    pub probes: Vec<u8>,
    /// Bytes of the page files; as the suite has it if not given.
    pub data_bytes: Option<u64>,
    /// How long each measurement lasts; as the suite has it if not given.
    pub window: Option<Duration>,
    pub seed: u64,
    /// Leave the files there.
    pub keep: bool,
    /// The recording's name.
    pub name: String,
    /// Servers whose commits and reads are measured afterwards beside what is predicted: `auto`, a path.
    pub validate: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Suite {
        suite: Suite,
        steady: bool,
    },
    /// One measurement of the user's own.
    Test(Box<Step>),
}

impl IoPlan {
    /// `quick`, `full`, `percona-2008`, or `test`.
    pub fn suite_name(&self) -> &'static str {
        match self.what {
            What::Suite { suite, .. } => suite.name(),
            What::Test(_) => "test",
        }
    }

    /// As the manifest keeps it, with every default filled in.
    pub fn resolved(&self, steps: &[Step]) -> serde_json::Value {
        serde_json::json!({
            "command": "io",
            "directory": self.directory,
            "suite": self.suite_name(),
            "steps": steps.iter().map(|step| &step.id).collect::<Vec<_>>(),
            "probes": self.probes,
            "data_bytes": self.data_bytes,
            "window_seconds": self.window.map(|window| window.as_secs_f64()),
            "seed": self.seed,
            "keep": self.keep,
            "validate": self.validate,
        })
    }
}
