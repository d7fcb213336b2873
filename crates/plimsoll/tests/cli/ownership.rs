//! Trust begins with owner and mode: what others may have put there is neither acted on nor started.

use crate::harness::{Done, run};
use plimsoll_host::facts::HostFacts;
use plimsoll_plan::Plan;
use plimsoll_record::{Manifest, Recording, Status};
use plimsoll_testkit::programs::write_script;
use plimsoll_testkit::servers;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

fn plimsoll(home: &Path, words: &[&str]) -> Command {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.env("XDG_CACHE_HOME", home.join("cache")).args(words);
    command
}

fn does(home: &Path, words: &[&str]) -> Done {
    run(plimsoll(home, words))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, text).expect("a file");
}

/// A directory of a home, and what somebody could plant there so that `clean` removes `precious`, or at least itself.
type Trusted = (&'static str, Plant);

type Plant = fn(&Path, &Path);

const TRUSTED: [Trusted; 6] = [
    ("io", |io, precious| {
        let path = precious.join("plimsoll-io-00000000000000ff");
        write(&path.join("plimsoll-io-00000000000000ff.lock"), "");
        let journal = json!({ "path": path, "pid": 1, "start_ticks": 0, "boot_id": "another boot" });
        write(&io.join("00000000000000ff.json"), &journal.to_string());
    }),
    ("lanes", |lanes, _| write(&lanes.join("ext4/journal.ndjson"), "{\"undo\":\"directory\"}\n")),
    ("places", |places, precious| {
        let place = precious.join("plimsoll-place");
        write(&place.join("datasets/x.half/data/t.ibd"), "");
        write(&places.join("00000000000000ff"), &format!("{:016x}\n{}", 0, place.display()));
    }),
    ("servers", |servers, _| {
        write(&servers.join("lab-x/rig"), "");
        write(&servers.join("lab-x/server.json"), "{\"plimsoll_server\":1,\"process\":null}");
    }),
    ("datasets", |datasets, _| write(&datasets.join("x.half/data/t.ibd"), "")),
    ("cache/plimsoll/datadirs", |cache, _| write(&cache.join("key.building/data/t.ibd"), "")),
];

/// Everything below a directory, in words.
fn listing(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        found.push(entry.path().display().to_string());
        if entry.file_type().expect("its kind").is_dir() {
            found.extend(listing(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn what_others_can_write_to_is_not_acted_on() {
    for (name, plant) in TRUSTED {
        let made = servers::home();
        let (home, precious) = (made.path().join("home"), made.path().join("precious"));
        fs::create_dir_all(&home).expect("a home");
        let directory = home.join(name);
        plant(&directory, &precious);
        set_mode(&directory, 0o777);
        let before = (listing(&directory), listing(&precious));
        let done = does(&home, &["clean"]);
        assert_eq!(done.status.code(), Some(3), "{name}: {}{}", done.out, done.err);
        for part in [directory.to_str().expect("text"), "mode 0777", "chmod go-w"] {
            assert!(done.err.contains(part), "{name}, {part}: {}", done.err);
        }
        assert_eq!((listing(&directory), listing(&precious)), before, "{name}: nothing is removed");
        set_mode(&directory, 0o755);
        let done = does(&home, &["clean"]);
        assert_eq!(done.status.code(), Some(0), "{name}, once it is ours alone: {}", done.err);
        assert_ne!((listing(&directory), listing(&precious)), before, "{name}: it is what `clean` removes");
    }
}

#[test]
fn what_another_user_owns_is_not_acted_on() {
    for (name, plant) in TRUSTED {
        let made = servers::home();
        let (home, precious) = (made.path().join("home"), made.path().join("precious"));
        fs::create_dir_all(&home).expect("a home");
        let directory = home.join(name);
        plant(&directory, &precious);
        if chown(&directory, Some(1), None).is_err() {
            return servers::skip("only root may give a directory away");
        }
        let before = (listing(&directory), listing(&precious));
        let done = does(&home, &["clean"]);
        assert_eq!(done.status.code(), Some(3), "{name}: {}{}", done.out, done.err);
        assert!(done.err.contains("it belongs to user 1") && done.err.contains(name), "{name}: {}", done.err);
        assert_eq!((listing(&directory), listing(&precious)), before, "{name}: nothing is removed");
    }
}

#[test]
fn what_is_above_the_home_counts_and_ordinary_homes_are_taken() {
    let made = servers::home();
    let above = made.path().join("above");
    let home = above.join("below/home");
    fs::create_dir_all(&home).expect("a home");
    let listed = || does(&home, &["server", "list"]);
    for (mode, word) in [(0o777, "others can write"), (0o757, "others can write")] {
        set_mode(&above, mode);
        listed().refuses(3, &[word, above.to_str().expect("text"), "chmod go-w", "PLIMSOLL_HOME"]);
    }
    for mode in [0o755, 0o700, 0o1777] {
        set_mode(&above, mode);
        listed().exits(0);
    }
    set_mode(&home, 0o757);
    listed().refuses(3, &["others can write", home.to_str().expect("text")]);
    set_mode(&home, 0o755);
    let linked = made.path().join("linked");
    symlink(&home, &linked).expect("a link");
    does(&linked, &["server", "list"]).exits(0);
    if chown(&above, Some(1), None).is_ok() {
        listed().refuses(3, &["it belongs to user 1", above.to_str().expect("text")]);
    }
}

/// An interrupted lab whose server is a program that tells when it runs.
fn interrupted_lab(home: &Path) -> std::path::PathBuf {
    let evil = home.join("evil/mysqld");
    fs::create_dir_all(home.join("evil")).expect("a directory");
    write_script(&evil, &format!("#!/bin/sh\ntouch '{}'\nexit 1\n", home.join("it-ran").display()));
    let text = format!(
        "name = \"foreign\"\n[server]\nbuild = \"{}\"\n[workload]\nkind = \"oltp_read_write\"\n[load]\nconnections = [2]\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nconfig = {{ innodb_buffer_pool_size = \"64M\" }}\n",
        evil.display()
    );
    let plan = plimsoll_plan::lab::file::read(
        "foreign.toml",
        &text,
        plimsoll_plan::lab::file::PlanChoices::of_seed(1),
        &|_| Err(String::new()),
    )
    .expect("a plan");
    let plan = Plan::Lab(Box::new(plan));
    let host = HostFacts::default();
    let manifest = Manifest::new("foreign", env!("CARGO_PKG_VERSION"), jiff::Timestamp::now(), plan, host);
    let mut recording = Recording::create(&home.join("recordings"), manifest).expect("a recording");
    recording.finish(Status::Interrupted, jiff::Timestamp::now()).expect("its end");
    recording.directory().to_owned()
}

#[test]
fn a_foreign_recording_is_not_gone_on_with() {
    let planted: [(&str, Plant); 4] = [
        ("symbolic link", |recording, victim| symlink(victim, recording.join("manifest.tmp")).expect("a link")),
        ("symbolic link", |recording, victim| symlink(victim, recording.join("trials/x")).expect("a link")),
        ("others can write", |recording, _| set_mode(&recording.join("manifest.json"), 0o666)),
        ("others can write", |recording, _| set_mode(recording, 0o777)),
    ];
    for (word, plant) in planted {
        let made = servers::home();
        let home = made.path();
        let recording = interrupted_lab(home);
        let victim = home.join("victim");
        fs::write(&victim, "precious").expect("a file");
        plant(&recording, &victim);
        let before = listing(&recording);
        let directory = recording.to_str().expect("text");
        let done = does(home, &["lab", "--resume", directory, "--allow-commands"]);
        done.refuses(2, &[word, "read only", directory]);
        assert!(!home.join("it-ran").exists(), "{word}: its build ran");
        assert_eq!(fs::read_to_string(&victim).expect("it is there"), "precious", "{word}");
        assert_eq!(listing(&recording), before, "{word}: nothing is written");
        assert!(does(home, &["recordings", "show", directory]).out.contains("foreign"), "{word}: it can be read");
    }
}
