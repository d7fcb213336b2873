//! Draws on a terminal: lines that scroll by, and below them a view that is redrawn in place.

use super::line::{TerminalLine, ascii};
use super::tty::{Room, Tty};
use super::view::View;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Bytes written at once, so that a slow reader can be told from one that is gone.
const PIECE: usize = 4096;

/// Erase to the end of the line, and of the screen (ECMA-48, 8.3.41 and 8.3.39).
const TO_END_OF_LINE: &str = "\x1b[K";
const TO_END_OF_SCREEN: &str = "\x1b[J";

pub struct Canvas<F> {
    file: F,
    tty: Tty,
    /// The lines of the view that are on the screen; the cursor is at the beginning of the line below them.
    drawn: Vec<String>,
    /// The same, as wide as they are shown.
    widths: Vec<usize>,
    /// The reader is gone.
    gone: bool,
}

impl<F: AsFd> Canvas<F> {
    pub fn new(file: F, tty: Tty) -> Canvas<F> {
        Canvas { file, tty, drawn: Vec::new(), widths: Vec::new(), gone: false }
    }

    /// Whether a view is on the screen.
    pub fn has_view(&self) -> bool {
        !self.drawn.is_empty()
    }

    /// Leaves the view where it is on the screen, to scroll by like any line.
    pub fn leave_view(&mut self) {
        self.drawn.clear();
        self.widths.clear();
    }

    /// Writes lines, and below them the view as it is now. `written` counts the bytes as the reader takes them.
    pub fn draw(&mut self, lines: &[String], view: Option<&View>, written: &AtomicU64) {
        let room = self.tty.room(&self.file);
        if self.tty.was_moved() {
            self.leave_view();
        }
        let view = view.filter(|_| self.tty.live && room.has_view() && self.tty.is_ours(&self.file));
        let mut block = view.map_or(Vec::new(), |view| view.lines(Instant::now(), room));
        // Otherwise its first line would scroll away, where no cursor can go.
        block.truncate(room.rows.saturating_sub(2));
        let text = self.frame(lines, &block, room);
        self.put(text.as_bytes(), written);
    }

    /// The bytes that turn the screen from what is drawn into these lines and this view.
    fn frame(&mut self, lines: &[String], block: &[TerminalLine], room: Room) -> String {
        let shown: Vec<String> = block.iter().map(|line| line.rendered(room, self.tty.colour)).collect();
        if lines.is_empty() && shown == self.drawn {
            return String::new();
        }
        let mut text = String::new();
        let up: usize = self.widths.iter().map(|width| width.div_ceil(room.columns).max(1)).sum();
        if self.has_view() {
            text += &format!("\r\x1b[{up}A");
        }
        if self.has_view() && !lines.is_empty() {
            text += TO_END_OF_SCREEN;
        }
        for line in lines {
            text += &if room.unicode { line.clone() } else { ascii(line) };
            text.push('\n');
        }
        for line in &shown {
            text.extend([line, TO_END_OF_LINE, "\n"]);
        }
        if self.has_view() || !shown.is_empty() {
            text += TO_END_OF_SCREEN;
        }
        self.widths = block.iter().map(|line| line.width().min(room.columns - 1)).collect();
        self.drawn = shown;
        text
    }

    fn put(&mut self, bytes: &[u8], written: &AtomicU64) {
        let mut left = bytes;
        while !self.gone && !left.is_empty() {
            match write(&self.file, &left[..left.len().min(PIECE)]) {
                Ok(count) => {
                    written.fetch_add(count as u64, Ordering::Relaxed);
                    left = &left[count..];
                }
                Err(Errno::INTR) => {}
                // Another process has made the open file non-blocking.
                Err(Errno::AGAIN) => {
                    let _ = poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], None);
                }
                Err(_) => self.gone = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Style;
    use super::super::view::Doing;
    use super::*;
    use rustix::pty::{OpenptFlags, openpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    const ROOM: Room = Room { columns: 20, rows: 24, unicode: true };

    fn block(lines: &[&str]) -> Vec<TerminalLine> {
        lines.iter().map(|text| TerminalLine::new().with(Style::Plain, text)).collect()
    }

    fn canvas() -> Canvas<std::io::Stderr> {
        Canvas::new(std::io::stderr(), Tty::plain())
    }

    #[test]
    fn a_view_is_drawn_over_in_place_and_only_if_it_changes() {
        let mut canvas = canvas();
        assert_eq!(canvas.frame(&[], &block(&["one", "two"]), ROOM), "one\x1b[K\ntwo\x1b[K\n\x1b[J");
        assert_eq!(canvas.frame(&[], &block(&["one", "two"]), ROOM), "");
        assert_eq!(canvas.frame(&[], &block(&["one"]), ROOM), "\r\x1b[2Aone\x1b[K\n\x1b[J");
        assert_eq!(canvas.frame(&["said".into()], &block(&["one"]), ROOM), "\r\x1b[1A\x1b[Jsaid\none\x1b[K\n\x1b[J");
        assert_eq!(canvas.frame(&[], &[], ROOM), "\r\x1b[1A\x1b[J");
        assert_eq!(canvas.frame(&["said".into()], &[], ROOM), "said\n");
    }

    #[test]
    fn a_terminal_with_little_room_shows_lines_alone() {
        let viewer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudoterminal");
        let resize = |columns| {
            let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&viewer, size).expect("a size");
        };
        let mut tty = Tty::plain();
        tty.live = true;
        let mut canvas = Canvas::new(&viewer, tty);
        let view =
            View { doing: Some(Doing::Something { what: "x".into(), since: Instant::now() }), ..View::default() };
        let written = AtomicU64::new(0);
        resize(12);
        canvas.draw(&[], Some(&view), &written);
        assert_eq!((canvas.has_view(), written.load(Ordering::Relaxed)), (false, 0));
        resize(20);
        canvas.draw(&[], Some(&view), &written);
        assert!(canvas.has_view());
        resize(12);
        canvas.draw(&[], Some(&view), &written);
        assert!(!canvas.has_view(), "it is taken away");
    }

    #[test]
    fn a_terminal_that_became_narrower_has_wrapped_what_was_drawn() {
        let mut canvas = canvas();
        canvas.frame(&[], &block(&["sixteen columns.", "four"]), ROOM);
        let narrow = Room { columns: 10, ..ROOM };
        assert!(canvas.frame(&[], &block(&["a"]), narrow).starts_with("\r\x1b[3A"), "two rows and one");
    }
}
