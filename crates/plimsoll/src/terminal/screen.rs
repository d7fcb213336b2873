//! Standard error, written by a thread of its own. Callers leave lines and views here and never wait: the latest view
//! is shown, and lines are kept up to a limit. So neither a terminal stopped with Ctrl-S nor a pipe that nobody reads
//! delays what is measured.

use super::canvas::Canvas;
use super::tty::Tty;
use super::view::View;
use plimsoll_model::text::escaped;
use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The shortest time between two drawings of a view.
const FRAME: Duration = Duration::from_millis(250);
/// The most lines that wait for a reader; older ones are dropped and counted.
const MOST_LINES: usize = 1000;
/// Characters of the longest line.
const MOST_CHARACTERS: usize = 2000;
/// A reader that takes nothing for this long is given up.
const PATIENCE: Duration = Duration::from_secs(2);
/// One that takes a little now and then is waited for this long in total.
const LONGEST: Duration = Duration::from_secs(10);
/// How often to check that the reader still takes something.
const LOOK: Duration = Duration::from_millis(50);

/// The one of this process.
pub static SCREEN: LazyLock<Screen> = LazyLock::new(|| Screen::on(std::io::stderr(), Tty::of(&std::io::stderr())));

pub struct Screen {
    shared: Arc<Shared>,
    live: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something to write.
    given: Condvar,
    /// Something was written.
    taken: Condvar,
    /// Bytes so far.
    written: AtomicU64,
}

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    /// Lines that were dropped.
    lost: usize,
    view: Option<View>,
    /// Someone waits until all is shown.
    hurry: bool,
    /// The thread is writing.
    busy: bool,
    /// A view is on the screen.
    has_view: bool,
    /// How long the reader has been waited for so far.
    waited: Duration,
    /// The number of bytes written when the reader was given up.
    gave_up_at: Option<u64>,
    /// Others may have written below the view since, so it must not be drawn over.
    left_behind: bool,
    /// The thread is gone, or could not be started: callers write their lines themselves.
    ended: bool,
}

impl State {
    fn is_shown(&self) -> bool {
        !self.busy && self.lines.is_empty() && self.has_view == self.view.is_some()
    }

    /// The waiting lines, and how many were dropped.
    fn take_lines(&mut self) -> Vec<String> {
        let lost = std::mem::take(&mut self.lost);
        let missing = (lost > 0).then(|| format!("… {lost} lines not shown"));
        missing.into_iter().chain(self.lines.drain(..)).collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what it is given until the process ends.
    fn write<F: AsFd>(&self, mut canvas: Canvas<F>) {
        let mut drawn_at = None::<Instant>;
        loop {
            let (lines, view) = self.next(drawn_at, &mut canvas);
            canvas.draw(&lines, view.as_ref(), &self.written);
            drawn_at = Some(Instant::now());
        }
    }

    /// Waits until something is to be drawn.
    fn next<F: AsFd>(&self, drawn_at: Option<Instant>, canvas: &mut Canvas<F>) -> (Vec<String>, Option<View>) {
        let mut state = self.state();
        if std::mem::take(&mut state.left_behind) {
            canvas.leave_view();
        }
        (state.busy, state.has_view) = (false, canvas.has_view());
        self.taken.notify_all();
        loop {
            let has_view = canvas.has_view() || state.view.is_some();
            let early = match drawn_at {
                Some(at) if has_view && !state.hurry => FRAME.saturating_sub(at.elapsed()),
                _ => Duration::ZERO,
            };
            let is_idle = state.view.is_none() && state.is_shown();
            state = match (is_idle, early.is_zero()) {
                (false, true) => break,
                (true, _) => self.given.wait(state).unwrap_or_else(PoisonError::into_inner),
                (false, false) => self.given.wait_timeout(state, early).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        state.busy = true;
        (state.take_lines(), state.view.clone())
    }
}

/// What the thread owns.
struct Writer(Arc<Shared>);

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.state().ended = true;
        self.0.taken.notify_all();
    }
}

impl Screen {
    fn on<F: AsFd + Send + 'static>(file: F, tty: Tty) -> Screen {
        let shared = Arc::new(Shared::default());
        let live = tty.live;
        let canvas = Canvas::new(file, tty);
        let thread = thread::Builder::new().name("terminal".into());
        let writer = Writer(shared.clone());
        let started = thread.spawn(move || writer.0.write(canvas));
        Screen { shared, live: live && started.is_ok() }
    }

    /// Whether views are shown.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Prints lines; what could steer a terminal is shown as `\u{1b}`, whoever wrote it.
    pub fn say(&self, text: &str) {
        let mut state = self.shared.state();
        state.lines.extend(text.lines().map(printable));
        while state.lines.len() > MOST_LINES {
            state.lines.pop_front();
            state.lost += 1;
        }
        if state.ended {
            for line in state.take_lines() {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
        self.shared.given.notify_one();
    }

    /// Shows a view below the lines, replacing the one before; on a terminal only.
    pub fn show(&self, view: Option<View>) {
        if self.live {
            self.shared.state().view = view;
            self.shared.given.notify_one();
        }
    }

    /// Removes the view and waits until every line is written, but not for a reader that takes nothing, or next to
    /// nothing.
    pub fn settle(&self) {
        self.settle_within(LONGEST);
    }

    /// The same, waiting no longer than this over the whole life of the screen.
    fn settle_within(&self, longest: Duration) {
        let mut state = self.shared.state();
        (state.view, state.hurry) = (None, true);
        self.shared.given.notify_one();
        let written = || self.shared.written.load(Ordering::Relaxed);
        let (begun, left) = (Instant::now(), longest.saturating_sub(state.waited));
        let (mut seen, mut since) = (written(), begun);
        while !state.ended && !state.is_shown() {
            if written() != seen {
                (seen, since) = (written(), Instant::now());
            }
            if begun.elapsed() >= left || since.elapsed() >= PATIENCE || state.gave_up_at == Some(seen) {
                (state.gave_up_at, state.left_behind) = (Some(seen), true);
                break;
            }
            state = self.shared.taken.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.hurry = false;
        state.waited += begun.elapsed();
    }
}

/// One line of text that others may have written, of bounded length.
fn printable(text: &str) -> String {
    let mut line = escaped(text);
    if let Some((at, _)) = line.char_indices().nth(MOST_CHARACTERS) {
        line.truncate(at);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_testkit::servers::wait_until;
    use std::fs::File;
    use std::io::{PipeReader, Read, pipe};

    fn piped() -> (PipeReader, Screen) {
        let (reader, writer) = pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        (reader, Screen::on(file, Tty::plain()))
    }

    #[test]
    fn lines_come_out_in_order_and_without_what_is_not_text() {
        let (mut reader, screen) = piped();
        screen.say("one\x1b[31m\ntwo\u{202e}");
        screen.say(&"x".repeat(1_000_000));
        screen.settle();
        let mut found = vec![0; 30 + MOST_CHARACTERS];
        reader.read_exact(&mut found).expect("as much as was written");
        assert_eq!(
            String::from_utf8(found).expect("text"),
            format!("one\\u{{1b}}[31m\ntwo\\u{{202e}}\n{}…\n", "x".repeat(MOST_CHARACTERS))
        );
    }

    #[test]
    fn a_reader_who_takes_nothing_holds_nobody_up() {
        let (mut reader, screen) = piped();
        let line = "x".repeat(MOST_CHARACTERS);
        let begun = Instant::now();
        (0..3 * MOST_LINES).for_each(|_| screen.say(&line));
        let said = begun.elapsed();
        screen.settle();
        let given_up = begun.elapsed();
        screen.settle();
        // Had a line waited, all of them would have.
        assert!(said < 30 * PATIENCE && given_up >= said + PATIENCE, "{said:?}, {given_up:?}");
        assert!(begun.elapsed() < given_up + PATIENCE, "it waits once");
        // Somebody reads after all: what was dropped is told.
        screen.say("the last");
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"the last\n") {
            let mut some = [0; 4096];
            let count = reader.read(&mut some).expect("the writer is there");
            bytes.extend(&some[..count]);
        }
        let text = String::from_utf8(bytes).expect("text");
        let lost = text.lines().find_map(|line| line.strip_prefix("… ")).unwrap_or_else(|| panic!("{text}"));
        assert!(lost.ends_with("lines not shown"), "{lost}");
    }

    #[test]
    fn a_reader_who_is_slow_is_waited_for_within_bounds() {
        let (mut reader, screen) = piped();
        let slow = thread::spawn(move || {
            let mut some = [0; 4096];
            for _ in 0..30 {
                reader.read_exact(&mut some).expect("there is more");
                thread::sleep(PATIENCE / 20);
            }
        });
        (0..MOST_LINES).for_each(|_| screen.say(&"x".repeat(MOST_CHARACTERS)));
        let begun = Instant::now();
        screen.settle_within(PATIENCE / 2);
        assert!(begun.elapsed() >= PATIENCE / 2 && begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        screen.settle_within(PATIENCE / 2);
        assert!(begun.elapsed() < PATIENCE, "once in all: {:?}", begun.elapsed());
        slow.join().expect("it got all that it wanted");
    }

    /// What cannot be written to.
    struct Broken;

    impl AsFd for Broken {
        fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
            panic!("there is no file")
        }
    }

    #[test]
    fn a_thread_that_is_gone_is_not_waited_for() {
        let screen = Screen::on(Broken, Tty::plain());
        screen.say("one");
        // It is gone when its panic has been told, which takes a busy machine seconds.
        assert!(wait_until(Duration::from_secs(60), || screen.shared.state().ended));
        let begun = Instant::now();
        screen.settle();
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        screen.say("two");
        assert!(screen.shared.state().lines.is_empty(), "whoever has lines writes them");
    }
}
