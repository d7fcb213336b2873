//! What people's scripts do beside their statements, each case in a script of our own, run by both programs.

use crate::drop_in::{Bench, counts};
use crate::harness::{Lab, begin, interruptible};
use plimsoll_testkit::servers;

/// Name, options and text. Each ends with the same code as with sysbench, and has counted the same.
const CASES: [(&str, &str, &str); 14] = [
    (
        "hook_asks.lua",
        "--time=2 --rate=5 --report-interval=1",
        r#"function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
        function event() con:query("SELECT 1") end
        function sysbench.hooks.report_intermediate(stat)
            if con == nil then thread_init() end
            local row = con:query("SHOW GLOBAL STATUS LIKE 'Threads_connected'"):fetch_row()
            print("hook", row[1])
        end"#,
    ),
    (
        "spins.lua",
        "--time=1 --forced-shutdown=1",
        r#"function thread_init() con = sysbench.sql.driver():connect() n = 0 end
        local function trx() con:query("SELECT 1") end
        function event()
            n = n + 1
            if n == 3 then pcall(con.query, con, "KILL " .. con:query_row("SELECT CONNECTION_ID()")) end
            while not pcall(trx) do end
        end"#,
    ),
    (
        "own_loop.lua",
        "--events=20 --threads=2",
        r#"ffi.cdef[[
            struct timeval { long tv_sec; long tv_usec; };
            int gettimeofday(struct timeval *tv, void *tz);
            bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int); int usleep(unsigned int);
        ]]
        function event() end
        function thread_run(tid)
            local tv = ffi.new("struct timeval")
            while ffi.C.sb_more_events(tid) do
                ffi.C.gettimeofday(tv, nil)
                assert(tonumber(tv.tv_sec) > 1e9)
                ffi.C.sb_event_start(tid) ffi.C.usleep(100) ffi.C.sb_event_stop(tid)
            end
        end"#,
    ),
    (
        "ignorable.lua",
        "--events=5",
        r#"local function connect()
            con = sysbench.sql.driver():connect()
            stmt = con:prepare("SELECT ?")
            p = stmt:bind_create(sysbench.sql.type.INT)
            stmt:bind_param(p)
        end
        function thread_init() connect() n = 0 end
        function sysbench.hooks.sql_error_ignorable(e) connect() return true end
        function event()
            n = n + 1
            if n == 3 then con:query("KILL " .. con:query_row("SELECT CONNECTION_ID()")) end
            p:set(n) stmt:execute()
        end"#,
    ),
    (
        "reconnects.lua",
        "--events=3",
        r#"function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
        function event()
            con:disconnect()
            con = drv:connect()
            local ok, err = pcall(con.query, con, "SELECT * FROM nowhere")
            assert(not ok and string.match(err, "nowhere") and con.sql_errno == 1146)
            con:query("SELECT 1")
        end"#,
    ),
    (
        "legacy.lua",
        "--events=2 --oltp-table-size=7",
        r#"function thread_init()
            math.randomseed(os.time() + thread_id)
            local found = 0
            for _ in io.popen("find . -maxdepth 1 -name legacy.lua"):lines() do found = found + 1 end
            assert(found == 1 and tonumber(oltp_table_size) == 7)
        end
        function event() db_query("SELECT 1") end"#,
    ),
    (
        "top_level.lua",
        "--events=2 --threads=2",
        r#"local con = sysbench.sql.driver():connect()
        function event() con:query("SELECT 1") end"#,
    ),
    (
        "several.lua",
        "--events=3",
        r#"function thread_init() one = sysbench.sql.driver():connect() two = sysbench.sql.driver():connect() end
        function event() one:query("SELECT 1") two:query("SELECT 2") end"#,
    ),
    (
        "patched.lua",
        "--events=1",
        r#"ffi.cdef("void sb_counter_inc(int, int);")
        function event() ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_1) end"#,
    ),
    ("loads.lua", "--events=1", r#"function event() ffi.load("no_such_library") end"#),
    (
        "rows.lua",
        "--events=2",
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event()
            local rs = con:query("SELECT 1, NULL, 'x' UNION ALL SELECT 2, 3, ''")
            assert(rs.nrows == 2 and rs.nfields == 3)
            local row = rs:fetch_row()
            assert(row[1] == "1" and row[2] == nil and row[3] == "x")
            local a, b = con:query_row("SELECT 4, 5")
            assert(a == "4" and b == "5")
            rs:free()
        end"#,
    ),
    (
        "bulk.lua",
        "--events=1",
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event()
            con:query("CREATE TEMPORARY TABLE bulk (id INT)")
            con:bulk_insert_init("INSERT INTO bulk VALUES")
            for i = 1, 1000 do con:bulk_insert_next("(" .. i .. ")") end
            con:bulk_insert_done()
            assert(con:query_row("SELECT COUNT(*) FROM bulk") == "1000")
        end"#,
    ),
    (
        "shell.lua",
        "--events=2",
        r#"function event()
            assert(os.execute("exit 3") == 768 and os.execute("true") == 0)
            local pipe = io.popen("cat >shell.out", "w")
            pipe:write("one", 2, "\n") pipe:close()
            assert(io.open("shell.out"):read("*a") == "one2\n")
        end"#,
    ),
    (
        "forgets.lua",
        "--events=1",
        r#"function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1" .. nothing) end"#,
    ),
];

fn the_awkward_cases_end_as_with_sysbench(lab: &Lab) {
    let Some(bench) = Bench::new() else { return };
    lab.up("");
    lab.sql(&["CREATE DATABASE IF NOT EXISTS sbtest"]);
    let reaching = format!("--mysql-socket={} --mysql-user=root", lab.socket().display());
    for (name, options, text) in CASES {
        bench.write(name, text);
        let line = format!("{name} {reaching} {options} run");
        let (ours, theirs) = (bench.ours(&line), bench.theirs(&line));
        assert_eq!(ours.code, theirs.code, "{line}\nours: {ours:#?}\ntheirs: {theirs:#?}");
        if options.contains("--events") {
            assert_eq!(counts(&ours), counts(&theirs), "{line}\nours: {ours:#?}\ntheirs: {theirs:#?}");
        }
    }
}

#[test]
fn the_awkward_cases_end_as_with_sysbench_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    the_awkward_cases_end_as_with_sysbench(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn the_awkward_cases_end_as_with_sysbench_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    the_awkward_cases_end_as_with_sysbench(&lab);
}

/// What cannot be had is named.
#[test]
fn what_is_not_there_is_named() {
    let Some(bench) = Bench::new() else { return };
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    let socket = lab.socket();
    let cases = [
        ("function event() ffi.C.sb_nothing() end", "ffi.C.sb_nothing is none of the symbols of sysbench"),
        ("function event() local n = ffi.C.SB_CNT_2 end", "ffi.C.SB_CNT_2 is a counter of a patched sysbench"),
        ("function event() ffi.load('no_such_library') end", "no_such_library"),
        (
            "function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event() string.gsub('a', 'a', function() con:query('SELECT 1') end) end",
            "named.lua:2: attempt to yield across C-call boundary: nothing can be asked of the server within string.gsub",
        ),
    ];
    for (text, expected) in cases {
        bench.write("named.lua", text);
        let line =
            format!("named.lua --mysql-socket={} --mysql-user=root --mysql-db=mysql --events=1 run", socket.display());
        let ours = bench.ours(&line);
        assert_eq!(ours.code, Some(1), "{ours:#?}");
        assert!(ours.out.contains(expected), "{expected}: {ours:#?}");
    }
}

/// A loop without an end is named, and given up where the command line says so.
#[test]
fn a_script_that_computes_without_end_is_named() {
    let Some(bench) = Bench::new() else { return };
    bench.write("endless.lua", "function event() while true do end end");
    let ours = bench.ours("endless.lua --time=6 --forced-shutdown=0 run");
    assert_eq!(ours.code, Some(2), "{ours:#?}");
    assert!(ours.err.contains("WARNING: endless.lua:1: it computes for longer than a second"), "{ours:#?}");
    assert!(ours.out.contains("Number of unfinished transactions on forced shutdown: 1"), "{ours:#?}");
}

/// `--test=oltp` of sysbench 0.4, which no newer one knows: its table, its rows, its counts.
#[test]
fn the_oltp_test_of_old_is_what_it_was() {
    let Some(bench) = Bench::new() else { return };
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.sql(&["CREATE DATABASE old"]);
    let line = format!(
        "--test=oltp --mysql-socket={} --mysql-user=root --mysql-db=old --oltp-table-size=300 --num-threads=2 --init-rng",
        lab.socket().display()
    );
    let does = |more: &str| {
        let ours = bench.ours(&format!("{line} {more}"));
        assert_eq!(ours.code, Some(0), "{more}: {ours:#?}");
        ours
    };
    does("prepare");
    assert_eq!(lab.value("SELECT COUNT(*) FROM old.sbtest WHERE k = 0 AND c = ' ' AND pad LIKE 'qqqqqqqqqqw%'"), "300");
    let ran = counts(&does("--max-requests=10 --num-threads=1 run"));
    let find = |name: &str| ran.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
    assert_eq!((find("transactions"), find("read")), (Some(10), Some(140)), "{ran:?}");
    does("--max-requests=10 --oltp-test-mode=nontrx --oltp-nontrx-mode=insert run");
    does("--max-requests=10 --oltp-test-mode=simple --oltp-dist-type=uniform run");
    does("cleanup");
    let refused = bench.ours(&format!("{line} --oltp-test-mode=foo run"));
    assert!(refused.out.contains("--oltp-test-mode=foo is none of simple, complex, nontrx"), "{refused:#?}");
}

/// Ctrl-C ends the test, whose report is printed.
#[test]
fn an_interrupt_leaves_the_report() {
    let Some(bench) = Bench::new() else { return };
    let file = bench.directory().join("ours/began");
    bench.write("lasts.lua", "function event() io.open('began', 'w'):close() os.execute('sleep 0.01') end");
    let mut running = begin(bench.our_command("lasts.lua --time=0 run"));
    running.wait_for("the first event", || file.exists());
    running.signal(rustix::process::Signal::INT);
    let done = running.end();
    assert_eq!(done.status.code(), Some(130), "{done}");
    assert!(done.out.contains("General statistics:") && done.out.contains("Threads fairness:"), "{done}");
}

/// Nothing but a run has anything to say at the end.
#[test]
fn an_interrupt_ends_a_command_at_once() {
    let Some(bench) = Bench::new() else { return };
    let file = bench.directory().join("ours/preparing");
    bench.write("prepares.lua", "function prepare() io.open('preparing', 'w'):close() while true do end end");
    let mut running = begin(interruptible(&bench.our_command("prepares.lua prepare")));
    running.wait_for("the command", || file.exists());
    running.signal(rustix::process::Signal::INT);
    let done = running.end();
    assert_eq!(done.status.code(), None, "{done}");
}

/// Threads that wait for a next event end with the last one, whatever time is left.
#[test]
fn a_rate_with_a_number_of_events_ends_with_them() {
    let Some(bench) = Bench::new() else { return };
    for test in ["own_run.lua", "cpu --cpu-max-prime=100", "queries.lua --mysql-dry-run"] {
        let line = format!("{test} --threads=4 --rate=100 --events=50 --time=0 run");
        let done = begin(bench.our_command(&line)).end();
        assert_eq!(done.status.code(), Some(0), "{line}: {done}");
        let count = done.out.lines().find_map(|line| line.trim().strip_prefix("total number of events:"));
        assert_eq!(count.map(str::trim), Some("50"), "{line}: {done}");
    }
}

/// A `thread_run` of the script's own that the time limit ends is told that there are no more events, and `thread_done`
/// follows.
#[test]
fn a_thread_run_comes_to_its_end_before_thread_done() {
    let Some(bench) = Bench::new() else { return };
    bench.write(
        "own_done.lua",
        r#"ffi.cdef("bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);")
        function event() end
        function thread_run(tid)
            while ffi.C.sb_more_events(tid) do ffi.C.sb_event_start(tid) ffi.C.sb_event_stop(tid) end
            print("ran", tid)
        end
        function thread_done(tid) print("is done", tid) end"#,
    );
    let printed = bench.ours("own_done.lua --threads=2 --rate=50 --time=1 run");
    assert_eq!(printed.code, Some(0), "{printed:#?}");
    let times = ["ran\t", "is done\t", "FATAL"].map(|text| printed.out.matches(text).count());
    assert_eq!(times, [2, 2, 0], "{printed:#?}");
}

/// A hundred threads that sleep in the shell's words are timers: as many events as with a thread for each.
#[test]
#[ignore = "compares rates; make test-all"]
fn sleeping_threads_do_as_many_events_as_with_sysbench() {
    let Some(bench) = Bench::new() else { return };
    let _alone = servers::alone();
    let line = "sleeps.lua --threads=100 --time=3 run";
    let events = |printed| counts(&printed).into_iter().find(|(name, _)| name == "total number of events");
    let mut ratios: Vec<f64> = (0..5)
        .map(|_| {
            let (ours, theirs) = (events(bench.ours(line)), events(bench.theirs(line)));
            ours.expect("a count").1 as f64 / theirs.expect("a count").1 as f64
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[2] >= 0.9, "{ratios:?}");
}
