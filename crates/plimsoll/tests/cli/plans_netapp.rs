//! The plans that repeat NetApp TR-3693, and one for settings that the papers found to make no difference: a very short
//! run, their rungs on each server, and their small presets to the end.

use crate::every_plan::Shortened;
use crate::harness::{Done, Lab, plan_called, published, report, run};
use plimsoll_testkit::servers;
use rustix::process::geteuid;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No small preset takes longer, on the slowest machine.
const LONGEST: Duration = Duration::from_secs(3600);
const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");

/// netapp-protocols without its lanes: of one of its two variants a part of the data lies in another directory instead.
const SHORT: &str = "
[preset.short]
workload.warehouses = 1
server.config_file = \"netapp-tr3693-small.cnf\"
load.connections = 2
trials = { warmup = \"0s\", measure = \"3s\", rounds = 1 }
[preset.short.variant]
xfs.lane = \"root\"
nfs = { lane = \"root\", layout.tables.stock = \"./dat1\" }
";

/// What `plimsoll lab` says in a home where nothing runs.
fn says(home: &Path, plan: &Path, options: &str) -> Done {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.arg("lab").arg(plan).args(options.split_whitespace());
    run(command)
}

#[test]
fn the_server_of_a_plan_may_be_another_but_not_that_of_a_variant_that_names_its_own() {
    let (Some(_), Some(mysql)) = (servers::mariadb(), servers::mysql()) else { return };
    let home = servers::home();
    let path = home.path().join("two.toml");
    let text = "name = \"two\"\n[server]\nbuild = \"mariadb\"\n[workload]\nkind = \"oltp_read_only\"\n[[variant]]\n\
                name = \"any\"\n[[variant]]\nname = \"own\"\nbuild = \"mariadb\"\n";
    fs::write(&path, text).expect("the home can be written");
    let servers_with = |options: &str| {
        let found = says(home.path(), &path, &format!("--dry-run --json {options}")).exits(0).json();
        [0, 1].map(|place| found["variants"][place]["server"].as_str().unwrap_or_default().to_owned())
    };
    let are = |found: &[String; 2], any: &str, own: &str| found[0].starts_with(any) && found[1].starts_with(own);
    let (usual, other) = (servers_with(""), servers_with(&format!("--server {}", mysql.display())));
    assert!(are(&usual, "mariadb", "mariadb"), "{usual:?}");
    assert!(are(&other, "mysql", "mariadb"), "{other:?}");
    says(home.path(), &path, "--server postgres").refuses(2, &["--server", "postgres", "auto, mariadb, mysql"]);
    says(home.path(), &path, "--resume x").refuses(2, &["--resume", "cannot be used with"]);
}

/// The rungs of the ladder that `server` has no more, or that are refused for safety with the small preset.
fn untried(server: &Path) -> Option<Vec<(String, String)>> {
    if !geteuid().is_root() {
        servers::skip("only root can build lanes");
        return None;
    }
    let home = servers::home();
    let options = format!("--preset small --dry-run --json --server {}", server.display());
    let found = says(home.path(), &plan_called("netapp-ladder"), &options).exits(0).json();
    let rungs = found["variants"][0]["rungs"].as_array().expect("rungs").clone();
    let refused = |rung: &Value| Some((rung["name"].as_str()?.to_owned(), rung["refused"].as_str()?.to_owned()));
    Some(rungs.iter().filter_map(refused).collect())
}

#[track_caller]
fn are_untried(server: Option<PathBuf>, expected: &[(&str, &str)]) {
    let Some(found) = server.as_deref().and_then(untried) else { return };
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{found:?}");
    for ((name, why), (_, word)) in found.iter().zip(expected) {
        assert!(why.contains(word), "{name}: {why}");
    }
}

#[test]
fn what_mariadb_has_no_more_and_what_is_not_safe_is_no_step_of_the_small_ladder() {
    let expected = [
        ("threads-32", "removed"),
        ("no-checksums", "cannot be switched off"),
        ("no-doublewrite", "d2"),
        ("no-xa", "removed"),
    ];
    are_untried(servers::mariadb(), &expected);
}

#[test]
fn what_mysql_has_no_more_and_what_is_not_safe_is_no_step_of_the_small_ladder() {
    are_untried(servers::mysql(), &[("no-checksums", "d3"), ("no-doublewrite", "d2"), ("no-xa", "removed")]);
}

/// A plan without these variants, and without what is printed of them.
fn without(plan: &str, variants: &[&str]) -> String {
    let starts: Vec<usize> = plan.match_indices("\n[").map(|(at, _)| at + 1).chain([plan.len()]).collect();
    let is_of = |section: &str| variants.iter().any(|name| section.contains(&format!("\"{name}\"")));
    let is_kept = |section: &&str| !section.starts_with("[[") || !is_of(section);
    let sections = starts.windows(2).map(|pair| &plan[pair[0]..pair[1]]).filter(is_kept);
    let lines = [&plan[..starts[0]]].into_iter().chain(sections).flat_map(str::lines);
    let of_preset = |line: &&str| !variants.iter().any(|name| line.starts_with(&format!("{name}.")));
    lines.filter(of_preset).flat_map(|line| [line, "\n"]).collect()
}

#[track_caller]
fn runs_shortened(lab: &Lab) {
    for file in ["netapp-tr3693.cnf", "netapp-tr3693-small.cnf"] {
        fs::copy(Path::new(PLANS).join(file), lab.home().join(file)).expect("the home can be written");
    }
    let text = fs::read_to_string(plan_called("netapp-protocols")).expect("the plan is there");
    let short = lab.home().join("short.toml");
    fs::write(&short, without(&text, &["iscsi", "nbd"]) + SHORT).expect("the home can be written");
    let done = lab.does(&format!("lab {} --preset short --server {}", short.display(), lab.server().display()));
    assert!(done.err.contains("netapp-tr3693-small.cnf"), "what became of the old settings is said: {done}");
    let report = report(lab.home(), "netapp-protocols");
    let first = published(&report, "NA1", "nopm");
    assert_eq!(first["value"], 13431.0);
    for of in [first, published(&report, "NA4", "nopm")] {
        assert!(of["measured"]["value"].as_f64().is_some_and(|nopm| nopm > 0.0), "{of}");
    }
    assert_eq!(published(&report, "NA44", "NFS mount: rsize, wsize, vers, actimeo, timeo")["kind"], "setup");
    lab.leaves_nothing();
}

#[test]
#[ignore = "loads warehouses; runs of seconds; make test-all"]
fn the_protocols_are_measured_beside_what_was_printed_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    runs_shortened(&lab);
}

#[test]
#[ignore = "the same with MySQL, which starts slowly; make test-all"]
fn the_protocols_are_measured_beside_what_was_printed_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    runs_shortened(&lab);
}

/// The small preset of a plan, shortened, to its end; nothing is left of its lanes and servers.
#[track_caller]
pub fn runs_small(plan: &Shortened, lab: fn() -> Option<Lab>) {
    ends_small(plan, lab, &[0]);
}

/// The same for a plan of faults, which ends with 1 if a variant loses what its settings promise to keep.
pub fn loses_small(plan: &Shortened, lab: fn() -> Option<Lab>) {
    ends_small(plan, lab, &[0, 1]);
}

fn ends_small(plan: &Shortened, lab: fn() -> Option<Lab>, codes: &[i32]) {
    if !geteuid().is_root() {
        return servers::skip("only root can build lanes");
    }
    let _lanes = servers::lanes();
    let Some(lab) = lab() else { return };
    let line = format!("lab {} --preset small --server {}", plan.path().display(), lab.server().display());
    let done = lab.begins(&line).end_within(LONGEST);
    println!("{done}");
    assert!(done.status.code().is_some_and(|code| codes.contains(&code)), "{done}");
    let report = report(lab.home(), plan.name);
    println!("{}", report["answer"]);
    assert_eq!(report["data"]["lab"]["trials"]["failed"], 0, "{}", report["data"]["lab"]);
    lab.leaves_nothing();
}
