//! The request for an evaluation.

use plimsoll_plan::StoragePlan;
use plimsoll_storage::probe::ProbeStep;
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
    /// Bytes of the page files; the suite decides if not given.
    pub data_bytes: Option<u64>,
    /// How long each measurement lasts; the suite decides if not given.
    pub window: Option<Duration>,
    pub seed: u64,
    /// Keep the files.
    pub keep: bool,
    /// The recording's name.
    pub name: String,
    /// Servers whose commits and reads are measured afterwards and compared with the predictions: `auto`, a path.
    pub validate: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Suite {
        suite: Suite,
        steady: bool,
    },
    /// One measurement of the user's own.
    Test(Box<ProbeStep>),
}

impl IoPlan {
    /// `quick`, `full`, `percona-2008`, or `test`.
    pub fn suite_name(&self) -> &'static str {
        match self.what {
            What::Suite { suite, .. } => suite.name(),
            What::Test(_) => "test",
        }
    }

    /// In the form of the manifest, with every default filled in.
    pub fn resolved(&self, steps: &[ProbeStep]) -> StoragePlan {
        StoragePlan {
            directory: self.directory.clone(),
            suite: self.suite_name().to_owned(),
            steps: steps.iter().map(|step| step.id.clone()).collect(),
            probes: self.probes.clone(),
            data_bytes: self.data_bytes,
            window_seconds: self.window.map(|window| window.as_secs_f64()),
            seed: self.seed,
            keep: self.keep,
            validate: self.validate.clone(),
        }
    }
}
