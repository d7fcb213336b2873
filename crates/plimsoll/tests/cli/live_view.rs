//! What a person sees while something runs, on a pseudoterminal: a view in place, nothing hostile, and no harm if
//! nobody reads it.

use crate::harness::{Done, Lab, begin_onto};
use plimsoll_testkit::fake::{Fake, FakePlace};
use plimsoll_testkit::servers;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, write};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::thread;

const COLUMNS: u16 = 100;
/// A message that would clear the screen, set the title, colour, and turn the direction of writing.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}drow\u{61c}";

/// A pseudoterminal of this width: the end of whoever looks, and the one that a command has.
fn pseudoterminal(columns: u16) -> (File, OwnedFd) {
    let viewer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudoterminal");
    grantpt(&viewer).and_then(|()| unlockpt(&viewer)).expect("it is ours");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&viewer, size).expect("a size");
    let name = ptsname(&viewer, Vec::new()).expect("it has a name").into_string().expect("a plain one");
    let terminal = File::options().read(true).write(true).open(name).expect("it can be opened");
    (File::from(viewer), OwnedFd::from(terminal))
}

fn at_a_terminal(mut command: Command) -> Command {
    command.env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
    command
}

/// Runs a command on a terminal of this width that somebody reads; what they got.
#[track_caller]
fn seen(command: Command, columns: u16) -> (Done, String) {
    let (mut viewer, terminal) = pseudoterminal(columns);
    let reader = thread::spawn(move || {
        let (mut seen, mut some) = (Vec::new(), [0; 4096]);
        // A terminal that its last user has closed answers with an error.
        while let Ok(count @ 1..) = viewer.read(&mut some) {
            seen.extend_from_slice(&some[..count]);
        }
        String::from_utf8(seen).expect("UTF-8")
    });
    let done = begin_onto(command, terminal).end();
    (done, reader.join().expect("a reader"))
}

/// The rows of a terminal that knows what a view needs, and panics at anything else.
struct Rows {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    widest: usize,
}

impl Rows {
    fn after(text: &str) -> Rows {
        let mut rows = Rows { rows: vec![Vec::new()], row: 0, column: 0, widest: 0 };
        let mut left = text.chars();
        while let Some(c) = left.next() {
            match c {
                '\r' => rows.column = 0,
                '\n' => rows.down(),
                '\u{1b}' => rows.obey(&mut left, text),
                c => rows.put(c, text),
            }
        }
        rows
    }

    fn down(&mut self) {
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, c: char, text: &str) {
        assert!(!c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c) && c != '\u{61c}', "{c:?} in {text:?}");
        let row = &mut self.rows[self.row];
        row.resize(row.len().max(self.column + 1), ' ');
        row[self.column] = c;
        self.column += 1;
        self.widest = self.widest.max(self.column);
    }

    fn obey(&mut self, left: &mut std::str::Chars<'_>, text: &str) {
        assert_eq!(left.next(), Some('['), "a sequence of another kind in {text:?}");
        let rest = left.as_str();
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).expect("a sequence has an end");
        let (number, letter) = (&rest[..end], rest.as_bytes()[end]);
        *left = rest[end + 1..].chars();
        match (letter, number) {
            (b'A', rows) => self.row -= rows.parse::<usize>().expect("a number of rows"),
            (b'K', "") => self.rows[self.row].truncate(self.column),
            (b'J', "") => {
                self.rows.truncate(self.row + 1);
                self.rows[self.row].truncate(self.column);
            }
            (b'm', "" | "0" | "1" | "2" | "31" | "32" | "34") => {}
            _ => panic!("ESC [ {number} {} in {text:?}", char::from(letter)),
        }
    }

    fn text(&self) -> String {
        self.rows.iter().map(|row| row.iter().collect::<String>() + "\n").collect()
    }
}

/// Plimsoll with both of its outputs on the terminal, and a recording in its home.
fn with_a_recording(home: &Path, words: &[&str]) -> Command {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/systems/eight-cpus");
    let directory = home.join("recordings/20260101T000000Z-bourke-systems-0001");
    fs::create_dir_all(&directory).expect("the home can be written");
    fs::copy(fixture.join("manifest.json"), directory.join("manifest.json")).expect("a manifest");
    let mut command = servers::plimsoll("sh", home);
    command.args(["-c", "exec \"$@\" 1>&2", "sh", env!("CARGO_BIN_EXE_plimsoll")]).args(words);
    at_a_terminal(command)
}

#[test]
fn notes_spell_no_styles_out() {
    let home = servers::home();
    let command = with_a_recording(home.path(), &["report", "bourke-systems", "--trend", "--format", "md"]);
    let (done, seen) = seen(command, COLUMNS);
    done.exits(0);
    assert!(seen.contains("too few") && !seen.contains("u{1b}"), "{seen}");
}

#[test]
fn a_dumb_terminal_gets_no_styles() {
    let home = servers::home();
    let listed = |term: &str| {
        let mut command = with_a_recording(home.path(), &["recordings", "list"]);
        command.env("TERM", term);
        let (done, seen) = seen(command, COLUMNS);
        done.exits(0);
        seen
    };
    assert!(listed("xterm-256color").contains("\u{1b}[2m"));
    let plain = listed("dumb");
    assert!(plain.contains("bourke-systems") && !plain.contains('\u{1b}'), "{plain}");
}

#[test]
fn a_run_is_drawn_in_place_and_leaves_its_lines() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_point_select --table-size 1000");
    let line = "run oltp_point_select --connections 1,2 --rate 500 --warmup 2s --time 2s --json";
    let (done, seen_by_all) = seen(at_a_terminal(lab.command(line)), COLUMNS);
    done.exits(0);
    for text in ["oltp_point_select", "load point 2 of 2", "warming up", "measuring", "tps", "p99", "█", " left"] {
        assert!(seen_by_all.contains(text), "`{text}` was not shown: {seen_by_all}");
    }
    let left = Rows::after(&seen_by_all).text();
    assert_eq!(left.matches("  connections:").count(), 2, "a line for each load point: {left}");
    assert!(!left.contains("measuring") && !left.contains('█') && left.contains("recording: "), "{left}");
    let mut plain = at_a_terminal(lab.command("run oltp_point_select --connections 2 --rate 500 --time 2s --json"));
    plain.env("NO_COLOR", "1").env("LC_ALL", "C");
    let (done, narrow) = seen(plain, 40);
    done.exits(0);
    assert!(narrow.is_ascii() && !narrow.contains("\u{1b}[1m") && narrow.contains('#'), "{narrow}");
    let drawn: Vec<&str> =
        narrow.split('\n').filter(|line| line.contains("tps ") || line.contains("measuring")).collect();
    assert!(drawn.len() > 2 && drawn.iter().all(|line| Rows::after(line).widest < 40), "{narrow}");
}

/// Nothing in a result but text and line breaks.
#[track_caller]
fn harmless(text: &str) {
    Rows::after(text);
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_lab_shows_what_its_variants_say_so_far_and_no_title_harms() {
    let Some(lab) = Lab::mariadb() else { return };
    let variants = "[[variant]]\nname = \"first\"\n[[variant]]\nname = \"other\"\n";
    let plan = lab.plan("titled", &format!("{}{variants}", SMALL.replace("measure = \"1s\"", "measure = \"2s\"")));
    let title: String = HOSTILE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let long = "x".repeat(5000);
    let text = fs::read_to_string(&plan).expect("it was written");
    fs::write(&plan, format!("title = \"begin{title}end {long}\"\n{text}")).expect("the home can be written");
    let (done, seen) = seen(at_a_terminal(lab.command(&format!("lab {}", plan.display()))), COLUMNS);
    let done = done.exits(0);
    harmless(&done.out);
    for text in
        ["begin[2J]0;owned31mdrowend", "trial 1 of 2", "measuring", "1 of 1", "transactions/s", "next ", "first"]
    {
        assert!(seen.contains(text), "`{text}` was not shown: {seen}");
    }
    let left = Rows::after(&seen).text();
    assert!(left.contains("[2/2] ") && !left.contains("next ") && left.contains("report.html"), "{left}");
    let resumed = format!("lab --resume {HOSTILE}");
    let (done, said) = self::seen(at_a_terminal(lab.command(&resumed.replace(['\n', '\r'], ""))), COLUMNS);
    done.exits(2);
    assert!(Rows::after(&said).text().contains("no recording is called"), "{said}");
}

#[test]
fn no_message_of_a_server_harms() {
    // An error in place of a greeting: its code, and the rest is text.
    let fake = Fake::tcp(|talk| talk.send_packet(0, &[&[0xff, 0x69, 0x04], HOSTILE.as_bytes()].concat()));
    let FakePlace::Tcp(address) = &fake.place else { panic!("a fake over TCP has an address") };
    let home = servers::home();
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.args(["run", "oltp_point_select", "--target", &format!("mysql://root@{address}/sbtest")]);
    let (done, seen) = seen(at_a_terminal(command), COLUMNS);
    done.exits(3);
    let left = Rows::after(&seen).text();
    assert!(left.contains("1129") && left.contains("[2J]0;owned"), "{left}");
}

/// Writes until nothing more is taken.
fn fill(file: &OwnedFd) {
    let flags = fcntl_getfl(file).expect("flags");
    fcntl_setfl(file, flags | OFlags::NONBLOCK).expect("it can be told not to wait");
    for size in [4096, 1] {
        while write(file, &vec![b'x'; size]) != Err(Errno::AGAIN) {}
    }
    fcntl_setfl(file, flags).expect("and to wait again");
}

/// A pipe and a terminal that take nothing more, each with the end that nobody reads.
fn stalled() -> [(OwnedFd, OwnedFd); 2] {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (viewer, terminal) = pseudoterminal(COLUMNS);
    let both = [(OwnedFd::from(reader), OwnedFd::from(writer)), (OwnedFd::from(viewer), terminal)];
    both.iter().for_each(|(_, written)| fill(written));
    both
}

/// The seconds measured by each trial of a recording, none of which is missing.
#[track_caller]
fn measured_seconds(recording: &Path) -> Vec<usize> {
    let trials = fs::read_dir(recording.join("trials")).expect("trials").flatten();
    let seconds = trials.map(|trial| {
        let text = fs::read_to_string(trial.path().join("intervals.ndjson")).expect("intervals");
        // The first line names the schema.
        let lines: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let number = |line: &Value, name: &str| line[name].as_f64().expect("a number");
        for pair in lines.windows(2) {
            let gap = number(&pair[1], "t_ns") - number(&pair[0], "t_ns") - 1e9 * number(&pair[0], "seconds");
            assert!(gap.abs() < 1e6, "{gap} ns are missing between {} and {}", pair[0], pair[1]);
        }
        lines.iter().filter(|line| line["phase"] == "measure").count()
    });
    seconds.collect()
}

#[test]
#[ignore = "four runs; make test-all"]
fn a_viewer_who_does_not_look_changes_nothing_that_is_recorded() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_point_select --table-size 1000");
    for (_unread, full) in stalled() {
        let line = "run oltp_point_select --connections 2,4 --time 2s --json";
        let done =
            begin_onto(at_a_terminal(lab.command(line)), full.try_clone().expect("a second handle")).end().exits(0);
        let summary = done.json();
        assert_eq!(summary["points"].as_array().map(Vec::len), Some(2), "{summary}");
        assert_eq!(summary["totals"]["statements"], summary["server"]["statements"]);
        let recording = summary["recording"].as_str().expect("a recording").to_owned();
        assert_eq!(measured_seconds(Path::new(&recording)), [2, 2], "{recording}");
        let line = "run oltp_point_select --connections 2 --time 60s --json";
        let before = lab.recordings().len();
        let mut interrupted = begin_onto(at_a_terminal(lab.command(line)), full);
        interrupted.wait_for("a recording", || lab.recordings().len() > before);
        lab.wait_until_measured(&mut interrupted);
        interrupted.signal(Signal::INT);
        assert_eq!(interrupted.end().exits(130).json()["interrupted"], true);
    }
}

#[test]
fn a_lab_that_nobody_watches_does_all_its_trials() {
    let Some(lab) = Lab::mariadb() else { return };
    let plan = lab.plan("unwatched", &SMALL.replace("rounds = 1", "rounds = 2"));
    let [(_unread, pipe), (_unlooked, terminal)] = stalled();
    for full in [pipe, terminal] {
        let line = format!("lab {} --json", plan.display());
        let summary = begin_onto(at_a_terminal(lab.command(&line)), full).end().exits(0).json();
        let trials = &summary["trials"];
        assert_eq!((&trials["done"], &trials["failed"]), (&2.into(), &0.into()), "{summary}");
        let recording = summary["recording"].as_str().expect("a recording").to_owned();
        assert_eq!(measured_seconds(Path::new(&recording)), [1, 1], "{recording}");
    }
}

/// One load point in trials of a second.
const SMALL: &str = "[workload]\nkind = \"oltp_point_select\"\ntables = 1\ntable_size = 1000\n[load]\n\
                     connections = [2]\nrate = 200\n[trials]\nrounds = 1\nwarmup = \"0s\"\nmeasure = \"1s\"\npause = \"0s\"\n";
