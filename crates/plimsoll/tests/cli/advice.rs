//! `plimsoll advise`, and what it knows, held against the servers themselves.

use crate::harness::{Done, Lab, run};
use plimsoll_model::Flavour;
use plimsoll_plan::knowledge::options::{self, OptionFate};
use plimsoll_plan::knowledge::settings::{SettingFacts, all_settings};
use plimsoll_plan::knowledge::value::{in_effect, number, same_value};
use plimsoll_plan::knowledge::{Release, Standing, standing, variable};
use plimsoll_testkit::servers;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LISTINGS: [&str; 3] = ["netapp-tr3693-appendix-e", "sun-blueprint-chapter-3", "pure-flasharray-appendix-b"];

/// An option file that a document prints.
fn listing(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plan/tests/fixtures").join(format!("{name}.cnf"))
}

/// `plimsoll advise` with these words, in a home of its own.
fn advise(words: &[&str]) -> Done {
    let home = servers::home();
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.arg("advise").args(words);
    run(command)
}

fn findings(advice: &Value) -> Vec<&Value> {
    let steps = advice["steps"].as_array().expect("six steps");
    assert_eq!(steps.len(), 6);
    steps.iter().flat_map(|step| step["findings"].as_array().expect("findings")).collect()
}

/// The release of a server, as it is typed.
fn release_of(server: &Path) -> (Release, String) {
    let build = plimsoll_server::find::inspect(server).expect("a server");
    let release = Release::of(build.flavour, &build.version);
    let (major, minor, _) = release.version;
    let vendor = if release.flavour == Flavour::MySql { "mysql" } else { "mariadb" };
    (release, format!("{vendor}-{major}.{minor}"))
}

/// The same of a server whose series was asked for what is known; of another, nothing can be held against it.
fn asked(server: &Path) -> Option<(Release, String)> {
    let (release, name) = release_of(server);
    if !release.was_asked() {
        servers::skip(&format!("{release} was never asked what it has: see crates/plan/src/knowledge/release.rs"));
    }
    release.was_asked().then_some((release, name))
}

/// What a server says of an option file, without starting: whether it takes it, and its errors and warnings.
fn validated(server: &Path, flavour: Flavour, file: &Path, directory: &Path) -> (bool, String) {
    let mut command = Command::new(server);
    command.arg(format!("--defaults-file={}", file.display())).stdout(Stdio::null());
    command.args([format!("--datadir={}", directory.display()), "--user=root".to_owned()]);
    let log = directory.join("validated.err");
    match flavour {
        Flavour::MySql => {
            command.args(["--validate-config", "--log-error-verbosity=2"]).arg(format!("--log-error={}", log.display()))
        }
        Flavour::MariaDb => command.args(["--verbose", "--help", "--log-error=stderr"]),
    };
    let output = command.stdin(Stdio::null()).output().expect("the server can be run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_file(&log);
    (output.status.success() && !said.contains("[ERROR]"), said)
}

/// The file with every line as it should be, for findings that are more than good to know.
fn mended(file: &Path, advice: &Value) -> String {
    let text = fs::read_to_string(file).expect("it is in the repository");
    let mut lines: Vec<&str> = text.lines().collect();
    for finding in findings(advice).into_iter().filter(|finding| finding["severity"] != "info") {
        if let (Some(line), Some(at)) = (finding["line"].as_str(), finding["at"]["line"].as_u64()) {
            lines[at as usize - 1] = line;
        }
    }
    lines.join("\n") + "\n"
}

/// A server that does not take the documents' listings takes what advice makes of them, and complains of nothing that it
/// could have known.
fn listings_start_when_mended(server: &Path) {
    let Some((release, name)) = asked(server) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    for listing in LISTINGS.map(listing) {
        let file = listing.to_str().expect("a path");
        let advice = advise(&["--config-file", file, "--for", &name, "--json"]).exits(0).json();
        let (taken, said) = validated(server, release.flavour, &listing, directory.path());
        let complained = !taken || said.contains("was removed");
        assert!(complained, "{file} is fine for {release} as it is: {said}");
        let fixed = directory.path().join("mended.cnf");
        fs::write(&fixed, mended(&listing, &advice)).expect("it can be written");
        let (taken, said) = validated(server, release.flavour, &fixed, directory.path());
        assert!(taken && !said.contains("was removed") && !said.contains("unknown"), "{file} on {release}: {said}");
        let again =
            advise(&["--config-file", fixed.to_str().expect("a path"), "--for", &name, "--json"]).exits(0).json();
        let left: Vec<&Value> =
            findings(&again).into_iter().filter(|finding| finding["severity"] == "critical").collect();
        assert!(left.is_empty(), "{left:#?}");
    }
}

#[test]
fn the_documents_listings_start_when_they_are_mended_on_mariadb() {
    let Some(server) = servers::mariadb() else { return };
    listings_start_when_mended(&server);
}

#[test]
fn the_documents_listings_start_when_they_are_mended_on_mysql() {
    let Some(server) = servers::mysql() else { return };
    listings_start_when_mended(&server);
}

#[test]
#[ignore = "MariaDB of the next Debian; make test-all"]
fn the_documents_listings_start_when_they_are_mended_on_mariadb_11() {
    let Some(server) = servers::mariadb_new() else { return };
    listings_start_when_mended(&server);
}

/// What a server says of a variable.
struct SaidOfVariable {
    default: Option<String>,
    range: Option<(f64, f64)>,
    dynamic: bool,
}

fn said_of_variables(lab: &Lab, flavour: Flavour) -> BTreeMap<String, SaidOfVariable> {
    let query = match flavour {
        // What the server was not told is its default.
        Flavour::MySql => {
            "SELECT LOWER(i.variable_name), IF(i.variable_source = 'COMPILED', g.variable_value, NULL), \
            NULLIF(i.min_value, ''), NULLIF(i.max_value, ''), NULL FROM performance_schema.variables_info i \
            LEFT JOIN performance_schema.global_variables g USING (variable_name)"
        }
        Flavour::MariaDb => {
            "SELECT LOWER(variable_name), IF(global_value_origin = 'COMPILE-TIME', default_value, NULL), \
            numeric_min_value, numeric_max_value, read_only FROM information_schema.system_variables"
        }
    };
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
    let rows = lab.sql(&[query]);
    let said = rows.into_iter().filter_map(|row| {
        let name = row[0].clone()?;
        let dynamic = match flavour {
            Flavour::MariaDb => row[4].as_deref() == Some("NO"),
            Flavour::MySql => true,
        };
        let range = number(&row[2]).zip(number(&row[3]));
        Some((name, SaidOfVariable { default: row[1].clone(), range, dynamic }))
    });
    said.collect()
}

/// Whether MySQL lets a variable be set, by setting it to what it is.
fn can_be_set(lab: &Lab, name: &str) -> bool {
    const READ_ONLY: u16 = 1238;
    match lab.control().run(&format!("SET GLOBAL {name} = @@GLOBAL.{name}")) {
        Err(plimsoll_engine::Failure::Server(message)) => message.code != READ_ONLY,
        _ => true,
    }
}

/// The least and the most of `5M..` or `0..100`.
fn ends(accepts: &str) -> Option<(f64, Option<f64>)> {
    let (least, most) = accepts.split_once("..")?;
    Some((number(least)?, number(most)))
}

/// Settings that Plimsoll gives its private servers, and that these show as if they were their defaults.
const OF_OURS: [&str; 3] = ["character_set_server", "collation_server", "log_bin"];

/// How the row of a setting differs from what the server says of it.
fn differs(name: &str, facts: &SettingFacts, release: Release, said: Option<&SaidOfVariable>) -> Option<String> {
    let Release { flavour, version } = release;
    let is_gone = !matches!(standing(name, "1", flavour, version), Standing::Current | Standing::NotOurs { .. });
    let is_expected = facts.applies(release).is_some() && facts.first_in(release).is_none() && !is_gone;
    let said = match (said, is_expected) {
        (Some(said), true) => said,
        (None, false) => return None,
        (None, true) => return facts.unseen.is_none().then(|| "the server has no such variable".to_owned()),
        // An old name that the server still takes, or takes and ignores.
        (Some(_), false) if options::fate(name, release) != Some(OptionFate::Unknown) => return None,
        (Some(_), false) => return facts.unseen.is_none().then(|| "the server has it".to_owned()),
    };
    let applies = facts.applies(release)?;
    if applies.is_dynamic() != said.dynamic {
        return Some(format!(
            "it applies {applies:?}, and on the server it is {}",
            if said.dynamic { "dynamic" } else { "read-only" }
        ));
    }
    if let (Some(default), Some(theirs)) = (facts.default(release), &said.default) {
        let is_same = default == "auto"
            || OF_OURS.contains(&name)
            || same_value(default, theirs)
            || in_effect(name, default, theirs);
        if !is_same {
            return Some(format!("its default is {default}, and the server's is {theirs}"));
        }
    }
    let (ours, theirs) = (facts.accepts(release).and_then(ends)?, said.range?);
    let is_same = ours.0 == theirs.0 && ours.1.is_none_or(|most| most == theirs.1);
    (!is_same).then(|| format!("it accepts {ours:?}, and the server {theirs:?}"))
}

/// Names, defaults, ranges and when values apply are as the server says itself.
fn settings_are_as_the_server_says(lab: &Lab) {
    let Some((release, _)) = asked(lab.server()) else { return };
    lab.up("");
    let mut said = said_of_variables(lab, release.flavour);
    let mut differences = Vec::new();
    let mut compared = 0;
    for (name, facts) in all_settings() {
        let shown = variable(name, release.flavour, release.version);
        if let (Some(said), Flavour::MySql) = (said.get_mut(shown), release.flavour) {
            said.dynamic = can_be_set(lab, shown);
        }
        compared += usize::from(said.contains_key(shown));
        differences.extend(differs(name, facts, release, said.get(shown)).map(|what| format!("{name}: {what}")));
    }
    assert!(differences.is_empty(), "on {release}: {differences:#?}");
    assert!(compared >= 150, "{compared}");
}

#[test]
fn settings_are_as_mariadb_says() {
    let Some(lab) = Lab::mariadb() else { return };
    settings_are_as_the_server_says(&lab);
}

#[test]
fn settings_are_as_mysql_says() {
    let Some(lab) = Lab::mysql() else { return };
    settings_are_as_the_server_says(&lab);
}

#[test]
#[ignore = "MariaDB of the next Debian; make test-all"]
fn settings_are_as_mariadb_11_says() {
    let Some(lab) = Lab::mariadb_new() else { return };
    settings_are_as_the_server_says(&lab);
}

/// Options of the program alone.
fn is_of_no_file(name: &str) -> bool {
    ["help", "verbose", "version", "print_defaults"].contains(&name)
}

/// Options of the list, of so many one, given to the server: what it says of the name is what is known.
fn options_are_as_the_server_takes(server: &Path, of: usize) {
    let Some((release, _)) = asked(server) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let unknown =
        Regex::new("unknown variable|unknown option|ambiguous option|unique option prefix").expect("a pattern");
    let ignored = Regex::new("was removed|compatible option").expect("a pattern");
    let file = directory.path().join("one.cnf");
    let mut wrong = Vec::new();
    for name in options::names().step_by(of) {
        // A server that is to load something, to run as somebody, or to make a database does that first.
        let acts = [
            "plugin",
            "initialize",
            "wsrep",
            "chroot",
            "bootstrap",
            "daemon",
            "gdb",
            "language",
            "character_sets_dir",
            "basedir",
        ];
        if is_of_no_file(name) || acts.iter().any(|act| name.contains(act)) {
            continue;
        }
        fs::write(&file, format!("[mysqld]\n{name}=1\n")).expect("it can be written");
        let (_, said) = validated(server, release.flavour, &file, directory.path());
        let found = match () {
            () if unknown.is_match(&said) => OptionFate::Unknown,
            () if ignored.is_match(&said) => OptionFate::Ignored,
            () => OptionFate::Taken,
        };
        let known = match options::fate(name, release) {
            Some(OptionFate::Deprecated(_)) => OptionFate::Taken,
            Some(fate) => fate,
            None => continue,
        };
        if found != known {
            wrong.push(format!("{name}: {known:?}, and the server: {}", said.chars().take(200).collect::<String>()));
        }
    }
    assert!(wrong.is_empty(), "{release}: {wrong:#?}");
}

#[test]
#[ignore = "asks each server for each option; make test-all"]
fn options_are_as_each_server_takes_them() {
    for server in [servers::mariadb(), servers::mysql(), servers::mariadb_new()].into_iter().flatten() {
        options_are_as_the_server_takes(&server, 1);
    }
}

#[test]
fn some_options_are_as_each_server_takes_them() {
    for server in [servers::mariadb(), servers::mysql()].into_iter().flatten() {
        options_are_as_the_server_takes(&server, 25);
    }
}

#[test]
fn an_option_file_is_judged_and_the_first_line_is_the_answer() {
    let listing = listing(LISTINGS[0]);
    let file = listing.to_str().expect("a path");
    let text = advise(&["--config-file", file, "--for", "mysql-9.7"]).exits(0).out;
    assert!(
        text.starts_with("Do first: innodb_checksums: delete the line (line 17). MySQL removed it in 8.0"),
        "{text}"
    );
    assert!(
        text.contains("\n1. Assess what is needed: 1 critical\n")
            && text.contains("\n6. Measure and adjust: not looked at\n"),
        "{text}"
    );
    let from = advise(&["--config-file", file, "--for", "mysql-8.4"]).exits(0).out;
    assert!(from.contains("from documentation: MySQL manual: "), "{from}");
    assert!(!text.contains("from documentation"), "{text}");
}

#[test]
fn advice_fails_a_gate_only_if_asked_and_is_written_where_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a path").to_owned();
    fs::write(path("my.cnf"), "[mysqld]\nsync_binlog=0\n").expect("it can be written");
    let with = |words: &[&str]| {
        let file = path("my.cnf");
        advise(&[&["--config-file", file.as_str(), "--for", "mysql-9.7"], words].concat())
    };
    with(&["--fail-on", "critical"]).exits(0);
    with(&["--fail-on", "warn"]).exits(1).tells(&[]);
    let advice = with(&["--json"]).exits(0).json();
    assert_eq!(advice["steps"][0]["findings"][0]["costs"], serde_json::json!(["d1", "d4"]));
    for (name, text) in [("a.html", "<html"), ("a.md", "# Advice: "), ("a.json", "\"steps\""), ("a.csv", "sync_binlog")]
    {
        with(&["-o", &path(name)]).exits(0);
        let page = fs::read_to_string(path(name)).expect("it is written");
        assert!(page.contains(text) && page.contains("sync_binlog"), "{name}: {page}");
    }
    with(&["-o", &path("a.txt")]).refuses(2, &["a.txt", ".html, .md, .json and .csv"]);
    with(&["-o", "/dev/full/a.html"]).refuses(2, &["no directory /dev/full"]);
}

#[test]
fn what_cannot_be_judged_is_refused() {
    advise(&[]).refuses(2, &["RECORDING"]);
    advise(&["--config-file", "no such file", "--for", "mysql-9.7"]).refuses(2, &["no such file", "cannot be read"]);
    advise(&["--config-file", "/dev/zero", "--for", "mysql-9.7"]).refuses(2, &["/dev/zero", "device"]);
    advise(&["--config-file", "/", "--for", "mysql-9.7"]).refuses(2, &["directory"]);
    advise(&["--config-file", "x", "--for", "mysql-4.1"]).refuses(2, &["mysql-4.1", "MySQL from 5.7"]);
    advise(&["--config-file", "x", "--fail-on", "doom"]).refuses(2, &["doom", "warn", "critical"]);
}

#[test]
fn a_directory_of_option_files_is_read_in_order() {
    let directory = tempfile::tempdir().expect("a directory");
    let inner = directory.path().join("conf.d");
    fs::create_dir(&inner).expect("it can be made");
    let file = directory.path().join("my.cnf");
    fs::write(&file, format!("[mysqld]\nmax_connections=100\n!includedir {}\n", inner.display()))
        .expect("it can be written");
    fs::write(inner.join("b.cnf"), "[mysqld]\nmax_connections=300\n").expect("it can be written");
    fs::write(inner.join("a.cnf"), "[mysqld]\nmax_connections=200\n").expect("it can be written");
    fs::write(inner.join("c.txt"), "[mysqld]\nmax_connections=400\n").expect("it can be written");
    let advice =
        advise(&["--config-file", file.to_str().expect("a path"), "--for", "mysql-9.7", "--json"]).exits(0).json();
    let why: Vec<&str> = findings(&advice).iter().filter_map(|finding| finding["why"].as_str()).collect();
    assert_eq!(why.len(), 2, "{why:?}");
    assert!(why.iter().all(|why| why.contains("b.cnf, line 2 comes later, says max_connections = 300")), "{why:?}");
}

/// A server that is far from its end needs no setting; one whose temporary tables go to disk has some, with numbers of the window.
fn a_recording_calls_for_what_was_measured(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_point_select --tables 1 --table-size 1000");
    lab.does("run oltp_point_select --tables 1 --table-size 1000 --connections 2 --rate 100 --time 6s --name idle");
    lab.does("server stop");
    let idle = lab.does("advise idle --json").json();
    // What others do to the machine may be found, and what is good to know of its disks; no more.
    let of_machine = |finding: &&Value| {
        finding["setting"].is_null() || finding["severity"] == "info" || finding["rule"] == "mem.too-much"
    };
    assert!(findings(&idle).iter().all(of_machine), "{idle:#}");
    let plan = "config = { tmp_table_size = \"16K\", max_heap_table_size = \"16K\" }\n\
                [workload]\nkind = \"oltp_read_only\"\ntables = 1\ntable_size = 1000\nrange_size = 500\n\
                [load]\nconnections = [4]\nrate = 100\n[trials]\nwarmup = \"500ms\"\nmeasure = \"6s\"\nrounds = 1\n";
    lab.does(&format!("lab {} --json", lab.plan("spill", plan).display()));
    let advice = lab.does("advise spill --json").json();
    if findings(&advice).iter().any(|finding| finding["rule"] == "mem.too-much") {
        return servers::skip("this machine swaps: nothing that takes memory is advised");
    }
    let finding = findings(&advice).into_iter().find(|finding| finding["rule"] == "tmp.disk");
    let finding = finding.unwrap_or_else(|| panic!("{advice:#}"));
    // Where temporary tables are MEMORY tables, the smaller of both bounds them.
    let expected = match release_of(lab.server()).0.flavour {
        Flavour::MariaDb => "tmp_table_size = 32K\nmax_heap_table_size = 32K",
        Flavour::MySql => "tmp_table_size = 32K",
    };
    assert_eq!(finding["line"], expected);
    assert!(finding["found"].as_str().is_some_and(|found| found.contains("temporary tables a second went to disk")));
    lab.ends("advise idle --config-file x").refuses(2, &["--config-file"]);
    lab.ends("advise nothing-of-the-kind").refuses(2, &["nothing-of-the-kind"]);
}

#[test]
fn a_recording_calls_for_what_was_measured_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_recording_calls_for_what_was_measured(&lab);
}

#[test]
#[ignore = "MariaDB of the next Debian; make test-all"]
fn a_recording_calls_for_what_was_measured_on_mariadb_11() {
    let Some(lab) = Lab::mariadb_new() else { return };
    a_recording_calls_for_what_was_measured(&lab);
}

#[test]
#[ignore = "as on MariaDB; make test-all"]
fn a_recording_calls_for_what_was_measured_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_recording_calls_for_what_was_measured(&lab);
}

/// A server that somebody else loads and owns, watched by an account that may do nothing: nothing on it changes, and the advice has
/// numbers of the load. One that is lost meanwhile ends it with what was seen.
/// What the server's general log has of the watcher.
fn only_looks(lab: &Lab) {
    lab.sql(&["SET GLOBAL general_log = OFF"]);
    let logged = "SELECT CONVERT(argument USING utf8mb4), COUNT(*) FROM mysql.general_log WHERE command_type IN \
                  ('Query', 'Prepare', 'Execute') AND user_host LIKE '%watcher%' GROUP BY 1";
    let said: Vec<String> = lab.sql(&[logged]).into_iter().filter_map(|row| row[0].clone()).collect();
    assert!(said.iter().any(|statement| statement.starts_with("SHOW GLOBAL STATUS")), "{said:#?}");
    let looks = |statement: &String| {
        let upper = statement.to_uppercase();
        let sets_own = upper.starts_with("SET ") && !upper.contains("GLOBAL") && !upper.contains("PERSIST");
        sets_own || upper.starts_with("SHOW ") || upper.starts_with("SELECT ")
    };
    assert!(said.iter().all(looks), "{said:#?}");
}

fn a_server_of_others_is_watched(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_read_write --tables 1 --table-size 1000");
    lab.sql(&["CREATE USER 'watcher'@'localhost' IDENTIFIED BY ''"]);
    let url = format!("mysql://watcher@localhost/?socket={}", lab.socket().display());
    let advise = |words: &str| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), lab.home());
        command.args(["advise", "--target", &url, "--json"]).args(words.split(' '));
        command
    };
    let running = lab.begins("run oltp_read_write --tables 1 --table-size 1000 --connections 4 --rate 100 --time 10m");
    let variables =
        "SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE '%timestamp%' AND Variable_name NOT LIKE '%gtid%'";
    lab.sql(&["SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON"]);
    let before = lab.sql(&[variables]);
    let advice = run(advise("--time 7s")).exits(0).json();
    assert_eq!(lab.sql(&[variables]), before, "nothing on it changes");
    only_looks(lab);
    let looked_at = advice["looked_at"][0].as_str().expect("what was looked at");
    assert!(looked_at.contains("mysql://watcher@localhost") && looked_at.contains("rules"), "{advice:#}");
    assert!(!advice["answer"].as_str().expect("an answer").starts_with("Not known"), "{advice:#}");
    run(advise("--time 1s --interval 10ms")).refuses(2, &["--interval", "100ms"]);
    let mut lost = crate::harness::begin(advise("--time 60s"));
    std::thread::sleep(std::time::Duration::from_secs(7));
    assert!(!lost.has_ended());
    running.kill();
    lab.does("server stop");
    let lost = lost.end();
    assert!(lost.err.contains("the server was lost"), "{lost}");
    assert_eq!(lost.exits(3).json()["steps"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_server_of_others_is_watched_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_server_of_others_is_watched(&lab);
}

#[test]
#[ignore = "as on MariaDB; make test-all"]
fn a_server_of_others_is_watched_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_server_of_others_is_watched(&lab);
}

#[test]
#[ignore = "MariaDB of the next Debian; make test-all"]
fn a_server_of_others_is_watched_on_mariadb_11() {
    let Some(lab) = Lab::mariadb_new() else { return };
    a_server_of_others_is_watched(&lab);
}
