//! What is mounted below a directory of ours is left alone, whatever removes the directory and whatever its path
//! contains.

use crate::harness::{Done, run};
use plimsoll_host::facts::HostFacts;
use plimsoll_plan::Plan;
use plimsoll_record::{Manifest, Recording, Status};
use plimsoll_testkit::servers::{self, Overmount};
use plimsoll_testkit::simulated::run_plan;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A home and a cache whose paths hold blanks.
struct Places {
    base: PathBuf,
}

impl Places {
    fn home(&self) -> PathBuf {
        self.base.join("the home")
    }

    #[track_caller]
    fn does(&self, words: &[&str]) -> Done {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), &self.home());
        command.env("XDG_CACHE_HOME", self.base.join("the cache")).args(words);
        run(command)
    }

    fn write(&self, path: &Path, text: &Value) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text.to_string()).expect("a file");
    }

    /// A directory of each kind that some command removes, with the words that do.
    fn leftovers(&self) -> Vec<(PathBuf, Vec<String>)> {
        let clean = || vec!["clean".to_owned()];
        let home = self.home();
        let (recording, id) = self.recording();
        let dataset = home.join("datasets/monday");
        self.write(&dataset.join("dataset.json"), &dataset_facts());
        let io = self.base.join("the disk/plimsoll-io-00000000000000ff");
        self.write(&io.join("plimsoll-io-00000000000000ff.lock"), &json!(null));
        let journal = json!({ "path": io, "pid": 1, "start_ticks": 0, "boot_id": "another boot" });
        self.write(&home.join("io/00000000000000ff.json"), &journal);
        let directory = home.join("servers/lab-x");
        self.write(&directory.join("rig"), &json!(null));
        self.write(&directory.join("server.json"), &json!({ "plimsoll_server": 1, "process": null }));
        let lane = home.join("lanes/ext4");
        fs::create_dir_all(&lane).expect("a directory");
        fs::write(lane.join("journal.ndjson"), "{\"undo\":\"directory\"}\n").expect("a file");
        vec![
            (recording.join("trials"), ["recordings", "rm", &id].map(str::to_owned).to_vec()),
            (dataset.join("data"), ["datasets", "rm", "monday"].map(str::to_owned).to_vec()),
            (home.join("datasets/tuesday.half/data"), clean()),
            (self.base.join("the cache/plimsoll/datadirs/key.building"), clean()),
            (io, clean()),
            (directory.join("parts/redo"), clean()),
            (directory.join("data.new"), clean()),
            (directory.join("tmp"), clean()),
            (lane, clean()),
        ]
    }

    fn recording(&self) -> (PathBuf, String) {
        let manifest =
            Manifest::new("kept", "0.1.0", jiff::Timestamp::now(), Plan::Run(run_plan(&[])), HostFacts::default());
        let recordings = self.home().join("recordings");
        let mut recording = Recording::create(&recordings, manifest).expect("a recording");
        recording.finish(Status::Done, jiff::Timestamp::now()).expect("its end");
        let id = recording.directory().file_name().expect("a name").to_string_lossy().into_owned();
        (recording.directory().to_owned(), id)
    }
}

fn dataset_facts() -> Value {
    let build = json!({ "flavour": "mariadb", "version": "10.11.6", "binary": "/mariadbd" });
    json!({
        "plimsoll_dataset": 1, "id": "monday", "build": build, "fixed": {}, "contents": [], "checksums": {}, "bytes": 0,
        "made": "2026-01-01T00:00:00Z", "origin": "built",
    })
}

#[test]
#[ignore = "mounts; make test-all"]
fn nothing_behind_a_mount_is_removed() {
    let made = servers::home();
    let count = Places { base: made.path().join("0") }.leftovers().len();
    for number in 0..count {
        let places = Places { base: made.path().join(format!("{number} of them")) };
        let (directory, words) = places.leftovers().swap_remove(number);
        let point = directory.join("a mount");
        let Some(mounts) = Overmount::kinds(&point) else { return };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for mount in mounts {
            let done = places.does(&words);
            assert!(mount.kept().exists(), "{words:?} {}: {}", directory.display(), done.err);
            assert_eq!(done.status.code(), Some(3), "{words:?}: {}", done.err);
            assert!(done.err.contains("a mount`"), "{words:?}: {}", done.err);
        }
        assert_eq!(places.does(&words).status.code(), Some(0), "{words:?}: nothing is in the way any more");
        assert!(!directory.exists(), "{words:?}: {}", directory.display());
    }
}
