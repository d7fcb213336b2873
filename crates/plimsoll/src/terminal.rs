//! What a person sees while something happens. It all goes to standard error; standard output is for results.
//!
//! [`Progress`] is told what happens. It leaves lines and a [`view`] with the [`screen`], which never makes it wait.

mod canvas;
mod limits;
mod line;
mod patience;
mod progress;
mod screen;
mod tty;
mod view;
mod words;

use plimsoll_model::text::{escaped_json, escaped_lines};
use plimsoll_report::terminal::{STYLES, TextLook};
use screen::SCREEN;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use limits::what_limited;
pub use patience::patiently;
pub use progress::Progress;
pub use words::title;

/// Prints an error with its causes.
pub fn error(error: &anyhow::Error) {
    // A message may quote a server, or a recording that somebody else made.
    note(&format!("plimsoll: {}", told(error)));
}

/// A message with its causes, except those that it contains already.
fn told(error: &anyhow::Error) -> String {
    let add = |told: String, cause: String| if told.contains(&cause) { told } else { format!("{told}: {cause}") };
    error.chain().skip(1).map(ToString::to_string).fold(error.to_string(), add)
}

/// Prints lines on standard error, soon, and without waiting for the reader. What could steer a terminal is shown as
/// `\u{1b}`. If standard error is gone, the lines are lost.
pub fn note(text: &str) {
    SCREEN.say(text);
}

/// Asks on standard error, and waits for a line of standard input; none if there is no more.
///
/// # Errors
/// If it cannot be asked, or what is typed is no text.
pub fn ask(question: &str) -> std::io::Result<Option<String>> {
    settle();
    let mut screen = std::io::stderr();
    write!(screen, "{} ", escaped_lines(question))?;
    screen.flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        writeln!(screen)?;
        return Ok(None);
    }
    Ok(Some(line))
}

/// Waits until all notes are shown, but not for a reader that has stopped reading.
pub fn settle() {
    SCREEN.settle();
}

/// Prints a result on standard output, below earlier notes, and unlike a note waits until it is written. What could
/// steer a terminal is shown as `\u{1b}`, even in a pipe: it may end up on somebody's terminal.
///
/// # Errors
/// If it cannot be written: a full disk. A pipe that its reader has closed is no error: nobody wants more of it.
pub fn result(text: &str) -> std::io::Result<()> {
    document(&escaped_lines(text))
}

/// The same for a text with styles in it.
///
/// # Errors
/// As [`result`].
pub fn styled(text: &str) -> std::io::Result<()> {
    document(&unstyled_escaped(text))
}

/// The same for a value, as one JSON document.
///
/// # Errors
/// As [`result`].
pub fn json(value: &impl Serialize) -> std::io::Result<()> {
    document(&escaped_json(&serde_json::to_string_pretty(value)?))
}

/// The same for a page, a table, a script: formats whose writer has already made text of others safe.
///
/// # Errors
/// As [`result`].
pub fn document(text: &str) -> std::io::Result<()> {
    settle();
    let mut out = std::io::stdout().lock();
    let text = if tty::shows_unicode(&out) { text } else { &line::ascii(text) };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written =
        out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())).and_then(|()| out.flush());
    match written {
        // Who read it has closed it: `head`, or a `tee` that the same Ctrl-C has ended. What was measured is recorded.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(std::io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Escapes everything but the styles of reports.
fn unstyled_escaped(text: &str) -> String {
    let mut rest = text;
    let mut shown = String::with_capacity(text.len());
    loop {
        let styles = STYLES.iter().filter_map(|style| rest.find(style).map(|at| (at, style.len())));
        let Some((at, length)) = styles.min() else { break };
        shown += &escaped_lines(&rest[..at]);
        shown += &rest[at..at + length];
        rest = &rest[at + length..];
    }
    shown + &escaped_lines(rest)
}

/// How a result is laid out on standard output: as wide as the terminal, else [`TextLook::PLAIN`].
pub fn look() -> TextLook {
    let out = std::io::stdout();
    look_of(tty::takes_styles(&out), tty::columns(&out))
}

/// The same for notes, which have no styles.
pub fn look_of_notes() -> TextLook {
    look_of(false, tty::columns(&std::io::stderr()))
}

fn look_of(colour: bool, columns: Option<usize>) -> TextLook {
    match columns {
        Some(columns) => TextLook { colour, width: columns, room: columns },
        None => TextLook { colour, ..TextLook::PLAIN },
    }
}

/// A flag that Ctrl-C and `kill` set. A second Ctrl-C ends the process at once.
pub fn interrupt_flag() -> std::io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())?;
        signal_hook::flag::register(signal, flag.clone())?;
    }
    Ok(flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_lab::LabError;
    use plimsoll_record::RecordError;
    use rustix::io::Errno;

    #[test]
    fn a_cause_that_a_message_says_itself_is_not_said_again() {
        let write = RecordError::Write { path: "/r/events.ndjson".into(), source: Errno::NOSPC.into() };
        let full = told(&LabError::from(write).into());
        assert_eq!(full.matches("No space left").count(), 1, "{full}");
        assert!(full.ends_with("PLIMSOLL_HOME elsewhere"), "{full}");
        let other = anyhow::Error::from(std::io::Error::from(Errno::NOSPC)).context("the report cannot be written");
        assert!(told(&other).starts_with("the report cannot be written: No space left"), "a cause that is not said");
    }

    #[test]
    fn styles_stay_and_nothing_else_does() {
        let text = "\x1b[1mbold\x1b[0m \x1b[2Jevil\x1b]0;title\u{7}\u{9b}\x1b[2mdim\u{202e}\n\x1b[0m";
        let shown = "\x1b[1mbold\x1b[0m \\u{1b}[2Jevil\\u{1b}]0;title\\u{7}\\u{9b}\x1b[2mdim\\u{202e}\n\x1b[0m";
        assert_eq!(unstyled_escaped(text), shown);
    }
}
