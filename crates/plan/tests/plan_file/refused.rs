//! What is refused, with the file, the line, what was found, and what is accepted.

use super::{EXAMPLE, read};
use plimsoll_plan::PlanError;

/// Checks that `text` is refused with this line and all of these words.
fn refused(text: &str, preset: Option<&str>, line: usize, words: &[&str]) {
    let error = read(text, preset).expect_err(text);
    let message = error.to_string();
    let PlanError::File { at, .. } = error else { panic!("{message}\n{text}") };
    assert_eq!((at.file.as_str(), at.line), ("plan.toml", line), "{message}\n{text}");
    for word in words {
        assert!(message.contains(word), "{message}\ndoes not say {word}");
    }
}

/// A plan of two lines, to which `lines` are added from the third on.
fn plan(lines: &str) -> String {
    format!("name = \"a\"\nworkload.kind = \"tpcc\"\n{lines}")
}

/// Checks that each of the additions is refused, at a line counted from the first that was added.
fn refused_each(cases: &[(&str, usize, &[&str])]) {
    for (lines, line, words) in cases {
        refused(&plan(lines), None, line + 2, words);
    }
}

#[test]
fn a_key_that_is_not_known_is_told_with_its_neighbour() {
    refused_each(&[
        ("warkload = 1", 1, &["`warkload` is not known (did you mean `workload`?)", "name, title, source, server"]),
        ("[trials]\nrouds = 3", 2, &["`trials.rouds`", "did you mean `rounds`", "restore, warmup, measure"]),
        ("[server]\nbiuld = \"auto\"", 2, &["did you mean `build`"]),
        ("[server]\nname = \"x\"", 2, &["`server.name` is not known"]),
        ("[load]\nconections = 3", 2, &["did you mean `connections`"]),
        ("[[variant]]\nname = \"x\"\ndatadirs = \"/x\"", 3, &["`variant.datadirs`", "did you mean `datadir`"]),
        ("[[variant]]\nname = \"x\"\nlayout = { rdo = \"/x\" }", 3, &["`variant.layout.rdo`", "redo"]),
        ("[[rung]]\nname = \"x\"\nenviron = {}", 3, &["`rung.environ`", "env"]),
        ("[[collector]]\nname = \"x\"\ncomand = \"y\"", 3, &["did you mean `command`"]),
        ("[[published]]\nmetrik = \"y\"", 2, &["did you mean `metric`"]),
        ("trials.restore = { command = [\"x\"] }", 1, &["did you mean `commands`"]),
        ("trials.measure = { event = 4 }", 1, &["did you mean `events`"]),
        ("[preset.p]\n\nlaod.connections = 3", 3, &["`preset.p.laod` is not known (did you mean `load`?)"]),
        ("[preset.p]\npreset = {}", 2, &["a preset cannot have presets"]),
    ]);
}

#[test]
fn what_must_be_there_is_missed() {
    refused("", None, 1, &["`kind` is missing"]);
    refused("\n[workload]\nkind = \"tpcc\"\n", None, 1, &["`name` is missing"]);
    refused("name = \"a\"\n\n[workload]\nwarehouses = 3", None, 3, &["workload: `kind` is missing", "tpcc"]);
    refused_each(&[
        ("[[variant]]\nname = \"x\"\n[[variant]]\ncpus = 1", 3, &["`variant.name` is missing"]),
        ("[[rung]]\nconfig.a = 1", 1, &["`rung.name` is missing"]),
        ("[[rung]]\nname = \"x\"", 1, &["changes nothing"]),
        ("[[collector]]\nname = \"x\"", 1, &["`collector.command` is missing"]),
        ("[[published]]\nvalue = 1", 1, &["`published.metric` is missing"]),
        ("trials.restore = {}", 1, &["`trials.restore.commands` is missing"]),
        ("server.before = {}", 1, &["`server.before.prompt` is missing"]),
    ]);
}

#[test]
fn wrong_types_and_values_are_told_with_what_is_accepted() {
    refused("name = 3", None, 1, &["`kind` is missing"]);
    refused("workload.kind = \"tpcc\"\nname = 3", None, 2, &["name: found `3`; accepted is a name"]);
    refused("workload.kind = \"tpcc\"\nname = \"Sun\"", None, 2, &["found `\"Sun\"`", "lower-case"]);
    refused_each(&[
        ("title = true", 1, &["title: found `true`; accepted is a text in quotes"]),
        ("server = 3", 1, &["server: found `3`; accepted is a table"]),
        ("variant = 3", 1, &["variant: found `3`", "a list"]),
        ("variant = []", 1, &["variant: found an empty list"]),
        ("[[variant]]\nname = \"-x\"", 2, &["variant.name", "the first is a letter or digit"]),
        ("server.build = \"mariadbd\"", 1, &["auto, mariadb, mysql or the path"]),
        ("server.datadir = \"data\"", 1, &["found `\"data\"`; accepted is an absolute path"]),
        ("server.lane = \"\"", 1, &["found `\"\"`"]),
        ("server.layout.tables = { \"a`b\" = \"/x\" }", 1, &["a table name has up to 64 letters"]),
        ("server.cpus = []", 1, &["an empty list"]),
        ("server.cpus = [0, 0]", 1, &["a list of CPUs, each once"]),
        ("server.cpus = \"3-1\"", 1, &["a list of CPUs"]),
        ("server.cpus = \"0-99999999999\"", 1, &["a list of CPUs"]),
        ("server.cpus = [-1]", 1, &["a list of CPUs"]),
        ("server.memory = \"8 GB\"", 1, &["found `\"8 GB\"`", "128M or 22G"]),
        ("server.memory = 0", 1, &["above 0"]),
        ("server.memory = true", 1, &["found `true`", "a size"]),
        ("server.env = { \"A B\" = \"1\" }", 1, &["the name of an environment variable"]),
        ("server.env = { A = [1] }", 1, &["found a list; accepted is a text in quotes, a number, true or false"]),
        ("server.before = 3", 1, &["a command in quotes or { prompt"]),
        ("workload.seed = -1", 1, &["found `-1`; accepted is a whole number from 0"]),
        ("workload.warehouses = []", 1, &["an empty list"]),
        ("workload.warehouses = { a = 1 }", 1, &["found a table"]),
        ("workload.warehouses = nan", 1, &["found `nan`"]),
        ("workload.table-size = 1", 1, &["lower-case letters, digits and `_`"]),
        ("trials.warmup = 10", 1, &["a duration such as 10s or 15m, or auto"]),
        ("trials.warmup = \"ten\"", 1, &["found `\"ten\"`", "10s"]),
        ("trials.measure = \"0s\"", 1, &["above 0"]),
        ("trials.measure = {}", 1, &["one of them"]),
        ("trials.measure = { events = 1, events_per_connection = 1 }", 1, &["one of them"]),
        ("trials.measure = { events = 0 }", 1, &["from 1"]),
        ("trials.pause = \"1000h\"", 1, &["at most 720h"]),
        ("trials.pause = 1", 1, &["a duration in quotes"]),
        ("trials.rounds = 0", 1, &["a whole number from 1 to 1000"]),
        ("trials.rounds = 1.5", 1, &["found `1.5`"]),
        ("trials.order = \"sequentially\"", 1, &["did you mean `sequential`", "interleaved, sequential"]),
        ("trials.lenient = \"true\"", 1, &["true or false, without quotes"]),
        ("trials.allow = [\n \"d1\",\n \"d9\"]", 3, &["found `\"d9\"`", "d0, a, i, d1, d1p"]),
        ("trials.restore = \"snap\"", 1, &["none, once, snapshot, reflink"]),
        ("trials.restore = { commands = [] }", 1, &["an empty list"]),
        ("trials.seed = 99999999999999999999", 1, &["found `99999999999999999999`"]),
        ("load.connections = 0", 1, &["load.connections: found `0`", "1..64"]),
        ("load.connections = []", 1, &["an empty list"]),
        ("load.connections = [1,\n\"x\"]", 2, &["found `\"x\"`"]),
        ("load.connections = [1, \"1..2\"]", 1, &["1 occurs twice"]),
        ("load.rate = \"fast\"", 1, &["rates per second"]),
        ("load.rate = -1.5", 1, &["found `-1.5`"]),
        ("load.find = \"p99 > 20ms\"", 1, &["such as p99 < 20ms"]),
        ("load.find = 99", 1, &["such as p99 < 20ms"]),
        ("load.arrivals = \"poison\"", 1, &["did you mean `poisson`"]),
        ("load.loops = 0", 1, &["from 1 to 256"]),
        ("load.protocol = \"binary\"", 1, &["prepared, text"]),
        ("load.ignore_errors = [70000]", 1, &["from 1 to 65535"]),
        ("[[collector]]\nname = \"x\"\ncommand = \"y\"\nevery = \"10ms\"", 4, &["at least 1s"]),
        ("described.a = inf", 1, &["found `inf`"]),
        ("described = [1]", 1, &["described: found a list; accepted is a table"]),
    ]);
}

#[test]
fn settings_are_refused_that_hide_something_or_are_not_the_plans() {
    refused_each(&[
        ("server.config = { sha256_password_key = \"x\" }", 1, &["a secret", "recordings", "leave it out"]),
        ("server.config = { datadir = \"/x\" }", 1, &["server.config.datadir", "leave it out"]),
        ("server.config = { Pid-File = \"/x\" }", 1, &["leave it out"]),
        ("server.config = { port = 3306 }", 1, &["leave it out"]),
        ("server.config = { innodb_log_group_home_dir = \"/x\" }", 1, &["layout.redo"]),
        ("server.config = { loose_innodb_foo = 1 }", 1, &["`loose` would hide a misspelt name", "`innodb_foo`"]),
        ("server.config = { Loose-x = 1 }", 1, &["`loose` would hide", "`x`"]),
        ("server.config = { \"a b\" = 1 }", 1, &["letters, digits"]),
        (
            "server.config = { max_connections = -1 }",
            1,
            &["found `-1`", "0 or more", "no server accepts a negative one"],
        ),
        (
            "[[rung]]\nname = \"x\"\nconfig.innodb_buffer_pool_size = \"-5\"",
            3,
            &["innodb_buffer_pool_size", "0 or more"],
        ),
        (
            "server.config = { innodb_buffer_pool_size = \"99999999999999999999999999G\" }",
            1,
            &["found `\"99999999999999999999999999G\"`", "at most 18446744073709551615"],
        ),
        ("server.config = { a = \"x\\ny\" }", 1, &["one line of text"]),
        ("server.config = { a = [1] }", 1, &["found a list"]),
        ("server.config = { a = inf }", 1, &["found `inf`"]),
        ("[server.config]\na-b = 1\nA_b = 2", 3, &["`a_b` is already set in line 4"]),
        ("[server.config]\nlog_bin = 1\nskip_log_bin = true", 3, &["`log_bin` is already set in line 4"]),
        ("server.config_file = \"other.cnf\"", 1, &["cannot read `other.cnf`: no such file"]),
        ("server.config_file = 3", 1, &["found `3`"]),
    ]);
    let error = read(&plan("server.config_file = \"broken.cnf\""), None).unwrap_err().to_string();
    assert!(error.starts_with("broken.cnf, line 3: found `innodb open files=4096`"), "{error}");
}

#[test]
fn names_are_known_and_each_stands_for_one_thing() {
    refused_each(&[
        ("[[variant]]\nname = \"x\"\n[[variant]]\nname = \"x\"", 4, &["line 4 already has a variant `x`"]),
        ("[[rung]]\nname = \"x\"\ncpus = 1\n[[rung]]\nname = \"x\"\ncpus = 2", 4, &["line 3 already has a rung `x`"]),
        ("[[rung]]\nname = \"worth/x\"\ncpus = 1", 1, &["floor, worth, gain"]),
        (
            "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"a/b\"\n[[rung]]\nname = \"c\"\ncpus = 1\n\
             [[rung]]\nname = \"b/c\"\ncpus = 1",
            8,
            &["two rungs would be called `a/b/c`"],
        ),
        ("[[published]]\nmetric = \"m\"\nvalue = 1\nvariant = \"bas\"", 4, &["`bas`", "did you mean `base`"]),
        ("[[published]]\nmetric = \"m\"\nvalue = 1\nrung = \"x\"", 4, &["the plan has no rung `x`; there is none"]),
        ("[[published]]\nmetric = \"m\"\nordering = [\"base\", \"x\"]", 3, &["no variant `x`"]),
        ("[[published]]\nmetric = \"m\"\nordering = [\"base\", \"base\"]", 3, &["twice"]),
        ("[[published]]\nmetric = \"m\"\nordering = [\"base\"]", 3, &["two or more"]),
        (
            "[[published]]\nmetric = \"m\"",
            1,
            &["found nothing; accepted is one of value, values, range, ordering, text"],
        ),
        ("[[published]]\nmetric = \"m\"\nvalue = 1\nrange = [1, 2]", 1, &["found value and range"]),
        ("[[published]]\nmetric = \"m\"\nrange = [1, 2, 3]", 3, &["two numbers"]),
        ("[[published]]\nmetric = \"m\"\nrange = [2, 1]", 3, &["the lower one first"]),
        ("[[published]]\nmetric = \"m\"\nvalue = 1\nkind = \"guess\"", 4, &["printed, derived, claim, setup"]),
        ("[[published]]\nmetric = \"m\"\nvalue = 1\ntext = \"x\"", 1, &["found value and text"]),
        ("[[published]]\nmetric = \"m\"\nvalue = 1\nlimit = [0, 5]", 4, &["judges a `text`"]),
        ("[[published]]\nmetric = \"m\"\ntext = \"x\"\nlimit = [5, 0]", 4, &["the lower one first"]),
        ("[[published]]\nmetric = \"m\"\nvalues = []", 3, &["at least one entry"]),
        ("[[published]]\nmetric = \"m\"\nvalues = [1, \"2\"]", 3, &["a number, without quotes"]),
        ("[[published]]\ntext = \"x\"\nkind = \"claim\"", 1, &["`published.metric` is missing"]),
        ("[[published]]\nid = \"na-1\"\nmetric = \"m\"\nvalue = 1", 2, &["found `\"na-1\"`", "such as NA1"]),
        ("[chosen]\nterminals = 64", 2, &["chosen.terminals: found `64`; accepted is a text"]),
    ]);
    let long = "x".repeat(40);
    let text = plan(&format!("[[variant]]\nname = \"{long}\"\n[[rung]]\nname = \"{long}\"\ncpus = 1"));
    refused(&text, None, 5, &["too long together"]);
}

#[test]
fn presets_change_what_is_there() {
    let with = |lines: &str| format!("{EXAMPLE}{lines}");
    let line = EXAMPLE.lines().count() + 1;
    refused(EXAMPLE, Some("smal"), 60, &["no preset `smal` (did you mean `small`?); accepted is small"]);
    refused(&plan(""), Some("x"), 1, &["the plan has no presets"]);
    refused(&with("variant.iscsi.datadir = \"/x\"\n"), Some("small"), line, &["no variant `iscsi`; there is fc, nfs"]);
    refused(&with("variant.fc.name = \"fd\"\n"), Some("small"), line, &["but not their names"]);
    refused(&with("[[preset.other.variant]]\nname = \"fc\"\n"), None, line, &["a table with the names of variants"]);
    refused(
        &with("load.connections = \"many\"\n"),
        Some("small"),
        line,
        &["preset.small.load.connections", "\"many\""],
    );
    refused(&with("load.connections = \"many\"\n"), None, line, &["preset.small.load.connections"]);
    refused(&with("variant.fc.lane = \"xfs\"\n"), None, line, &["choose one"]);
}

#[test]
fn impossible_combinations_are_refused() {
    refused_each(&[
        ("[server]\ndatadir = \"/x\"\nlane = \"xfs\"", 3, &["`datadir` already says where the data are stored"]),
        ("load = { rate = 1, find = \"p99 < 1s\" }", 1, &["leave `rate` out"]),
        ("load.find = \"p99 < 1s\"\n[[rung]]\nname = \"x\"\ncpus = 1", 1, &["cannot go with [[rung]]"]),
        ("[[rung]]\nname = \"x\"\nload.find = \"p99 < 1s\"", 1, &["cannot go with [[rung]]"]),
        ("[[rung]]\nname = \"x\"\nload.connections = 3", 3, &["load.connections", "rung `x`", "[load]"]),
        ("[[rung]]\nname = \"x\"\nload.rate = 300", 3, &["load.rate", "rung `x`"]),
        ("trials.order = \"sequential\"\n[[rung]]\nname = \"x\"\ncpus = 1", 1, &["interleaved pairs"]),
        ("load.rate = 5\ntrials.measure.events_per_connection = 3", 2, &["arrivals belong to no connection"]),
        ("load.find = \"p99 < 1s\"\ntrials.measure.events_per_connection = 3", 2, &["arrivals"]),
        ("load.rate = 5\ntrials.measure.events = 3", 2, &["counted from the start", "warmup = \"0s\""]),
        ("trials.restore = \"reload\"\nworkload.dataset = \"saved\"", 2, &["accepted is snapshot"]),
        ("trials.restore = \"image-clone\"", 1, &["`base` uses none"]),
        ("trials.restore = \"image-clone\"\nworkload.dataset = \"saved\"", 1, &["`base` uses none"]),
        (
            "trials.restore = \"image-clone\"\n[server]\nlane = \"ext4\"\nlayout.redo = \"/x\"",
            1,
            &["has a layout", "outside of it"],
        ),
        (
            "[load]\nconnections = \"1..999+1\"\n[trials]\nrounds = 1000",
            4,
            &["999000 trials", "at most 100000 are accepted"],
        ),
        (
            "[server]\nmemory = \"1G\"\nconfig.innodb_buffer_pool_size = \"1G\"",
            3,
            &["memory (line 4)", "accepted is less"],
        ),
        (
            "[[variant]]\nname = \"v\"\nworkload.scale = 3\n[[rung]]\nname = \"x\"\nworkload.kind = \"tpcb\"",
            6,
            &["rung `x` would undo `workload.scale` of `v` (line 5)"],
        ),
        (
            "[[rung]]\nname = \"x\"\nload.loops = 3\n[[rung]]\nname = \"y\"\nload.protocol = \"text\"",
            6,
            &["rung `y` would undo `load.loops` of `x` (line 5)"],
        ),
    ]);
}

#[test]
fn a_server_that_is_not_ours_is_neither_configured_nor_restored_nor_killed() {
    let target = |lines: &str| format!("[server]\ntarget = \"mysql://u@db.example/d\"\n{lines}");
    let restored = "[trials]\nrestore = \"none\"\n";
    for (lines, line, words) in [
        (restored.replace("none", "snapshot"), 4, "accepted is restore = \"reload\" or \"none\""),
        (restored.replace("none", "copy"), 4, "never copied"),
        (String::new(), 2, "accepted is restore = \"reload\" or \"none\""),
        (format!("{restored}recovery = true"), 5, "kills only private servers"),
        (format!("build = \"mysql\"\n{restored}"), 3, "`build` is for private servers"),
        (format!("config.a = 1\n{restored}"), 3, "`config` is for private servers"),
        (format!("{restored}[[variant]]\nname = \"x\"\nlane = \"xfs\""), 7, "`lane` is for private servers"),
        (format!("{restored}[[rung]]\nname = \"x\"\nconfig.a = 1"), 7, "`config` is for private servers"),
        (format!("{restored}[[variant]]\nname = \"x\"\nworkload.dataset = \"d\""), 7, "a saved dataset is for private"),
    ] {
        refused(&plan(&target(&lines)), None, line + 2, &[words]);
    }
    refused_each(&[
        ("server.target = \"private:mysql\"", 1, &["choose its `build`"]),
        ("server.target = \"postgres://db.example/d\"", 1, &["accepted is private", "mysql://"]),
    ]);
    let secret = plan("server.target = \"mysql://u:hunter2@db.example/d\"");
    refused(&secret, None, 3, &["contains a password", "MYSQL_PWD"]);
    assert!(!read(&secret, None).unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn storage_trials_have_no_server() {
    for (lines, line, words) in [
        ("load.connections = 3", 3, "`load` has no meaning for storage trials"),
        ("server.config.a = 1", 3, "`config` has no meaning"),
        ("server.target = \"mysql://u@h/d\"", 3, "`target` has no meaning"),
        ("trials.recovery = true", 3, "trials.recovery: has no meaning"),
        ("trials.restore = \"reflink\"", 3, "trials.restore: has no meaning"),
        ("trials.measure.events = 3", 3, "measure a duration"),
        (
            "[[variant]]\nname = \"x\"\n[[variant]]\nname = \"y\"\nworkload.kind = \"tpcc\"",
            7,
            "one plan cannot have both",
        ),
    ] {
        refused(&plan(lines).replacen("tpcc", "io", 1), None, line, &[words]);
    }
}

#[test]
fn what_is_not_toml_has_its_line() {
    for (text, line) in [("name = \n", 1), ("name = \"a\"\nname = \"b\"\n", 2), ("name = \"a\"\n[x\n", 2), ("\n\n=", 3)]
    {
        refused(text, None, line, &["this is not TOML"]);
    }
}

#[test]
fn a_switchback_flips_what_is_live_and_nothing_else() {
    let trials = |rest: &str| format!("trials = {{ rounds = \"auto\", switchback = true{rest} }}");
    let two = |config: &str| format!("[[variant]]\nname = \"x\"\n[[variant]]\nname = \"y\"\n{config}");
    let live = two("config.innodb_flush_neighbors = 2");
    let both = |trials: &str, variants: &str| format!("{trials}\n{variants}");
    let lines = [
        (both("trials.washout = \"1s\"", &live), 3, "trials.washout goes with switchback = true"),
        (both("trials.block = \"1s\"", &live), 3, "trials.block goes with switchback = true"),
        (both("trials.switchback = true", &live), 3, "accepted is rounds = \"auto\""),
        (both(&trials(", restore = \"reload\""), &live), 3, "accepted are the copies, and \"once\""),
        (both(&trials(", block = \"0s\""), &live), 3, "above 0"),
        (both(&trials(", checksums = true"), &live), 3, "`checksums` is for trials that start a server"),
        (
            both(&trials(""), "[[rung]]\nname = \"big\"\nconfig.innodb_buffer_pool_size = \"1G\""),
            6,
            "innodb_buffer_pool_size is not known to take effect at once on a running server, but `base` and `big` differ",
        ),
        (
            both(&trials(""), &two("config.innodb_io_capacity = 300")),
            8,
            "innodb_io_capacity_max, which depends on other settings; set innodb_io_capacity_max in both `x` and `y`",
        ),
        (
            both(&trials(""), &two("config.innodb_buffer_pool_size = \"1G\"")),
            8,
            "innodb_buffer_pool_size is not known to take effect at once on a running server, but `x` and `y` differ",
        ),
        (
            both(&trials(""), &live.replace("\"y\"", "\"x/first\"")),
            7,
            "`x/first`: first and restarted mean something else",
        ),
        (both(&trials(""), &two("cpus = 1")), 7, "`x` and `y` differ in more than settings"),
    ];
    for (lines, at, words) in lines {
        refused(&plan(&lines), None, at, &[words]);
    }
}

#[test]
fn rounds_that_end_by_themselves_need_something_to_decide() {
    let two = "[[variant]]\nname = \"x\"\n[[variant]]\nname = \"y\"\ncpus = 1";
    let auto = |rest: &str| format!("trials = {{ rounds = \"auto\", {rest} }}\n{two}");
    let lines = [
        ("trials.rounds = \"auto\"".to_owned(), "one variant has none to be compared with; accepted is a number"),
        (
            "trials.rounds = \"auto\"\n[[variant]]\nname = \"x\"\n[[variant]]\nname = \"y\"\nworkload.kind = \"oltp_read_only\""
                .to_owned(),
            "no other variant does the same kind of work as `x` at one of its load points; accepted is a number",
        ),
        ("trials.rounds = \"many\"".to_owned(), "from 1 to 1000, without quotes, or \"auto\""),
        ("trials = { rounds = 4, decide = \"2%\" }".to_owned(), "trials.decide goes with rounds = \"auto\""),
        ("trials.max_rounds = 9".to_owned(), "trials.max_rounds goes with rounds = \"auto\""),
        ("trials.max_time = \"9m\"".to_owned(), "trials.max_time goes with rounds = \"auto\""),
        (auto("max_rounds = 2"), "a whole number from 3 to 1000"),
        (auto("decide = 200"), "found `200`"),
        (auto("decide = \"two\""), "found `\"two\"`"),
        (auto("max_time = \"0s\""), "above 0"),
        (auto("order = \"sequential\""), "nothing to compare before the end; accepted is a number"),
        (format!("load.find = \"p99 < 20ms\"\n{}", auto("")), "a search for a load line (find)"),
        (
            "trials = { rounds = \"auto\", max_time = \"9m\" }\nrung = [{ name = \"x\", config.a = 1 }]".to_owned(),
            "cannot be kept by a ladder",
        ),
    ];
    for (lines, words) in lines {
        let at = lines.lines().position(|line| line.starts_with("trials")).expect("a line of trials");
        refused(&plan(&lines), None, at + 3, &[words]);
    }
}

#[test]
fn a_search_is_of_one_server_of_ours_at_one_load_point() {
    const TUNE: &str = "tune.time = \"2h\"\n";
    let with =
        |lines: &str, line: usize, words: &[&str]| refused(&plan(&format!("{TUNE}{lines}")), None, line + 3, words);
    refused_each(&[
        ("[tune]\ntop = 3", 1, &["`tune.time` is missing", "such as 2h"]),
        ("tune.time = \"0s\"", 1, &["tune.time"]),
        ("[tune]\ntime = \"2h\"\nobjective = \"tps\"", 3, &["nopm", "p99", "cost", "load-line"]),
        ("[tune]\ntime = \"2h\"\nobjective = \"load-line\"", 3, &["give keep, such as p99 < 20ms"]),
        ("[tune]\ntime = \"2h\"\nkeep = \"p99 > 1s\"", 3, &["such as p99 < 20ms"]),
        ("[tune]\ntime = \"2h\"\nsettings = [\"innodb_bufer_pool_size\"]", 3, &["known to be worth trying"]),
        ("[tune]\ntime = \"2h\"\nsettings = [\"sync_binlog\"]\ntop = 3", 4, &["leave one of the two out"]),
        ("[tune]\ntime = \"2h\"\nsettings = []", 3, &["an empty list"]),
        ("[tune]\ntime = \"2h\"\nsampler = \"grid\"", 3, &["learning", "random"]),
        ("[tune]\ntime = \"2h\"\nrecovery = \"10s\"", 3, &["trials.recovery = true"]),
        ("[tune]\ntime = \"2h\"\nrandom = true", 3, &["`tune.random` is not known"]),
    ]);
    with("[load]\nconnections = [1, 2]", 2, &["one load point"]);
    with("[server]\ntarget = \"mysql://h/d\"\n[trials]\nrestore = \"none\"", 2, &["private servers alone"]);
    with("[trials]\nrounds = \"auto\"", 2, &["decides itself"]);
    with("[trials]\nrestore = \"reload\"", 2, &["the same data"]);
    with("[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"", 1, &["accepted is one variant"]);
    with("[[rung]]\nname = \"a\"\nconfig.sync_binlog = 1", 1, &["leave rungs out"]);
}
