//! Plan files: what they mean, what is refused, and that no text makes the reader crash.

mod accepted;
mod listings;
mod mutated;
mod refused;

use plimsoll_plan::lab::file::{self, PlanChoices};
use plimsoll_plan::{LabPlan, PlanError};

/// The seed of plans that have none.
const SEED: u64 = 7;

/// The example of the documentation, with a comment less and a variant more.
const EXAMPLE: &str = r#"name   = "netapp-tr3693-protocols"
title  = "100 GB order entry over three storage paths"
source = "NetApp TR-3693 (June 2010), section 2.3"

[server]
build       = "auto"
config_file = "netapp.cnf"
[server.config]
innodb_buffer_pool_size = "22G"
innodb-doublewrite = false

[workload]
kind = "tpcc"
profile = "dbt2"
warehouses = 1000

[load]
connections = [64]

[trials]
restore = "snapshot"
warmup  = "15m"
measure = "10m"
pause   = "30s"
rounds  = 3
order   = "interleaved"
recovery = false

[[variant]]
name = "fc"
datadir = "/mnt/fc"
[[variant]]
name = "nfs"
datadir = "/mnt/nfs"
load.outage_limit = "1m"

[[rung]]
name = "pool-6g"
config = { innodb_buffer_pool_size = "6G" }

[[collector]]
name = "array-busy-percent"
command = "ssh array stats"
every = "5s"

[described]
storage = "FAS3070, 107 disks, RAID-DP"

[[published]]
place = "section 2.3"
metric = "nopm"
unit = "1/min"
variant = "fc"
value = 13431
[[published]]
metric = "nopm"
ordering = ["fc", "nfs"]
kind = "claim"

[preset.small]
workload.warehouses = 4
server.config.innodb_buffer_pool_size = "1G"
trials = { warmup = "10s", measure = "20s", pause = "1s" }
variant.fc.datadir = "/dev/shm"
rung.pool-6g.config.innodb_buffer_pool_size = "600M"
"#;

const NETAPP_CNF: &str = "[mysqld_safe]\nopen_files_limit=16384\n[mysqld]\nport=3306\nInnoDB-Open-Files=1\n\
    innodb_open_files=4096\ninnodb_buffer_pool_size=1G\nskip-log-bin\nskip-name-resolve\n[mysqldump]\nquick\n";

/// Reads `text` as `plan.toml` beside two option files.
fn read(text: &str, preset: Option<&str>) -> Result<LabPlan, PlanError> {
    read_with(text, PlanChoices { preset, ..PlanChoices::of_seed(SEED) })
}

fn read_with(text: &str, choices: PlanChoices<'_>) -> Result<LabPlan, PlanError> {
    file::read("plan.toml", text, choices, &|name| match name {
        "netapp.cnf" => Ok(NETAPP_CNF.to_owned()),
        "broken.cnf" => Ok("[mysqld]\n\ninnodb open files=4096\n".to_owned()),
        _ => Err("no such file".to_owned()),
    })
}
