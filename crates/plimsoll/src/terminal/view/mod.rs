//! What a person sees in place while something happens: a value whose current state the thread of the
//! [`screen`](super::screen) draws.

mod agents;
mod bar;
mod doing;
mod lab;
mod pulse;
mod run;
mod so_far;
mod sparkline;

pub use doing::{Doing, Loading, MeasurementStep};
pub use lab::LabView;
pub use run::RunView;

use super::line::{Style, TerminalLine};
use super::tty::Room;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The whole of what is under way.
#[derive(Clone, Debug, Default)]
pub enum Work {
    #[default]
    Other,
    Run(Box<RunView>),
    Lab(Box<LabView>),
}

#[derive(Clone, Debug, Default)]
pub struct View {
    pub work: Work,
    /// What is under way other than a load: a server that starts, rows that are loaded.
    pub doing: Option<Doing>,
    /// Somebody asked for the end.
    pub interrupted: Arc<AtomicBool>,
}

impl View {
    pub fn lines(&self, now: Instant, room: Room) -> Vec<TerminalLine> {
        let mut lines = match &self.work {
            Work::Other => self.doing.iter().map(|doing| doing.line(now, room)).collect(),
            Work::Run(run) => run.lines(self.doing.as_ref(), now, room),
            Work::Lab(lab) => lab.lines(self.doing.as_ref(), now, room),
        };
        if !matches!(self.work, Work::Other) {
            // It differs from what scrolls by above it.
            lines.insert(0, TerminalLine::new());
        }
        if self.interrupted.load(Ordering::Relaxed) {
            let end = "interrupted: ending in order, results so far are kept; Ctrl-C again ends at once";
            lines.push(TerminalLine::new().with(Style::Red, end));
        }
        lines
    }
}
