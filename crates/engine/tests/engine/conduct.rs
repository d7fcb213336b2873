//! Runs, from the first connection to the last event, with a watchdog.

use plimsoll_engine::endpoint::Password;
use plimsoll_engine::tls::Tls;
use plimsoll_engine::{Address, Endpoint, LoopEvent, Protocol, Reason, Run, RunSpec, Workload};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::Readiness;
use plimsoll_load::tally::{Tally, add_counts};
use plimsoll_load::window::Limit;
use plimsoll_testkit::fake::{Fake, FakePlace};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Runs here take a few seconds at most; what takes longer hangs.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Runs `test` and fails where it neither returns nor panics.
pub fn watched<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let _ = sender.send(test());
    });
    match receiver.recv_timeout(WATCHDOG) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("hung for {WATCHDOG:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("the result was sent"),
        },
    }
}

/// Whoever `root` is at this address, with no password and no TLS.
pub fn endpoint(address: Address) -> Endpoint {
    Endpoint {
        resolved: address.resolve().expect("a local address"),
        address,
        user: "root".to_owned(),
        password: Password::default(),
        database: None,
        tls: Arc::new(Tls::disabled()),
        local_files: false,
    }
}

pub fn unix(path: &Path) -> Endpoint {
    endpoint(Address::Unix(path.to_owned()))
}

pub fn tcp(address: SocketAddr) -> Endpoint {
    endpoint(Address::Tcp { host: address.ip().to_string(), port: address.port() })
}

pub fn at(fake: &Fake) -> Endpoint {
    match &fake.place {
        FakePlace::Unix(path) => unix(path),
        FakePlace::Tcp(address) => tcp(*address),
    }
}

/// One connection on one loop that sends ten transactions.
pub fn spec(endpoint: Endpoint) -> RunSpec {
    RunSpec {
        endpoint,
        connections: 1,
        loops: 1,
        arrivals: Arrivals::Closed,
        limit: Limit::EventsPerConnection(10),
        warmup_ns: 0,
        seed: 1,
        protocol: Protocol::Prepared,
        outage_limit_ns: 20_000_000_000,
        ignore_errors: Vec::new(),
        private: true,
        ask: None,
        part: None,
        commits: None,
    }
}

/// For a server that will be silent: one that is so for 2 s is gone.
pub fn impatient(endpoint: Endpoint) -> RunSpec {
    RunSpec { outage_limit_ns: 2_000_000_000, ..spec(endpoint) }
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Conducted {
    pub ready: usize,
    /// To what was asked before the start, of all loops.
    pub answers: Vec<(String, String)>,
    /// The sum of all intervals.
    pub tally: Option<Tally>,
    /// The sum over loops, once all are drained.
    pub totals: LoopTotals,
    pub drained: usize,
    pub reasons: Vec<Reason>,
}

impl Conducted {
    /// The one reason why the run ended.
    #[track_caller]
    pub fn reason(&self) -> &Reason {
        assert_eq!(self.reasons.len(), 1, "one clear reason: {:?}", self.reasons);
        &self.reasons[0]
    }

    #[track_caller]
    pub fn tally(&self) -> &Tally {
        assert!(self.reasons.is_empty(), "{:?}", self.reasons);
        self.tally.as_ref().expect("at least one interval")
    }

    fn take(&mut self, event: LoopEvent) -> Option<Tally> {
        match event {
            LoopEvent::Ready(Readiness { answer, .. }) => {
                self.ready += 1;
                self.answers.extend(answer);
            }
            LoopEvent::Failed(reason) => self.reasons.push(reason),
            LoopEvent::Drained(totals) => {
                self.drained += 1;
                add_counts(&mut self.totals.counts, &totals.counts);
                self.totals.sent += totals.sent;
                self.totals.unknown += totals.unknown;
                self.totals.served.extend(totals.served);
            }
            LoopEvent::Interval(tally) => {
                match &mut self.tally {
                    Some(sum) => sum.add(&tally),
                    None => self.tally = Some((*tally).clone()),
                }
                return Some(*tally);
            }
        }
        None
    }

    fn next(&mut self, run: &Run) {
        if let Some(event) = run.next(Duration::from_millis(20))
            && let Some(tally) = self.take(event)
        {
            run.recycle(tally);
        }
    }
}

/// Runs to the end.
pub fn conduct<W: Workload>(spec: RunSpec, workload: W) -> Conducted {
    conduct_with(spec, workload, |_| {}, || {}).0
}

/// Runs to the end; `begun` is called as the run starts, `between` before it and once all loops are drained.
pub fn conduct_with<W: Workload, T>(
    spec: RunSpec,
    workload: W,
    begun: impl FnOnce(&Run),
    mut between: impl FnMut() -> T,
) -> (Conducted, Option<(T, T)>) {
    let give_up_at = Instant::now() + WATCHDOG;
    let mut conducted = Conducted::default();
    let run = Run::begin(spec, Arc::new(workload));
    while conducted.ready < run.facts.loops && conducted.reasons.is_empty() {
        assert!(Instant::now() < give_up_at, "hung before it was ready");
        conducted.next(&run);
    }
    let mut asked = None;
    if conducted.reasons.is_empty() {
        let before = between();
        run.start();
        begun(&run);
        while conducted.drained < run.facts.loops {
            assert!(Instant::now() < give_up_at, "hung before it was drained: {conducted:?}");
            conducted.next(&run);
        }
        // A reason comes after the loop's last word.
        conducted.next(&run);
        asked = Some((before, between()));
    }
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        run.finish();
        let _ = sender.send(());
    });
    receiver.recv_timeout(WATCHDOG).expect("loops end when they are told to");
    (conducted, asked)
}
