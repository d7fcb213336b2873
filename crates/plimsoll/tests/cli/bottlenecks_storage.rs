//! When storage or rows are made to limit a real server, they are named as its bottleneck, and nothing else is.

use crate::bottlenecks::names;
use crate::harness::Lab;
use plimsoll_model::Flavour;
use plimsoll_model::diagnosis::{Bottleneck, Diagnosis};
use plimsoll_testkit::servers;
use std::time::Duration;

/// Longer than any plan here takes; data are built behind the limit that is planted.
const PATIENCE: Duration = Duration::from_secs(400);

/// Something that is known to limit.
struct Plant {
    name: &'static str,
    /// What makes it so, as keys of a plan's `[server]`.
    server: &'static str,
    workload: &'static str,
    connections: usize,
    limit: Bottleneck,
    /// The rules of `plimsoll advise` that speak of it.
    rules: &'static [&'static str],
}

/// Most reads miss the pool, and few can be done in a second.
const SMALL_POOL: Plant = Plant {
    name: "small-pool",
    server: "lane = \"ext4,iops=300\"\nconfig = { innodb_buffer_pool_size = \"8M\" }\n",
    workload: "kind = \"oltp_read_only\"\ntables = 1\ntable_size = 200000\n",
    connections: 16,
    limit: Bottleneck::ReadIo,
    rules: &["mem.pool-small", "io.method"],
};

const SLOW_SYNCS: Plant = Plant {
    name: "slow-syncs",
    server: "lane = \"ext4,iops=100\"\n",
    workload: "kind = \"oltp_update_non_index\"\ntables = 4\ntable_size = 10000\n",
    connections: 16,
    limit: Bottleneck::CommitSync,
    rules: &["redo.fsync-bound", "redo.relaxed"],
};

/// The end of the log is always near, and pages are written slowly.
fn tiny_redo(flavour: Flavour) -> Plant {
    let server = match flavour {
        Flavour::MariaDb => "lane = \"ext4,bandwidth=4M\"\nconfig = { innodb_log_file_size = \"4M\" }\n",
        Flavour::MySql => "lane = \"ext4,bandwidth=4M\"\nconfig = { innodb_redo_log_capacity = \"8M\" }\n",
    };
    let workload = "kind = \"oltp_update_non_index\"\ntables = 1\ntable_size = 200000\n";
    Plant { name: "tiny-redo", server, workload, connections: 16, limit: Bottleneck::PageFlush, rules: &["redo.small"] }
}

/// A page that is needed takes the place of one that has to be written first. MariaDB frees pages ahead, so that its
/// pool has to be smaller; in a smaller one MySQL would wait for reads as well.
fn slow_pages(flavour: Flavour) -> Plant {
    let server = match flavour {
        Flavour::MariaDb => "lane = \"ext4,iops=200\"\nconfig = { innodb_buffer_pool_size = \"8M\" }\n",
        Flavour::MySql => "lane = \"ext4,iops=200\"\nconfig = { innodb_buffer_pool_size = \"24M\" }\n",
    };
    let workload = "kind = \"oltp_update_non_index\"\ntables = 1\ntable_size = 200000\n";
    Plant {
        name: "slow-pages",
        server,
        workload,
        connections: 16,
        limit: Bottleneck::PageFlush,
        rules: &["dblwr.cost"],
    }
}

/// Each transaction holds the one row from its first statement to its commit.
const HOT_ROW: Plant = Plant {
    name: "hot-row",
    server: "",
    workload: "kind = \"oltp_write_only\"\ntables = 1\ntable_size = 1\n",
    connections: 32,
    limit: Bottleneck::RowLocks,
    rules: &["lock.rows"],
};

/// Transactions want the same few rows in any order.
const DEADLOCKS: Plant = Plant {
    name: "deadlocks",
    server: "",
    workload: "kind = \"oltp_write_only\"\ntables = 1\ntable_size = 10\n",
    connections: 32,
    limit: Bottleneck::RowLocks,
    rules: &["lock.rows", "lock.deadlocks"],
};

impl Plant {
    /// What limits it in one trial.
    #[track_caller]
    fn judged(&self, lab: &Lab, measure: &str) -> Diagnosis {
        let Plant { name, server, workload, connections, .. } = self;
        let load = format!("[load]\nconnections = [{connections}]\n");
        let procedure = format!("[trials]\nwarmup = \"2s\"\nmeasure = \"{measure}\"\nrounds = 1\n");
        let plan = lab.plan(name, &format!("{server}[workload]\n{workload}{load}{procedure}"));
        lab.begins(&format!("lab {} --json", plan.display())).end_within(PATIENCE).exits(0);
        lab.last_diagnosis()
    }

    #[track_caller]
    fn is_named(&self, lab: &Lab, measure: &str) {
        names(lab, self.limit, self.rules, || self.judged(lab, measure));
    }

    #[track_caller]
    fn is_named_on_a_lane(&self, lab: &Lab) {
        if !rustix::process::geteuid().is_root() {
            return servers::skip("only root can build lanes");
        }
        self.is_named(lab, "8s");
    }
}

/// The evidence is of deadlocks, too.
#[track_caller]
fn deadlocks_are_named(lab: &Lab) {
    names(lab, DEADLOCKS.limit, DEADLOCKS.rules, || {
        let found = DEADLOCKS.judged(lab, "6s");
        let evidence: Vec<&str> =
            found.candidates.iter().flat_map(|it| &it.evidence).map(|it| &*it.statement).collect();
        assert!(evidence.iter().any(|statement| statement.contains("deadlocks a second")), "{evidence:#?}");
        found
    });
}

#[test]
#[ignore = "a planted fault; make test-all"]
fn a_hot_row_is_named_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    // So short a run is advised by no rule.
    Plant { rules: &[], ..HOT_ROW }.is_named(&lab, "5s");
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_hot_row_is_named_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    HOT_ROW.is_named(&lab, "6s");
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn deadlocks_are_named_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    deadlocks_are_named(&lab);
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn deadlocks_are_named_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    deadlocks_are_named(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn slow_reads_of_a_small_pool_are_named_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    SMALL_POOL.is_named_on_a_lane(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn slow_reads_of_a_small_pool_are_named_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    SMALL_POOL.is_named_on_a_lane(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn slow_syncs_are_named_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    SLOW_SYNCS.is_named_on_a_lane(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn slow_syncs_are_named_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    SLOW_SYNCS.is_named_on_a_lane(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_tiny_redo_log_is_named_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    tiny_redo(Flavour::MariaDb).is_named_on_a_lane(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_tiny_redo_log_is_named_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    tiny_redo(Flavour::MySql).is_named_on_a_lane(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn slow_writes_of_pages_are_named_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    slow_pages(Flavour::MariaDb).is_named_on_a_lane(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn slow_writes_of_pages_are_named_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    slow_pages(Flavour::MySql).is_named_on_a_lane(&lab);
}
