//! Terminals that pace themselves: each sends a transaction, waits for the answer, and then waits a while before the
//! next one.
//!
//! Between transactions a terminal is one entry in a queue, so a hundred thousand of them take a few megabytes.

use crate::arrivals::Arrival;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The terminals that one of `loops` event loops serves: every `loops`-th.
#[derive(Debug)]
pub struct Terminals {
    /// When a terminal is due, and which one.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    /// Transactions that each has begun, by its index in this loop.
    begun: Vec<u64>,
    loops: u64,
    waiting: VecDeque<Arrival>,
    /// Transactions that may still become due.
    left: u64,
}

impl Terminals {
    /// `first_due_ns` says when a terminal is due first; `share` is (this loop's index, number of loops). All
    /// terminals of this loop together send `events` transactions at most.
    pub fn new(terminals: u64, share: (usize, usize), events: u64, first_due_ns: impl Fn(u64) -> u64) -> Terminals {
        let (index, loops) = (share.0 as u64, share.1 as u64);
        let ours = (index..terminals).step_by(share.1);
        let due: BinaryHeap<_> = ours.map(|terminal| Reverse((first_due_ns(terminal), terminal))).collect();
        Terminals { begun: vec![0; due.len()], due, loops, waiting: VecDeque::new(), left: events }
    }

    /// When the next terminal that is not due yet will be due.
    pub fn next_due_ns(&self) -> u64 {
        match self.due.peek() {
            Some(Reverse((due_ns, _))) if self.left > 0 => *due_ns,
            _ => u64::MAX,
        }
    }

    /// Moves the terminals that are due by `now` into the queue.
    pub fn advance(&mut self, now_ns: u64) {
        while self.next_due_ns() <= now_ns {
            let Some(Reverse((due_ns, terminal))) = self.due.pop() else { return };
            let begun = &mut self.begun[(terminal / self.loops) as usize];
            self.waiting.push_back(Arrival { stream: terminal, number: *begun, due_ns });
            *begun += 1;
            self.left -= 1;
        }
    }

    /// The terminal that has waited longest.
    pub fn take(&mut self) -> Option<Arrival> {
        self.waiting.pop_front()
    }

    /// A terminal has its answer and is due again at `due_ns`.
    pub fn answered(&mut self, terminal: u64, due_ns: u64) {
        self.due.push(Reverse((due_ns, terminal)));
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// True when nothing will become due any more.
    pub fn is_over(&self) -> bool {
        self.left == 0 && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_due_again_only_after_its_answer() {
        let mut terminals = Terminals::new(3, (0, 1), u64::MAX, |terminal| 10 * terminal);
        terminals.advance(15);
        let first = [terminals.take().unwrap(), terminals.take().unwrap()];
        assert_eq!(first.map(|a| (a.stream, a.number, a.due_ns)), [(0, 0, 0), (1, 0, 10)]);
        terminals.advance(1_000);
        assert_eq!(terminals.take().unwrap().stream, 2);
        assert_eq!((terminals.waiting(), terminals.next_due_ns()), (0, u64::MAX));
        terminals.answered(1, 2_000);
        assert_eq!(terminals.next_due_ns(), 2_000);
        terminals.advance(2_000);
        assert_eq!(terminals.take().map(|a| (a.stream, a.number)), Some((1, 1)));
    }

    #[test]
    fn loops_share_the_terminals() {
        let mut streams = Vec::new();
        for index in 0..3 {
            let mut terminals = Terminals::new(10, (index, 3), u64::MAX, |_| 0);
            terminals.advance(0);
            streams.extend(std::iter::from_fn(|| terminals.take()).map(|arrival| arrival.stream));
        }
        streams.sort_unstable();
        assert_eq!(streams, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_fixed_number_of_transactions_ends() {
        let mut terminals = Terminals::new(4, (0, 1), 6, |_| 0);
        let mut sent = 0;
        while !terminals.is_over() {
            terminals.advance(100);
            while let Some(arrival) = terminals.take() {
                sent += 1;
                terminals.answered(arrival.stream, 100);
            }
        }
        assert_eq!(sent, 6);
    }
}
