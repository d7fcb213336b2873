//! `plimsoll sysbench` and Debian's sysbench against one server: what it is sent, what becomes of its errors.

use crate::drop_in::{Bench, Printed, counts, masked};
use crate::harness::{Lab, begin};

/// The lines of a real server: its tables, its statements by kind, and what both have counted.
fn a_server_sees_what_sysbench_sends(lab: &Lab) {
    let Some(bench) = Bench::new() else { return };
    lab.up("");
    let socket = lab.socket();
    let mut all = Vec::new();
    for (database, is_ours) in [("theirs", false), ("ours", true)] {
        lab.sql(&[&format!("CREATE DATABASE {database}")]);
        let mut told = Vec::new();
        for (workload, event_count) in [("oltp_read_write", 20), ("oltp_insert", 10), ("oltp_delete", 10)] {
            for command in ["prepare", "run", "cleanup"] {
                let line = format!(
                    "{workload} --mysql-socket={} --mysql-user=root --mysql-db={database} --tables=2 --table-size=200 \
                     --events={event_count} --rand-type=uniform --rand-seed=3 {command}",
                    socket.display()
                );
                let before = statements(lab);
                let printed = if is_ours { bench.ours(&line) } else { bench.theirs(&line) };
                assert_eq!(printed.code, Some(0), "{line}: {printed:#?}");
                let sent: Vec<(String, u64)> = statements(lab)
                    .into_iter()
                    .zip(before)
                    .map(|((name, now), (_, before))| (name, now - before))
                    .collect();
                let made = if command == "prepare" {
                    lab.sql(&[&format!("SHOW CREATE TABLE {database}.sbtest2")])[0][1].clone()
                } else {
                    None
                };
                told.push((workload, command, masked(&printed.out), counts_of_all(&printed), sent, made));
            }
        }
        all.push(told);
    }
    let (ours, theirs) = (all.pop().expect("ours"), all.pop().expect("theirs"));
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        assert_eq!(ours, theirs);
    }
}

/// Counts that do not depend on which rows were hit.
fn counts_of_all(printed: &Printed) -> Vec<(String, u64)> {
    let certain =
        ["read", "total", "transactions", "queries", "ignored errors", "reconnects", "total number of events"];
    counts(printed).into_iter().filter(|(name, _)| certain.contains(&name.as_str())).collect()
}

fn statements(lab: &Lab) -> Vec<(String, u64)> {
    let kinds = "'Com_select','Com_insert','Com_update','Com_delete','Com_begin','Com_commit','Com_create_table',\
                 'Com_create_index','Com_drop_table','Com_stmt_prepare','Com_stmt_execute'";
    let rows = lab.sql(&[&format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({kinds})")]);
    let number = |row: &Vec<Option<String>>| {
        (row[0].clone().unwrap_or_default(), row[1].as_deref().and_then(|value| value.parse().ok()).unwrap_or_default())
    };
    rows.iter().map(number).collect()
}

#[test]
fn a_server_sees_what_sysbench_sends_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_server_sees_what_sysbench_sends(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_server_sees_what_sysbench_sends_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_server_sees_what_sysbench_sends(&lab);
}

/// An error that is ignored begins the event again and is counted; any other ends the run with sysbench's words.
#[test]
fn errors_are_counted_or_end_the_run_as_with_sysbench() {
    let Some(bench) = Bench::new() else { return };
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    let socket = lab.socket();
    let scripts = [
        (
            "signal.lua",
            "n = n + 1 con:query('SELECT 1') if n % 3 == 1 then con:query(\"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213\") end",
        ),
        ("wrong.lua", "con:query('SELECT nothing FROM nowhere')"),
        ("prepares.lua", "con:prepare('SELECT nothing FROM nowhere')"),
        ("executes.lua", "s = con:prepare('SIGNAL SQLSTATE \"45000\" SET MESSAGE_TEXT = \"no\"') s:execute()"),
    ];
    for (name, body) in scripts {
        let text = format!(
            "function thread_init() con = sysbench.sql.driver():connect() n = 0 end\nfunction event() {body} end"
        );
        bench.write(name, &text);
        let line =
            format!("{name} --mysql-socket={} --mysql-user=root --mysql-db=mysql --events=4 run", socket.display());
        bench.agree(&line);
        let (ours, theirs) = (bench.ours(&line), bench.theirs(&line));
        assert_eq!(counts(&ours), counts(&theirs), "{line}: {ours:#?}");
    }
    let line = format!(
        "signal.lua --mysql-socket={} --mysql-user=nobody --mysql-password=secret --mysql-db=mysql --events=4 run",
        socket.display()
    );
    bench.agree(&line);
    assert!(!bench.ours(&line).out.contains("secret"));
}

/// The options that reach the server of a laboratory.
fn reaching(lab: &Lab) -> String {
    format!("--mysql-socket={} --mysql-user=root --mysql-db=mysql", lab.socket().display())
}

fn count(printed: &Printed, name: &str) -> u64 {
    let found = counts(printed).into_iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("no {name} in {printed:#?}")).1
}

/// Deadlocks that are provoked: as many errors are ignored as the server has counted.
fn deadlocks_are_counted_as_the_server_counts_them(lab: &Lab) {
    let Some(bench) = Bench::new() else { return };
    lab.up("");
    lab.sql(&[
        "CREATE DATABASE knots",
        "CREATE TABLE knots.t (id INT PRIMARY KEY, n INT) ENGINE = InnoDB",
        "INSERT INTO knots.t VALUES (1, 0), (2, 0)",
    ]);
    let text = "function thread_init(tid) con = sysbench.sql.driver():connect() first = tid % 2 + 1 end
        function event()
            con:query('BEGIN')
            con:query('UPDATE t SET n = n + 1 WHERE id = ' .. first)
            os.execute('sleep 0.005')
            con:query('UPDATE t SET n = n + 1 WHERE id = ' .. 3 - first)
            con:query('COMMIT')
        end
        sysbench.hooks.before_restart_event = function() con:query('ROLLBACK') end";
    bench.write("knots.lua", text);
    let counted = || {
        let query = "SELECT SUM(COUNT) FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'";
        lab.value(query).parse::<f64>().expect("a number")
    };
    let before = counted();
    let line = format!("knots.lua {} --mysql-db=knots --threads=2 --events=20 run", reaching(lab));
    let ours = bench.ours(&line);
    assert_eq!(ours.code, Some(0), "{ours:#?}");
    let deadlocks = counted() - before;
    assert_eq!(count(&ours, "ignored errors") as f64, deadlocks, "{ours:#?}");
    assert!(deadlocks > 0.0, "{ours:#?}");
    assert_eq!(lab.value("SELECT SUM(n) FROM knots.t"), "40", "each event has changed both rows once");
}

#[test]
fn deadlocks_are_counted_as_the_server_counts_them_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    deadlocks_are_counted_as_the_server_counts_them(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn deadlocks_are_counted_as_the_server_counts_them_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    deadlocks_are_counted_as_the_server_counts_them(&lab);
}

/// What the server said when it closed the connection, or nothing.
const LOST: &str = "--mysql-ignore-errors=2006,2013,1927,1317,1053,4031";

/// Connections that are killed, or wait for too long: connected anew as often as the server has seen it.
fn lost_connections_are_made_anew(lab: &Lab) {
    let Some(bench) = Bench::new() else { return };
    lab.up("");
    let kill = "if n == 3 then con:query('KILL ' .. con:query_row('SELECT CONNECTION_ID()')) end";
    let wait = "if n == 2 then con:query('SET SESSION wait_timeout = 1') os.execute('sleep 8') end";
    for (name, body) in [("killed.lua", kill), ("waits.lua", wait)] {
        let text = format!(
            "function thread_init() con = sysbench.sql.driver():connect() n = 0 end\n\
             function event() n = n + 1 {body} con:query('SELECT 1') end"
        );
        bench.write(name, &text);
        let connections = || lab.value("SHOW GLOBAL STATUS LIKE 'Connections'").parse::<u64>().unwrap_or_default();
        let before = connections();
        let ours = bench.ours(&format!("{name} {} {LOST} --time=0 --events=5 run", reaching(lab)));
        // The first connection, and this question's own.
        let again = connections() - before - 2;
        assert_eq!((ours.code, count(&ours, "total number of events")), (Some(0), 5), "{name}: {ours:#?}");
        assert_eq!((count(&ours, "reconnects"), again), (1, 1), "{name}: {ours:#?}");
        let fatal = bench.ours(&format!("{name} {} --time=0 --events=5 run", reaching(lab)));
        assert_eq!(fatal.code, Some(1), "{name}: {fatal:#?}");
        assert!(fatal.out.contains("FATAL: mysql_drv_query() returned error"), "{name}: {fatal:#?}");
    }
}

#[test]
fn lost_connections_are_made_anew_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    lost_connections_are_made_anew(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn lost_connections_are_made_anew_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    lost_connections_are_made_anew(&lab);
}

/// A server that is stopped and started: every thread connects anew, and goes on.
fn a_restart_of_the_server_is_survived(lab: &Lab) {
    let Some(bench) = Bench::new() else { return };
    lab.up("");
    let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                function event() con:query('SELECT 1') os.execute('sleep 0.01') end";
    bench.write("lasts.lua", text);
    let line = format!("lasts.lua {} {LOST} --threads=4 --time=0 --report-interval=1 run", reaching(lab));
    let mut running = begin(bench.our_command(&line));
    let status = |name| lab.value(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).parse::<u64>().unwrap_or_default();
    // Whoever asks has a connection, too.
    let all_ask = || status("Com_select") > 50 && status("Threads_connected") > 4;
    running.wait_for("questions of the script", all_ask);
    lab.does("server stop");
    lab.up("");
    running.wait_for("questions after the restart", all_ask);
    running.signal(rustix::process::Signal::INT);
    let done = running.end();
    let printed = Printed { out: done.out.clone(), err: done.err.clone(), code: done.status.code() };
    // Each thread once, and again where a server that was going down had let it in.
    assert!(count(&printed, "reconnects") >= 4, "{printed:#?}");
    assert_eq!(printed.code, Some(130), "{printed:#?}");
}

#[test]
fn a_restart_of_the_server_is_survived_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_restart_of_the_server_is_survived(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_restart_of_the_server_is_survived_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_restart_of_the_server_is_survived(&lab);
}
