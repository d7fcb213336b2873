//! What the command line says about how to execute a plan.

use crate::login::Login;
use plimsoll_plan::lab::permission::Given;
use std::path::PathBuf;
use std::time::Duration;

/// How a plan is executed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Everything that the plan asks for is permitted: [`plimsoll_plan::LabPlan::asks`].
    pub allow_commands: bool,
    /// What only the command line can say.
    pub given: Given,
    /// The password for external servers, and which servers it is for.
    pub login: Login,
    /// A recording to resume.
    pub resume: Option<PathBuf>,
    /// The command line, shown by another Plimsoll that finds a server in use.
    pub holder: String,
    pub tool_version: String,
    /// Connections that load data.
    pub threads: usize,
    /// How long a search or a ladder waits for a quiet machine.
    pub wait_quiet: Duration,
    /// They do not wait for one.
    pub noisy_host: bool,
}
