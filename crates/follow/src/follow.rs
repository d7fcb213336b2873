//! From the start of a load to its last answer.

use crate::{Account, SeriesWriter};
use plimsoll_load::assembly::{Assembly, WholeSecond};
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource};
use plimsoll_record::{EarlyEnd, RecordError};
use plimsoll_watch::Watcher;
use std::time::{Duration, Instant};

/// How often the interrupt is looked at, and what goes on beside the load.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// Beyond its own drain limit a loop is given this long to say that it is drained.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Why a load ended before it was meant to.
#[derive(Debug)]
pub enum Ended {
    Interrupted,
    Failed(String),
    Unrecorded(RecordError),
}

impl From<Ended> for EarlyEnd {
    fn from(ended: Ended) -> EarlyEnd {
        match ended {
            Ended::Interrupted => EarlyEnd::Interrupted,
            Ended::Failed(why) => EarlyEnd::Failed(why),
            Ended::Unrecorded(error) => EarlyEnd::Failed(error.to_string()),
        }
    }
}

/// What a load came to.
#[derive(Debug)]
pub struct Followed {
    /// The sum over the loops that were drained.
    pub totals: LoopTotals,
    /// Whether that is all of them. If it is not, a server may still be at what was given up.
    pub is_drained: bool,
    /// The first thing that ended it early; what failed after that says nothing of the load.
    pub ended: Option<Ended>,
}

/// Follows a load that has been started to its end.
///
/// A recording that cannot be written ends it; what is counted is still told to `account`.
pub fn follow(
    source: &mut dyn LoadSource,
    account: &mut dyn Account,
    series: SeriesWriter<'_>,
    watcher: &mut dyn Watcher,
) -> Followed {
    let facts = source.facts().clone();
    let mut follower = Follower {
        source,
        account,
        series,
        watcher,
        assembly: Assembly::new(facts.tellers),
        totals: LoopTotals::new(facts.names.shape()),
        facts,
        drained: 0,
        lost: 0,
        ended: None,
    };
    follower.until_over();
    let is_drained = follower.drained == follower.facts.tellers;
    if follower.drained + follower.lost < follower.facts.tellers {
        follower.fail("a loop did not come to its end".to_owned());
    }
    for second in follower.assembly.rest() {
        follower.second(&second);
    }
    Followed { totals: follower.totals, is_drained, ended: follower.ended }
}

struct Follower<'a> {
    source: &'a mut dyn LoadSource,
    account: &'a mut dyn Account,
    series: SeriesWriter<'a>,
    watcher: &'a mut dyn Watcher,
    facts: LoadFacts,
    assembly: Assembly,
    totals: LoopTotals,
    drained: usize,
    lost: usize,
    ended: Option<Ended>,
}

impl Follower<'_> {
    /// Until every teller is drained or gone, or has had its time.
    fn until_over(&mut self) {
        let mut stopping: Option<Instant> = None;
        let mut leaving = 0;
        while self.drained + self.lost < self.facts.tellers {
            let event = self.source.next(LOOK);
            // The last word of one that is gone may still be on its way.
            let gone = if event.is_none() { leaving } else { 0 };
            leaving = if event.is_none() { self.source.ended() } else { 0 };
            self.take(event);
            if gone > 0 {
                self.fail("a loop ended by itself".to_owned());
            }
            if self.ended.is_none() && self.watcher.interrupted() {
                self.ended = Some(Ended::Interrupted);
            }
            if let Some(why) = self.account.look() {
                self.fail(why);
            }
            if self.ended.is_some() {
                let since = *stopping.get_or_insert_with(|| {
                    self.source.stop();
                    Instant::now()
                });
                if self.drained + self.lost + gone >= self.facts.tellers || since.elapsed() > ENDS_WITHIN {
                    return;
                }
            }
        }
    }

    fn take(&mut self, event: Option<LoadEvent>) {
        match event {
            Some(LoadEvent::Interval(tally)) => {
                if let Some(spent) = self.assembly.add(*tally) {
                    self.source.recycle(spent);
                }
                self.whole_seconds();
            }
            Some(LoadEvent::Lost { agent, why, from_ns }) => {
                self.lost += 1;
                let recorded = self.series.lost(agent, why, from_ns, self.watcher);
                self.is_recorded(recorded);
                self.assembly.lose(from_ns);
                self.whole_seconds();
            }
            Some(LoadEvent::Machine(sample)) => {
                let recorded = self.series.machine(*sample, self.watcher);
                self.is_recorded(recorded);
            }
            Some(LoadEvent::Drained(totals)) => {
                self.drained += 1;
                self.totals.add(totals);
            }
            Some(LoadEvent::Failed(why)) => self.fail(why),
            Some(LoadEvent::Ready(_)) | None => {}
        }
    }

    fn fail(&mut self, why: String) {
        if self.ended.is_none() {
            self.ended = Some(Ended::Failed(self.account.explain(why)));
        }
    }

    fn whole_seconds(&mut self) {
        while let Some(whole) = self.assembly.next_whole() {
            self.second(&whole);
            self.source.recycle(whole.tally);
        }
    }

    /// A recording that cannot be written ends the load, with the first reason.
    fn second(&mut self, second: &WholeSecond) {
        let spent = self.source.spent();
        let recorded = self.series.second(second, &self.facts, spent, self.account, self.watcher);
        self.is_recorded(recorded);
    }

    fn is_recorded(&mut self, recorded: Result<(), RecordError>) {
        if let Err(error) = recorded {
            self.source.was_not_recorded();
            self.ended.get_or_insert(Ended::Unrecorded(error));
        }
    }
}
