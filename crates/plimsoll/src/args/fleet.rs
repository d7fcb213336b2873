//! What agents and fleets are told.

use super::duration;
use clap::{Args, Subcommand, ValueHint};
use plimsoll_fleet::own::AgentNames;
use plimsoll_plan::allowed_target::AllowedTarget;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_plan::listen::ListenAddress;
use plimsoll_plan::plan::FleetPlan;
use std::path::PathBuf;
use std::time::Duration;

pub const AGENT_HELP: &str = "\
On each load machine:
  plimsoll agent --fleet 'tls://broker:4222?key=a1.nk' --name a1 --allow-target 'mysql://bench@db1:3306/*'
It waits for loads, makes its part of each, and tells the coordinator (plimsoll run --fleet …) what comes of it. The password \
of the database is its own affair: --defaults-file or MYSQL_PWD. Ctrl-C drains what is under way first.

Exit codes: 0 it was told to leave; 2 wrong arguments; 3 the broker cannot be reached; 130 interrupted.";

pub const FLEET_HELP: &str = "\
To try it on this machine:
  plimsoll fleet up --local 4
  plimsoll run oltp_read_only --connections 16 --fleet URL     the address that `up` has printed
  plimsoll fleet down";

/// Who makes a load.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct FleetOptions {
    /// Have the load made by agents: the address of their broker (see docs/fleet.md).
    #[arg(long, value_name = "URL", value_parser = BrokerAddress::parse)]
    pub fleet: Option<BrokerAddress>,
    /// So many agents, which are waited for; if not given, all that are there when the first load begins.
    #[arg(long, value_name = "N", requires = "fleet", value_parser = clap::value_parser!(u16).range(1..))]
    pub agents: Option<u16>,
    /// So many agents may be lost before what is measured fails; it has a caveat then.
    #[arg(long, value_name = "N", requires = "fleet", default_value_t = 0)]
    pub tolerate_lost: u16,
}

impl FleetOptions {
    /// As a plan has it.
    pub fn plan(&self) -> Option<FleetPlan> {
        self.fleet.as_ref().map(|broker| FleetPlan {
            broker: broker.clone(),
            agents: self.agents.map(usize::from),
            tolerate_lost: usize::from(self.tolerate_lost),
            listen: None,
        })
    }
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    /// The broker of the fleet.
    #[arg(long, value_name = "URL", value_parser = BrokerAddress::parse)]
    pub fleet: BrokerAddress,
    /// What the agent is called; the name of the machine if not given.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A target that it may load: mysql://USER@HOST:PORT/DATABASE, `*` for any database, or `private` for private servers of the
    /// same user on this machine; may be repeated. It loads nothing else.
    #[arg(long, required = true, value_name = "TARGET", value_parser = AllowedTarget::parse)]
    pub allow_target: Vec<AllowedTarget>,
    /// Option file; its [client] section has the password, and how connections are protected.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub defaults_file: Option<PathBuf>,
    /// Option file with the login that `fleet up` made for the private servers of labs, which it may then load: each proves with a
    /// certificate of the fleet's own authority that it is one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lab_login: Option<PathBuf>,
    /// Keep what loads tell on this machine even after it has been recorded.
    #[arg(long)]
    pub keep_spools: bool,
}

#[derive(Debug, Args)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub action: FleetAction,
}

#[derive(Debug, Subcommand)]
pub enum FleetAction {
    /// Who is there: agents, their machines, and how well their clocks are known.
    Status {
        /// The broker; that of `fleet up` if not given.
        #[arg(long, value_name = "URL", value_parser = BrokerAddress::parse)]
        fleet: Option<BrokerAddress>,
        /// Print it as one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Start a broker and agents, and print the broker's address.
    Up(UpArgs),
    /// End what `up` has started.
    Down,
}

#[derive(Debug, Args)]
pub struct UpArgs {
    /// Agents on this machine, to try it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), required_unless_present_any = ["hosts", "names"])]
    pub local: Option<u16>,
    /// Agents on these machines, which ssh reaches and which have Plimsoll; the broker is started here for them, with TLS
    /// and a key for each.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', requires = "listen", conflicts_with_all = ["local", "fleet"])]
    pub hosts: Vec<String>,
    /// Keys for agents of these names, which something else starts, as Slurm or Kubernetes: NAME or NAME[FIRST-LAST].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "listen", value_parser = AgentNames::parse, conflicts_with_all = ["local", "fleet", "hosts"])]
    pub names: Vec<AgentNames>,
    /// Where other machines reach the broker: a name or an address of this machine, and a port.
    #[arg(long, value_name = "HOST:PORT", value_parser = ListenAddress::parse, conflicts_with_all = ["local", "fleet"])]
    pub listen: Option<ListenAddress>,
    /// The command that reaches them.
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5",
        requires = "hosts"
    )]
    pub ssh: String,
    /// What Plimsoll is called there.
    #[arg(long, value_name = "PATH", default_value = "plimsoll", requires = "hosts")]
    pub remote_plimsoll: String,
    /// A broker that runs already.
    #[arg(long, value_name = "URL", value_parser = BrokerAddress::parse)]
    pub fleet: Option<BrokerAddress>,
    /// A target that they may load, as for `plimsoll agent`; may be repeated.
    #[arg(long, value_name = "TARGET", default_value = "private", value_parser = AllowedTarget::parse)]
    pub allow_target: Vec<AllowedTarget>,
    /// Option file of the agents.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub defaults_file: Option<PathBuf>,
    /// Agents are waited for so long.
    #[arg(long, default_value = "30s", value_parser = duration, value_name = "DURATION")]
    pub within: Duration,
}
