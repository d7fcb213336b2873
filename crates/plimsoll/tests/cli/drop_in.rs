//! `plimsoll sysbench` beside Debian's sysbench: what is printed, which code it ends with, what is sent.

use crate::parity::sysbench_is_here;
use plimsoll_testkit::servers;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Each works in a directory of its own.
const SIDES: [&str; 2] = ["ours", "theirs"];

/// Directories with scripts, and Plimsoll beside them under sysbench's name.
pub struct Bench {
    directory: tempfile::TempDir,
    ours: PathBuf,
}

/// What one of the two has printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
}

const SCRIPTS: [(&str, &str); 14] = [
    (
        "plain.lua",
        r#"sysbench.cmdline.options = { foo = { "A number", 5 }, ["bar-baz"] = { "A text", "x" }, flag = { "A switch", false },
            list = { "A list", { "a", "b" } }, nod = { "Without a default" }, int = { "Whole", 3, sysbench.cmdline.ARG_INT } }
        print("top", sysbench.tid, sysbench.opt, sysbench.cmdline.command, sysbench.cmdline.script_path, event)
        function init() print("init", sysbench.opt.foo, sysbench.opt.bar_baz, sysbench.opt.flag, #sysbench.opt.list, sysbench.opt.nod, sysbench.opt.int) end
        function thread_init(tid) print("thread_init", tid, sysbench.tid) end
        function event(tid) print("event", tid) end
        function thread_done(tid) print("thread_done", tid) end
        function done() print("done") end
        function prepare() print("prepare", sysbench.tid) end"#,
    ),
    ("raises.lua", "function event() error('oops') end"),
    ("table.lua", "function thread_init() error({}) end\nfunction event() end"),
    ("connects.lua", "function prepare() sysbench.sql.driver():connect():query('select 1') end"),
    ("broken.lua", "function event("),
    (
        "commands.lua",
        r#"sysbench.cmdline.commands = {
            mine = { function() print("mine", sysbench.opt.threads, sysbench.cmdline.command) end, sysbench.cmdline.PARALLEL_COMMAND },
            bad = { function() error("bad one") end }, no = { function() return false end } }
        print("top", foo, sysbench.cmdline.argv[0], threads, num_threads, test)
        function event() return 1 end"#,
    ),
    (
        "legacy.lua",
        r#"function thread_init()
            db_connect()
            print(db_driver, num_threads, thread_id, oltp_foo)
            local s = db_prepare("select ?") local p = { 0 } db_bind_param(s, p) p[1] = 3
            db_execute(s) db_close(s) db_query("select 1")
            assert(sb_rand(1, 10) >= 1 and #sb_rand_str('##-@@') == 5)
        end
        function event(id) print("event", id, thread_id) end"#,
    ),
    (
        "queries.lua",
        "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event() con:query('select 1') end",
    ),
    (
        "hooks.lua",
        r#"function event() end
        sysbench.hooks.report_cumulative = function(stat)
            local names = {}
            for name, value in pairs(stat) do names[#names + 1] = name .. ":" .. type(value) end
            table.sort(names) print(table.concat(names, " "))
        end
        function done() local h = sysbench.histogram.new(5, 1, 1000) h:update(5) h:update(7) h:update(100) h:print() end"#,
    ),
    (
        "uses.lua",
        "require('oltp_common')\nfunction prepare_statements() prepare_point_selects() end\nfunction event() execute_point_selects() end",
    ),
    (
        "own_run.lua",
        r#"ffi.cdef("bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);")
        function event() end
        function thread_run(tid)
            while ffi.C.sb_more_events(tid) do ffi.C.sb_event_start(tid) event(tid) ffi.C.sb_event_stop(tid) end
        end"#,
    ),
    (
        "again.lua",
        r#"local tries = 0
        sysbench.hooks.before_restart_event = function(err) print("again", err.errcode) end
        function event() tries = tries + 1 if tries % 3 ~= 0 then error({ errcode = sysbench.error.RESTART_EVENT }) end end"#,
    ),
    ("sleeps.lua", "function event() os.execute('sleep 0.01') end"),
    ("slow.lua", "function event() os.execute('sleep 4') end"),
];

impl Bench {
    #[track_caller]
    pub fn new() -> Option<Bench> {
        if !sysbench_is_here() {
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let ours = directory.path().join("sysbench");
        // The same tests try what people install.
        let program = env::var_os("PLIMSOLL_TEST_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into());
        symlink(program, &ours).expect("a link is made");
        let bench = Bench { directory, ours };
        SIDES.into_iter().for_each(|side| fs::create_dir(bench.directory.path().join(side)).expect("a directory"));
        SCRIPTS.into_iter().for_each(|(name, text)| bench.write(name, text));
        Some(bench)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a script for both.
    pub fn write(&self, name: &str, text: &str) {
        for side in SIDES {
            fs::write(self.directory.path().join(side).join(name), text).expect("a script is written");
        }
    }

    fn command(&self, program: &Path, side: &str, line: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path().join(side)).args(line.split_whitespace()).env_remove("LUA_PATH");
        command.stdin(Stdio::null()).env("PLIMSOLL_HOME", self.home());
        command
    }

    /// Where ours keeps its recordings.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    fn printed(&self, program: &Path, side: &str, line: &str) -> Printed {
        let done = self.command(program, side, line).output().expect("it can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Printed { out: text(&done.stdout), err: text(&done.stderr), code: done.status.code() }
    }

    /// Ours, to be begun.
    pub fn our_command(&self, line: &str) -> Command {
        self.command(&self.ours, SIDES[0], line)
    }

    pub fn ours(&self, line: &str) -> Printed {
        self.printed(&self.ours, SIDES[0], line)
    }

    pub fn theirs(&self, line: &str) -> Printed {
        self.printed(Path::new("sysbench"), SIDES[1], line)
    }

    /// Both print the same, numbers apart, and end with the same code.
    #[track_caller]
    pub fn agree(&self, line: &str) {
        let (ours, theirs) = thread::scope(|scope| {
            let theirs = scope.spawn(|| self.theirs(line));
            (self.ours(line), theirs.join().expect("sysbench can be run"))
        });
        let shown = format!("sysbench {line}\nours: {ours:#?}\ntheirs: {theirs:#?}");
        assert_eq!(masked(&ours.out), masked(&theirs.out), "{shown}");
        assert_eq!(masked(&ours.err), masked(&theirs.err), "{shown}");
        assert_eq!(ours.code, theirs.code, "{shown}");
    }
}

/// A text without its numbers, and without what is meant to differ: the name of the machine behind Lua, the explanation of
/// an option, and how often an intermediate line comes.
pub fn masked(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.replace("system LuaJIT", "LuaJIT").replace("bundled LuaJIT", "LuaJIT").replace("-beta3", "");
        let mut masked = String::new();
        for c in unexplained(&line).chars() {
            match c {
                '0'..='9' | '.' | '*' if masked.ends_with('N') => {}
                '0'..='9' | '*' => masked.push('N'),
                ' ' if masked.ends_with(' ') => {}
                other => masked.push(other),
            }
        }
        let mut intervals = lines.iter().rev().take_while(|line| line.starts_with('['));
        let is_repeated = masked.starts_with('[') && intervals.any(|line| *line == masked);
        if !is_repeated {
            lines.push(masked);
        }
    }
    lines.join("\n")
}

/// An option in a list of them with its default alone.
fn unexplained(line: &str) -> String {
    match line.strip_prefix("  --").and_then(|rest| rest.split_once(' ')) {
        Some((option, rest)) => {
            let default = rest.rsplit_once(" [").filter(|_| rest.ends_with(']')).map_or("", |(_, default)| default);
            format!("  --{option} {default}")
        }
        None => line.to_owned(),
    }
}

/// Without a server.
const LINES: [&str; 101] = [
    "",
    "--version",
    "nosuch run",
    "plain.lua",
    "plain.lua run --events=2",
    "plain.lua --events=2 --threads=1 run",
    "plain.lua help",
    "plain.lua prepare",
    "plain.lua cleanup",
    "plain.lua bogus",
    "plain.lua --nope=1 run",
    "plain.lua --foo --events=1 run",
    "plain.lua --foo=7 --bar-baz=y --flag --list=1,2,3 --events=1 run",
    "plain.lua --bar_baz=y --flag=on --events=1 run",
    "plain.lua --flag=maybe run",
    "plain.lua --int=x --events=1 run",
    "plain.lua --events=0 --time=0 help",
    "plain.lua --threads=2 prepare",
    "plain.lua --percentile=0 --events=1 run",
    "plain.lua --percentile=99 --events=1 run",
    "plain.lua --percentile=101 run",
    "plain.lua --percentile=99.9 run",
    "plain.lua --histogram --percentile=0 --events=1 run",
    "own_run.lua --report-interval=1 --events=1 run",
    "own_run.lua --report-checkpoints=1 --events=1 run",
    "plain.lua --report-checkpoints=1,x run",
    "plain.lua --threads=abc run",
    "plain.lua --threads=0 run",
    "plain.lua --threads run",
    "plain.lua --verbosity=9 run",
    "plain.lua --verbosity=2 --events=1 cleanup",
    "plain.lua --rand-type=foo run",
    "plain.lua --rand-seed=7 --validate --events=1 run",
    "plain.lua --forced-shutdown=1 --events=1 run",
    "own_run.lua --verbosity=2 --max-requests=1 run",
    "own_run.lua --verbosity=4 --events=1 run",
    "own_run.lua --verbosity=5 --threads=1 --events=1 run",
    "raises.lua --verbosity=0 --events=1 run",
    "plain.lua --time= --events=1 run",
    "plain.lua --rate=1000 --events=2 run",
    "plain.lua run extra",
    "--test=plain.lua --num-threads=1 --max-requests=2 run",
    "own_run.lua --num-threads=2 --events=4 --max-requests=0 run",
    "own_run.lua --num-threads=2 --threads=1 --max-requests=4 run",
    "own_run.lua --histogram --events=1 run",
    "hooks.lua --histogram --events=1 run",
    "cpu --cpu-max-prime=1000 --histogram --events=1 run",
    "--help=off plain.lua --events=1 run",
    "raises.lua --events=1 run",
    "table.lua --events=1 run",
    "connects.lua --mysql-dry-run prepare",
    "connects.lua --db-driver=foo prepare",
    "broken.lua run",
    "commands.lua mine",
    "commands.lua bad",
    "commands.lua no",
    "commands.lua --foo=3 run",
    "commands.lua help",
    "legacy.lua --mysql-dry-run --oltp-foo=7 --events=1 run",
    "queries.lua --mysql-dry-run --events=3 run",
    "hooks.lua --events=1 run",
    "uses.lua --mysql-dry-run --events=4 --tables=3 run",
    "own_run.lua --events=5 run",
    "again.lua --events=2 run",
    "oltp_read_write --mysql-dry-run --events=5 run",
    "oltp_read_write --nope run",
    "oltp_read_write --mysql-dry-run prepare",
    "oltp_read_write --mysql-dry-run --tables=2 cleanup",
    "cpu",
    "cpu help --threads=1 bogus",
    "cpu help",
    "memory help",
    "threads help",
    "mutex help",
    "fileio help",
    "bulk_insert help",
    "cpu prepare",
    "cpu bogus",
    "cpu --cpu-max-prime=0 run",
    "memory --memory-block-size=3 run",
    "fileio",
    "fileio run",
    "fileio --file-test-mode=foo run",
    "fileio --file-test-mode=rndrd --file-io-mode=foo run",
    "fileio --file-test-mode=rndrd --file-extra-flags=foo run",
    "fileio --file-test-mode=rndrd --file-num=0 run",
    "fileio --file-test-mode=rndrd --file-fsync-mode=x run",
    "fileio --file-test-mode=rndrw --file-rw-ratio=-1 run",
    "fileio --file-num=2 --file-total-size=2M --file-test-mode=rndrd run",
    "fileio --file-num=2 --file-total-size=2M prepare",
    "fileio --file-num=2 --file-total-size=2M prepare",
    "fileio --file-num=2 --file-total-size=3M prepare",
    "fileio --file-num=2 --file-total-size=5M --file-test-mode=rndrd run",
    "fileio --file-num=2 --file-total-size=3M --file-test-mode=rndrw --events=300 run",
    "fileio --file-num=2 --file-total-size=3M --file-test-mode=rndwr --threads=2 --events=300 --file-fsync-all run",
    "fileio --file-num=2 --file-total-size=3M --file-test-mode=rndrd --file-io-mode=mmap --events=300 run",
    "fileio --file-num=2 --file-total-size=3M --file-test-mode=rndrd --file-io-mode=async --events=300 run",
    "fileio --file-num=2 --file-total-size=3M --file-test-mode=seqrd --file-merged-requests=4 --events=30 run",
    "fileio --file-num=2 --file-total-size=3M --file-test-mode=seqrewr --file-extra-flags=sync --events=3 run",
    "fileio --file-num=3 --file-total-size=3M --file-test-mode=seqwr --file-fsync-freq=0 --events=30 run",
    "fileio --file-num=3 cleanup",
];

#[test]
fn what_is_printed_is_what_sysbench_prints() {
    let Some(bench) = Bench::new() else { return };
    LINES.into_iter().for_each(|line| bench.agree(line));
}

/// Those that take seconds; `make test-all` has more of them.
const SLOW_LINES: [&str; 2] = [
    "queries.lua --mysql-dry-run --time=3 --report-interval=1 run",
    "queries.lua --mysql-dry-run --time=3 --report-checkpoints=1 run",
];

const MORE_SLOW_LINES: [&str; 12] = [
    "queries.lua --mysql-dry-run --rate=50 --time=2 --report-interval=1 run",
    "sleeps.lua --time=2 --report-interval=1 run",
    "sleeps.lua --rate=20 --time=2 --report-interval=1 run",
    "slow.lua --time=1 --forced-shutdown=1 run",
    "cpu --cpu-max-prime=1000 --events=20 run",
    "cpu --cpu-max-prime=1000 --time=2 --report-interval=1 --threads=2 run",
    "memory --memory-total-size=100M --memory-oper=read run",
    "memory --memory-total-size=1M --threads=2 --memory-access-mode=rnd --memory-scope=local run",
    "fileio --file-num=2 --file-total-size=2M prepare",
    "fileio --file-num=2 --file-total-size=2M --file-test-mode=rndrw --time=2 --report-interval=1 run",
    "threads --events=20 --thread-yields=10 run",
    "mutex --mutex-locks=100 --mutex-loops=10 --threads=2 run",
];

#[test]
fn what_is_printed_of_a_while_is_what_sysbench_prints() {
    let Some(bench) = Bench::new() else { return };
    SLOW_LINES.into_iter().for_each(|line| bench.agree(line));
    if servers::all() {
        MORE_SLOW_LINES.into_iter().for_each(|line| bench.agree(line));
    }
}

/// What a report says of statements and events, number by number.
pub fn counts(printed: &Printed) -> Vec<(String, u64)> {
    let lines = printed.out.lines().filter_map(|line| {
        let (name, rest) = line.trim().split_once(':')?;
        let number = rest.split_whitespace().next()?.parse().ok()?;
        Some((name.to_owned(), number))
    });
    lines.filter(|(name, _)| !["min", "avg", "max", "sum", "time"].contains(&name.as_str())).collect()
}

const WORKLOADS: [&str; 12] = [
    "oltp_read_write",
    "oltp_read_write --skip_trx",
    "oltp_read_write --range_selects=off --tables=4",
    "oltp_read_only --point_selects=3 --simple_ranges=2 --order_ranges=0",
    "oltp_write_only --delete_inserts=4 --index_updates=2 --non_index_updates=3",
    "oltp_point_select --tables=3 --point_selects=5",
    "oltp_update_index --index_updates=3",
    "oltp_update_non_index",
    "oltp_delete",
    "oltp_insert --auto_inc=off",
    "bulk_insert",
    "select_random_points --random_points=3",
];

#[test]
fn without_a_server_the_counts_of_every_script_are_those_of_sysbench() {
    let Some(bench) = Bench::new() else { return };
    for (place, workload) in WORKLOADS.into_iter().enumerate() {
        let line = format!("{workload} --mysql-dry-run --events={} --rand-seed={} run", 20 + place, place + 1);
        let (ours, theirs) = (bench.ours(&line), bench.theirs(&line));
        assert_eq!(counts(&ours), counts(&theirs), "{line}: {ours:#?} {theirs:#?}");
        assert!(counts(&ours).len() > 8, "{ours:#?}");
    }
}
