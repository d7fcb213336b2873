//! The results of the load: one recorder per event loop, which nobody else touches. Once per interval it emits a
//! [`Tally`], which the loop passes on to be added up.

use crate::tally::{Shape, Tally, add_counts, record};
use crate::window::Window;
use plimsoll_model::samples::Phase;
use plimsoll_model::statements::{StatementCounts, StatementKind};
use plimsoll_model::summary::Counts;
use plimsoll_model::total;
use serde::{Deserialize, Serialize};

/// Sent later than this after it was due counts as late.
const LATE_NS: u64 = 1_000_000;

/// What a statement did, which decides whether it counts as read, write or other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Read,
    Write,
    Other,
}

/// How a transaction ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Committed,
    /// Rolled back intentionally by the workload.
    RolledBack,
    /// Without a transaction around them: this many statements, each of which is one.
    Autocommit(u64),
    /// Accepted and answered; its work is done later, as a transaction of its own.
    Queued,
    /// It was none: its connection has nothing more to do.
    Stopped,
}

/// What one connection got done inside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Served {
    pub events: u64,
    pub busy_ns: u64,
}

/// What a loop reports when it is drained, or the sum of several loops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopTotals {
    /// Counted by due time inside the window.
    pub counts: Counts,
    pub served: Vec<Served>,
    /// Everything sent, warm-up, drain and failures included.
    pub sent: StatementCounts,
    /// Commits by the kind of transaction, warm-up and drain included.
    pub committed: Vec<u64>,
    /// What the workload counted, warm-up and drain included.
    pub counted: Vec<u64>,
    /// COMMITs, and writes that commit by themselves, whose answer was lost: they may have taken effect.
    pub unknown: u64,
}

impl LoopTotals {
    pub fn new(shape: Shape) -> LoopTotals {
        LoopTotals { committed: vec![0; shape.transactions], counted: vec![0; shape.counters], ..LoopTotals::default() }
    }

    /// Adds what another loop reports; the connections of both are kept apart.
    pub fn add(&mut self, other: LoopTotals) {
        let add = |sum: &mut u64, count: u64| *sum = total([*sum, count]);
        add_counts(&mut self.counts, &other.counts);
        self.served.extend(other.served);
        self.sent += other.sent;
        self.committed.iter_mut().zip(other.committed).for_each(|(sum, count)| add(sum, count));
        self.counted.iter_mut().zip(other.counted).for_each(|(sum, count)| add(sum, count));
        add(&mut self.unknown, other.unknown);
    }
}

/// A transaction that is done: on which connection, which kind, how it ended, when it was due, first sent and answered.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub connection: usize,
    pub transaction: usize,
    pub end: End,
    pub due_ns: u64,
    pub sent_ns: u64,
    pub now_ns: u64,
}

#[derive(Debug)]
pub struct Recorder {
    window: Window,
    current: Tally,
    spare: Vec<Tally>,
    shape: Shape,
    cpu_ns: u64,
    totals: LoopTotals,
    /// Fixed work: what began before the window is not part of it.
    by_start: bool,
    open_loop: bool,
}

impl Recorder {
    /// A recorder whose window has not begun. `connections` are those of this loop; `shape` is that of the
    /// workload's names.
    pub fn new(connections: usize, shape: Shape, by_start: bool, open_loop: bool) -> Recorder {
        let never = Window { start_ns: u64::MAX, w0_ns: u64::MAX, w1_ns: None };
        let current = Tally { start_ns: u64::MAX, end_ns: u64::MAX, ..Tally::new(shape) };
        let totals = LoopTotals { served: vec![Served::default(); connections], ..LoopTotals::new(shape) };
        Recorder { window: never, current, spare: Vec::new(), shape, cpu_ns: 0, totals, by_start, open_loop }
    }

    /// Begins to count, with the CPU time of the loop's thread at this moment.
    pub fn begin(&mut self, window: Window, cpu_ns: u64) {
        self.window = window;
        self.cpu_ns = cpu_ns;
        (self.current.phase, self.current.start_ns, self.current.end_ns) = window.interval(window.start_ns);
    }

    /// Whether the window has begun.
    pub fn has_begun(&self) -> bool {
        self.window.start_ns != u64::MAX
    }

    pub fn window(&self) -> Window {
        self.window
    }

    /// Takes back the memory of a tally that has been added up, for reuse.
    pub fn recycle(&mut self, mut tally: Tally) {
        tally.reset();
        self.spare.push(tally);
    }

    /// When the interval under way ends.
    pub fn interval_end_ns(&self) -> u64 {
        self.current.end_ns
    }

    /// Closes the intervals that have ended by `now` and hands each to `closed`. To be called before anything
    /// that happened at `now` is counted. `cpu_ns` gives the thread's CPU time.
    #[inline]
    pub fn roll(&mut self, now_ns: u64, cpu_ns: impl Fn() -> u64, mut closed: impl FnMut(Tally)) {
        while now_ns >= self.current.end_ns {
            closed(self.close_interval(self.current.end_ns, cpu_ns()));
        }
    }

    /// The interval under way, which ends at `end_ns` on the loop's clock; its own times count from the start of the load.
    fn close_interval(&mut self, end_ns: u64, cpu_ns: u64) -> Tally {
        self.current.end_ns = end_ns;
        self.current.counters.loop_cpu_ns = cpu_ns.saturating_sub(self.cpu_ns);
        self.cpu_ns = cpu_ns;
        let mut next = self.spare.pop().unwrap_or_else(|| Tally::new(self.shape));
        (next.phase, next.start_ns, next.end_ns) = self.window.interval(end_ns);
        next.start_ns = end_ns;
        let mut closed = std::mem::replace(&mut self.current, next);
        closed.count_from(self.window.start_ns);
        closed
    }

    /// Ends the window now, at Ctrl-C or when the last of a fixed number of transactions is done.
    pub fn end_window(&mut self, now_ns: u64, cpu_ns: u64) -> Option<Tally> {
        if self.window.is_over(now_ns) {
            return None;
        }
        self.window.w1_ns = Some(now_ns);
        self.window.w0_ns = self.window.w0_ns.min(now_ns);
        Some(self.close_interval(now_ns, cpu_ns))
    }

    /// The last interval and the totals, when the loop is drained.
    pub fn finish(mut self, now_ns: u64, cpu_ns: u64) -> (Tally, LoopTotals) {
        let last = self.close_interval(now_ns, cpu_ns);
        let counts = &mut self.totals.counts;
        counts.unfinished = counts.started - counts.finished - counts.failed;
        (last, self.totals)
    }

    /// A statement is about to be sent.
    #[inline]
    pub fn sent(&mut self, kind: StatementKind) {
        self.current.counters.sent[kind] += 1;
        self.totals.sent[kind] += 1;
    }

    /// A statement was answered without error.
    #[inline]
    pub fn answered(&mut self, statement: usize, effect: Effect, ns: u64) {
        let counters = &mut self.current.counters;
        counters.queries += 1;
        match effect {
            Effect::Read => counters.statements.read += 1,
            Effect::Write => counters.statements.write += 1,
            Effect::Other => counters.statements.other += 1,
        }
        record(&mut self.current.statements[statement].latency, ns);
    }

    /// A workload counts so many statements itself.
    pub fn counted_as(&mut self, effect: Effect, by: u64) {
        let statements = &mut self.current.counters.statements;
        match effect {
            Effect::Read => statements.read += by,
            Effect::Write => statements.write += by,
            Effect::Other => statements.other += by,
        }
        self.current.counters.queries += by;
    }

    /// A statement was answered with an error.
    pub fn error(&mut self, statement: usize, code: u16) {
        *self.current.counters.errors.entry(code).or_default() += 1;
        self.current.statements[statement].errors += 1;
    }

    /// A transaction of this kind is retried because of the error `code`.
    pub fn retried(&mut self, transaction: usize, code: u16) {
        *self.current.counters.retried.entry(code).or_default() += 1;
        self.current.transactions[transaction].retries += 1;
    }

    /// The workload counted something.
    #[inline]
    pub fn counted(&mut self, counter: usize, by: u64) {
        self.current.counted[counter] += by;
        self.totals.counted[counter] += by;
    }

    /// An attempt at a transaction ended in the error `code` after this time.
    pub fn attempt_failed(&mut self, code: u16, ns: u64) {
        let sum = self.current.counters.failed_attempts_ns.entry(code).or_default();
        *sum = sum.saturating_add(ns);
    }

    /// The answer to a COMMIT, or to a write that commits by itself, was lost.
    pub fn commit_unknown(&mut self) {
        self.current.counters.unknown += 1;
        self.totals.unknown += 1;
    }

    /// A connection was lost, and the server did not say why.
    pub fn connection_lost(&mut self) {
        self.current.counters.lost_connections += 1;
    }

    pub fn reconnected(&mut self) {
        self.current.counters.reconnects += 1;
    }

    /// So many transactions are due and wait for a connection.
    #[inline]
    pub fn waits(&mut self, transactions: u64) {
        self.current.counters.waiting = transactions;
    }

    /// A script has computed for so long, at most for `longest_ns` without asking anything.
    pub fn computed(&mut self, ns: u64, longest_ns: u64) {
        let counters = &mut self.current.counters;
        counters.script_ns += ns;
        counters.script_ns_max = counters.script_ns_max.max(longest_ns);
    }

    pub fn lagged(&mut self, ns: u64) {
        let lag = &mut self.current.counters.lag_ns_max;
        *lag = (*lag).max(ns);
    }

    /// Applies `count` to this interval's counts, and to the window's if `due_ns` lies in it.
    fn count(&mut self, due_ns: u64, count: impl Fn(&mut Counts)) {
        count(&mut self.current.counters.counts);
        if self.window.contains(due_ns) {
            count(&mut self.totals.counts);
        }
    }

    /// A transaction that was due at `due_ns` is sent now.
    #[inline]
    pub fn started(&mut self, due_ns: u64, now_ns: u64) {
        let late = u64::from(now_ns.saturating_sub(due_ns) > LATE_NS);
        self.count(due_ns, |counts| {
            counts.offered += 1;
            counts.started += 1;
            counts.late += late;
        });
    }

    /// A transaction was due and will not be sent.
    pub fn dropped(&mut self, due_ns: u64) {
        self.count(due_ns, |counts| {
            counts.offered += 1;
            counts.dropped += 1;
        });
    }

    pub fn failed(&mut self, transaction: usize, due_ns: u64) {
        self.count(due_ns, |counts| counts.failed += 1);
        self.current.transactions[transaction].failed += 1;
    }

    /// A transaction is done.
    #[inline]
    pub fn finished(&mut self, done: Done) {
        let Done { connection, transaction, end, due_ns, sent_ns, now_ns } = done;
        self.count(due_ns, |counts| counts.finished += 1);
        let (committed, rollbacks) = match end {
            End::Committed => (1, 0),
            End::RolledBack => (0, 1),
            End::Autocommit(statements) => (statements, 0),
            End::Queued => (0, 0),
            End::Stopped => return,
        };
        self.current.counters.completed(now_ns);
        if end == End::Committed {
            self.totals.committed[transaction] += 1;
        }
        if self.by_start && due_ns < self.window.w0_ns && self.current.phase == Phase::Measure {
            return;
        }
        let kind = &mut self.current.transactions[transaction];
        kind.committed += committed;
        kind.rollbacks += rollbacks;
        self.current.counters.transactions += committed;
        self.current.counters.rollbacks += rollbacks;
        record(&mut kind.service, now_ns.saturating_sub(sent_ns));
        if self.open_loop {
            record(&mut kind.response, now_ns.saturating_sub(due_ns));
        }
        if self.current.phase == Phase::Measure {
            let served = &mut self.totals.served[connection];
            served.events += 1;
            served.busy_ns += now_ns.saturating_sub(sent_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Limit;

    const S: u64 = 1_000_000_000;

    fn recorder() -> Recorder {
        let shape = Shape { transactions: 1, statements: 1, counters: 0 };
        let mut recorder = Recorder::new(1, shape, false, true);
        recorder.begin(Window::new(0, S, Limit::Time(2 * S)), 0);
        recorder
    }

    fn done(due_ns: u64, now_ns: u64) -> Done {
        Done { connection: 0, transaction: 0, end: End::Committed, due_ns, sent_ns: due_ns, now_ns }
    }

    fn roll(recorder: &mut Recorder, now: u64) -> Vec<Tally> {
        let mut closed = Vec::new();
        recorder.roll(now, || now, |tally| closed.push(tally));
        closed
    }

    #[test]
    fn membership_is_by_completion_and_counts_go_by_due_time() {
        let mut r = recorder();
        // Due and sent in warm-up, done in the window: counted in its tally, not in its counts.
        r.started(S - 10, S - 10);
        let warmup = roll(&mut r, S + 5);
        assert_eq!((warmup.len(), warmup[0].phase, warmup[0].end_ns), (1, Phase::WarmUp, S));
        r.finished(done(S - 10, S + 5));
        // Due in the window, done after it.
        r.started(3 * S - 5, 3 * S - 5);
        let measured = roll(&mut r, 3 * S + 7);
        assert_eq!(measured.iter().map(|t| t.counters.transactions).sum::<u64>(), 1);
        let completed: Vec<_> = measured.iter().map(|t| t.counters.completed_ns).collect();
        assert_eq!(completed, [Some((S + 5, S + 5)), None]);
        r.finished(done(3 * S - 5, 3 * S + 7));
        // Never answered, and never sent.
        r.started(2 * S, 2 * S + 2_000_000);
        r.dropped(2 * S + 1);
        let (drain, totals) = r.finish(4 * S, 0);
        assert_eq!((drain.phase, drain.counters.transactions), (Phase::Drain, 1));
        let counts = Counts { offered: 3, started: 2, finished: 1, failed: 0, unfinished: 1, late: 1, dropped: 1 };
        assert_eq!(totals.counts, counts);
        assert_eq!(totals.served[0].events, 1, "only what was done inside the window");
        assert_eq!(totals.committed, [2], "everything");
    }

    #[test]
    fn intervals_count_from_the_start_of_the_load_whatever_the_clock_of_the_loop() {
        let shape = Shape { transactions: 1, statements: 1, counters: 0 };
        let told = |start_ns: u64| {
            let mut recorder = Recorder::new(1, shape, false, true);
            recorder.begin(Window::new(start_ns, S / 2, Limit::Time(S)), 0);
            recorder.started(start_ns + S, start_ns + S);
            let mut told = roll(&mut recorder, start_ns + S);
            recorder.finished(done(start_ns + S, start_ns + S + 7));
            told.extend(roll(&mut recorder, start_ns + 2 * S));
            told.into_iter()
                .map(|tally| (tally.start_ns, tally.end_ns, tally.counters.completed_ns))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(0), [(0, S / 2, None), (S / 2, 3 * S / 2, Some((S + 7, S + 7)))]);
        assert_eq!(told(123_456_789 * S), told(0));
    }

    #[test]
    fn a_window_has_begun_once_it_is_given_one_even_at_zero() {
        let shape = Shape { transactions: 1, statements: 1, counters: 0 };
        assert!(!Recorder::new(1, shape, false, false).has_begun());
        assert!(recorder().has_begun());
    }

    #[test]
    fn silent_seconds_are_intervals_too() {
        let mut r = recorder();
        let closed = roll(&mut r, 3 * S);
        let spans: Vec<_> = closed.iter().map(|t| (t.phase, t.start_ns, t.end_ns)).collect();
        assert_eq!(spans, [(Phase::WarmUp, 0, S), (Phase::Measure, S, 2 * S), (Phase::Measure, 2 * S, 3 * S)]);
    }

    #[test]
    fn a_window_can_be_ended_early_even_during_warm_up() {
        let mut r = recorder();
        let tally = r.end_window(S / 2, 0).unwrap();
        assert_eq!((tally.phase, tally.end_ns), (Phase::WarmUp, S / 2));
        let window = r.window();
        assert!(window.is_over(S / 2) && window.w0_ns <= window.w1_ns.unwrap());
        assert!(r.end_window(S, 0).is_none());
    }
}
