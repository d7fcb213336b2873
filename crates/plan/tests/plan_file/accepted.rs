//! What accepted plans mean.

use super::{EXAMPLE, SEED, read, read_with};
use plimsoll_model::Class;
use plimsoll_model::LoadPoint;
use plimsoll_plan::lab::file::PlanChoices;
use plimsoll_plan::lab::space::build::AskedSettings;
use plimsoll_plan::lab::tune::{TuneObjective, TuneSampler};
use plimsoll_plan::lab::{
    Action, LabPlan, Method, Order, PublishedKind, Restore, Setting, Storage, SwitchbackRule, Variant, WarmUp, flip,
};
use plimsoll_plan::plan::{ArrivalSpread, Measure};
use std::path::{Path, PathBuf};

fn accepted(text: &str, preset: Option<&str>) -> LabPlan {
    read(text, preset).unwrap_or_else(|error| panic!("{error}"))
}

fn setting<'v>(variant: &'v Variant, name: &str) -> &'v Setting {
    variant.config.iter().find(|setting| setting.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// `64`, `64@500`.
fn points(plan: &LabPlan) -> Vec<String> {
    let shown = |point: &LoadPoint| match point.rate {
        Some(rate) => format!("{}@{rate}", point.connections),
        None => point.connections.to_string(),
    };
    plan.variants[0].load.points.iter().map(shown).collect()
}

#[test]
fn the_example_says_what_it_seems_to_say() {
    let plan = accepted(EXAMPLE, None);
    assert_eq!((plan.name.as_str(), plan.file.as_str(), plan.seed), ("netapp-tr3693-protocols", "plan.toml", SEED));
    assert_eq!(plan.preset, None);
    let rules = &plan.trials;
    assert_eq!(rules.restore, Restore::Snapshot(None));
    assert_eq!((rules.warmup, rules.measure), (WarmUp::Seconds(900.0), Measure::Seconds(600.0)));
    assert_eq!((rules.pause_seconds, rules.rounds, rules.order), (30.0, 3, Order::Interleaved));
    let [fc, nfs] = &plan.variants[..] else { panic!("{:?}", plan.variants) };
    assert_eq!((fc.name.as_str(), nfs.name.as_str(), fc.build.as_str()), ("fc", "nfs", "auto"));
    assert_eq!(nfs.storage, Storage::Directory(PathBuf::from("/mnt/nfs")));
    assert_eq!(fc.workload.kind, "tpcc");
    assert_eq!((fc.workload.params["warehouses"].as_str(), fc.workload.params["profile"].as_str()), ("1000", "dbt2"));
    assert_eq!((fc.load.outage_limit_seconds, nfs.load.outage_limit_seconds), (30.0, 60.0));
    assert_eq!((fc.load.points.len(), &nfs.load.points), (1, &fc.load.points));
    assert_eq!((fc.at("datadir").line, fc.at("workload.warehouses").line, fc.at("memory").line), (31, 15, 0));
    let rung = &plan.rungs[0];
    assert_eq!((rung.name.as_str(), rung.at.line, rung.change.config[0].at.line), ("pool-6g", 37, 39));
    assert_eq!(nfs.with("nfs/pool-6g", &rung.change).at("datadir"), nfs.at("datadir"));
    assert_eq!((plan.collectors[0].every_seconds, plan.described.contains_key("storage")), (5.0, true));
    assert_eq!((plan.published[0].value, plan.published[0].kind), (Some(13431.0), PublishedKind::Printed));
    assert_eq!(plan.published[1].ordering, Some(vec!["fc".to_owned(), "nfs".to_owned()]));
}

#[test]
fn settings_come_from_the_file_then_from_the_plan_and_know_their_lines() {
    let plan = accepted(EXAMPLE, None);
    let found: Vec<_> =
        plan.variants[0].config.iter().map(|s| (s.name.as_str(), s.value.as_str(), s.from_file)).collect();
    assert_eq!(
        found,
        [
            ("port", "3306", true),
            ("innodb_open_files", "4096", true),
            ("innodb_buffer_pool_size", "22G", false),
            ("log_bin", "OFF", true),
            ("skip_name_resolve", "ON", true),
            ("innodb_doublewrite", "OFF", false),
        ]
    );
    let at = |name| setting(&plan.variants[0], name).at.to_string();
    assert_eq!(at("innodb_open_files"), "netapp.cnf, line 6");
    assert_eq!(at("innodb_doublewrite"), "plan.toml, line 10");
}

#[test]
fn a_switch_that_is_false_leaves_its_setting_on() {
    let switches = "skip_innodb_doublewrite = false\nskip-log-bin = false\n";
    let plan = accepted(&EXAMPLE.replace("innodb-doublewrite = false\n", switches), None);
    let value = |name: &str| setting(&plan.variants[0], name).value.as_str();
    // Of what stands behind such a name, servers look at 0 alone.
    assert_eq!((value("skip_innodb_doublewrite"), value("log_bin")), ("0", "ON"));
}

#[test]
fn a_preset_changes_tables_key_by_key_and_variants_and_rungs_by_name() {
    let plan = accepted(EXAMPLE, Some("small"));
    assert_eq!(plan.preset.as_deref(), Some("small"));
    let [fc, nfs] = &plan.variants[..] else { panic!("{:?}", plan.variants) };
    assert_eq!(fc.workload.params["warehouses"], "4");
    assert_eq!(fc.workload.params["profile"], "dbt2");
    assert_eq!((plan.trials.warmup, plan.trials.rounds), (WarmUp::Seconds(10.0), 3));
    assert_eq!(fc.storage, Storage::Directory(PathBuf::from("/dev/shm")));
    assert_eq!(nfs.storage, Storage::Directory(PathBuf::from("/mnt/nfs")));
    assert_eq!((fc.at("datadir").line, nfs.at("datadir").line), (64, 34));
    let pool = setting(nfs, "innodb_buffer_pool_size");
    assert_eq!((pool.value.as_str(), pool.at.line), ("1G", 62));
    assert_eq!(plan.rungs[0].change.config[0].value, "600M");
}

#[test]
fn a_short_plan_has_defaults_and_one_variant() {
    let plan = accepted("name = \"a\"\nworkload.kind = \"oltp_read_only\"\n", None);
    let [base] = &plan.variants[..] else { panic!("{:?}", plan.variants) };
    assert_eq!((base.name.as_str(), &base.storage, base.workload.seed), ("base", &Storage::Home, 1));
    assert_eq!(points(&plan), ["16"]);
    assert_eq!((base.load.arrivals, base.load.loops), (ArrivalSpread::Poisson, 1));
    assert_eq!((plan.trials.warmup, plan.trials.measure), (WarmUp::Seconds(10.0), Measure::Seconds(30.0)));
    assert_eq!((plan.trials.lenient, plan.trials.checksums, plan.trials.allow.len()), (false, false, 0));
}

#[test]
fn every_key_of_a_variant_arrives() {
    let plan = accepted(
        r#"name = "a"
[workload]
kind = "tpcc"
table_size = 5
[[variant]]
name = "group/full+1.0"
build = "/usr/sbin/mariadbd"
lane = "ext4,delay=2ms"
layout = { redo = "/r", doublewrite = "/d", undo = "/u", binlog = "/b", tmp = "/t", tables = { stock = "/s" } }
cpus = "0-2,5"
client_cpus = [6, 7]
memory = "8G"
env = { MALLOC_CONF = "narenas:2", N = 4 }
before = ["sync", { prompt = "plug in the array" }]
after = { prompt = "unplug it" }
workload = { seed = 5, dataset = "saved", sets = [1, 2], secondary = true }
load = { rate = ["500,1000"], connections = "1..4", arrivals = "constant", loops = 2, protocol = "text",
    ignore_errors = [1062] }
"#,
        None,
    );
    let full = &plan.variants[0];
    assert_eq!((full.build.as_str(), &full.storage), ("/usr/sbin/mariadbd", &Storage::Lane("ext4,delay=2ms".into())));
    let layout = &full.layout;
    let places = [&layout.redo, &layout.doublewrite, &layout.undo, &layout.binlog, &layout.tmp];
    assert_eq!(places.map(|place| place.as_deref()), ["/r", "/d", "/u", "/b", "/t"].map(|path| Some(Path::new(path))));
    assert_eq!(layout.tables["stock"], PathBuf::from("/s"));
    assert_eq!((full.cpus.as_deref(), full.client_cpus.as_deref()), (Some(&[0, 1, 2, 5][..]), Some(&[6, 7][..])));
    assert_eq!((full.memory, full.env["N"].as_str()), (Some(8 << 30), "4"));
    let (command, prompt) = (Action::Command("sync".into()), Action::Prompt("plug in the array".into()));
    assert_eq!((&full.before, &full.after), (&vec![command, prompt], &vec![Action::Prompt("unplug it".into())]));
    let workload = &full.workload;
    assert_eq!((workload.seed, workload.dataset.as_deref(), workload.params.len()), (5, Some("saved"), 3));
    assert_eq!((workload.params["table-size"].as_str(), workload.params["sets"].as_str()), ("5", "1,2"));
    assert_eq!(workload.params["secondary"], "true");
    assert_eq!((full.at("layout.tables.stock").line, full.at("workload.table-size").line), (9, 4));
    assert_eq!(points(&plan), ["1@500", "1@1000", "2@500", "2@1000", "4@500", "4@1000"]);
    let load = &full.load;
    assert_eq!((load.arrivals, load.loops, load.protocol.as_deref()), (ArrivalSpread::Constant, 2, Some("text")));
    assert_eq!(load.ignore_errors, [1062]);
}

#[test]
fn every_key_of_the_rest_arrives() {
    let plan = accepted(
        r#"name = "a"
workload = { kind = "tpcc" }
load = { find = "p99 < 20ms", connections = [8, 16] }
[server]
lane = "xfs"
[trials]
restore = "image-clone"
warmup = "auto"
measure = "90s"
order = "sequential"
recovery = true
lenient = true
checksums = true
allow = ["d1", "i"]
seed = 99
[described]
cpus = 2
share = 0.5
since = 2026-01-02
list = [1, true, { a = "b" }]
[[published]]
place = "table 1"
metric = "tps"
unit = "1/s"
workload = "tpcc"
connections = 64
cpus = 2
range = [1, 2.5]
kind = "derived"
note = "from the figure"
[[published]]
id = "PE20"
values = [3, 1, 2]
kind = "setup"
probe = "percona.10"
[[published]]
metric = "tps"
text = "Linux both"
limit = [0, 5]
kind = "claim"
[chosen]
terminals = "64: the source does not say"
length = "10m"
"#,
        None,
    );
    let rules = &plan.trials;
    assert_eq!(rules.restore, Restore::Snapshot(Some(Method::ImageClone)));
    assert_eq!((rules.warmup, rules.order), (WarmUp::Auto, Order::Sequential));
    assert!(rules.recovery && rules.lenient && rules.checksums);
    assert_eq!((&rules.allow, plan.seed), (&vec![Class::D1, Class::I], 99));
    let find = plan.variants[0].load.find.as_ref().expect("an objective");
    assert_eq!((find.text.as_str(), find.quantile, find.limit_ms), ("p99 < 20ms", 0.99, 20.0));
    assert_eq!(points(&plan), ["8", "16"]);
    let described: Vec<_> = plan.described.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let list = r#"[1,true,{"a":"b"}]"#;
    assert_eq!(described, [("cpus", "2"), ("list", list), ("share", "0.5"), ("since", "2026-01-02")]);
    let published = &plan.published[0];
    assert_eq!((published.range, published.kind), (Some((1.0, 2.5)), PublishedKind::Derived));
    assert_eq!((published.connections, published.cpus), (Some(64), Some(2)));
    assert_eq!((published.workload.as_deref(), published.place.as_deref()), (Some("tpcc"), Some("table 1")));
    assert_eq!((published.unit.as_deref(), published.note.as_deref()), (Some("1/s"), Some("from the figure")));
    let [_, setup, claim] = &plan.published[..] else { panic!("three") };
    assert_eq!((setup.id.as_deref(), setup.kind, setup.metric.as_str()), (Some("PE20"), PublishedKind::Setup, ""));
    assert_eq!((setup.values.as_deref(), setup.probe.as_deref()), (Some(&[3.0, 1.0, 2.0][..]), Some("percona.10")));
    assert_eq!((claim.text.as_deref(), claim.limit), (Some("Linux both"), Some((0.0, 5.0))));
    assert_eq!(plan.chosen[0], ("terminals".to_owned(), "64: the source does not say".to_owned()));
    assert_eq!(plan.chosen.len(), 2);
}

#[test]
fn restores_and_measures_have_several_forms() {
    let plan = |rules: &str| {
        accepted(&format!("name = \"a\"\nworkload.kind = \"tpcc\"\ntrials = {{ {rules} }}\n"), None).trials
    };
    assert_eq!(plan("restore = \"none\"").restore, Restore::None);
    assert_eq!(plan("restore = \"reload\"").restore, Restore::Reload);
    assert_eq!(plan("restore = \"btrfs-snapshot\"").restore, Restore::Snapshot(Some(Method::BtrfsSnapshot)));
    let commands = Restore::Commands(vec!["zfs rollback".to_owned(), "sync".to_owned()]);
    assert_eq!(plan("restore = { commands = [\"zfs rollback\", \"sync\"] }").restore, commands);
    assert_eq!(plan("measure = { events = 10 }").measure, Measure::Events(10));
    assert_eq!(plan("measure = { events_per_connection = 3 }").measure, Measure::EventsPerConnection(3));
}

#[test]
fn rounds_may_end_when_comparisons_are_decided() {
    let plan = |trials: &str, rounds: Option<&str>| {
        let text = format!(
            "name = \"a\"\nworkload.kind = \"tpcc\"\ntrials = {{ {trials} }}\n\
             [[variant]]\nname = \"x\"\n[[variant]]\nname = \"y\"\ncpus = 1\n"
        );
        let trials = read_with(&text, PlanChoices { rounds, ..PlanChoices::of_seed(SEED) }).expect(&text).trials;
        (trials.rounds, trials.stopping.map(|rule| (rule.decide, rule.max_seconds)))
    };
    let auto = "rounds = \"auto\", decide = \"5%\", max_rounds = 12, max_time = \"1h\"";
    assert_eq!(plan("rounds = 4", None), (4, None));
    assert_eq!(plan("rounds = \"auto\"", None), (40, Some((0.02, None))));
    assert_eq!(plan(auto, None), (12, Some((0.05, Some(3600.0)))));
    assert_eq!(plan("", Some("auto")), (40, Some((0.02, None))), "the option instead of the default");
    assert_eq!(plan(auto, Some("auto")), (12, Some((0.05, Some(3600.0)))), "the option says what the plan says");
    assert_eq!(plan(auto, Some("7")), (7, None), "a number instead of what comparisons decide");
}

#[test]
fn variants_may_take_turns_on_a_running_server() {
    let text = |more: &str| {
        format!(
            "name = \"a\"\nworkload.kind = \"tpcc\"\nserver.config.max_connections = 50\n\
             trials = {{ rounds = \"auto\", switchback = true{more} }}\n\
             [[variant]]\nname = \"x\"\nconfig.innodb_flush_log_at_trx_commit = 2\n[[variant]]\nname = \"y\"\n"
        )
    };
    let trials = accepted(&text(""), None).trials;
    assert_eq!((trials.restore, trials.explain), (Restore::Snapshot(None), false));
    assert_eq!(trials.switchback, Some(SwitchbackRule { washout_seconds: 1.0, block_seconds: 2.0 }));
    let given = accepted(&text(", restore = \"once\", washout = \"250ms\", block = \"3s\""), None).trials;
    assert_eq!(given.switchback, Some(SwitchbackRule { washout_seconds: 0.25, block_seconds: 3.0 }));
}

#[test]
fn rungs_that_can_be_flipped_take_turns_on_a_running_server() {
    let plan = accepted(
        "name = \"a\"\nworkload.kind = \"tpcc\"\nserver.config.max_connections = 50\n\
         trials = { rounds = \"auto\", switchback = true }\n\
         [[rung]]\nname = \"pool\"\nconfig.innodb_buffer_pool_size = \"1G\"\n\
         [[rung]]\nname = \"log\"\nconfig.innodb_flush_log_at_trx_commit = 2\n\
         [[rung]]\nname = \"capacity\"\nconfig.innodb_io_capacity = 2000\n",
        None,
    );
    let base = &plan.variants[0];
    let obstacles = plan.rungs.iter().map(|rung| flip::obstacle(base, &base.with(&rung.name, &rung.change)).is_some());
    assert_eq!(obstacles.collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn a_preset_and_a_variant_may_choose_the_other_of_two_ways() {
    let text = "name = \"a\"\nworkload.kind = \"tpcc\"\nload.rate = 5\ntrials.measure = { events = 9 }\n\
                trials.warmup = \"0s\"\n\
                [[variant]]\nname = \"x\"\nlane = \"xfs\"\n[[variant]]\nname = \"y\"\nload.find = \"p50 < 1s\"\n\
                [preset.p]\nvariant.x.datadir = \"/mnt\"\ntrials.restore.commands = [\"true\"]\n";
    let plan = accepted(text, Some("p"));
    assert_eq!(plan.variants[0].storage, Storage::Directory(PathBuf::from("/mnt")));
    assert_eq!(plan.trials.restore, Restore::Commands(vec!["true".to_owned()]));
    let rates: Vec<_> = plan.variants.iter().map(|variant| variant.load.points[0].rate).collect();
    assert_eq!((rates, plan.variants[1].load.find.is_some()), (vec![Some(5.0), None], true));
}

#[test]
fn storage_trials_and_targets_restore_nothing() {
    let io = "name = \"a\"\n[workload]\nkind = \"io\"\nsuite = \"quick\"\n[[variant]]\nname = \"x\"\nlane = \"xfs\"\n";
    let plan = accepted(io, None);
    assert_eq!((plan.trials.restore.clone(), points(&plan)), (Restore::None, vec!["1".to_owned()]));
    let external = "name = \"a\"\nworkload.kind = \"tpcc\"\nserver.target = \"mysql://u@db.example/d\"\n\
                    trials.restore = \"reload\"\n";
    assert_eq!(accepted(external, None).variants[0].target.as_deref(), Some("mysql://u@db.example/d"));
}

#[test]
fn a_search_has_defaults_and_knows_its_settings() {
    let plan =
        |lines: &str| read(&format!("name = \"a\"\nworkload.kind = \"tpcc\"\n[tune]\ntime = \"2h\"\n{lines}"), None);
    let rules = |lines: &str| plan(lines).unwrap().tune.unwrap();
    let usual = rules("");
    assert_eq!((usual.seconds, usual.decide, usual.settings), (7200.0, 0.03, AskedSettings::Top(12)));
    assert_eq!((usual.objective, usual.sampler, usual.space), (TuneObjective::Nopm, TuneSampler::Learning, None));
    let asked =
        rules("objective = \"p99\"\nkeep = \"p95 < 10ms\"\nsettings = [\"innodb-io-capacity\"]\nsampler = \"random\"");
    assert_eq!(asked.settings, AskedSettings::Named(vec!["innodb_io_capacity".to_owned()]));
    assert_eq!((asked.objective, asked.sampler), (TuneObjective::P99, TuneSampler::Random));
    assert_eq!(asked.keep.map(|keep| keep.limit_ms), Some(10.0));
}
