//! People's own scripts, written for sysbench, as workloads: `plimsoll run lua:FILE`.

use crate::harness::{Done, Lab};
use serde_json::Value;
use std::fs;

const DATA: &str = "load oltp_read_write --tables 2 --table-size 1000";

/// Reads and writes by prepared statements and by text, with options, hooks and a module of its own.
const MIXED: &str = r##"#!/usr/bin/env sysbench
require("names")
sysbench.cmdline.options = {
  tables = { "Number of tables", 1 },
  table_size = { "Rows per table", 1000 },
  ["with-update"] = { "Whether to write", true },
}
function thread_init(tid)
  drv = sysbench.sql.driver()
  con = drv:connect()
  point = con:prepare("SELECT c FROM " .. table_name(1) .. " WHERE id = ?")
  id = point:bind_create(sysbench.sql.type.INT)
  point:bind_param(id)
  update = con:prepare("UPDATE " .. table_name(sysbench.opt.tables) .. " SET k = k + 1, pad = ? WHERE id = ?")
  pad, key = update:bind_create(sysbench.sql.type.CHAR, 60), update:bind_create(sysbench.sql.type.BIGINT)
  update:bind_param(pad, key)
end
function event(tid)
  con:query("BEGIN")
  id:set(sysbench.rand.default(1, sysbench.opt.table_size))
  assert(point:execute().nrows == 1)
  local k, c, none = con:query_row("SELECT k, c, NULL FROM sbtest1 WHERE id = 7")
  assert(tonumber(k) and #c == 119 and none == nil)
  local rows = con:query("SELECT id FROM sbtest1 WHERE id IN (1, 2, 3) ORDER BY id")
  for expected = 1, rows.nrows do
    assert(rows:fetch_row()[1] == tostring(expected))
  end
  assert(rows:fetch_row() == nil and tostring(rows) == "<sql_result>")
  if sysbench.opt.with_update then
    pad:set_rand_str("#-#-@@@")
    key:set(tid + 1)
    update:execute()
  end
  con:query("COMMIT")
end
function thread_done(tid)
  con:disconnect()
end
"##;
const NAMES: &str = "function table_name(number) return string.format('sbtest%d', number) end";

/// Writes a script beside the home; its name for the command line.
fn script(lab: &Lab, name: &str, text: &str) -> String {
    let path = lab.home().join(format!("{name}.lua"));
    fs::write(&path, text).expect("a script is written");
    format!("lua:{}", path.display())
}

fn point(done: &Done) -> Value {
    done.json()["points"][0].clone()
}

fn a_script_is_run_and_counted(lab: &Lab) {
    lab.up("");
    lab.does(DATA);
    script(lab, "names", NAMES);
    let mixed = script(lab, "mixed", MIXED);
    let line = format!("run {mixed} --connections 4 --events 40 --tables 2 --set with_update=on --json");
    let measured = point(&lab.does(&line));
    assert_eq!(measured["transactions"], 40, "{measured:#}");
    assert_eq!(measured["statements"], serde_json::json!({"read": 120, "write": 40, "other": 80}), "{measured:#}");
    assert_eq!(measured["server"]["statements"]["select"], 120, "as the server counted: {measured:#}");
    let names: Vec<&str> =
        measured["operations"].as_array().expect("operations").iter().filter_map(|of| of["name"].as_str()).collect();
    assert_eq!(names, ["transaction", "begin", "commit", "select", "update"], "{measured:#}");
    let text = point(
        &lab.does(&format!("run {mixed} --events 10 --set with-update=off --rand-type uniform --protocol text --json")),
    );
    assert_eq!(text["statements"], serde_json::json!({"read": 30, "write": 0, "other": 20}), "{text:#}");
    let page = lab.does("report mixed --format md -o -").out;
    for part in ["--set with_update=off", "--rand-type uniform"] {
        assert!(page.contains(part), "how to repeat it: {part}: {page}");
    }
    assert!(page.contains("lua:") && page.contains("events"), "{page}");
}

#[test]
fn a_script_is_run_and_counted_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_script_is_run_and_counted(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_script_is_run_and_counted_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_script_is_run_and_counted(&lab);
}

/// One event that meets a deadlock, or a lost connection, is one transaction, and its script connects again.
#[test]
fn what_the_server_refuses_is_tried_again_or_ends_the_run() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does(DATA);
    let head = "function thread_init() con = sysbench.sql.driver():connect() n = 0 end\n";
    let signal = "con:query(\"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213\")";
    let again = format!(
        "{head}sysbench.hooks.before_restart_event = function(e) assert(e.sql_errno == 1213) end\n\
         function event() n = n + 1 con:query('SELECT 1') if n % 3 == 1 then {signal} end end"
    );
    let measured = point(&lab.does(&format!("run {} --events 4 --json", script(&lab, "again", &again))));
    assert_eq!(measured["transactions"], 4, "{measured:#}");
    assert_eq!(measured["retries"].as_u64().expect("retries"), 2, "{measured:#}");

    let killed = format!(
        "{head}function event() n = n + 1 if n == 3 then con:query('KILL ' .. con:query_row('SELECT CONNECTION_ID()')) end con:query('SELECT 1') end"
    );
    // A private server that is gone ends the run; of any other it is not known whether it comes back.
    let other = format!("--target mysql://root@localhost/sbtest?socket={}", lab.socket().display());
    let killed = script(&lab, "killed", &killed);
    let measured = point(&lab.does(&format!("run {killed} {other} --events 6 --json")));
    // A new environment counts from 0 again: events 3 and 5 are hit.
    assert_eq!((&measured["transactions"], &measured["reconnects"]), (&6.into(), &2.into()), "{measured:#}");

    let ignored = format!(
        "{head}sysbench.hooks.sql_error_ignorable = function(e) return e.sql_errno == 1146 end\n\
         function event() n = n + 1 if n % 2 == 1 then con:query('SELECT nothing FROM nowhere') end con:query('SELECT 1') end"
    );
    let measured = point(&lab.does(&format!("run {} --events 4 --json", script(&lab, "ignored", &ignored))));
    assert_eq!((&measured["transactions"], &measured["retries"]), (&4.into(), &4.into()), "{measured:#}");

    let wrong = format!("{head}\nfunction event()\n  con:query('SELECT nothing FROM nowhere')\nend");
    let done = lab.ends(&format!("run {} --events 4", script(&lab, "wrong", &wrong))).exits(3);
    assert!(done.err.contains("SELECT nothing FROM nowhere") && done.err.contains("1146"), "{done}");

    let caught = format!(
        "{head}\nfunction event()\n  local ok, why = pcall(con.query, con, 'SELECT nothing FROM nowhere')\n  assert(not ok and why:find('errno = 1146'), why)\n end"
    );
    let measured = point(&lab.does(&format!("run {} --events 4 --json", script(&lab, "caught", &caught))));
    assert_eq!(measured["transactions"], 4, "{measured:#}");
}

/// Questions may be asked from coroutines of the script's own, iterators and metamethods, and not from within C.
#[test]
fn where_a_script_may_ask() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does(DATA);
    let head = "function thread_init() con = sysbench.sql.driver():connect() end\n";
    let anywhere = format!(
        "{head}local function one() return con:query_row('SELECT 1') end\n\
         function event(tid)\n\
           local inner = coroutine.wrap(function() coroutine.yield(one()) coroutine.yield(2) return 3 end)\n\
           assert(inner() == '1' and inner() == 2 and inner() == 3)\n\
           local lazy = setmetatable({{}}, {{ __index = function() return one() end }})\n\
           assert(lazy.x == '1' and loadstring('return con:query_row(\"SELECT 5\")')() == '5')\n\
           os.execute('sleep 0.001')\n\
           local other = sysbench.sql.driver():connect()\n\
           assert(other:query_row('SELECT 6') == '6')\n\
           other:disconnect()\n\
           con:reconnect()\n\
           assert(sysbench.tid == tid and _G.con == con and math.random(3) <= 3)\n\
         end"
    );
    let measured = point(&lab.does(&format!("run {} --connections 2 --events 4 --json", script(&lab, "a", &anywhere))));
    assert_eq!((&measured["transactions"], &measured["statements"]["read"]), (&4.into(), &16.into()), "{measured:#}");
    assert_eq!(measured["reconnects"], 4, "{measured:#}");
    let within = format!("{head}function event()\n  ('a'):gsub('a', function() con:query('SELECT 1') end)\nend");
    let done = lab.ends(&format!("run {} --events 1", script(&lab, "within", &within))).exits(3);
    assert!(done.err.contains("collect first, then ask"), "{done}");
}

/// A script that never comes to an end is named with its line, and the run ends.
#[test]
fn a_script_that_computes_without_end_is_stopped() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does(DATA);
    let endless = script(&lab, "endless", "local n = 0\nfunction event()\n  while true do\n    n = n + 1\n  end\nend");
    let done = lab.ends(&format!("run {endless} --time 60s")).exits(3);
    let line = done.err.split("endless.lua:").nth(1).unwrap_or_default();
    assert!(line.starts_with(['3', '4']) && line.contains("computes for longer than a second"), "{done}");
}

/// Rows are collected and sent as one statement; several results of one statement are kept apart.
#[test]
fn bulk_inserts_and_results_of_procedures() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does(DATA);
    let text = "function thread_init()\n\
                  con = sysbench.sql.driver():connect()\n\
                  con:query('CREATE TEMPORARY TABLE b (n INT)')\n\
                end\n\
                function event()\n\
                  con:bulk_insert_init('INSERT INTO b VALUES')\n\
                  for n = 1, 3 do con:bulk_insert_next('(' .. n .. ')') end\n\
                  con:bulk_insert_done()\n\
                  assert(con:query_row('SELECT SUM(n) FROM b') == '6')\n\
                  con:query('DELETE FROM b')\n\
                  local first = con:query('BEGIN NOT ATOMIC SELECT 7; SELECT 8, 9; END')\n\
                  assert(first:fetch_row()[1] == '7' and con:more_results())\n\
                  local second = con:next_result()\n\
                  assert(second.nfields == 2 and second:fetch_row()[2] == '9' and not con:more_results())\n\
                end";
    let measured = point(&lab.does(&format!("run {} --events 3 --json", script(&lab, "bulk", text))));
    assert_eq!((&measured["transactions"], &measured["statements"]["write"]), (&3.into(), &6.into()), "{measured:#}");
}

/// A thread may stop before the others, and the run ends when all have.
#[test]
fn an_event_that_returns_something_stops_its_thread() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    let stops = "function thread_init() con = sysbench.sql.driver():connect() n = 0 end\n\
                 function event(tid) n = n + 1 if n > tid + 1 then return true end con:query('SELECT 1') end";
    lab.does("load oltp_point_select --tables 1 --table-size 10");
    let measured = point(
        &lab.does(&format!("run {} --connections 3 --events-per-connection 100 --json", script(&lab, "stops", stops))),
    );
    assert_eq!(measured["transactions"], 1 + 2 + 3, "{measured:#}");
}

#[test]
fn what_is_wrong_with_a_script_is_said_before_anything_is_started() {
    let Some(lab) = Lab::mariadb() else { return };
    let refused = |line: String, why: &str| {
        let done = lab.ends(&line).exits(2);
        assert!(done.err.contains(why), "{why}: {done}");
    };
    refused("run lua:/nowhere.lua".to_owned(), "/nowhere.lua: No such file");
    let broken = script(&lab, "broken", "local x = 1\nfunction event( end\n");
    refused(format!("run {broken}"), "broken.lua:2: ");
    let raises = script(&lab, "raises", "\nerror('not today')");
    refused(format!("run {raises}"), "raises.lua:2: not today");
    let options =
        script(&lab, "options", "sysbench.cmdline.options = { rows = { 'Rows', 1 }, sure = { 'Sure', true } }");
    refused(format!("run {options} --set row=2"), "no option 'row'; it has rows, sure");
    refused(format!("run {options} --set rows=many"), "'rows' is 'many'; a number is accepted");
    refused(format!("run {options} --set rows"), "NAME=VALUE");
    refused("run oltp_point_select --set rows=2".to_owned(), "--set rows with oltp_point_select");
    assert!(!lab.home().join("servers").exists(), "no server was started");
}

/// What a script does to its process, it does not do to the recording.
#[test]
fn a_script_that_ends_its_process_is_named_and_what_was_measured_stays() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.sql(&["CREATE DATABASE sbtest"]);
    // Time that the server takes is none that the script computes.
    let ends = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                n = 0 function event() n = n + 1 con:query('SELECT SLEEP(0.01)') if n > 120 then ENDS end end";
    let cases = [
        ("null", "local p = ffi.cast('int *', 0) p[0] = 1", "ended its process by signal 11"),
        ("exits", "ffi.cdef('void exit(int);') ffi.C.exit(3)", "ended its process with exit code 3"),
        ("recursion", "local function f(i) return 1 + f(i + 1) end f(1)", "stack overflow"),
    ];
    for (name, end, expected) in cases {
        let script = lab.home().join(format!("{name}.lua"));
        fs::write(&script, ends.replace("ENDS", end)).expect("a script is written");
        let done = lab.ends(&format!("run lua:{} --connections 1 --time 60s --name {name}", script.display())).exits(3);
        assert!(done.err.contains(expected) && done.err.contains(&format!("{name}.lua")), "{done}");
        assert!(done.err.contains("in or after event 121"), "{done}");
        let recordings = lab.recordings();
        let own = recordings.iter().find(|path| path.display().to_string().contains(&format!("-{name}-")));
        let series = own.expect("a recording").join("trials/0001-run-c1-r1/intervals.ndjson");
        let intervals = fs::read_to_string(series).expect("the seconds before are there");
        assert!(intervals.lines().count() > 0 && intervals.contains("transactions"), "{intervals}");
    }
    let script = lab.home().join("top.lua");
    fs::write(&script, "local p = ffi.cast('int *', 0) p[0] = 1").expect("a script is written");
    let line = format!("run lua:{} --connections 1 --time 1s", script.display());
    lab.ends(&line).refuses(2, &["top.lua", "its top level ended its process by signal 11"]);
}

/// Memory without end: the script's process is aborted, and nobody else's.
#[test]
#[ignore = "takes 2 GiB of memory; make test-all"]
fn a_script_that_takes_all_memory_ends_alone() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.sql(&["CREATE DATABASE sbtest"]);
    let script = lab.home().join("hoards.lua");
    let text = "t, n = {}, 0 function event() for _ = 1, 100 do n = n + 1 t[n] = string.rep('x', 1000000) .. n end \
                os.execute('sleep 0.001') end";
    fs::write(&script, text).expect("a script is written");
    let line = format!("run lua:{} --connections 1 --time 60s", script.display());
    let done = lab.ends(&line).exits(3);
    assert!(done.err.contains("hoards.lua") && done.err.contains("event"), "{done}");
    assert_eq!(lab.recordings().len(), 1, "what was measured is there");
}
