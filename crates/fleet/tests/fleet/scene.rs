//! A broker, agents as threads of the test, and loads that replay tallies.

use plimsoll_fleet::{
    AgentFacts, AgentJob, AgentNews, Fleet, FleetBuild, FleetError, FleetLoad, FleetWish, LoadMaker, LoopRange, serve,
};
use plimsoll_load::assembly::{Assembly, WholeSecond};
use plimsoll_load::recorder::{LoopTotals, Served};
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource, LocalLoad, Readiness, Spent};
use plimsoll_load::tally::{Names, Shape, Tally, record};
use plimsoll_load::window::{Limit, SECOND_NS};
use plimsoll_model::samples::Phase;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_testkit::broker::{Broker, in_memory};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// No wait of these tests is longer.
const WATCHDOG: Duration = Duration::from_secs(60);

pub fn names() -> Names {
    Names { transactions: &["pay", "order"], statements: vec!["select", "update"], counters: &["rows"] }
}

/// What the loops of a load tell: so many seconds each, every one in so long.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub loops: usize,
    pub seconds: u64,
    /// How long a second of it really takes.
    pub pace: Duration,
    /// This loop tells nothing from this second on, and does not end.
    pub silent: Option<(usize, u64)>,
    /// There is always something that it tells.
    pub is_restless: bool,
}

impl Script {
    pub fn of(loops: usize, seconds: u64, pace: Duration) -> Script {
        Script { loops, seconds, pace, silent: None, is_restless: false }
    }

    pub fn facts(&self) -> LoadFacts {
        let limit = Limit::Time((self.seconds - 1) * SECOND_NS);
        LoadFacts { names: names(), loops: 0, tellers: 0, open_loop: true, warmup_ns: SECOND_NS, limit }
    }

    /// What a loop counts in a second: a function of both alone.
    pub fn tally(&self, of: usize, second: u64) -> Tally {
        let mut tally = Tally::new(names().shape());
        tally.phase = if second == 0 { Phase::WarmUp } else { Phase::Measure };
        (tally.start_ns, tally.end_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
        let mixed = |number: u64, by: u64| (number + 1).wrapping_mul(by);
        let mut state = mixed(of as u64, 0x9e37_79b9_7f4a_7c15) ^ mixed(second, 0xbf58_476d_1ce4_e5b9);
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for at in 0..40 + draw(20) {
            let ns = 1_000 + draw(1 << (10 + at % 20));
            record(&mut tally.transactions[(at % 2) as usize].service, ns);
            record(&mut tally.transactions[(at % 2) as usize].response, ns * 2);
            record(&mut tally.statements[(at % 2) as usize].latency, ns / 2);
            tally.counters.completed(tally.start_ns + draw(SECOND_NS));
        }
        tally.counters.transactions = draw(1000);
        tally.counters.queries = draw(10_000);
        tally.counters.errors.insert(1205 + draw(3) as u16, draw(9));
        tally.counters.lag_ns_max = draw(1_000_000);
        tally.counters.loop_cpu_ns = draw(SECOND_NS);
        tally.counted[0] = draw(77);
        tally
    }

    fn totals(&self, of: usize) -> LoopTotals {
        let served = vec![Served { events: of as u64 + 1, busy_ns: 7 }];
        LoopTotals { served, unknown: of as u64, ..LoopTotals::new(names().shape()) }
    }

    /// What all loops together count, second by second.
    pub fn whole(&self) -> Vec<Tally> {
        let sum = |second| {
            let mut all = (0..self.loops).map(|of| self.tally(of, second));
            let first = all.next().expect("there is a loop");
            all.fold(first, |mut sum, next| {
                sum.add(&next);
                sum
            })
        };
        (0..self.seconds).map(sum).collect()
    }
}

/// The load of some of the loops of a script.
pub struct Replay {
    script: Script,
    facts: LoadFacts,
    loops: Vec<usize>,
    untold: VecDeque<LoadEvent>,
    begun: Option<Instant>,
    /// The next second.
    second: u64,
    is_stopped: bool,
    started_at: Arc<Mutex<Vec<Instant>>>,
}

impl Replay {
    pub fn of(script: Script, loops: Vec<usize>, started_at: Arc<Mutex<Vec<Instant>>>) -> Replay {
        let facts = LoadFacts { loops: loops.len(), tellers: loops.len(), ..script.facts() };
        let untold = loops.iter().map(|_| LoadEvent::Ready(Readiness::default())).collect();
        Replay { script, facts, loops, untold, begun: None, second: 0, is_stopped: false, started_at }
    }

    /// Those of its loops that tell something of this second.
    fn telling(&self, second: u64) -> Vec<usize> {
        let is_silent = |of: usize| self.script.silent.is_some_and(|(silent, from)| silent == of && second >= from);
        self.loops.iter().copied().filter(|of| !is_silent(*of)).collect()
    }

    /// Tells what is due by now.
    fn advance(&mut self) {
        let (Some(begun), script) = (self.begun, self.script) else { return };
        let due = |second: u64| begun + script.pace * (second as u32 + 1);
        while self.second < script.seconds && !self.is_stopped && Instant::now() >= due(self.second) {
            let tallies = self.telling(self.second).into_iter().map(|of| script.tally(of, self.second));
            self.untold.extend(tallies.map(|tally| LoadEvent::Interval(Box::new(tally))));
            self.second += 1;
        }
        if self.second == script.seconds || self.is_stopped {
            let drained = if self.is_stopped { self.loops.clone() } else { self.telling(u64::MAX) };
            self.untold.extend(drained.into_iter().map(|of| LoadEvent::Drained(script.totals(of))));
            (self.second, self.is_stopped) = (script.seconds + 1, false);
        }
    }
}

impl LoadSource for Replay {
    fn facts(&self) -> &LoadFacts {
        &self.facts
    }

    fn start(&mut self, _: &dyn Fn() -> bool) -> Duration {
        self.start_at(Instant::now());
        Duration::ZERO
    }

    fn next(&mut self, wait: Duration) -> Option<LoadEvent> {
        self.advance();
        let restless = || LoadEvent::Machine(Box::default());
        let event =
            self.untold.pop_front().or_else(|| (self.script.is_restless && self.begun.is_some()).then(restless));
        if event.is_none() {
            thread::sleep(wait);
        }
        event
    }

    fn ended(&self) -> usize {
        0
    }

    fn spent(&self) -> Option<Spent> {
        Some(Spent { cpu: Duration::from_millis(self.second), waited: None })
    }

    fn recycle(&mut self, _: Tally) {}

    fn stop(&mut self) {
        if self.second <= self.script.seconds {
            self.is_stopped = true;
        }
    }

    fn finish(self) {}
}

impl LocalLoad for Replay {
    fn start_at(&mut self, at: Instant) {
        self.begun = Some(at);
        self.started_at.lock().unwrap().push(at);
    }
}

struct Replays {
    script: Script,
    started_at: Arc<Mutex<Vec<Instant>>>,
}

impl LoadMaker for Replays {
    type Load = Replay;

    fn make(&mut self, assignment: &str) -> Result<Replay, String> {
        let loops = assignment.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        let loops = loops.map_err(|_| format!("{assignment:?} names no loops"))?;
        Ok(Replay::of(self.script, loops, self.started_at.clone()))
    }

    fn job(&mut self, text: &str) -> Result<Arc<dyn AgentJob>, String> {
        if text == "lengths" { Ok(Arc::new(Lengths)) } else { Err(format!("{text:?} is no job")) }
    }
}

/// Counts letters, and takes a while for it.
struct Lengths;

impl AgentJob for Lengths {
    fn piece(&self, text: &str) -> Result<u64, String> {
        thread::sleep(Duration::from_millis(20));
        if text == "no" { Err("it says no".to_owned()) } else { Ok(text.len() as u64) }
    }
}

/// An agent in a thread of its own.
pub struct Agent {
    name: String,
    leaves: Arc<AtomicBool>,
    pub news: Arc<Mutex<Vec<AgentNews>>>,
    spools: Option<TempDir>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    /// Ends it, as Ctrl-C does.
    pub fn end(&mut self) {
        self.leaves.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "an agent does not panic");
        }
    }

    pub fn has_said(&self, wanted: impl Fn(&AgentNews) -> bool) -> bool {
        self.news.lock().unwrap().iter().any(wanted)
    }

    /// The letters of all its spools.
    pub fn letters(&self) -> Vec<PathBuf> {
        let spools = self.spools.iter().flat_map(|spools| std::fs::read_dir(spools.path()));
        spools.flatten().flatten().map(|entry| entry.path()).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
    }
}

pub struct Scene {
    pub broker: Broker,
    pub script: Script,
    pub started_at: Arc<Mutex<Vec<Instant>>>,
}

/// An incarnation that no other agent of these tests has.
fn incarnation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Scene {
    #[track_caller]
    pub fn of(script: Script) -> Option<Scene> {
        Some(Scene::at(Broker::start()?, script))
    }

    pub fn at(broker: Broker, script: Script) -> Scene {
        Scene { broker, script, started_at: Arc::default() }
    }

    pub fn address(&self) -> BrokerAddress {
        BrokerAddress::parse(&self.broker.address()).unwrap()
    }

    pub fn agent(&self, name: &str) -> Agent {
        self.agent_at(name, self.address())
    }

    pub fn agent_at(&self, name: &str, address: BrokerAddress) -> Agent {
        self.agent_of(name, address, FleetBuild::of("1.2.3"))
    }

    pub fn agent_of(&self, name: &str, address: BrokerAddress, build: FleetBuild) -> Agent {
        let spools = in_memory();
        self.agent_with(facts(name, address, build, &spools), spools)
    }

    /// An agent that keeps nothing once it is recorded.
    pub fn forgetful(&self, name: &str) -> Agent {
        let spools = in_memory();
        let facts = facts(name, self.address(), FleetBuild::of("1.2.3"), &spools);
        self.agent_with(AgentFacts { keeps_spools: false, ..facts }, spools)
    }

    /// What becomes of an agent that nobody ends, for a while.
    pub fn served(&self, name: &str, address: BrokerAddress) -> Result<(), FleetError> {
        let (spools, since) = (in_memory(), Instant::now());
        let facts = facts(name, address, FleetBuild::of("1.2.3"), &spools);
        serve(&facts, self.maker(), &mut |_| {}, &|| since.elapsed() > WATCHDOG)
    }

    /// The same agent, started again with what it has kept.
    pub fn again(&self, mut agent: Agent) -> Agent {
        agent.end();
        let spools = agent.spools.take().expect("it has some");
        self.agent_with(facts(&agent.name, self.address(), FleetBuild::of("1.2.3"), &spools), spools)
    }

    fn maker(&self) -> Replays {
        Replays { script: self.script, started_at: self.started_at.clone() }
    }

    fn agent_with(&self, facts: AgentFacts, spools: TempDir) -> Agent {
        let (leaves, news): (Arc<AtomicBool>, Arc<Mutex<Vec<AgentNews>>>) = Default::default();
        let (inside, told) = (leaves.clone(), news.clone());
        let (name, maker) = (facts.name.clone(), self.maker());
        let thread = thread::spawn(move || {
            let mut say = |news: AgentNews| told.lock().unwrap().push(news);
            serve(&facts, maker, &mut say, &|| inside.load(Ordering::Relaxed)).unwrap();
        });
        Agent { name, leaves, news, spools: Some(spools), thread: Some(thread) }
    }

    pub fn agents(&self, count: usize) -> Vec<Agent> {
        (1..=count).map(|number| self.agent(&format!("a{number:02}"))).collect()
    }

    pub fn fleet(&self, agents: usize, tolerate_lost: usize) -> Fleet {
        joined(self.address(), agents, tolerate_lost)
    }

    pub fn fleet_at(&self, address: BrokerAddress, agents: usize) -> Fleet {
        joined(address, agents, 0)
    }

    /// A load of all loops of the script, as many for each agent.
    pub fn begin<'f>(&self, fleet: &'f Fleet, agents: usize) -> FleetLoad<'f> {
        let loops = self.script.loops;
        fleet.begin(self.script.facts(), loops / agents, loops, &assign, &|| false).unwrap()
    }
}

fn facts(name: &str, address: BrokerAddress, build: FleetBuild, spools: &TempDir) -> AgentFacts {
    AgentFacts {
        address,
        name: name.to_owned(),
        build,
        machine: format!("machine of {name}"),
        cpus: 2,
        ceiling: Some(1000.0),
        incarnation: incarnation(),
        spools: spools.path().to_owned(),
        keeps_spools: true,
    }
}

fn joined(address: BrokerAddress, agents: usize, tolerate_lost: usize) -> Fleet {
    let wish = FleetWish { address, agents: Some(agents), tolerate_lost, build: FleetBuild::of("1.2.3") };
    Fleet::join(wish, &format!("test{}", incarnation())).unwrap()
}

pub fn assign(range: &LoopRange) -> String {
    range.loops.clone().map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

/// What came of a load.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whole seconds in the order that they became whole, and how many agents are missing from each.
    pub seconds: Vec<(Tally, usize)>,
    pub totals: LoopTotals,
    /// Seconds that did not become whole.
    pub rest: usize,
    pub failed: Vec<String>,
    pub lost: usize,
}

impl Outcome {
    pub fn tallies(&self) -> Vec<Tally> {
        self.seconds.iter().map(|(tally, _)| tally.clone()).collect()
    }
}

/// Whether a load that is followed goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    GoOn,
    Stop,
    /// Nobody follows it any more.
    Leave,
}

/// Follows a load as a trial does: waits until all are ready, starts it, and hears it to its end.
pub fn follow_to_its_end(load: &mut FleetLoad<'_>) -> Outcome {
    follow(load, |_| Then::GoOn)
}

/// Follows a load; `each` is told what has come of it so far.
pub fn follow(load: &mut FleetLoad<'_>, mut each: impl FnMut(&Outcome) -> Then) -> Outcome {
    let facts = load.facts().clone();
    let mut outcome = Outcome { totals: LoopTotals::new(Shape::default()), ..Outcome::default() };
    outcome.totals = LoopTotals::new(facts.names.shape());
    let since = Instant::now();
    let mut ready = 0;
    while ready < facts.tellers {
        assert!(since.elapsed() < WATCHDOG, "agents do not get ready");
        match load.next(Duration::from_millis(20)) {
            Some(LoadEvent::Ready(_)) => ready += 1,
            Some(LoadEvent::Failed(why)) => {
                outcome.failed.push(why);
                return outcome;
            }
            _ => {}
        }
    }
    load.start(&|| false);
    hear(load, &mut outcome, &mut each);
    outcome
}

/// Hears a load that has been started to its end.
pub fn hear(load: &mut FleetLoad<'_>, outcome: &mut Outcome, each: &mut dyn FnMut(&Outcome) -> Then) {
    let facts = load.facts().clone();
    let mut assembly = Assembly::new(facts.tellers);
    let since = Instant::now();
    let mut drained = 0;
    while drained + outcome.lost < facts.tellers {
        assert!(since.elapsed() < WATCHDOG, "the load does not end");
        match load.next(Duration::from_millis(20)) {
            Some(LoadEvent::Interval(tally)) => drop(assembly.add(*tally)),
            Some(LoadEvent::Drained(totals)) => {
                drained += 1;
                outcome.totals.add(totals);
            }
            Some(LoadEvent::Lost { from_ns, .. }) => {
                outcome.lost += 1;
                assembly.lose(from_ns);
            }
            Some(LoadEvent::Failed(why)) => {
                outcome.failed.push(why);
                load.stop();
            }
            _ => {}
        }
        while let Some(WholeSecond { tally, missing }) = assembly.next_whole() {
            outcome.seconds.push((tally, missing));
        }
        match each(outcome) {
            Then::GoOn => {}
            Then::Stop => load.stop(),
            Then::Leave => return,
        }
    }
    outcome.rest = assembly.rest().len();
}
