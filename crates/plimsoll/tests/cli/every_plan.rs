//! Every plan of the repository: what each would do, on each server and with each preset; and its small preset to its end.

use crate::documents::{mapped, root};
use crate::harness::{Done, Lab, plan_called, run};
use crate::{plans_netapp, plans_storage, plans_systems};
use plimsoll_testkit::servers;
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

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

/// A copy of a plan in a directory of its own, with all that plans name beside it. Its small preset has a tenth of the
/// data, one round of a second and no rungs alike: what is asked is that every trial of it can be run, and nothing of its
/// numbers.
pub struct Shortened {
    pub name: &'static str,
    directory: TempDir,
}

impl Shortened {
    fn of(name: &'static str) -> Shortened {
        let directory = tempfile::tempdir().expect("a directory");
        let plans = plan_called(name).parent().expect("a directory").to_owned();
        for entry in fs::read_dir(plans).expect("the plans") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), directory.path().join(entry.file_name())).expect("the directory can be written");
        }
        let short = Shortened { name, directory };
        let text = fs::read_to_string(short.path()).expect("the plan is there");
        let mut plan: toml::Table = text.parse().expect("TOML");
        shorten(&mut plan["preset"]["small"]);
        drop_likes(&mut plan);
        fs::write(short.path(), plan.to_string()).expect("the directory can be written");
        short
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join(format!("{}.toml", self.name))
    }
}

/// Leaves out the rungs that only set another value than one before them, and what is said of them.
fn drop_likes(plan: &mut toml::Table) {
    let Some(rungs) = plan.get_mut("rung").and_then(toml::Value::as_array_mut) else { return };
    let sets = |rung: &toml::Value| -> Vec<String> {
        let config = rung.get("config").and_then(toml::Value::as_table);
        config.into_iter().flat_map(|config| config.keys().cloned()).collect()
    };
    let mut seen = BTreeSet::new();
    rungs.retain(|rung| sets(rung).is_empty() || seen.insert(sets(rung)));
    let kept: BTreeSet<String> = rungs.iter().map(|rung| rung["name"].as_str().expect("a name").to_owned()).collect();
    if let Some(published) = plan.get_mut("published").and_then(toml::Value::as_array_mut) {
        published.retain(|of| of.get("rung").and_then(toml::Value::as_str).is_none_or(|rung| kept.contains(rung)));
    }
    if let Some(small) = plan["preset"]["small"].get_mut("rung").and_then(toml::Value::as_table_mut) {
        small.retain(|name, _| kept.contains(name));
    }
}

/// The numbers of a preset, and of the variants within it, that say how long it takes.
fn shorten(preset: &mut toml::Value) {
    for (key, value) in preset.as_table_mut().expect("a table") {
        match (key.as_str(), value.as_integer()) {
            ("warehouses" | "rounds" | "trials", Some(_)) => *value = 1.into(),
            ("max_rounds", Some(_)) => *value = 3.into(),
            ("table_size", Some(rows)) => *value = (rows / 10).into(),
            ("warmup", _) => *value = "500ms".into(),
            ("measure" | "time", _) => *value = "1s".into(),
            ("size", _) => *value = "64M".into(),
            // All of a search, and not a trial.
            ("tune", _) => value["time"] = "60s".into(),
            _ if value.is_table() => shorten(value),
            _ => {}
        }
    }
}

/// Tests that run the small preset of a plan to its end, and the plans that have one.
macro_rules! run_to_the_end {
    ($($test:ident: $plan:literal, $run:expr;)*) => {
        const RUN_TO_THE_END: &[&str] = &[$($plan),*];
        $(
            #[test]
            #[ignore = "runs a whole plan for minutes; make test-all"]
            fn $test() {
                let run: fn(&Shortened) = $run;
                run(&Shortened::of($plan));
            }
        )*
    };
}

run_to_the_end! {
    bourke_systems_on_mariadb: "bourke-systems", |plan| plans_systems::bourke_systems(plan, servers::mariadb());
    defaults_durability_on_mariadb: "defaults-durability", |plan| plans_netapp::loses_small(plan, Lab::mariadb);
    defaults_durability_on_mysql: "defaults-durability", |plan| plans_netapp::loses_small(plan, Lab::mysql);
    filesystems_durability_on_mariadb: "filesystems-durability", |plan| plans_netapp::loses_small(plan, Lab::mariadb);
    filesystems_here_on_mariadb: "filesystems-here", |plan| plans_systems::filesystems_here(plan, servers::mariadb());
    netapp_durability_on_mariadb: "netapp-durability", |plan| plans_netapp::loses_small(plan, Lab::mariadb);
    netapp_durability_on_mysql: "netapp-durability", |plan| plans_netapp::loses_small(plan, Lab::mysql);
    netapp_flush_method_on_mariadb: "netapp-flush-method", |plan| plans_netapp::runs_small(plan, Lab::mariadb);
    netapp_flush_method_on_mysql: "netapp-flush-method", |plan| plans_netapp::runs_small(plan, Lab::mysql);
    netapp_ladder_on_mariadb: "netapp-ladder", |plan| plans_netapp::runs_small(plan, Lab::mariadb);
    netapp_ladder_on_mysql: "netapp-ladder", |plan| plans_netapp::runs_small(plan, Lab::mysql);
    netapp_protocols_on_mariadb: "netapp-protocols", |plan| plans_netapp::runs_small(plan, Lab::mariadb);
    netapp_protocols_on_mysql: "netapp-protocols", |plan| plans_netapp::runs_small(plan, Lab::mysql);
    netapp_settings_on_mariadb: "netapp-settings", |plan| plans_netapp::runs_small(plan, Lab::mariadb);
    netapp_settings_on_mysql: "netapp-settings", |plan| plans_netapp::runs_small(plan, Lab::mysql);
    netapp_nfs_durability_on_mariadb: "netapp-nfs-durability", |plan| plans_netapp::loses_small(plan, Lab::mariadb);
    netapp_nfs_durability_on_mysql: "netapp-nfs-durability", |plan| plans_netapp::loses_small(plan, Lab::mysql);
    no_effect_on_mariadb: "no-effect", |plan| plans_netapp::runs_small(plan, Lab::mariadb);
    no_effect_on_mysql: "no-effect", |plan| plans_netapp::runs_small(plan, Lab::mysql);
    percona_io: "percona-io", plans_storage::the_matrix_of_the_article;
    pure_durability_on_mariadb: "pure-durability", |plan| plans_netapp::loses_small(plan, Lab::mariadb);
    pure_durability_on_mysql: "pure-durability", |plan| plans_netapp::loses_small(plan, Lab::mysql);
    pure_integrity_on_mariadb: "pure-integrity", |plan| plans_netapp::runs_small(plan, Lab::mariadb);
    pure_integrity_on_mysql: "pure-integrity", |plan| plans_netapp::runs_small(plan, Lab::mysql);
    pure_sweep_on_mariadb: "pure-sweep", |plan| plans_storage::sweeps_to_the_end(plan, servers::mariadb());
    pure_sweep_on_mysql: "pure-sweep", |plan| plans_storage::sweeps_to_the_end(plan, servers::mysql());
    sun_connections_on_mariadb: "sun-connections", |plan| plans_systems::sun_connections(plan, servers::mariadb());
    sun_connections_on_mysql: "sun-connections", |plan| plans_systems::sun_connections(plan, servers::mysql());
    sun_query_cache_on_mariadb: "sun-query-cache", |plan| plans_netapp::runs_small(plan, Lab::mariadb);
    tune_small_on_mariadb: "tune-small", |plan| crate::tune::ends(plan, servers::mariadb());
    tune_small_on_mysql: "tune-small", |plan| crate::tune::ends(plan, servers::mysql());
}

#[test]
fn every_plan_is_run_to_its_end_by_a_test() {
    let run: BTreeSet<&str> = RUN_TO_THE_END.iter().copied().collect();
    let plans = plans();
    let there: BTreeSet<&str> = plans.iter().map(String::as_str).collect();
    assert_eq!(there, run, "plans on the left, those that a test runs on the right");
}
