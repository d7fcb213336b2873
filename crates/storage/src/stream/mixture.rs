//! Reads and writes in a given proportion.

use crate::job::Mix;

/// Chooses for one worker.
#[derive(Debug)]
pub(super) struct Mixture {
    mix: Mix,
    reads: u64,
    writes: u64,
}

impl Mixture {
    pub fn new(mix: Mix) -> Mixture {
        Mixture { mix, reads: 0, writes: 0 }
    }

    /// Whether a read comes next. By counts, not by chance, as in sysbench fileio: a read as long as
    /// (reads + 1) / (writes + 1) is below the ratio.
    pub fn reads_next(&mut self) -> bool {
        let read = match self.mix {
            Mix::Reads => true,
            Mix::Writes => false,
            Mix::Ratio(ratio) => ((self.reads + 1) as f64) < ratio * (self.writes + 1) as f64,
        };
        match read {
            true => self.reads += 1,
            false => self.writes += 1,
        }
        read
    }
}
