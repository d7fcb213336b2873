//! The standard output: what is asked for, and a log that says as much as `--verbosity` lets it.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

struct Last {
    line: String,
    repeats: u64,
}

static LAST: Mutex<Last> = Mutex::new(Last { line: String::new(), repeats: 0 });

/// How important a line of the log is: it is printed from this verbosity on.
pub mod level {
    pub const FATAL: u64 = 0;
    pub const ALERT: u64 = 1;
    pub const WARNING: u64 = 2;
    pub const NOTICE: u64 = 3;
    pub const INFO: u64 = 4;
    pub const DEBUG: u64 = 5;
}

static VERBOSITY: AtomicU64 = AtomicU64::new(level::NOTICE);

pub fn set_verbosity(verbosity: u64) {
    VERBOSITY.store(verbosity, Ordering::Relaxed);
}

fn is_said(level: u64) -> bool {
    level <= VERBOSITY.load(Ordering::Relaxed)
}

/// The first word of a line says how important it is.
fn level_of(line: &str) -> u64 {
    match line.split_once(": ") {
        Some(("FATAL", _)) => level::FATAL,
        Some(("ALERT", _)) => level::ALERT,
        Some(("WARNING", _)) => level::WARNING,
        Some(("DEBUG", _)) => level::DEBUG,
        _ => level::NOTICE,
    }
}

/// Prints text that was asked for. Nobody reads on where it cannot be written: the test goes on all the same.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints what is reported of a run.
pub fn report(text: &str) {
    if is_said(level::NOTICE) {
        print(text);
    }
}

/// Prints a line of the log. One that repeats the line before is not printed again but counted.
pub fn say(line: &str) {
    log(level_of(line), line);
}

/// Prints a line that few want to read.
pub fn inform(line: &str) {
    log(level::INFO, line);
}

fn log(level: u64, line: &str) {
    if !is_said(level) {
        return;
    }
    let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if last.line == line {
        last.repeats += 1;
        return;
    }
    if last.repeats > 0 {
        print(&format!("(last message repeated {} times)\n", last.repeats));
    }
    *last = Last { line: line.to_owned(), repeats: 0 };
    print(&format!("{line}\n"));
}

/// Tells a mistake of the command line.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_important_as_its_first_word_says() {
        assert_eq!(level_of("FATAL: no"), level::FATAL);
        assert_eq!(level_of("ALERT: attempting to reconnect"), level::ALERT);
        assert_eq!(level_of("General statistics: FATAL"), level::NOTICE);
        assert_eq!(level_of(""), level::NOTICE);
    }
}
