//! What a person sees in place while something happens: a value that the thread of the [`screen`](super::screen) draws
//! as it is at the moment.

mod bar;
mod doing;
mod lab;
mod pulse;
mod run;
mod so_far;

pub use doing::{Doing, Loading, Step};
pub use lab::LabView;
pub use run::RunView;

use super::line::{Line, Style};
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
    /// What has begun and is not a load: a server that starts, rows that are loaded.
    pub doing: Option<Doing>,
    /// Somebody wants it to end.
    pub interrupted: Arc<AtomicBool>,
}

impl View {
    pub fn lines(&self, now: Instant, room: Room) -> Vec<Line> {
        let mut lines = match &self.work {
            Work::Other => self.doing.iter().map(|doing| doing.line(now, room)).collect(),
            Work::Run(run) => run.lines(self.doing.as_ref(), now, room),
            Work::Lab(lab) => lab.lines(self.doing.as_ref(), now, room),
        };
        if !matches!(self.work, Work::Other) {
            // What scrolls by above it is something else.
            lines.insert(0, Line::new());
        }
        if self.interrupted.load(Ordering::Relaxed) {
            let end = "interrupted: it ends in order and keeps what was measured; Ctrl-C again ends it at once";
            lines.push(Line::new().with(Style::Red, end));
        }
        lines
    }
}
