//! Loads that agents make, on real servers: `plimsoll agent`, `plimsoll fleet`, `--fleet`.

use crate::drop_in_recordings::texts;
use crate::harness::{Done, Lab, Running, begin, run, signal_process};
use crate::open_loop::logged;
use plimsoll_testkit::broker::Broker;
use plimsoll_testkit::servers;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

pub fn plimsoll(home: &Path, line: &str) -> Command {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.args(line.split_whitespace());
    command
}

/// A fleet of a lab's own home, which ends with it.
struct Fleet<'l> {
    lab: &'l Lab,
    url: String,
}

impl Fleet<'_> {
    fn up(lab: &Lab, agents: usize) -> Option<Fleet<'_>> {
        servers::nats_server()?;
        let up = run(plimsoll(lab.home(), &format!("fleet up --local {agents}"))).exits(0);
        Some(Fleet { lab, url: up.out.trim().to_owned() })
    }

    /// The process of an agent.
    fn pid(&self, agent: &str) -> u32 {
        let text = fs::read_to_string(self.lab.home().join("fleet/own.json")).expect("what was begun is noted");
        let own: Value = serde_json::from_str(&text).expect("it is JSON");
        let agents = own["agents"].as_array().expect("a list");
        let found = agents.iter().find(|found| found["name"] == agent).expect("the agent was begun");
        found["place"]["here"]["pid"].as_u64().expect("a number") as u32
    }

    /// A start that an agent accepted too late is called off: then once more, as a person would.
    fn does(&self, line: &str) -> Done {
        let line = format!("{line} --fleet {}", self.url);
        let first = self.lab.ends(&line);
        let is_called_off = first.err.contains("the start was called off");
        let done = if is_called_off { self.lab.ends(&line) } else { first };
        done.exits(0)
    }

    fn begins(&self, line: &str) -> Running {
        self.lab.begins(&format!("{line} --fleet {}", self.url))
    }
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        let _ = plimsoll(self.lab.home(), "fleet down").output();
    }
}

#[test]
fn agents_send_what_the_loops_of_one_process_send_on_mariadb() {
    agents_send_what_loops_send(Lab::mariadb());
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn agents_send_what_the_loops_of_one_process_send_on_mysql() {
    agents_send_what_loops_send(Lab::mysql());
}

fn agents_send_what_loops_send(lab: Option<Lab>) {
    let Some(lab) = lab else { return };
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    let Some(fleet) = Fleet::up(&lab, 4) else { return };
    let line = "run oltp_read_only --connections 8 --events 48 --rand-type uniform --seed 11 --json";
    let sent = |done: &dyn Fn() -> Done| {
        lab.sql(&[
            "SET SESSION group_concat_max_len = 4000000, GLOBAL group_concat_max_len = 4000000",
            "SET GLOBAL log_output = 'TABLE'",
            "TRUNCATE mysql.general_log",
            "SET GLOBAL general_log = ON",
        ]);
        let summary = done().json();
        lab.sql(&["SET GLOBAL general_log = OFF"]);
        assert_eq!(summary["points"][0]["counts"]["finished"], 48);
        assert_eq!(summary["totals"]["statements"], summary["server"]["statements"]);
        (logged(&lab), summary)
    };
    let (here, _) = sent(&|| lab.does(&format!("{line} --loops 4")));
    let (there, summary) = sent(&|| fleet.does(&format!("{line} --agents 4")));
    assert_eq!(here.len(), 8);
    assert_eq!(here, there, "statement by statement");
    let agents = summary["points"][0]["agents"].as_array().expect("each says what it did");
    assert_eq!(agents.len(), 4);
    let transactions: u64 = agents.iter().map(|agent| agent["transactions"].as_u64().expect("a count")).sum();
    assert_eq!(transactions, 48);
    let (open, _) = sent(&|| lab.does(&format!("{line} --loops 4 --rate 400")));
    let (open_there, _) = sent(&|| fleet.does(&format!("{line} --rate 400 --agents 4")));
    // Which connection serves an arrival is nobody's choice; what all of them send is the same.
    let statements = |all: &[String]| {
        let mut all: Vec<String> = all.iter().flat_map(|one| one.split(';')).map(str::to_owned).collect();
        all.sort();
        all
    };
    assert_eq!(statements(&open), statements(&open_there));
}

#[test]
fn a_fleet_is_begun_asked_and_ended() {
    let Some(lab) = Lab::mariadb() else { return };
    let Some(fleet) = Fleet::up(&lab, 2) else { return };
    let mut status = Value::Null;
    let both_answer = || {
        status = run(plimsoll(lab.home(), "fleet status --json")).exits(0).json();
        let agents = status.as_array().expect("a list");
        agents.iter().filter_map(|one| one["agent"].as_str()).eq(["a1", "a2"])
    };
    assert!(servers::wait_until(crate::harness::PATIENCE, both_answer), "who is late is not there yet");
    assert!(status[0]["clock_bound_us"].as_f64().is_some_and(|us| us > 0.0), "{status}");
    run(plimsoll(lab.home(), "fleet up --local 2")).refuses(2, &[&fleet.url, "plimsoll fleet down"]);
    let pid = fleet.pid("a1");
    let cleaned = run(plimsoll(lab.home(), "clean")).exits(0);
    assert!(["ended the agent a1", "ended the broker"].iter().all(|done| cleaned.out.contains(done)), "{cleaned}");
    assert!(!crate::harness::alive(pid));
    run(plimsoll(lab.home(), "fleet down")).exits(0).tells(&["no fleet was begun here"]);
    run(plimsoll(lab.home(), "fleet status")).refuses(2, &["no fleet was begun here", "fleet up"]);
    let spools = lab.home().join("fleet/spools");
    fs::create_dir_all(&spools).expect("it can be made");
    fs::write(spools.join("t-1.7.jsonl"), "").expect("it can be written");
    run(plimsoll(lab.home(), "clean")).exits(0).tells(&[
        "told of 1 load",
        &spools.display().to_string(),
        "nothing to clean",
    ]);
    assert!(spools.join("t-1.7.jsonl").exists());
}

#[test]
fn what_a_fleet_cannot_do_is_refused_before_anything_is_started() {
    let home = servers::home();
    let refuses = |line: &str, texts: &[&str]| run(plimsoll(home.path(), line)).refuses(2, texts);
    refuses("run oltp_read_only --fleet nats://bench:secret@127.0.0.1", &["names a user or a password"]);
    refuses("run oltp_read_only --fleet nats://10.0.0.1:4222", &["needs TLS and a key", "tls://"]);
    refuses("run oltp_read_only --agents 4", &["--fleet"]);
    refuses("agent --fleet nats://127.0.0.1:1 --name a1", &["--allow-target"]);
    refuses("agent --fleet nats://127.0.0.1:1 --name a.1 --allow-target private", &["a.1", "letters, digits"]);
    refuses("agent --fleet nats://127.0.0.1:1 --name a1 --allow-target mysql://db1", &["allow-target", "mysql://db1"]);
    let none = run(plimsoll(home.path(), "agent --fleet nats://127.0.0.1:1 --name a1 --allow-target private"));
    none.refuses(3, &["nats://127.0.0.1:1"]);
    let plan = home.path().join("plan.toml");
    let text = "name = \"x\"\n[workload]\nkind = \"ledger\"\n[crash]\n[fleet]\nbroker = \"nats://127.0.0.1:1\"\n";
    fs::write(&plan, text).expect("a plan can be written");
    refuses(&format!("lab {}", plan.display()), &["[crash] cannot go with [fleet]"]);
    for (listen, texts) in [
        ("db", &["fleet.listen", "HOST:PORT"][..]),
        ("db:13306", &["fleet.listen", "private servers", "has a target"][..]),
    ] {
        let text = format!(
            "name = \"x\"\n[server]\ntarget = \"mysql://db1/\"\n[workload]\nkind = \"oltp_read_only\"\n[fleet]\nbroker = \
             \"nats://127.0.0.1:1\"\nlisten = \"{listen}\"\n[trials]\nrestore = \"none\"\n"
        );
        fs::write(&plan, text).expect("a plan can be written");
        refuses(&format!("lab {}", plan.display()), texts);
    }
    let login = home.path().join("lab.cnf");
    fs::write(&login, "[client]\nuser = a\n").expect("it can be written");
    let agent =
        format!("agent --fleet nats://127.0.0.1:1 --name a1 --allow-target private --lab-login {}", login.display());
    refuses(&agent, &["--lab-login", "has no ca="]);
}

#[test]
fn an_agent_loads_what_it_allows_and_nothing_else() {
    let Some(lab) = Lab::mariadb() else { return };
    let Some(broker) = Broker::start() else { return };
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    let elsewhere = servers::home();
    let line = format!("agent --fleet {} --name a1 --allow-target mysql://bench@db1:3306/*", broker.address());
    let mut agent = begin(plimsoll(elsewhere.path(), &line));
    let status = format!("fleet status --json --fleet {}", broker.address());
    agent.wait_for("the agent", || run(plimsoll(elsewhere.path(), &status)).out.contains("\"a1\""));
    let line = format!("run oltp_read_only --events 8 --agents 1 --fleet {}", broker.address());
    lab.ends(&line)
        .refuses(2, &["the agent a1 refuses", "none of the targets that it allows: mysql://bench@db1:3306/*"]);
    agent.signal(Signal::INT);
    agent.end().exits(130);
}

#[test]
#[ignore = "waits until an agent is lost: `make test-all`"]
fn an_agent_that_is_killed_is_lost_and_named_and_one_that_was_stopped_is_not() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    let Some(fleet) = Fleet::up(&lab, 3) else { return };
    let run = |time: u32, options: &str| {
        format!("run oltp_read_only --connections 6 --time {time}s --report-interval 1 --json {options}")
    };
    let measuring = |line: &str| {
        let before = lab.recordings().len();
        let mut running = fleet.begins(line);
        running.wait_for("a load of all agents", || lab.recordings().len() > before);
        lab.wait_until_measured(&mut running);
        running
    };
    // Stopped for three seconds: suspect, and back.
    let running = measuring(&run(12, ""));
    signal_process(fleet.pid("a2"), Signal::STOP);
    std::thread::sleep(Duration::from_secs(3));
    signal_process(fleet.pid("a2"), Signal::CONT);
    let summary = running.end().exits(0).json();
    let lost = |summary: &Value| {
        let agents = summary["points"][0]["agents"].as_array().expect("a list").clone();
        agents.into_iter().filter(|agent| !agent["lost"].is_null()).collect::<Vec<_>>()
    };
    assert_eq!(lost(&summary), Vec::<Value>::new());
    // Killed, where one may be lost.
    let running = measuring(&run(15, "--tolerate-lost 1"));
    signal_process(fleet.pid("a3"), Signal::KILL);
    let summary = running.end().exits(0).json();
    assert_eq!(lost(&summary)[0]["agent"], "a3");
    let codes = crate::open_loop::codes(&summary);
    assert!(codes.contains(&"agents_lost"), "{codes:?}");
    // Killed, where none may.
    let running = measuring(&run(600, ""));
    signal_process(fleet.pid("a2"), Signal::KILL);
    let since = Instant::now();
    running.end().exits(3).tells(&["the agent a2 is lost", "no heartbeat either"]);
    assert!(since.elapsed() < Duration::from_secs(500), "it does not go on to the end");
}

#[test]
fn each_second_of_a_load_that_ends_by_events_is_recorded_once() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    let Some(fleet) = Fleet::up(&lab, 3) else { return };
    // Each of the six loops ends its window by itself, at a moment of its own.
    fleet.does("run oltp_read_only --connections 12 --loops 2 --events 900 --agents 3");
    let recording = lab.recordings().pop().expect("a recording");
    let trial = fs::read_dir(recording.join("trials")).expect("trials").flatten().next().expect("a trial");
    let series = fs::read_to_string(trial.path().join("intervals.ndjson")).expect("it is recorded");
    let seconds: Vec<Value> = series.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let measured: Vec<&Value> = seconds.iter().filter(|second| second["phase"] == "measure").collect();
    let ends: std::collections::BTreeSet<u64> =
        measured.iter().map(|second| second["t_ns"].as_u64().expect("a time")).collect();
    assert_eq!(ends.len(), measured.len(), "{series}");
    let counted: u64 = seconds.iter().map(|second| second["transactions"].as_u64().expect("a count")).sum();
    assert_eq!(counted, 900, "{series}");
}

#[test]
fn what_agents_kept_of_a_killed_lab_is_collected_when_it_is_resumed() {
    let Some(lab) = Lab::mariadb().map(|lab| lab.over_tls("ssl-mode=required")) else { return };
    if servers::nats_server().is_none() {
        return;
    }
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    let remote = lab.remote();
    let allowed = remote.url(crate::remote::USER, "").replace('?', "*");
    let with_password = |mut command: Command| {
        command.env("MYSQL_PWD", crate::remote::PASSWORD);
        command
    };
    let up = with_password(plimsoll(lab.home(), &format!("fleet up --local 2 --allow-target {allowed}")));
    let url = run(up).exits(0).out.trim().to_owned();
    let fleet = Fleet { lab: &lab, url };
    let target = remote.url(crate::remote::USER, "ssl-mode=required").replace("/?", "/sbtest?");
    let plan = lab.home().join("left.toml");
    let text = format!(
        "name = \"left\"\n[server]\ntarget = \"{target}\"\n[workload]\nkind = \"oltp_read_only\"\ntables = 1\n\
         table_size = 1000\n[load]\nconnections = [4]\nrate = 100\n[fleet]\nbroker = \"{}\"\nagents = 2\n[trials]\n\
         warmup = \"1s\"\nmeasure = \"6s\"\nrounds = 2\nrestore = \"none\"\n",
        fleet.url
    );
    fs::write(&plan, text).expect("the home can be written");
    let meant = format!("--password-for {}", remote.socket_address());
    let mut running = begin(with_password(lab.command(&format!("lab {} {meant}", plan.display()))));
    lab.wait_until_measured(&mut running);
    running.kill();
    let recording = lab.recordings().pop().expect("a recording");
    let resumed = run(with_password(lab.command(&format!("lab --resume {} {meant}", recording.display())))).exits(0);
    let mut trials: Vec<_> = fs::read_dir(recording.join("trials")).expect("trials").flatten().collect();
    trials.sort_by_key(fs::DirEntry::path);
    assert_eq!(trials.len(), 2, "{resumed}");
    let text = |trial: &fs::DirEntry, name: &str| fs::read_to_string(trial.path().join(name)).expect("it is recorded");
    for (trial, is_collected) in trials.iter().zip([true, false]) {
        let outcome: Value = serde_json::from_str(&text(trial, "outcome.json")).expect("JSON");
        assert_eq!((&outcome["status"], &outcome["why"]), (&"done".into(), &Value::Null), "{outcome}");
        let caveats = outcome["caveats"].as_array().expect("a list");
        assert_eq!(caveats.iter().any(|caveat| caveat["code"] == "collected"), is_collected, "{caveats:?}");
        let series = text(trial, "intervals.ndjson");
        let seconds: Vec<Value> =
            series.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let measured: Vec<&Value> = seconds.iter().filter(|second| second["phase"] == "measure").collect();
        assert_eq!(measured.len(), 6, "{series}");
        let sum =
            |all: &mut dyn Iterator<Item = &Value>| all.map(|one| one["transactions"].as_u64().unwrap()).sum::<u64>();
        let agents = outcome["point"]["agents"].as_array().expect("a list");
        assert_eq!(sum(&mut measured.into_iter()), sum(&mut agents.iter()), "what agents kept is what is recorded");
        assert!(agents.len() == 2 && agents.iter().all(|agent| agent["lost"].is_null()), "{agents:?}");
        let host = fs::read_to_string(trial.path().join("host.ndjson")).unwrap_or_default();
        assert_eq!(host.lines().count() > 1, !is_collected, "nobody looked at the machine meanwhile");
    }
    for written in ["recordings", "fleet"] {
        assert!(!texts(&lab.home().join(written)).contains(crate::remote::PASSWORD), "{written} has no password");
    }
}

#[test]
fn agents_load_the_same_data_and_a_killed_load_goes_on() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    // More parts than agents have in hand: something is left when the load is killed.
    let data = "oltp_read_write --tables 12 --table-size 10000 --seed 5";
    lab.does(&format!("load {data} --database here"));
    let here = lab.checksums("here", 12);
    let Some(fleet) = Fleet::up(&lab, 4) else { return };
    fleet.does(&format!("load {data} --database there --agents 4"));
    assert_eq!(lab.checksums("there", 12), here);
    let mut running = fleet.begins(&format!("load {data} --database again --threads 1 --agents 4"));
    lab.wait_until_loaded(&mut running, "again", 2);
    running.kill();
    fleet.does(&format!("load {data} --database again --agents 4"));
    assert_eq!(lab.checksums("again", 12), here);
    let mut elsewhere = plimsoll(lab.home(), "load oltp_read_write --table-size 10 --database none --fleet");
    elsewhere.arg("nats://127.0.0.1:1").arg(format!("--target=private:{}", lab.server().display()));
    run(elsewhere).refuses(3, &["nats://127.0.0.1:1"]);
}
