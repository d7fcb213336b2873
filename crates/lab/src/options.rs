//! What the command line says of how a plan is executed.

use crate::login::Login;
use plimsoll_plan::lab::leave::Given;
use std::path::PathBuf;
use std::time::Duration;

/// How a plan is executed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whatever the plan asks for may be done: [`plimsoll_plan::LabPlan::asks`].
    pub allow_commands: bool,
    /// What the command line says that no plan can say.
    pub given: Given,
    /// The password of servers that are not ours, and whose it is.
    pub login: Login,
    /// A recording to go on with.
    pub resume: Option<PathBuf>,
    /// Who we are, for another Plimsoll that finds a server in use: the command line.
    pub holder: String,
    pub tool_version: String,
    /// Connections that load data.
    pub threads: usize,
    /// How long a search or a ladder waits for others to leave the machine alone.
    pub wait_quiet: Duration,
}
