//! A run as its report and its table in the terminal show it.

use crate::subject::{Recorded, Trial};
use crate::sweep::Sweep;
use plimsoll_model::diagnosis::Diagnosis;
use plimsoll_model::summary::{Point, Summary};

/// A run as its report shows it: the summary, and what was recorded of its load points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownRun<'a> {
    pub summary: &'a Summary,
    pub recorded: &'a Recorded,
}

impl<'a> ShownRun<'a> {
    pub fn sweep(&self) -> Sweep<'a> {
        Sweep::new(self.summary)
    }

    /// How many rounds a load point has at most.
    pub fn rounds(&self) -> usize {
        self.summary.points.iter().map(|point| point.each_round().len()).max().unwrap_or(0)
    }

    /// The trial of a load point, of several rounds that of the one in the middle; `None` if only the summary was kept.
    pub fn trial(&self, point: &Point) -> Option<&'a Trial> {
        let at = self.summary.points.iter().position(|other| std::ptr::eq(other, point))?;
        self.recorded.trials.get(at).filter(|trial| trial.load.connections == point.load.connections)
    }

    /// What limited a load point, if that was judged.
    pub fn diagnosis(&self, point: &Point) -> Option<&'a Diagnosis> {
        self.trial(point)?.diagnosis.as_ref()
    }
}
