//! The servers that are advised: what is wrong with each, and what loads it.

use crate::arena::Arena;
use anyhow::Context;
use plimsoll_model::{Class, Flavour};
use plimsoll_plan::lab::PlannedWorkload;
use plimsoll_plan::lab::file::draft::{DraftAsks, DraftSettings, PlanDraft};
use rustix::process::geteuid;
use std::fs;

pub struct Situation {
    pub name: &'static str,
    /// The option file of each flavour; of MySQL none where it is not tried on it.
    mariadb: &'static str,
    mysql: Option<&'static str>,
    /// Without it, storage is that of Plimsoll's home.
    lane: Option<&'static str>,
    kind: &'static str,
    params: &'static [(&'static str, &'static str)],
    connections: usize,
}

const ONE_TABLE: &[(&str, &str)] = &[("tables", "1"), ("table-size", "200000")];
const ORDERS: &[(&str, &str)] = &[("profile", "dbt2"), ("warehouses", "2"), ("affinity", "random")];

/// How long a server is watched by all advisors, seconds.
const LOOK_SECONDS: f64 = 40.0;
/// How long each trial of a ladder is measured, seconds.
const MEASURE_SECONDS: f64 = 3.0;
const WARMUP: &str = "1500ms";

pub const SITUATIONS: [Situation; 6] = [
    Situation {
        name: "pool too small",
        mariadb: "innodb_buffer_pool_size = 8M\n",
        mysql: Some("innodb_buffer_pool_size = 8M\n"),
        lane: Some("ext4,iops=300"),
        kind: "oltp_read_only",
        params: ONE_TABLE,
        connections: 16,
    },
    Situation {
        name: "redo too small",
        mariadb: "innodb_log_file_size = 4M\n",
        mysql: None,
        lane: Some("ext4,bandwidth=4M"),
        kind: "oltp_update_non_index",
        params: ONE_TABLE,
        connections: 16,
    },
    Situation {
        name: "dirty-page limits far off",
        mariadb: "innodb_buffer_pool_size = 256M\ninnodb_max_dirty_pages_pct = 1\ninnodb_max_dirty_pages_pct_lwm = 0.1\n\
                  innodb_io_capacity = 20000\ninnodb_io_capacity_max = 40000\n",
        mysql: None,
        lane: Some("ext4,iops=1000"),
        kind: "oltp_update_non_index",
        params: ONE_TABLE,
        connections: 16,
    },
    Situation {
        name: "healthy",
        mariadb: "innodb_buffer_pool_size = 1G\ninnodb_log_file_size = 1G\nlog_bin = ON\nsync_binlog = 1\n",
        mysql: Some("innodb_buffer_pool_size = 1G\ninnodb_redo_log_capacity = 1G\n"),
        lane: None,
        kind: "oltp_read_write",
        params: ONE_TABLE,
        connections: 8,
    },
    Situation {
        name: "durability broken",
        mariadb: "innodb_buffer_pool_size = 1G\ninnodb_flush_log_at_trx_commit = 0\ninnodb_doublewrite = OFF\n\
                  log_bin = ON\nsync_binlog = 0\n",
        mysql: None,
        lane: None,
        kind: "oltp_read_write",
        params: ONE_TABLE,
        connections: 8,
    },
    Situation {
        name: "NetApp’s my.cnf",
        mariadb: include_str!("../../../../plans/netapp-tr3693-small.cnf"),
        mysql: None,
        lane: None,
        kind: "tpcc",
        params: ORDERS,
        connections: 8,
    },
];

impl Situation {
    /// As files are named.
    pub fn slug(&self) -> String {
        let kept = self.name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ');
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    }

    /// Whether it is tried on this flavour, by this user.
    pub fn is_tried_on(&self, flavour: Flavour) -> bool {
        let is_of_it = flavour == Flavour::MariaDb || self.mysql.is_some();
        let can_build = self.lane.is_none() || geteuid().is_root();
        if is_of_it && !can_build {
            eprintln!("  SKIPPED: {}: only root can build the lane that its data are on", self.name);
        }
        is_of_it && can_build
    }

    /// A look at the server under its load, or a ladder that changes it.
    ///
    /// # Errors
    /// If its option file cannot be written.
    pub fn draft(&self, arena: &Arena, asks: DraftAsks) -> anyhow::Result<PlanDraft> {
        let config_file = arena.scratch().join(format!("{}.cnf", self.slug()));
        let text = match arena.build().flavour {
            Flavour::MariaDb => self.mariadb,
            Flavour::MySql => self.mysql.unwrap_or_default(),
        };
        let head = if text.contains("[mysqld]") { "" } else { "[mysqld]\n" };
        fs::write(&config_file, format!("{head}{text}"))
            .with_context(|| format!("writing {}", config_file.display()))?;
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Ok(PlanDraft {
            name: format!("advised-{}", self.slug()),
            title: self.name.to_owned(),
            config_file: Some(config_file.display().to_string()),
            config: DraftSettings::new(),
            lane: self.lane.map(str::to_owned),
            workload: PlannedWorkload {
                kind: self.kind.to_owned(),
                params: self.params.iter().map(owned).collect(),
                seed: 1,
                dataset: None,
                script: None,
            },
            connections: self.connections,
            warmup: WARMUP.to_owned(),
            measure_seconds: if asks == DraftAsks::Look { LOOK_SECONDS } else { MEASURE_SECONDS },
            noisy_host: true,
            // What is unsafe is tried as well, to count it.
            allow: Class::ALL.to_vec(),
            asks,
        })
    }
}
