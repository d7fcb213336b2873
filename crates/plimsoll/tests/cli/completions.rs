//! Tab completion as a shell does it, and the manual pages.

use crate::harness::run;
use plimsoll_testkit::servers;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn plimsoll(home: &TempDir, line: &str) -> Command {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.args(line.split_whitespace()).current_dir(home.path());
    command
}

/// What bash offers for the last of these words, which may be empty.
fn offered(home: &TempDir, words: &[&str]) -> Vec<String> {
    let script = run(plimsoll(home, "completions bash")).exits(0).out;
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.last().expect("a word to complete");
    let typed = format!(
        "COMP_WORDS=({}); COMP_CWORD={}; _clap_complete_plimsoll plimsoll {last}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &format!("{script}\n{typed}")]);
    bash.env("PLIMSOLL_HOME", home.path()).current_dir(home.path());
    run(bash).exits(0).out.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_shell_has_a_script() {
    let home = servers::home();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(plimsoll(&home, &format!("completions {shell}"))).exits(0);
        assert!(script.err.is_empty(), "{script}");
        assert!(
            script.out.contains("PLIMSOLL_COMPLETE") && script.out.contains(env!("CARGO_BIN_EXE_plimsoll")),
            "{script}"
        );
    }
}

#[test]
fn commands_options_workloads_and_plans_are_offered() {
    let home = servers::home();
    fs::write(home.path().join("night.toml"), "").expect("the home can be written");
    fs::write(home.path().join("night.log"), "").expect("the home can be written");
    let commands = offered(&home, &["plimsoll", ""]);
    assert!(commands.iter().any(|one| one == "quickstart"), "{commands:?}");
    assert!(!commands.iter().any(|one| one == "lane-part"), "hidden: {commands:?}");
    assert_eq!(offered(&home, &["plimsoll", "run", "select"]), ["select_random_points", "select_random_ranges"]);
    assert_eq!(offered(&home, &["plimsoll", "run", "tpcc", "--fail-if-s"]), ["--fail-if-slower"]);
    assert_eq!(offered(&home, &["plimsoll", "lab", "ni"]), ["night.toml"]);
    assert_eq!(offered(&home, &["plimsoll", "workloads", "tp"]), ["tpcc"]);
}

#[test]
fn recordings_are_offered_by_name_and_by_directory() {
    let home = servers::home();
    assert_eq!(offered(&home, &["plimsoll", "recordings", "show", "bou"]), Vec::<String>::new());
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/systems/eight-cpus");
    let directory = home.path().join("recordings/20260101T000000Z-bourke-0001");
    fs::create_dir_all(&directory).expect("the home can be written");
    fs::copy(fixture.join("manifest.json"), directory.join("manifest.json")).expect("a manifest");
    for words in [["plimsoll", "report", "2026"], ["plimsoll", "compare", "2026"]] {
        assert_eq!(offered(&home, &words), ["20260101T000000Z-bourke-0001"], "{words:?}");
    }
    assert_eq!(offered(&home, &["plimsoll", "recordings", "keep", "bou"]), ["bourke-systems"]);
    assert_eq!(offered(&home, &["plimsoll", "run", "tpcc", "--baseline", "bou"]), ["bourke-systems"]);
    for words in [["plimsoll", "recordings", "keep", "2026"], ["plimsoll", "check", "--same", "2026"]] {
        assert_eq!(offered(&home, &words), Vec::<String>::new(), "{words:?}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let home = servers::home();
    let pages = home.path().join("pages");
    run(plimsoll(&home, &format!("man {}", pages.display()))).exits(0);
    for page in ["plimsoll", "plimsoll-run", "plimsoll-recordings-export"] {
        let text = fs::read_to_string(pages.join(format!("{page}.1"))).expect("a page");
        assert!(text.contains(".SH NAME") && text.contains(".SH OPTIONS"), "{page}: {text}");
    }
    assert!(!pages.join("plimsoll-lane-part.1").exists(), "it is hidden");
    run(plimsoll(&home, "man /dev/null/pages")).exits(3).tells(&["cannot be written", "/dev/null/pages"]);
}
