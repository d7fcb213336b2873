//! `plimsoll crash`.

use super::{OwnServerArgs, Params, class, duration};
use clap::{Args, ValueHint};
use plimsoll_model::{Class, FaultKind};
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
Faults: kill (SIGKILL of the server), power (server and storage end at once, and what was not flushed is lost), torn (of that \
a random part of the sectors survives), reorder (random writes survive as a whole, later ones without earlier ones), io-error \
(a write or a flush fails, once or for good), full (the device is full), lying (flushes are acknowledged and not done: what \
such a test has to find), server-power (the storage server loses its power and comes back, the database server goes on), cut (the link to the \
storage server is gone for seconds), replica (the link to a replica is cut, the server is killed a moment later, and the replica takes over), backup \
(nothing goes wrong: the data are copied online, and the copy is looked at). All but kill, replica and backup need root, for a device or a network of their own.

  plimsoll crash
  plimsoll crash --faults kill,power --set innodb_flush_log_at_trx_commit=2 --trials 50
  plimsoll crash --faults torn --set innodb_doublewrite=OFF --lane xfs --server mysql
  plimsoll crash --faults server-power,cut --lane nfs-files,options=soft+timeo=10
  plimsoll crash --faults replica --set rpl_semi_sync_master_enabled=ON --server mariadb
  plimsoll crash --faults backup --lane xfs --trials 5
  plimsoll crash --workload tpcc --warehouses 2 --config-file /etc/mysql/my.cnf
  plimsoll crash --faults torn --set innodb_doublewrite=OFF --keep
  plimsoll crash --repeat crash-ledger --trial 17 --trials 5
  plimsoll crash --faults power --plan durability.toml      write the plan; add variants to it, and run it with `plimsoll lab`

Exit codes: 0 nothing was lost or damaged but what the class of a setting announces; 1 something was, or a trial failed; \
2 wrong arguments, nothing was started; 3 the environment failed; 130 interrupted, results so far are kept, and \
`plimsoll lab --resume` goes on.";

#[derive(Debug, Args)]
pub struct CrashArgs {
    /// What loads the server: ledger, made for it, or tpcc. Its parameters are those that `plimsoll run` takes.
    #[arg(long, default_value = "ledger", value_name = "WORKLOAD")]
    pub workload: String,
    /// What goes wrong; a list, or repeated.
    #[arg(long, value_delimiter = ',', default_value = "kill,power", value_parser = fault, value_name = "FAULT")]
    pub faults: Vec<FaultKind>,
    /// How often each of them comes. Without any loss, 20 bound the share of losing faults to 14 %, and 60 to 5 %.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "N")]
    pub trials: u32,
    /// A fault comes in the second half of this time under load, at a moment that is drawn for each. At most 20m.
    #[arg(long, default_value = "4s", value_parser = duration, value_name = "DURATION")]
    pub load: Duration,
    /// How long the load is measured without a fault, three times, for what the settings bring.
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "DURATION")]
    pub time: Duration,
    /// Connections of the load.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..), value_name = "N")]
    pub connections: u16,
    /// The storage lane of the server's data, which is given a device that can lose its power if a fault needs one. [default:
    /// ext4 if a fault needs one, nfs-files if it needs a storage server or a network, else Plimsoll's home]
    #[arg(long, value_name = "LANE")]
    pub lane: Option<String>,
    #[command(flatten)]
    pub own: OwnServerArgs,
    /// Classes whose losses are accepted, although the settings promise otherwise: d1 for storage that is known to forget the last
    /// second. A list, or repeated.
    #[arg(long, value_delimiter = ',', value_parser = losing_class, value_name = "CLASS")]
    pub allow: Vec<Class>,
    /// Keep the data of trials in which something was lost or damaged, as the fault left them, with the recording.
    #[arg(long)]
    pub keep: bool,
    /// Write the plan instead, replacing what is there.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "json")]
    pub plan: Option<PathBuf>,
    /// Do a crash trial of this recording again, as often as --trials says: with its load, its settings and its lane, at the
    /// same commit, and with the same draws of what survives. Needs --trial.
    #[arg(long, value_name = "RECORDING", requires = "trial", conflicts_with_all = ["faults", "load", "time", "workload",
          "connections", "lane", "config_file", "set", "plan", "seed"])]
    pub repeat: Option<String>,
    /// With --repeat: the trial, by its number.
    #[arg(long, value_name = "N", requires = "repeat")]
    pub trial: Option<u32>,
    /// Seed of the loads and of the faults; random if not given, and printed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the summary as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub params: Params,
}

/// A class that announces losses; those of the others are never accepted.
fn losing_class(text: &str) -> Result<Class, String> {
    const LOSING: [Class; 4] = [Class::D1, Class::D1p, Class::D2, Class::D3];
    let found = class(text).ok().filter(|class| LOSING.contains(class));
    found.ok_or_else(|| format!("accepted is one of {}", LOSING.map(Class::name).join(", ")))
}

fn fault(text: &str) -> Result<FaultKind, String> {
    FaultKind::named(text).ok_or_else(|| {
        let names: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("accepted is one of {}", names.join(", "))
    })
}
