//! Tallies of several tellers on their way to being the seconds of one load.

use crate::tally::Tally;
use plimsoll_model::samples::Phase;

/// Puts the seconds of a load together.
#[derive(Debug, Default)]
pub struct Assembly {
    tellers: usize,
    open: Vec<OpenSecond>,
    /// Since when each of those that are lost has told nothing, nanoseconds since the load began.
    lost: Vec<u64>,
    /// When each window ended that has ended already.
    ended: Vec<u64>,
}

#[derive(Debug)]
struct OpenSecond {
    told: usize,
    sum: Tally,
}

/// A second that all have told of who could.
#[derive(Debug)]
pub struct WholeSecond {
    pub tally: Tally,
    /// How many tellers were lost and have not told of it.
    pub missing: usize,
}

impl Assembly {
    pub fn new(tellers: usize) -> Assembly {
        Assembly { tellers, ..Assembly::default() }
    }

    /// Adds what one teller counted; gives back a tally that is no longer needed.
    pub fn add(&mut self, tally: Tally) -> Option<Tally> {
        if tally.phase == Phase::Drain {
            // Its window is over: it tells of no second of it that begins later.
            self.ended.push(tally.start_ns);
        }
        let same = |open: &&mut OpenSecond| open.sum.phase == tally.phase && open.sum.start_ns == tally.start_ns;
        match self.open.iter_mut().find(same) {
            Some(open) => {
                open.sum.add(&tally);
                open.told += 1;
                Some(tally)
            }
            None => {
                self.open.push(OpenSecond { told: 1, sum: tally });
                None
            }
        }
    }

    /// Expects nothing more of one of the tellers: of no second that begins at this time or later.
    pub fn lose(&mut self, from_ns: u64) {
        self.lost.push(from_ns);
    }

    /// The next second that is whole, if there is one.
    pub fn next_whole(&mut self) -> Option<WholeSecond> {
        let place = self.open.iter().position(|open| open.told >= self.expected(&open.sum))?;
        let OpenSecond { sum, .. } = self.open.remove(place);
        Some(WholeSecond { missing: self.missing(&sum), tally: sum })
    }

    /// What not all told of: intervals cut short at different moments.
    pub fn rest(&mut self) -> Vec<WholeSecond> {
        let mut rest: Vec<Tally> = self.open.drain(..).map(|open| open.sum).collect();
        rest.sort_by_key(|tally| (tally.phase == Phase::Drain, tally.start_ns));
        rest.into_iter().map(|tally| WholeSecond { missing: self.missing(&tally), tally }).collect()
    }

    fn expected(&self, second: &Tally) -> usize {
        let ended = match second.phase {
            Phase::Drain => 0,
            _ => self.ended.iter().filter(|ended| second.start_ns >= **ended).count(),
        };
        self.tellers.saturating_sub(ended + self.missing(second)).max(1)
    }

    fn missing(&self, second: &Tally) -> usize {
        self.lost.iter().filter(|from| second.start_ns >= **from).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Shape;

    fn tally(phase: Phase, start_ns: u64, transactions: u64) -> Tally {
        let mut tally = Tally::new(Shape::default());
        (tally.phase, tally.start_ns, tally.end_ns) = (phase, start_ns, start_ns + 10);
        tally.counters.transactions = transactions;
        tally
    }

    fn whole(assembly: &mut Assembly) -> Vec<(u64, u64, usize)> {
        let seconds = std::iter::from_fn(|| assembly.next_whole());
        seconds.map(|second| (second.tally.start_ns, second.tally.counters.transactions, second.missing)).collect()
    }

    #[test]
    fn a_second_is_whole_once_all_have_told_of_it() {
        let mut assembly = Assembly::new(2);
        assert!(assembly.add(tally(Phase::Measure, 0, 3)).is_none());
        assert_eq!(whole(&mut assembly), []);
        assert!(assembly.add(tally(Phase::Measure, 10, 5)).is_none());
        assert!(assembly.add(tally(Phase::Measure, 0, 4)).is_some());
        assert_eq!(whole(&mut assembly), [(0, 7, 0)]);
        assert_eq!(assembly.rest().iter().map(|second| second.tally.counters.transactions).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn one_whose_window_has_ended_is_not_waited_for() {
        let mut assembly = Assembly::new(2);
        assembly.add(tally(Phase::Measure, 0, 3));
        assembly.add(tally(Phase::Drain, 4, 0));
        assembly.add(tally(Phase::Measure, 0, 3));
        assembly.add(tally(Phase::Measure, 10, 2));
        assert_eq!(whole(&mut assembly), [(0, 6, 0), (10, 2, 0)]);
        assert_eq!(assembly.rest().len(), 1, "the drain, which the other has not told of");
    }

    #[test]
    fn one_that_is_lost_is_missing_from_its_last_second_on() {
        let mut assembly = Assembly::new(3);
        for (start_ns, tellers) in [(0, 3), (10, 2), (20, 2)] {
            (0..tellers).for_each(|_| drop(assembly.add(tally(Phase::Measure, start_ns, 1))));
        }
        assert_eq!(whole(&mut assembly), [(0, 3, 0)]);
        assembly.lose(10);
        assert_eq!(whole(&mut assembly), [(10, 2, 1), (20, 2, 1)]);
        assembly.lose(30);
        assembly.add(tally(Phase::Measure, 30, 1));
        assert_eq!(whole(&mut assembly), [(30, 1, 2)]);
    }
}
