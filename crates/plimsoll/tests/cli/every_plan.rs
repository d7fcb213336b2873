//! Every plan of the repository: what each would do, on each server and with each preset; and its small preset to its end.

use crate::documents::{mapped, root};
use crate::harness::{Done, Lab, run};
use crate::{plans_netapp, plans_storage, plans_systems};
use plimsoll_testkit::servers;
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What the numbers of all sources are listed in.
const NO_PLAN: &str = "published";
/// What a plan may be refused for in its own size: this machine is too small.
const TOO_SMALL: [&str; 3] =
    ["accepted are those of this machine", "accepted is less than the memory of this machine", " MB free; make room"];

/// The names of all plans in the directory.
fn plans() -> Vec<String> {
    let entries = fs::read_dir(root().join("plans")).expect("a directory of the repository").flatten();
    let name = |path: PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".toml")?.to_owned());
    let mut all: Vec<String> = entries.filter_map(|entry| name(entry.path())).collect();
    all.sort();
    assert!(all.iter().any(|name| name == NO_PLAN), "{all:?}");
    all.retain(|name| name != NO_PLAN);
    all
}

/// A home with all plans in it, and the directories that they name.
fn home_with_plans() -> tempfile::TempDir {
    let home = servers::home();
    for entry in fs::read_dir(root().join("plans")).expect("a directory of the repository").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a plan or its settings");
        let here = mapped(&text, home.path());
        for directory in here.split('"').filter(|part| Path::new(part).starts_with(home.path())) {
            fs::create_dir_all(directory).expect("the home can be written");
        }
        fs::write(home.path().join(entry.file_name()), here).expect("the home can be written");
    }
    home
}

/// What `--dry-run` says of this plan, which starts nothing.
fn dry_run(home: &Path, plan: &str, options: &[&str], server: &Path) -> Done {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command
        .arg("lab")
        .arg(home.join(format!("{plan}.toml")))
        .args(options)
        .arg("--dry-run")
        .arg("--server")
        .arg(server);
    run(command)
}

fn presets(plan: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(format!("plans/{plan}.toml"))).expect("a plan");
    let table: toml::Table = text.parse().expect("TOML");
    table.get("preset").and_then(toml::Value::as_table).into_iter().flat_map(|table| table.keys().cloned()).collect()
}

fn every_plan_says_what_it_would_do(server: Option<PathBuf>) {
    let Some(server) = server else { return };
    if !geteuid().is_root() {
        return servers::skip("only root can build lanes");
    }
    let home = home_with_plans();
    for plan in plans() {
        let presets = presets(&plan);
        assert!(presets.iter().any(|preset| preset == "small"), "plans/{plan}.toml has no preset `small`: {presets:?}");
        let own_size = dry_run(home.path(), &plan, &[], &server);
        is_told_or_too_large(own_size);
        for preset in presets {
            let done = dry_run(home.path(), &plan, &["--preset", &preset], &server);
            match preset.as_str() {
                "small" => is_told(done),
                _ => is_told_or_too_large(done),
            }
        }
    }
}

#[track_caller]
fn is_told(done: Done) {
    let done = done.exits(0);
    assert!(done.out.contains("nothing was started"), "{done}");
}

#[track_caller]
fn is_told_or_too_large(done: Done) {
    match TOO_SMALL.iter().any(|reason| done.err.contains(reason)) {
        true => drop(done.exits(2)),
        false => is_told(done),
    }
}

#[test]
fn every_plan_says_what_it_would_do_on_mariadb() {
    every_plan_says_what_it_would_do(servers::mariadb());
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn every_plan_says_what_it_would_do_on_mysql() {
    every_plan_says_what_it_would_do(servers::mysql());
}

/// Tests that run the small preset of a plan to its end, and the plans that have one.
macro_rules! run_to_the_end {
    ($($test:ident: $plan:literal, $run:expr;)*) => {
        const RUN_TO_THE_END: &[&str] = &[$($plan),*];
        $(
            #[test]
            #[ignore = "runs a whole plan for minutes; make test-all"]
            fn $test() {
                let run: fn(&str) = $run;
                run($plan);
            }
        )*
    };
}

run_to_the_end! {
    bourke_systems_on_mariadb: "bourke-systems", |plan| plans_systems::bourke_systems(plan, servers::mariadb());
    filesystems_here_on_mariadb: "filesystems-here", |plan| plans_systems::filesystems_here(plan, servers::mariadb());
    netapp_flush_method_on_mariadb: "netapp-flush-method", |plan| plans_netapp::runs_small(plan, Lab::mariadb_alone());
    netapp_flush_method_on_mysql: "netapp-flush-method", |plan| plans_netapp::runs_small(plan, Lab::mysql_alone());
    netapp_ladder_on_mariadb: "netapp-ladder", |plan| plans_netapp::runs_small(plan, Lab::mariadb_alone());
    netapp_ladder_on_mysql: "netapp-ladder", |plan| plans_netapp::runs_small(plan, Lab::mysql_alone());
    netapp_protocols_on_mariadb: "netapp-protocols", |plan| plans_netapp::runs_small(plan, Lab::mariadb_alone());
    netapp_protocols_on_mysql: "netapp-protocols", |plan| plans_netapp::runs_small(plan, Lab::mysql_alone());
    no_effect_on_mariadb: "no-effect", |plan| plans_netapp::runs_small(plan, Lab::mariadb_alone());
    no_effect_on_mysql: "no-effect", |plan| plans_netapp::runs_small(plan, Lab::mysql_alone());
    percona_io: "percona-io", plans_storage::the_matrix_of_the_article;
    pure_sweep_on_mariadb: "pure-sweep", |plan| plans_storage::sweeps_to_the_end(plan, servers::mariadb());
    pure_sweep_on_mysql: "pure-sweep", |plan| plans_storage::sweeps_to_the_end(plan, servers::mysql());
    sun_connections_on_mariadb: "sun-connections", |plan| plans_systems::sun_connections(plan, servers::mariadb());
    sun_connections_on_mysql: "sun-connections", |plan| plans_systems::sun_connections(plan, servers::mysql());
}

#[test]
fn every_plan_is_run_to_its_end_by_a_test() {
    let run: BTreeSet<&str> = RUN_TO_THE_END.iter().copied().collect();
    let plans = plans();
    let there: BTreeSet<&str> = plans.iter().map(String::as_str).collect();
    assert_eq!(there, run, "plans on the left, those that a test runs on the right");
}
