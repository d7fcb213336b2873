//! Loads that go as they are written down here, which real loops do only by chance.

use jiff::Timestamp;
use plimsoll_follow::{Account, Ended, Followed, FollowedSecond, NotReady, Seen, SeriesWriter, follow, until_ready};
use plimsoll_host::facts::HostFacts;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource, Peer, Readiness, Spent};
use plimsoll_load::tally::{Names, Tally};
use plimsoll_load::window::{Limit, SECOND_NS};
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_record::{Manifest, Parameters, Recording, TrialFacts, read};
use plimsoll_watch::{Event, Watcher};
use std::collections::VecDeque;
use std::time::Duration;

/// Tells one thing after the other; where nothing stands it is silent, and `gone` loops have left.
struct Script {
    facts: LoadFacts,
    events: VecDeque<Option<LoadEvent>>,
    gone: usize,
    /// What it tells once it is told to stop.
    last: Vec<LoadEvent>,
    stops: usize,
}

fn script(events: impl IntoIterator<Item = Option<LoadEvent>>) -> Script {
    let names = Names { transactions: &["pay"], statements: vec!["select"], counters: &[] };
    let limit = Limit::Time(2 * SECOND_NS);
    let facts = LoadFacts { names, loops: 2, tellers: 2, open_loop: false, warmup_ns: 0, limit };
    Script { facts, events: events.into_iter().collect(), gone: 0, last: Vec::new(), stops: 0 }
}

impl LoadSource for Script {
    fn facts(&self) -> &LoadFacts {
        &self.facts
    }

    fn start(&mut self, _: &dyn Fn() -> bool) -> Duration {
        Duration::ZERO
    }

    fn next(&mut self, _: Duration) -> Option<LoadEvent> {
        self.events.pop_front().flatten()
    }

    fn ended(&self) -> usize {
        self.gone
    }

    fn spent(&self) -> Option<Spent> {
        None
    }

    fn recycle(&mut self, _: Tally) {}

    fn stop(&mut self) {
        self.stops += 1;
        self.events.extend(self.last.drain(..).map(Some));
    }

    fn finish(self) {}
}

/// Somebody who wants an end after so many seconds.
struct Impatient(Option<usize>);

impl Watcher for Impatient {
    fn tell(&mut self, _: Event<'_>) {
        self.0 = self.0.map(|seconds| seconds.saturating_sub(1));
    }

    fn interrupted(&self) -> bool {
        self.0 == Some(0)
    }
}

/// What was told of each second: its phase, its end on the series, its transactions.
#[derive(Default)]
struct Told(Vec<(Phase, u64, u64)>);

impl Account for Told {
    fn second(&mut self, second: &FollowedSecond<'_>, watcher: &mut dyn Watcher) -> Seen {
        self.0.push((second.interval.phase, second.end_ns, second.tally.counters.transactions));
        watcher.tell(Event::Doing("a second"));
        Seen::default()
    }

    fn explain(&self, why: String) -> String {
        format!("{why}, as was to be expected")
    }
}

fn interval(phase: Phase, second: u64, transactions: u64) -> Option<LoadEvent> {
    let mut tally = Tally::new(script([]).facts.names.shape());
    (tally.phase, tally.start_ns, tally.end_ns) = (phase, second * SECOND_NS, (second + 1) * SECOND_NS);
    tally.counters.transactions = transactions;
    Some(LoadEvent::Interval(Box::new(tally)))
}

fn drained(committed: u64) -> LoadEvent {
    LoadEvent::Drained(LoopTotals { committed: vec![committed], ..LoopTotals::default() })
}

fn failed(why: &str) -> Option<LoadEvent> {
    Some(LoadEvent::Failed(why.to_owned()))
}

/// Follows a load that begins 5 s after its series.
fn followed(script: &mut Script, watcher: &mut dyn Watcher) -> (Followed, Told, Vec<Interval>) {
    let home = tempfile::tempdir().unwrap();
    let manifest =
        Manifest::new("followed", "0", Timestamp::now(), Plan::Storage(StoragePlan::default()), HostFacts::default());
    let recording = Recording::create(home.path(), manifest).unwrap();
    let facts = TrialFacts {
        index: 1,
        variant: "a".to_owned(),
        point: "c1".to_owned(),
        round: 1,
        started: Timestamp::now(),
        parameters: Parameters::Load(Box::default()),
    };
    let mut writer = recording.trial(&facts).unwrap();
    let mut told = Told::default();
    let series = SeriesWriter { writer: &mut writer, before_ns: 5 * SECOND_NS, phase: None };
    let followed = follow(script, &mut told, series, watcher);
    let recorded = read::open(recording.directory()).unwrap().trials[0].series().unwrap().intervals;
    (followed, told, recorded)
}

fn why(followed: &Followed) -> String {
    match &followed.ended {
        Some(Ended::Failed(why)) => why.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_is_what_all_loops_told_of_it_and_the_totals_are_those_of_all() {
    let mut script = script([
        interval(Phase::Measure, 0, 3),
        interval(Phase::Measure, 1, 10),
        None,
        interval(Phase::Measure, 0, 4),
        interval(Phase::Measure, 1, 20),
        interval(Phase::Drain, 2, 1),
        Some(drained(14)),
        Some(drained(24)),
    ]);
    let (followed, told, recorded) = followed(&mut script, &mut Impatient(None));
    let seconds =
        [(Phase::Measure, 6 * SECOND_NS, 7), (Phase::Measure, 7 * SECOND_NS, 30), (Phase::Drain, 8 * SECOND_NS, 1)];
    assert_eq!(told.0, seconds, "the last of them was told by one loop alone");
    let lines = recorded.iter().map(|line| (line.phase, line.t_ns + SECOND_NS, line.transactions));
    assert_eq!(lines.collect::<Vec<_>>(), seconds);
    assert_eq!((followed.totals.committed, followed.is_drained, script.stops), (vec![38], true, 0));
    assert!(followed.ended.is_none());
}

#[test]
fn the_first_failure_ends_a_load_and_is_its_reason() {
    let mut script = script([failed("the server is gone"), failed("so it is"), interval(Phase::Measure, 0, 1)]);
    script.last = vec![drained(1), drained(0)];
    let (followed, told, _) = followed(&mut script, &mut Impatient(None));
    assert_eq!(why(&followed), "the server is gone, as was to be expected");
    assert_eq!((followed.is_drained, script.stops, told.0.len()), (true, 1, 1), "what was counted is kept");
}

#[test]
fn the_last_word_of_a_loop_that_is_gone_is_heard() {
    let mut script = script([None, failed("no memory"), Some(drained(1))]);
    script.gone = 1;
    let (followed, ..) = followed(&mut script, &mut Impatient(None));
    assert_eq!(why(&followed), "no memory, as was to be expected");
    assert!(!followed.is_drained);
}

#[test]
fn a_loop_that_is_gone_without_a_word_ends_the_load() {
    let mut script = script([interval(Phase::Measure, 0, 1)]);
    (script.gone, script.last) = (1, vec![drained(1)]);
    let (followed, told, _) = followed(&mut script, &mut Impatient(None));
    assert_eq!(why(&followed), "a loop ended by itself, as was to be expected");
    assert_eq!((followed.totals.committed, followed.is_drained, told.0.len()), (vec![1], false, 1));
}

#[test]
fn an_interrupt_stops_the_load_once_and_waits_for_the_drain() {
    let whole = |second| [interval(Phase::Measure, second, 1), interval(Phase::Measure, second, 1)];
    let mut script = script(whole(0).into_iter().chain(whole(1)));
    script.last = vec![drained(1), LoadEvent::Failed("interrupted".to_owned()), drained(1)];
    let (followed, told, _) = followed(&mut script, &mut Impatient(Some(1)));
    assert!(matches!(followed.ended, Some(Ended::Interrupted)), "{followed:?}");
    assert_eq!((followed.is_drained, script.stops, told.0.len()), (true, 1, 2));
}

#[test]
fn a_load_is_ready_when_all_its_loops_are() {
    let ready = |pid| {
        let server = Peer { pid, version: None };
        Some(LoadEvent::Ready(Readiness { server, answer: vec![("a".into(), "1".into())] }))
    };
    let until = |events: Vec<Option<LoadEvent>>, gone| {
        let mut script = script(events);
        script.gone = gone;
        until_ready(&mut script, &Impatient(None))
    };
    let all = until(vec![ready(None), None, ready(Some(7))], 0).unwrap();
    assert_eq!((all.server.pid, all.answer.len()), (Some(7), 2));
    assert_eq!(until(vec![ready(None), failed("full")], 0), Err(NotReady::Failed("full".to_owned())));
    assert_eq!(until(vec![ready(None), None, failed("full")], 1), Err(NotReady::Failed("full".to_owned())));
    assert_eq!(until(vec![ready(None)], 1), Err(NotReady::Ended));
    assert_eq!(until_ready(&mut script([]), &Impatient(Some(0))), Err(NotReady::Interrupted));
}
