//! The data and rounds of super-smack's workloads against real servers: each engine, both ways to load.

mod private;

use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, LoopEvent, Protocol, Run, RunSpec};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::window::Limit;
use plimsoll_testkit::servers;
use plimsoll_workloads::check::{Check, Moment};
use plimsoll_workloads::dataset::{Dataset, DatasetTable};
use plimsoll_workloads::smack::check::checks;
use plimsoll_workloads::smack::keys::{dictionary, usernames};
use plimsoll_workloads::smack::load::{HttpAuthRows, SmackData};
use plimsoll_workloads::smack::{Smack, SmackKind, SmackParameters};
use private::with_server;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SEED: u64 = 1;
const DATABASE: &str = "smack";

/// As many as the original has, or fewer whose dictionary has about as many keys.
fn rows() -> u64 {
    if servers::all() { 90_000 } else { 18_000 }
}

#[test]
fn data_and_rounds_on_mariadb() {
    if let Some(binary) = servers::mariadb() {
        exercise_all(&binary, &["innodb", "myisam", "aria"]);
    }
}

#[test]
fn data_and_rounds_on_mysql() {
    if let Some(binary) = servers::mysql() {
        exercise_all(&binary, &["innodb", "myisam"]);
    }
}

/// Exercises these engines on a private server of this binary.
fn exercise_all(binary: &Path, engines: &[&str]) {
    with_server(binary, "128M", |endpoint| {
        open(&endpoint).run(&format!("CREATE DATABASE {DATABASE}")).expect("a database");
        let endpoint = Endpoint { database: Some(DATABASE.to_owned()), ..endpoint };
        engines.iter().for_each(|engine| exercise(&endpoint, engine));
    });
}

fn open(endpoint: &Endpoint) -> Control {
    Control::open(endpoint).unwrap_or_else(|failure| panic!("{failure}"))
}

/// One engine: loads, checks, compares the keys with those that the table tells, runs, checks again.
fn exercise(endpoint: &Endpoint, engine: &str) {
    let mut control = open(endpoint);
    let count = rows();
    let parse = |keys: &str| {
        let pairs = [("engine", engine), ("keys", keys), ("rows", &count.to_string())];
        SmackParameters::parse(SmackKind::UpdateSelect, pairs).expect("accepted")
    };
    let (parameters, full) = (parse("exact"), parse("full"));
    let data = SmackData::new(SmackKind::UpdateSelect, &parameters, SEED);
    let [table] = &data.tables()[..] else { panic!("one table") };
    control.run("DROP TABLE IF EXISTS http_auth").expect("dropped");
    control.run(&table.create).unwrap_or_else(|failure| panic!("{engine}: {failure}"));
    load_half_by_each_form(&mut control, &data, table, engine != "innodb");
    hold(&mut control, engine, &checks(&parameters, Moment::Loaded, Some(SEED)));
    let used = bytes(&mut control);
    assert!(used <= table.bytes, "{engine}: {used} bytes are more than the estimate of {}", table.bytes);

    let rows = HttpAuthRows::new(SEED);
    let exact = usernames(rows, dictionary(rows, count));
    assert!((750..800).contains(&exact.len()), "{} keys", exact.len());
    assert_eq!(asked(&mut control, &parameters), exact);
    assert_eq!(asked(&mut control, &full), usernames(rows, 1..=count));

    drive(endpoint, &mut control, &parameters);
    let read = Smack::with_keys(SmackKind::UpdateSelect, asked(&mut control, &full)).expect("keys");
    run(endpoint, read, Protocol::Prepared);
    hold(&mut control, engine, &checks(&parameters, Moment::Driven, Some(SEED)));
    hold(&mut control, engine, &checks(&parameters, Moment::Driven, None));

    let key = String::from_utf8_lossy(&exact[1]);
    control.run(&format!("DELETE FROM http_auth WHERE username = '{key}'")).expect("deleted");
    let broken = broken(&mut control, &checks(&parameters, Moment::Driven, Some(SEED)));
    assert_eq!(broken.len(), 2, "{broken:?}");
}

/// Each workload over each protocol.
fn drive(endpoint: &Endpoint, control: &mut Control, parameters: &SmackParameters) {
    for kind in SmackKind::ALL {
        for protocol in [Protocol::Prepared, Protocol::Text] {
            let totals = run(endpoint, Smack::new(kind, parameters, SEED), protocol);
            let expected = if kind == SmackKind::SelectKey { (2_000, 0) } else { (1_000, 1_000) };
            assert_eq!((totals.sent.select, totals.sent.update), expected, "{kind:?}");
        }
    }
    let changed = single(control, "SELECT COUNT(*) FROM http_auth WHERE pass NOT REGEXP '^[a-y]{25}$'");
    // Both runs draw the same 1,000 times out of 750 to 800, which reaches 552 to 571 of them, give or take 50.
    assert!((500..=620).contains(&changed), "{changed} rows changed");
}

fn bytes(control: &mut Control) -> u64 {
    control.rows("ANALYZE TABLE http_auth").expect("statistics");
    single(
        control,
        "SELECT data_length + index_length FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name = 'http_auth'",
    )
}

/// The lower half as lines and the upper half as lists; where the engine does not roll back, both begin anew once.
fn load_half_by_each_form(control: &mut Control, data: &SmackData, table: &DatasetTable, again: bool) {
    let rows = table.rows;
    for _ in 0..=u32::from(again) {
        let mut next = 1;
        let lines = control.load_data(&table.load_data, |out| {
            for _ in 0..1_000 {
                data.append_tsv(0, next, out);
                next += 1;
            }
            next <= rows / 2
        });
        lines.expect("LOAD DATA");
        for first in (rows / 2 + 1..=rows).step_by(3_000) {
            let mut sql = table.insert.clone().into_bytes();
            for id in first..first + 3_000 {
                if id > first {
                    sql.push(b',');
                }
                data.append_values(0, id, &mut sql);
            }
            control.run(std::str::from_utf8(&sql).expect("ASCII")).expect("INSERT");
        }
    }
}

fn single(control: &mut Control, sql: &str) -> u64 {
    let answer = control.rows(sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    answer.single().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{sql}: no number"))
}

fn asked(control: &mut Control, parameters: &SmackParameters) -> Vec<Vec<u8>> {
    let rows = control.rows(&Smack::key_query(parameters)).expect("keys").rows;
    rows.into_iter().filter_map(|mut row| row.remove(0)).map(String::into_bytes).collect()
}

fn broken(control: &mut Control, checks: &[Check]) -> Vec<String> {
    let judged = checks.iter().map(|check| {
        let answer = control.rows(&check.sql).unwrap_or_else(|failure| panic!("{}: {failure}", check.sql));
        check.verdict(&answer.rows).map_err(|found| format!("{}: {found}", check.name))
    });
    judged.filter_map(Result::err).collect()
}

fn hold(control: &mut Control, engine: &str, checks: &[Check]) {
    let broken = broken(control, checks);
    assert!(broken.is_empty(), "{engine}: {broken:?}");
}

/// Ten connections with a hundred rounds each.
fn run(endpoint: &Endpoint, workload: Smack, protocol: Protocol) -> LoopTotals {
    let spec = RunSpec {
        endpoint: endpoint.clone(),
        connections: 10,
        loops: 1,
        arrivals: Arrivals::Closed,
        limit: Limit::EventsPerConnection(100),
        warmup_ns: 0,
        seed: 1,
        protocol,
        outage_limit_ns: 20_000_000_000,
        ignore_errors: Vec::new(),
        private: true,
        ask: None,
        part: None,
        commits: None,
    };
    let give_up_at = Instant::now() + Duration::from_secs(60);
    let run = Run::begin(spec, Arc::new(workload));
    let mut started = false;
    let totals = loop {
        assert!(Instant::now() < give_up_at, "hung");
        match run.next(Duration::from_millis(20)) {
            Some(LoopEvent::Ready(_)) => {
                assert!(!started, "one loop");
                started = true;
                run.start();
            }
            Some(LoopEvent::Drained(totals)) => break totals,
            Some(LoopEvent::Failed(reason)) => panic!("{reason:?}"),
            Some(LoopEvent::Interval(tally)) => run.recycle(*tally),
            None => (),
        }
    };
    run.finish();
    totals
}
