//! What is going on when there is no load.

use super::super::line::{Style, TerminalLine};
use super::super::tty::Room;
use super::bar::with_bar;
use plimsoll_model::number::{duration, number};
use std::time::{Duration, Instant};

/// The time is not shown for what takes less than this.
const WORTH_TIMING: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub enum Doing {
    /// A description, and since when.
    Something {
        what: String,
        since: Instant,
    },
    Loading(Loading),
    Step(MeasurementStep),
}

/// Rows that are loaded.
#[derive(Clone, Debug)]
pub struct Loading {
    /// Rows, then indexes, then foreign keys.
    pub what: String,
    pub rows: u64,
    pub of: u64,
    pub rows_per_second: f64,
}

/// A measurement of a storage evaluation.
#[derive(Clone, Debug)]
pub struct MeasurementStep {
    /// `[3/17] 6.depth-16`
    pub name: String,
    /// What it is doing.
    pub what: String,
    pub begun: Instant,
    /// How much time was left in all then.
    pub left: Duration,
}

impl Doing {
    pub fn line(&self, now: Instant, room: Room) -> TerminalLine {
        match self {
            Doing::Something { what, since } => {
                let elapsed = now.saturating_duration_since(*since);
                let timed = if elapsed >= WORTH_TIMING { elapsed_seconds(elapsed) } else { String::new() };
                TerminalLine::new().with(Style::Plain, what).with(Style::Dim, &timed)
            }
            Doing::Loading(loading) => loading.line(room),
            Doing::Step(step) => step.line(now, room),
        }
    }
}

impl Loading {
    /// Seconds left, where that can be told.
    pub fn seconds_left(&self) -> Option<f64> {
        let seconds = self.of.saturating_sub(self.rows) as f64 / self.rows_per_second;
        Some(seconds).filter(|seconds| *seconds > 0.0 && seconds.is_finite())
    }

    fn line(&self, room: Room) -> TerminalLine {
        let left = self.seconds_left().map_or(String::new(), |seconds| format!("  {} left", duration(seconds)));
        let line = TerminalLine::new()
            .with(Style::Plain, &format!("loading {}  ", self.what))
            .with(Style::Bold, &number(self.rows as f64, 0))
            .with(
                Style::Dim,
                &format!(" of {} rows  {}/s", number(self.of as f64, 0), number(self.rows_per_second, 0)),
            );
        with_bar(line, self.rows as f64 / self.of.max(1) as f64, &left, room)
    }
}

impl MeasurementStep {
    fn line(&self, now: Instant, room: Room) -> TerminalLine {
        let left = self.left.saturating_sub(now.saturating_duration_since(self.begun));
        let left = TerminalLine::new().with(Style::Dim, &format!("about {} left", duration(left.as_secs_f64())));
        TerminalLine::new()
            .with(Style::Bold, &self.name)
            .with(Style::Plain, &format!("  {}", self.what))
            .and_right(left, room)
    }
}

/// `  12 s`, for what has taken long enough.
pub fn elapsed_seconds(elapsed: Duration) -> String {
    format!("  {} s", elapsed.as_secs())
}
