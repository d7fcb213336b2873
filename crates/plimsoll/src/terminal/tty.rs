//! What standard error and standard output are, and what they can show.

use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};
use signal_hook::consts::SIGCONT;
use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// For a terminal that does not report its size, as over a serial line.
const USUAL: (usize, usize) = (80, 24);
/// A view needs at least this many columns.
const FEWEST_COLUMNS: usize = 20;

/// The room that a view has to fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub columns: usize,
    pub rows: usize,
    /// More than ASCII can be shown.
    pub unicode: bool,
}

impl Room {
    /// Whether it is large enough for a view.
    pub fn has_view(self) -> bool {
        self.columns >= FEWEST_COLUMNS
    }
}

/// What the file that lines go to can do.
#[derive(Clone, Debug)]
pub struct Tty {
    /// It is a terminal that can move its cursor, so that a view can be drawn in place.
    pub live: bool,
    pub colour: bool,
    unicode: bool,
    /// Set when the process goes on after Ctrl-Z: the cursor is not where it was.
    moved: Arc<AtomicBool>,
}

impl Tty {
    /// As the environment describes it.
    pub fn of(file: &(impl IsTerminal + AsFd)) -> Tty {
        let live = knows_sequences(file);
        let moved = Arc::new(AtomicBool::new(false));
        if live {
            // Without it, only the first drawing after a Ctrl-Z is misplaced.
            let _ = signal_hook::flag::register(SIGCONT, moved.clone());
        }
        Tty { live, colour: takes_styles(file), unicode: shows_unicode(file), moved }
    }

    /// A file to which lines are written as they are.
    #[cfg(test)]
    pub fn plain() -> Tty {
        Tty { live: false, colour: false, unicode: true, moved: Arc::default() }
    }

    /// The current size.
    pub fn room(&self, file: &impl AsFd) -> Room {
        let (columns, rows) = size(file).unwrap_or(USUAL);
        Room { columns, rows, unicode: self.unicode }
    }

    /// Whether we may draw on the terminal: a background job leaves the shell's prompt alone.
    pub fn is_ours(&self, file: &impl AsFd) -> bool {
        tcgetpgrp(file).map_or(true, |group| group == getpgrp())
    }

    /// Whether the cursor may have moved since the last time this was asked.
    pub fn was_moved(&self) -> bool {
        self.moved.swap(false, Ordering::Relaxed)
    }
}

/// Columns and rows of a terminal that reports them.
fn size(file: &impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(file).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0)?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Columns of a terminal that reports them.
pub fn columns(file: &impl AsFd) -> Option<usize> {
    size(file).map(|(columns, _)| columns)
}

/// Whether more than ASCII can be shown; anything but a terminal takes everything.
pub fn shows_unicode(file: &impl IsTerminal) -> bool {
    !file.is_terminal() || is_utf8(["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)))
}

/// A dumb terminal knows no escape sequences.
fn knows_sequences(file: &impl IsTerminal) -> bool {
    file.is_terminal() && set("TERM").is_some_and(|term| term != "dumb")
}

/// Whether text may be bold or dim there. NO_COLOR is as defined by no-color.org.
pub fn takes_styles(file: &impl IsTerminal) -> bool {
    knows_sequences(file) && set("NO_COLOR").is_none()
}

/// A variable of the environment that is set to something.
fn set(name: &str) -> Option<String> {
    env::var_os(name).filter(|value| !value.is_empty()).map(|value| value.to_string_lossy().into_owned())
}

/// Whether the character set of a locale is UTF-8 (POSIX.1-2017, XBD 8.2); without a locale it is ASCII.
fn is_utf8(locale: Option<String>) -> bool {
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_what_can_be_shown() {
        assert!(is_utf8(Some("en_GB.UTF-8".into())) && is_utf8(Some("C.utf8".into())));
        assert!(!is_utf8(Some("POSIX".into())) && !is_utf8(Some("de_DE.ISO-8859-1".into())) && !is_utf8(None));
    }

    #[test]
    fn little_room_has_no_view() {
        let room = |columns| Room { columns, rows: 24, unicode: true };
        assert!(room(FEWEST_COLUMNS).has_view() && !room(FEWEST_COLUMNS - 1).has_view());
    }

    #[test]
    fn what_has_no_size_has_the_usual_one() {
        let file = tempfile::tempfile().expect("a file");
        let tty = Tty::of(&file);
        assert_eq!(tty.room(&file), Room { columns: 80, rows: 24, unicode: true });
        assert!(!tty.live && !tty.colour && tty.is_ours(&file));
    }
}
