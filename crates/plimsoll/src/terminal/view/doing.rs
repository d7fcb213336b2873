//! What goes on beside a load.

use super::super::line::{Line, Style};
use super::super::tty::Room;
use super::bar::with_bar;
use plimsoll_report::format::{duration, number};
use std::time::{Duration, Instant};

/// Something that takes less is not timed in front of a person.
const WORTH_TIMING: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub enum Doing {
    /// In words, and since when.
    Something {
        what: String,
        since: Instant,
    },
    Loading(Loading),
    Step(Step),
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
pub struct Step {
    /// `[3/17] 6.depth-16`
    pub name: String,
    /// What it does at the moment.
    pub what: String,
    pub begun: Instant,
    /// How long everything still took then.
    pub left: Duration,
}

impl Doing {
    pub fn line(&self, now: Instant, room: Room) -> Line {
        match self {
            Doing::Something { what, since } => {
                let elapsed = now.saturating_duration_since(*since);
                let timed = if elapsed >= WORTH_TIMING { elapsed_seconds(elapsed) } else { String::new() };
                Line::new().with(Style::Plain, what).with(Style::Dim, &timed)
            }
            Doing::Loading(loading) => loading.line(room),
            Doing::Step(step) => step.line(now, room),
        }
    }
}

impl Loading {
    /// Seconds that it still takes, where that can be told.
    pub fn seconds_left(&self) -> Option<f64> {
        let seconds = self.of.saturating_sub(self.rows) as f64 / self.rows_per_second;
        Some(seconds).filter(|seconds| *seconds > 0.0 && seconds.is_finite())
    }

    fn line(&self, room: Room) -> Line {
        let left = self.seconds_left().map_or(String::new(), |seconds| format!("  {} left", duration(seconds)));
        let line = Line::new()
            .with(Style::Plain, &format!("loading {}  ", self.what))
            .with(Style::Bold, &number(self.rows as f64, 0))
            .with(
                Style::Dim,
                &format!(" of {} rows  {}/s", number(self.of as f64, 0), number(self.rows_per_second, 0)),
            );
        with_bar(line, self.rows as f64 / self.of.max(1) as f64, &left, room)
    }
}

impl Step {
    fn line(&self, now: Instant, room: Room) -> Line {
        let left = self.left.saturating_sub(now.saturating_duration_since(self.begun));
        let left = Line::new().with(Style::Dim, &format!("about {} left", duration(left.as_secs_f64())));
        Line::new().with(Style::Bold, &self.name).with(Style::Plain, &format!("  {}", self.what)).and_right(left, room)
    }
}

/// `  12 s`, for what has taken so long.
pub fn elapsed_seconds(elapsed: Duration) -> String {
    format!("  {} s", elapsed.as_secs())
}
