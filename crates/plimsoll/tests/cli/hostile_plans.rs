//! Plans and option files that nobody would write: whatever is in them, they are read or refused at once, within little
//! memory, and a dry run starts nothing and writes nothing.

use crate::harness::{Done, plan_called, run};
use plimsoll_testkit::programs::write_script;
use plimsoll_testkit::servers;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a process may have mapped, KiB, and how long it may compute, seconds.
const MEMORY_KIB: u64 = 256 << 10;
const CPU_SECONDS: u64 = 30;
/// The longest plan that is read, bytes.
const LONGEST: usize = 256 << 10;

/// A directory with a home, files of a plan, a server that knows what the plans set, and a program that must not run.
struct Desk {
    directory: TempDir,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { directory: servers::home() };
        for below in ["home", "plans", "outside"] {
            fs::create_dir(desk.path(below)).expect("a directory");
        }
        let mut help = "--no-defaults\n\n".to_owned();
        for name in plimsoll_plan::knowledge::allowed::names() {
            help += &format!("  --{}=#\n", name.replace('_', "-"));
        }
        fs::write(desk.path("help"), help + "----\n").expect("a file");
        desk.program(
            "server",
            "case \"$*\" in *plugin*) touch outside/ran;; *--help*) exec cat help;; \
             *--version*) echo 'mysqld  Ver 10.11.6-MariaDB for Linux';; *) touch outside/ran;; esac",
        );
        desk.program("evil", "touch outside/ran");
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let root = self.directory.path().display();
        write_script(&self.path(name), &format!("#!/bin/sh\ncd '{root}'\n{script}\n"));
    }

    /// A dry run of a plan within bounds.
    fn looks_at(&self, plan: &Path, options: &str) -> Done {
        let plain = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), &self.path("home"));
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MEMORY_KIB}; ulimit -t {CPU_SECONDS}; exec \"$@\""), "sh"]);
        command.arg(plain.get_program()).arg("lab").arg(plan).arg("--server").arg(self.path("server")).arg("--dry-run");
        command.args(options.split_whitespace()).current_dir(self.directory.path()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        run(command)
    }

    /// It says something sensible, whatever it is, and has left no trace.
    #[track_caller]
    fn survives(&self, plan: &Path, options: &str) -> Done {
        let before = self.listing();
        let done = self.looks_at(plan, options);
        let told = format!("{}{}", done.out, done.err);
        assert!(matches!(done.status.code(), Some(0 | 2 | 3)), "{done}");
        assert!(!told.contains("panicked") && !told.contains("overflow") && !told.contains("out of memory"), "{done}");
        assert!(done.err.len() < 64 << 10, "a message nobody reads: {} bytes", done.err.len());
        assert_eq!(self.listing(), before, "it has written: {done}");
        done
    }

    /// Every file outside of the home, with its size.
    fn listing(&self) -> BTreeMap<PathBuf, u64> {
        let mut found = BTreeMap::new();
        let mut rest = vec![self.directory.path().to_owned()];
        while let Some(directory) = rest.pop() {
            for entry in fs::read_dir(&directory).expect("a directory").flatten() {
                let facts = entry.metadata().expect("it is there");
                match facts.is_dir() && entry.file_name() != "home" {
                    true => rest.push(entry.path()),
                    false => drop(found.insert(entry.path(), if facts.is_dir() { 0 } else { facts.len() })),
                }
            }
        }
        found
    }

    fn plan(&self, text: &str) -> PathBuf {
        let path = self.path("plans/plan.toml");
        fs::write(&path, text).expect("a file");
        path
    }
}

const HEAD: &str = "name = \"a\"\nworkload.kind = \"oltp_read_write\"\n";

#[test]
fn what_is_no_file_or_too_long_is_refused_at_once() {
    let desk = Desk::new();
    let plan = desk.plan(&(HEAD.to_owned() + &"# comment\n".repeat(30_000)));
    desk.survives(&plan, "").refuses(2, &["plan.toml: it has 300", "at most 256 KiB"]);
    for (file, words) in
        [("/dev/zero", "a device"), ("/dev/stdin", "accepted is a regular file"), ("pipe", "a pipe"), ("", "not empty")]
    {
        if file == "pipe" {
            let made = rustix::fs::mknodat(
                rustix::fs::CWD,
                desk.path("plans/pipe"),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            );
            made.expect("a pipe");
        }
        let plan = desk.plan(&format!("{HEAD}server.config_file = \"{file}\"\n"));
        desk.survives(&plan, "").refuses(2, &["plan.toml, line 3", words]);
    }
    desk.survives(&desk.path("plans/pipe"), "").refuses(2, &["it is a pipe"]);
    desk.survives(Path::new("/dev/zero"), "").refuses(2, &["it is a device"]);
    fs::write(desk.path("plans/long.cnf"), format!("[mysqld]\n{} = 1\n", "x".repeat(200_000))).expect("a file");
    let plan = desk.plan(&format!("{HEAD}server.config_file = \"long.cnf\"\n"));
    desk.survives(&plan, "").refuses(2, &["long.cnf, line 2"]);
    fs::write(desk.path("plans/numbers.cnf"), "[mysqld]\nmax_connections = -1\n").expect("a file");
    let plan = desk.plan(&format!("{HEAD}server.config_file = \"numbers.cnf\"\n"));
    desk.survives(&plan, "")
        .refuses(2, &["numbers.cnf, line 2: max_connections: found `-1`; accepted is a number of 0"]);
}

/// Option files with a login are read by the same reader.
#[test]
fn an_option_file_of_a_login_is_a_file() {
    let home = servers::home();
    for (file, words) in [("/dev/zero", "a device"), ("/proc/self", "a directory")] {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(["run", "oltp_read_only", "--defaults-file", file]);
        run(command).refuses(2, &["--defaults-file", words]).in_one_message();
    }
}

/// Each is as long as a plan may be, and as bad as one of its kind can be.
#[test]
fn plans_as_long_as_they_may_be_take_little_memory_and_time() {
    let desk = Desk::new();
    let fill = |piece: &str, around: usize| piece.repeat((LONGEST - HEAD.len() - around) / piece.len());
    let many = |count: usize, piece: &dyn Fn(usize) -> String| (0..count).map(piece).collect::<String>();
    fs::write(
        desk.path("plans/full.cnf"),
        format!("[mysqld]\n{}", many(999, &|n| format!("x{n} = {}\n", "v".repeat(200)))),
    )
    .expect("a file");
    for (name, text) in [
        ("a list of numbers", format!("described.a = [{}]", fill("1,", 20))),
        ("lists in lists", format!("described.a = {}", fill("[", 20))),
        ("empty tables", fill("[[variant]]\n", 0)),
        ("keys", format!("[workload]\n{}", many(14_000, &|n| format!("a{n} = 1\n")))),
        ("one long key", format!("{} = 1", fill("x", 20))),
        ("the name of a setting", format!("server.config.{} = 1", fill("x", 30))),
        ("the value of a setting", format!("server.config.sql_mode = \"{}\"", fill("x", 40))),
        ("a dotted key", format!("described.{} = 1", fill("a.", 30) + "a")),
        (
            "deep tables with long names",
            format!("[described.{}]\n{}", vec!["k".repeat(100); 20].join("."), many(5000, &|n| format!("a{n}=1\n"))),
        ),
        ("presets", many(7_000, &|n| format!("[preset.p{n}]\nload.loops = 1\n"))),
        ("variants", many(9_000, &|n| format!("[[variant]]\nname = \"v{n}\"\n"))),
        (
            "variants and rungs",
            many(190, &|n| format!("[[variant]]\nname = \"v{n}\"\n[[rung]]\nname = \"r{n}\"\nmemory = \"1G\"\n")),
        ),
        ("option files", many(190, &|n| format!("[[variant]]\nname = \"v{n}\"\nconfig_file = \"full.cnf\"\n"))),
        ("cpus", format!("server.cpus = \"{}0\"", fill("0-4095,", 40))),
        ("connections", format!("load.connections = \"{}1\"", fill("1..100000+1,", 50))),
        (
            "points",
            format!("[load]\nconnections = \"1..1000+1\"\nrate = [{}]\n", many(1000, &|n| format!("{},", n + 1))),
        ),
        ("tables of the workload", "workload.tables = 100000000\n".to_owned()),
        ("comments", fill("#\n", 0)),
        ("a long text", format!("title = \"{}\"", fill("x", 30))),
        ("quotes", fill("\"", 0)),
    ] {
        let plan = desk.plan(&format!("{HEAD}{text}"));
        assert!(fs::metadata(&plan).expect("a file").len() <= LONGEST as u64, "{name}");
        let done = desk.survives(&plan, "");
        assert!(!done.err.contains("at most 256 KiB"), "{name}: {done}");
    }
}

/// Numbers from a seed: the same plans at every run.
struct Draw(u64);

impl Draw {
    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn of<'a>(&mut self, all: &'a [String]) -> &'a str {
        let at = self.below(all.len());
        &all[at]
    }
}

/// Values that take the place of others.
fn hostile(desk: &Desk) -> Vec<String> {
    let ran = desk.path("outside/ran");
    let evil = desk.path("evil");
    [
        format!("\"{}\"", evil.display()),
        format!("\"touch {}\"", ran.display()),
        format!("{{ command = \"touch {}\" }}", ran.display()),
        format!("\"$(touch {})\"", ran.display()),
        format!("{{ LD_PRELOAD = \"{}\" }}", evil.display()),
        "{ plugin_load_add = \"evil\", plugin_dir = \"/tmp\", init_file = \"x\" }".to_owned(),
        "\"private:./evil\"".to_owned(),
        "\"../../../../etc/passwd\"".to_owned(),
        "\"/dev/zero\"".to_owned(),
        "\"/proc/self/mem\"".to_owned(),
        format!("\"{}\"", "A".repeat(5000)),
        format!("[{}]", "1,".repeat(5000)),
        format!("{}{}", "[".repeat(70), "]".repeat(70)),
        "99999999999999999999999999999999999999999".to_owned(),
        "-9223372036854775808".to_owned(),
        "18446744073709551615".to_owned(),
        "1e308".to_owned(),
        "nan".to_owned(),
        "\"1..100000+1,1..100000+1\"".to_owned(),
        "\"720h\"".to_owned(),
        "\"16777215T\"".to_owned(),
        "\"\\u202e\\u001b[2J\\u0007\"".to_owned(),
        "\"p99.99999 < 1ns\"".to_owned(),
        "\"mysql://u:p@127.0.0.1:1/x`y\"".to_owned(),
        "{ reload = true }".to_owned(),
        "\"ext4,iops=0,delay=99999h\"".to_owned(),
        String::new(),
    ]
    .into()
}

/// A text with some of its bytes, lines and values changed; `others` lend theirs.
fn mutated(text: &str, others: &[String], values: &[String], draw: &mut Draw) -> Vec<u8> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draw.below(4) {
        let at = draw.below(lines.len());
        match draw.below(5) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[draw.below(lines.len())].clone()),
            2 => {
                let other: Vec<&str> = draw.of(others).lines().collect();
                let from = draw.below(other.len());
                let taken = other.iter().skip(from).take(1 + draw.below(6)).map(|line| (*line).to_owned());
                lines.splice(at..at, taken.collect::<Vec<_>>());
            }
            _ => {
                let valued: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].contains('=')).collect();
                if let Some(line) = valued.get(draw.below(valued.len())) {
                    let key = lines[*line].split('=').next().unwrap_or_default().to_owned();
                    lines[*line] = format!("{key}= {}", draw.of(values));
                }
            }
        }
    }
    let mut bytes = lines.join("\n").into_bytes();
    for _ in 0..draw.below(3) {
        let at = draw.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << draw.below(8);
        }
    }
    bytes
}

/// The plans of this repository, or its option files: names and texts.
fn texts(extension: &str) -> Vec<(String, String)> {
    let directory = plan_called("x").parent().expect("a directory").to_owned();
    let files = fs::read_dir(directory).expect("plans").map(|entry| entry.expect("a file").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.retain(|path| path.file_stem().is_some_and(|name| name != "published"));
    files.sort();
    let named = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("a text"))
    };
    files.into_iter().map(named).collect()
}

/// Looks at plans of these seeds; how many of them could be read to their end.
fn attack(seeds: impl Iterator<Item = u64>) -> usize {
    let desk = Desk::new();
    let (plans, files, values) = (texts("toml"), texts("cnf"), hostile(&desk));
    let text_of = |all: &[(String, String)]| all.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
    let (of_plans, of_files) = (text_of(&plans), text_of(&files));
    let mut read = 0;
    for seed in seeds {
        let mut draw = Draw(seed);
        for (name, text) in &files {
            let bytes = if draw.below(3) == 0 {
                mutated(text, &of_files, &values, &mut draw)
            } else {
                text.clone().into_bytes()
            };
            fs::write(desk.path("plans").join(name), bytes).expect("a file");
        }
        let path = desk.path("plans/plan.toml");
        // One in three is whole and in a size for this machine, so that its option files are what is attacked.
        let text = draw.of(&of_plans).to_owned();
        let is_whole = draw.below(3) == 0;
        let bytes = if is_whole { text.into_bytes() } else { mutated(&text, &of_plans, &values, &mut draw) };
        fs::write(&path, bytes).expect("a file");
        let options = ["--preset small", "", "--preset small --allow-commands", "--json"];
        let options = if is_whole { options[0] } else { options[draw.below(4)] };
        let done = desk.survives(&path, options);
        read += usize::from(done.status.code() == Some(0));
        assert!(done.status.code() != Some(2) || done.err.contains("plimsoll: "), "seed {seed}: {done}");
    }
    read
}

/// How many of so many plans were read to their end; two at a time.
fn attacks(count: u64) -> usize {
    std::thread::scope(|scope| {
        let halves = [scope.spawn(|| attack((0..count).step_by(2))), scope.spawn(|| attack((1..count).step_by(2)))];
        halves.into_iter().map(|half| half.join().expect("no harm was done")).sum()
    })
}

// What is refused at its first line attacks nothing: some have to be read to their end.

#[test]
fn forty_mutated_plans_and_option_files_do_no_harm() {
    let read = attacks(40);
    assert!(read >= 4, "only {read} were read to their end");
}

#[test]
#[ignore = "two hundred processes; make test-all"]
fn two_hundred_mutated_plans_and_option_files_do_no_harm() {
    let read = attacks(200);
    assert!(read >= 20, "only {read} were read to their end");
}
