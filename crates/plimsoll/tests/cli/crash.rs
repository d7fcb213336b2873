//! Faults under load: what each setting loses by them, and what none may lose.

use crate::harness::Lab;
use plimsoll_testkit::servers::{self, LanesGuard};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A dozen trials, on a slow machine.
const LONGEST: Duration = Duration::from_secs(900);

/// A lab whose data can lose their power.
pub struct Powered {
    pub lab: Lab,
    _alone: LanesGuard,
}

/// `None` was said with [`servers::skip`].
#[track_caller]
pub fn powered(lab: fn() -> Option<Lab>) -> Option<Powered> {
    let _alone = servers::lanes();
    let powered = Powered { lab: lab()?, _alone };
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
        servers::skip("a device that can lose its power is mounted; run as root, with loop devices");
        return None;
    }
    let listed = powered.lab.does("lane list --json").json();
    let kinds = listed["kinds"].as_array().expect("kinds");
    let ext4 = kinds.iter().find(|kind| kind["name"] == "ext4").expect("ext4 is known");
    if ext4["missing"] != serde_json::json!([]) || !Path::new("/usr/bin/nbdfuse").exists() {
        servers::skip("mkfs.ext4 or nbdfuse is missing: apt-get install e2fsprogs libnbd-bin");
        return None;
    }
    Some(powered)
}

impl Powered {
    /// What faults did, by their names.
    #[track_caller]
    fn crashes(&self, options: &str, code: i32) -> Value {
        let line = format!("crash --connections 4 --rows 5000 --load 2s --time 1s --seed 7 --json {options}");
        self.lab.begins(&line).end_within(LONGEST).exits(code).json()
    }
}

#[track_caller]
fn cell<'s>(summary: &'s Value, fault: &str) -> &'s Value {
    let cells = summary["crashes"].as_array().expect("faults");
    cells.iter().find(|cell| cell["fault"] == fault).unwrap_or_else(|| panic!("{fault}: {summary}"))
}

/// What was lost, and of how many faults.
fn losses(summary: &Value, fault: &str) -> (u64, u64) {
    let number = |name: &str| cell(summary, fault)[name].as_u64().expect("a number");
    (number("losing"), number("faults"))
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_started() {
    let home = servers::home();
    let plimsoll = |line: &str| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(line.split_whitespace());
        crate::harness::run(command)
    };
    for (line, texts) in [
        ("crash --faults fire", vec!["fire", "kill, power, torn"]),
        ("crash --faults kill,kill", vec!["named twice", "trials"]),
        ("crash --workload oltp_read_write --faults kill", vec!["oltp_read_write", "ledger and tpcc"]),
        ("crash --set innodb_doublewrite --faults kill", vec!["NAME=VALUE"]),
        ("crash --faults backup --workload tpcc", vec!["backup", "accepted is ledger"]),
        ("crash --lane nbd,device=volatile", vec!["device=", "accepted are"]),
        ("crash --lane root", vec!["device=", "no device of its own"]),
        ("crash --faults cut --lane ext4", vec!["cut", "a network", "nfs-files"]),
        ("crash --faults server-power --lane iscsi", vec!["device=", "accepted are"]),
        ("crash --faults power,cut", vec!["power", "ext4,device=volatile"]),
        ("crash --trials 0", vec!["0", "10000"]),
        ("crash --allow d9", vec!["d9", "d1, d1p, d2, d3"]),
        ("crash --allow a", vec!["d1, d1p, d2, d3"]),
        ("crash --load 21m", vec!["crash.load", "at most 20m"]),
        ("crash --set sync_binlog=1 --set sync_binlog=0", vec!["sync_binlog", "twice"]),
    ] {
        plimsoll(line).refuses(2, &texts);
    }
    assert_eq!(std::fs::read_dir(home.path()).expect("it exists").count(), 0);
}

#[test]
fn a_plan_is_written_and_says_what_it_would_do() {
    let Some(lab) = Lab::mariadb() else { return };
    let path = lab.home().join("crash.toml");
    lab.does(&format!(
        "crash --faults kill --trials 3 --set sync_binlog=0 --keep --allow d1,d2 --plan {}",
        path.display()
    ));
    let text = std::fs::read_to_string(&path).expect("it was written");
    assert!(text.contains("keep = true") && text.contains("allow = [\"d1\", \"d2\"]"), "{text}");
    let told = lab.does(&format!("lab {} --dry-run", path.display())).out;
    assert!(told.contains("base/kill") && told.contains("sync_binlog"), "{told}");
}

#[test]
fn a_kill_loses_nothing_that_was_flushed() {
    let Some(lab) = Lab::mariadb() else { return };
    let path = lab.home().join("kill.toml");
    let line = "crash --faults kill --trials 2 --connections 4 --rows 5000 --load 1s --time 1s";
    lab.does(&format!("{line} --plan {}", path.display()));
    // What the load reaches without a fault is measured too, three times, and nothing here depends on its warm-up.
    let plan = fs::read_to_string(&path).expect("a plan").replace("warmup = \"2s\"", "warmup = \"0s\"");
    fs::write(&path, plan).expect("the home can be written");
    let summary = lab.begins(&format!("lab {} --json", path.display())).end_within(LONGEST).exits(0).json();
    assert_eq!(losses(&summary, "kill"), (0, 2), "{summary}");
    assert!(cell(&summary, "kill")["acknowledged"].as_u64().expect("commits") > 10, "{summary}");
    let answer = summary["headline"].as_str().expect("an answer");
    assert!(answer.contains("lost 0 of") && answer.contains("at most 78 %"), "{answer}");
    lab.leaves_nothing();
}

#[test]
#[ignore = "four kills; make test-all"]
fn data_are_kept_as_a_fault_left_them_where_something_was_lost() {
    let Some(lab) = Lab::mariadb() else { return };
    let line = "crash --faults kill --trials 2 --connections 4 --rows 5000 --load 2s --time 1s --keep --json";
    let kept_of = |settings: &str| -> Vec<(bool, bool)> {
        lab.begins(&format!("{line} {settings}")).end_within(LONGEST).exits(0);
        let recording = lab.recordings().pop().expect("a recording");
        let trials =
            std::fs::read_dir(recording.join("trials")).expect("trials").map(|entry| entry.expect("an entry").path());
        let of_trial = |trial: std::path::PathBuf| {
            let outcome = std::fs::read(trial.join("outcome.json")).ok()?;
            let outcome: Value = serde_json::from_slice(&outcome).expect("JSON");
            let crash = outcome.get("crash").filter(|crash| !crash.is_null())?;
            let has_data = trial.join("kept/1/data/ibdata1").is_file();
            assert_eq!(crash.get("kept").is_some(), has_data, "{crash}");
            Some((crash["lost"] != 0, has_data))
        };
        trials.filter_map(of_trial).collect()
    };
    assert_eq!(kept_of(""), [(false, false), (false, false)]);
    // Its last flush is up to a second old, and never that of the last commit twice.
    let of_relaxed = kept_of("--set innodb_flush_log_at_trx_commit=0");
    assert!(of_relaxed.iter().all(|(loses, is_kept)| loses == is_kept), "{of_relaxed:?}");
    assert!(of_relaxed.contains(&(true, true)), "{of_relaxed:?}");
    lab.leaves_nothing();
}

#[test]
fn a_replica_that_could_not_follow_is_refused() {
    let Some(lab) = Lab::mariadb() else { return };
    let done = lab.ends("crash --faults replica --set log_bin=OFF");
    done.refuses(2, &["replica", "needs a binary log", "log_bin"]);
    let plan = lab.plan(
        "apart",
        "layout.redo = \"./redo\"\n[workload]\nkind = \"ledger\"\n[load]\nconnections = [2]\n[crash]\nfaults = [\"replica\"]\n",
    );
    let done = lab.ends(&format!("lab {}", plan.display()));
    done.refuses(2, &["replica", "copies one directory", "layout.redo"]);
    lab.leaves_nothing();
}

#[test]
#[ignore = "two servers for each trial; make test-all"]
fn a_replica_has_what_its_primary_waited_for_and_lacks_what_came_after_the_cut() {
    let labs = [(Lab::mariadb(), "rpl_semi_sync_master_enabled=ON"), (Lab::mysql(), "rpl_semi_sync_source_enabled=ON")];
    for (lab, waits) in labs {
        let Some(lab) = lab else { continue };
        let crashes = |options: &str| {
            let line =
                "crash --faults replica --trials 2 --connections 4 --rows 5000 --load 2s --time 1s --seed 7 --json";
            let summary = lab.begins(&format!("{line} {options}")).end_within(LONGEST).exits(0).json();
            let cell = cell(&summary, "replica").clone();
            assert!(cell["acknowledged"].as_u64().expect("commits") > 10, "{summary}");
            assert_eq!(cell["damaged"], 0, "{summary}");
            (losses(&summary, "replica"), cell)
        };
        // For at least 0.2 s the primary answered without it.
        let (losses, cell) = crashes("");
        assert_eq!((losses, &cell["semi_synchronous"]), ((2, 2), &false.into()), "{cell}");
        assert!(cell["lost"].as_u64() < cell["acknowledged"].as_u64(), "what came before the cut is there: {cell}");
        let (losses, cell) = crashes(&format!("--set {waits}"));
        assert_eq!((losses, &cell["semi_synchronous"]), ((0, 2), &true.into()), "{cell}");
        lab.leaves_nothing();
    }
}

/// What an online copy took is told, and it has what it has to have.
#[track_caller]
fn copies_well(summary: &Value, method: &str) {
    let cell = cell(summary, "backup");
    assert_eq!((losses(summary, "backup"), &cell["damaged"]), ((0, 2), &0.into()), "{method}: {cell}");
    assert!(cell["acknowledged"].as_u64().expect("commits") > 10, "{cell}");
    assert!(cell["copy_seconds"].as_f64().expect("seconds") > 0.0 && cell["copy_throughput"].is_number(), "{cell}");
}

#[test]
#[ignore = "copies 4 servers; make test-all"]
fn an_online_copy_has_all_that_was_committed_before_it() {
    for lab in [Lab::mariadb, Lab::mysql] {
        let Some(lab) = lab() else { continue };
        let line = "crash --faults backup --trials 2 --connections 4 --rows 5000 --load 2s --time 1s --seed 7 --json";
        copies_well(&lab.begins(line).end_within(LONGEST).exits(0).json(), "its own method");
        lab.leaves_nothing();
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn an_online_copy_that_shares_blocks_has_it_too() {
    let Some(powered) = powered(Lab::mariadb) else { return };
    copies_well(&powered.crashes("--faults backup --trials 2 --lane xfs", 0), "reflink");
    powered.lab.leaves_nothing();
}

#[test]
#[ignore = "mounts; make test-all"]
fn what_was_not_flushed_is_lost_at_a_power_cut_and_nothing_else_is() {
    for lab in [Lab::mariadb, Lab::mysql] {
        let Some(powered) = powered(lab) else { continue };
        // With O_DIRECT, its default, MySQL does not flush its doublewrite file before it writes the pages themselves.
        let flushed = "--set innodb_flush_method=fsync";
        let safe = powered.crashes(&format!("--faults kill,power,torn,reorder --trials 3 {flushed}"), 0);
        for fault in ["kill", "power", "torn", "reorder"] {
            assert_eq!(losses(&safe, fault), (0, 3), "{fault}: {safe}");
            assert_eq!(cell(&safe, fault)["damaged"], 0, "{fault}: {safe}");
        }
        let cells = safe["crashes"].as_array().expect("faults");
        for known in ["full_seconds", "redo_bytes"] {
            assert!(cells.iter().any(|cell| cell[known].is_number()), "{known} is known of none of twelve: {safe}");
        }
        // A flush of its own comes once a second; of three cuts one may follow it closely.
        let relaxed = powered.crashes("--faults kill,power --trials 3 --set innodb_flush_log_at_trx_commit=2", 0);
        assert_eq!(losses(&relaxed, "kill"), (0, 3), "{relaxed}");
        assert!(losses(&relaxed, "power").0 >= 2, "{relaxed}");
        let worst = cell(&relaxed, "power")["worst_seconds"].as_f64().expect("seconds");
        assert!(worst < 5.0, "about a second is lost: {relaxed}");
        powered.lab.leaves_nothing();
    }
}

#[test]
#[ignore = "mounts, and has a storage server; make test-all"]
fn a_storage_server_that_acknowledges_early_loses_at_its_power_cut_and_another_does_not() {
    for lab in [Lab::mariadb, Lab::mysql] {
        let Some(powered) = powered(lab) else { continue };
        if !Path::new("/usr/bin/ganesha.nfsd").exists() {
            servers::skip("NFS-Ganesha is missing: apt-get install nfs-ganesha nfs-ganesha-vfs rpcbind");
            return;
        }
        let honest = powered.crashes("--faults server-power,cut --trials 2", 0);
        for fault in ["server-power", "cut"] {
            assert_eq!(losses(&honest, fault), (0, 2), "{fault}: {honest}");
            assert_eq!(cell(&honest, fault)["damaged"], 0, "{fault}: {honest}");
        }
        let lane = "--lane nfs-files,device=volatile,options=async";
        let early = powered.crashes(&format!("--faults server-power --trials 3 {lane}"), 0);
        // What the storage server happens to have written back by itself is not lost, and a server may not start again.
        let (losing, faults) = losses(&early, "server-power");
        let not_started = cell(&early, "server-power")["not_started"].as_u64().expect("a number");
        assert!(faults == 3 && losing + not_started >= 1, "{early}");
        powered.lab.leaves_nothing();
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_lying_device_is_found_at_once() {
    let Some(powered) = powered(Lab::mariadb) else { return };
    let summary = powered.crashes("--faults lying --trials 1", 0);
    let (losing, faults) = losses(&summary, "lying");
    assert_eq!((losing, faults), (1, 1), "{summary}");
    powered.lab.leaves_nothing();
}

#[test]
#[ignore = "mounts; make test-all"]
fn errors_and_a_full_device_lose_nothing_that_was_acknowledged() {
    let Some(powered) = powered(Lab::mariadb) else { return };
    let summary = powered.crashes("--faults io-error,full --trials 2", 0);
    for fault in ["io-error", "full"] {
        assert_eq!(losses(&summary, fault), (0, 2), "{fault}: {summary}");
    }
    powered.lab.leaves_nothing();
}
