//! Committers with a leader that writes and syncs for all that wait, as in InnoDB's group commit.
//!
//! A committer that arrives while a group is being flushed joins the next one, which closes when that flush ends and is
//! flushed at once, with one of its members as the leader. So if all committers come back after each commit, they fall
//! into two groups that take turns, and N of them make N / 2 commits per flush: as with MariaDB's `group_commit_lock`, and
//! with the binary log of both servers. MySQL's redo log is a [`LatchedLog`]. How many are back in time depends on what they
//! compute in between ([`SessionWork`]), on CPUs that they share, and not on the storage alone.

use super::latched::{LatchedLog, lock};
use super::{CompletedOp, Engine};
use crate::clock::now_ns;
use crate::commit::{BinlogFile, FlushStep, Flushed, Log, LogFailure, LogTail, Redo, RedoFile, SessionWork};
use crate::error::StorageError;
use crate::files::FileSet;
use crate::op::Op;
use plimsoll_model::OpKind;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// One committer's engine: a thread of its own, one commit at a time.
#[derive(Debug)]
pub struct Committer {
    logs: Arc<Logs>,
    /// The slot that asked for a commit.
    under_way: Option<usize>,
}

impl Committer {
    pub fn new(logs: Arc<Logs>) -> Committer {
        Committer { logs, under_way: None }
    }
}

impl Engine for Committer {
    fn depth(&self) -> usize {
        1
    }

    fn begin(&mut self, slot: usize, op: &Op) -> io::Result<()> {
        if *op != Op::Commit {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "committers can only commit"));
        }
        self.under_way = Some(slot);
        Ok(())
    }

    fn complete(&mut self, _deadline_ns: Option<u64>, mut done: impl FnMut(CompletedOp)) -> io::Result<()> {
        let Some(slot) = self.under_way.take() else { return Ok(()) };
        self.logs.work();
        let sent_ns = now_ns();
        let result = self.logs.commit(|flushed| {
            let besides = |kind, FlushStep { sent_ns, done_ns, bytes }: FlushStep| CompletedOp {
                slot: None,
                kind,
                sent_ns,
                done_ns,
                bytes,
                result: Ok(()),
            };
            flushed.written.into_iter().for_each(|step| done(besides(OpKind::Write, step)));
            flushed.synced.into_iter().for_each(|step| done(besides(OpKind::Sync, step)));
        });
        done(CompletedOp { slot: Some(slot), kind: OpKind::Commit, sent_ns, done_ns: now_ns(), bytes: 0, result });
        Ok(())
    }
}

/// Multiplications that wait for one another: about 1.4 ns each at 3 GHz, whatever the compiler does.
fn compute(rounds: u32) {
    let mut value = 1_u64;
    for _ in 0..rounds {
        value = (value ^ (value >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    std::hint::black_box(value);
}

/// The logs that all committers of a job share.
#[derive(Debug)]
pub struct Logs {
    work: SessionWork,
    /// Held by whose client computes.
    client: Mutex<()>,
    redo: RedoLog,
    redo_bytes: u64,
    binlog: Option<(GroupCommit<BinlogFile>, u64)>,
}

impl Logs {
    /// # Errors
    /// As [`RedoFile::new`] and [`BinlogFile::open`].
    pub fn open(log: Log, files: &Arc<FileSet>, seed: u64) -> Result<Arc<Logs>, StorageError> {
        let redo = RedoLog::of(log.redo, files, RedoFile::new(files.clone(), log.redo, seed)?);
        let binlog = log.binlog.map(|binlog| {
            let file = BinlogFile::open(files, binlog, seed)?;
            Ok::<_, StorageError>((GroupCommit::new(file), u64::from(binlog.event_bytes)))
        });
        let (work, client) = (log.redo.session_work(), Mutex::default());
        Ok(Arc::new(Logs { work, client, redo, redo_bytes: log.bytes.into(), binlog: binlog.transpose()? }))
    }

    /// What a session does between two commits.
    fn work(&self) {
        let client = lock(&self.client);
        compute(self.work.client);
        drop(client);
        compute(self.work.server);
    }

    /// Makes one transaction durable; calls `led` for every flush that this committer led.
    fn commit(&self, mut led: impl FnMut(Flushed)) -> io::Result<()> {
        self.redo.commit(self.redo_bytes, &mut led)?;
        if let Some((binlog, event_bytes)) = &self.binlog {
            binlog.commit(*event_bytes)?.into_iter().for_each(&mut led);
        }
        Ok(())
    }
}

/// How a server has its redo log flushed.
#[derive(Debug)]
enum RedoLog {
    /// A group is written and synced in one go.
    AtOnce(GroupCommit<RedoFile>),
    BySessions(LatchedLog),
}

impl RedoLog {
    fn of(redo: Redo, files: &Arc<FileSet>, file: RedoFile) -> RedoLog {
        match redo {
            Redo::MariaDb { .. } => RedoLog::AtOnce(GroupCommit::new(file)),
            Redo::MySql => RedoLog::BySessions(LatchedLog::new(file, files.clone())),
        }
    }

    fn commit(&self, bytes: u64, led: &mut impl FnMut(Flushed)) -> io::Result<()> {
        match self {
            RedoLog::AtOnce(log) => log.commit(bytes)?.into_iter().for_each(led),
            RedoLog::BySessions(log) => return log.commit(bytes, led),
        }
        Ok(())
    }
}

/// A log that is flushed for groups of committers.
#[derive(Debug)]
struct GroupCommit<T> {
    state: Mutex<State>,
    /// Wakes even and odd groups separately: at most two wait at any time.
    turn: [Condvar; 2],
    /// Only the leader takes it.
    tail: Mutex<T>,
}

/// Groups are numbered from 1.
#[derive(Debug, Default)]
struct State {
    /// The last group that is durable.
    flushed: u64,
    /// The last group that is closed.
    closed: u64,
    /// Bytes of the closed group that is not flushed yet, and of the open one.
    closed_bytes: u64,
    joined_bytes: u64,
    /// A leader is writing or syncing.
    flushing: bool,
    failed: LogFailure,
}

impl State {
    fn close(&mut self) {
        self.closed += 1;
        self.closed_bytes = std::mem::take(&mut self.joined_bytes);
    }
}

impl<T: LogTail> GroupCommit<T> {
    fn new(tail: T) -> GroupCommit<T> {
        GroupCommit { state: Mutex::default(), turn: Default::default(), tail: Mutex::new(tail) }
    }

    /// Returns when this many bytes of the caller's are durable: by another's flush, or by its own, which it then
    /// returns.
    ///
    /// # Errors
    /// The error of its group's flush, or of an earlier one.
    fn commit(&self, bytes: u64) -> io::Result<Option<Flushed>> {
        let mut state = lock(&self.state);
        state.joined_bytes += bytes;
        let group = state.closed + 1;
        loop {
            if group <= state.flushed {
                return Ok(None);
            }
            state.failed.check()?;
            if !state.flushing && group == state.flushed + 1 {
                return self.lead(state, group).map(Some);
            }
            state = self.turn(group).wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lead(&self, mut state: MutexGuard<'_, State>, group: u64) -> io::Result<Flushed> {
        if state.closed < group {
            state.close();
        }
        state.flushing = true;
        let bytes = state.closed_bytes;
        drop(state);
        let result = lock(&self.tail).append(bytes);
        self.hand_over(group, result.as_ref().err());
        result
    }

    /// Wakes the group that is durable, and the next leader.
    fn hand_over(&self, group: u64, error: Option<&io::Error>) {
        let mut state = lock(&self.state);
        state.flushing = false;
        match error {
            None => state.flushed = group,
            Some(error) => state.failed.note(error),
        }
        let next_waits = state.joined_bytes > 0;
        if next_waits {
            state.close();
        }
        drop(state);
        if error.is_some() {
            self.turn(group + 1).notify_all();
        } else if next_waits {
            self.turn(group + 1).notify_one();
        }
        self.turn(group).notify_all();
    }

    fn turn(&self, group: u64) -> &Condvar {
        &self.turn[(group % 2) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Barrier, OnceLock, Weak};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Keeps what was appended and how often; takes its time over each.
    #[derive(Debug, Default)]
    struct Slow {
        delay: Duration,
        /// Slower than each of these.
        committers: Option<Arc<Committers>>,
        groups: Arc<Mutex<Vec<u64>>>,
        fails_after: Option<usize>,
    }

    /// Who has something to commit to a log still, one byte at a time.
    #[derive(Debug, Default)]
    struct Committers {
        left: AtomicU64,
        log: OnceLock<Weak<GroupCommit<Slow>>>,
    }

    impl Committers {
        /// Waits until all who are not in the group that is being flushed, of so many, wait for the next one.
        fn wait(&self, in_group: u64) -> io::Result<()> {
            let log = self.log.get().and_then(Weak::upgrade).expect("a log that is in use");
            let deadline = Instant::now() + Duration::from_secs(60);
            while in_group + lock(&log.state).joined_bytes < self.left.load(Ordering::Acquire) {
                if Instant::now() > deadline {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                thread::sleep(Duration::from_micros(100));
            }
            Ok(())
        }
    }

    impl LogTail for Slow {
        fn append(&mut self, bytes: u64) -> io::Result<Flushed> {
            let sent_ns = now_ns();
            thread::sleep(self.delay);
            self.committers.as_ref().map_or(Ok(()), |committers| committers.wait(bytes))?;
            let mut groups = lock(&self.groups);
            if self.fails_after.is_some_and(|most| groups.len() >= most) {
                return Err(io::Error::from_raw_os_error(5));
            }
            groups.push(bytes);
            Ok(Flushed { written: Some(FlushStep { sent_ns, done_ns: now_ns(), bytes }), synced: None })
        }
    }

    /// Each of `committers` commits `commits` times one byte, to a log that is slower than they are or that takes no
    /// time; the sizes of the groups.
    fn groups(committers: usize, commits: usize, is_slow: bool) -> Vec<u64> {
        let groups = Arc::default();
        let all = Arc::new(Committers { left: AtomicU64::new(committers as u64), ..Committers::default() });
        let tail = Slow { committers: is_slow.then(|| all.clone()), groups: Arc::clone(&groups), ..Slow::default() };
        let log = Arc::new(GroupCommit::new(tail));
        all.log.set(Arc::downgrade(&log)).unwrap();
        let start = Barrier::new(committers);
        let durable = || lock(&groups).iter().sum::<u64>();
        thread::scope(|scope| {
            for _ in 0..committers {
                scope.spawn(|| {
                    start.wait();
                    for own in 1..=commits as u64 {
                        log.commit(1).unwrap();
                        assert!(durable() >= own, "returned before its bytes were durable");
                    }
                    all.left.fetch_sub(1, Ordering::Release);
                });
            }
        });
        let sizes = lock(&groups).clone();
        assert_eq!(sizes.iter().sum::<u64>(), (committers * commits) as u64, "each byte once");
        sizes
    }

    #[test]
    fn one_committer_flushes_for_each_commit() {
        assert_eq!(groups(1, 50, false), [1; 50]);
    }

    /// Whoever came first is alone in its group and stays so; the groups still take turns, two to each round of commits.
    #[test]
    fn committers_on_a_slow_log_fall_into_two_groups_that_take_turns() {
        const ROUNDS: usize = 20;
        for committers in [2, 8, 64] {
            let sizes = groups(committers, ROUNDS, true);
            assert_eq!(sizes, [1, committers as u64 - 1].repeat(ROUNDS));
        }
    }

    #[test]
    fn many_committers_on_a_fast_log_lose_nothing() {
        for _ in 0..20 {
            let sizes = groups(16, 200, false);
            assert!(sizes.len() <= 3200 && sizes.iter().all(|size| (1..=16).contains(size)), "{sizes:?}");
        }
    }

    #[test]
    fn a_failure_reaches_everyone_and_nobody_waits_for_ever() {
        let delay = Duration::from_millis(1);
        let log = GroupCommit::new(Slow { delay, fails_after: Some(3), ..Slow::default() });
        let committer =
            || std::iter::repeat_with(|| log.commit(1)).find_map(Result::err).map(|error| error.to_string());
        let errors: Vec<Option<String>> = thread::scope(|scope| {
            let committers: Vec<_> = (0..8).map(|_| scope.spawn(committer)).collect();
            committers.into_iter().map(|committer| committer.join().unwrap()).collect()
        });
        assert!(
            errors.iter().all(|error| error.as_deref().is_some_and(|text| text.contains("os error 5"))),
            "{errors:?}"
        );
    }

    #[test]
    fn a_committer_only_commits() {
        let op = Op::Sync { file: 0, mode: crate::op::SyncMode::Fsync };
        let (_directory, files) = crate::commit::tests::files(1, 8192);
        let log = Log { redo: crate::commit::Redo::MySql, bytes: 345, binlog: None };
        let mut committer = Committer::new(Logs::open(log, &files, 1).unwrap());
        assert_eq!(committer.begin(0, &op).unwrap_err().kind(), io::ErrorKind::Unsupported);
        committer.begin(0, &Op::Commit).unwrap();
        let mut told = Vec::new();
        committer.complete(None, |completed| told.push((completed.slot, completed.kind, completed.bytes))).unwrap();
        assert_eq!(told, [(None, OpKind::Write, 8192), (None, OpKind::Sync, 0), (Some(0), OpKind::Commit, 0)]);
    }
}
