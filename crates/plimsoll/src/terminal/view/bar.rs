//! A progress bar.

use super::super::line::{Style, TerminalLine};
use super::super::tty::Room;

/// Cells of the longest bar.
const WIDEST: usize = 40;
/// A shorter one would say nothing.
const NARROWEST: usize = 8;

/// A line with a bar that fills the room before `after`; no bar if there is no room for one.
pub fn with_bar(line: TerminalLine, share: f64, after: &str, room: Room) -> TerminalLine {
    let columns = room.columns.saturating_sub(1 + line.width() + 2 + after.chars().count());
    let cells = columns.min(WIDEST);
    if cells < NARROWEST || !share.is_finite() {
        return line.with(Style::Plain, after);
    }
    let done = (share.clamp(0.0, 1.0) * cells as f64).round() as usize;
    let [full, empty] = if room.unicode { ["━", "─"] } else { ["=", "."] };
    line.with(Style::Plain, "  ")
        .with(Style::Green, &full.repeat(done))
        .with(Style::Dim, &empty.repeat(cells - done))
        .with(Style::Plain, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_takes_the_room_that_is_there() {
        let bar = |columns| {
            let room = Room { columns, rows: 24, unicode: false };
            with_bar(TerminalLine::new().with(Style::Plain, "half"), 0.5, "  done", room).rendered(room, false)
        };
        assert_eq!(bar(33), "half  ==========..........  done");
        assert_eq!(bar(20), "half  done", "too short for one");
        assert!(bar(300).len() < 60, "{}", bar(300));
    }
}
