//! A trial whose load comes from another process, which is this test once more: it hears of the load through serialised
//! events, and gives its orders as words.

use jiff::Timestamp;
use plimsoll_data::target::{OpenTarget, TargetSpec, private_endpoint};
use plimsoll_engine::endpoint::Password;
use plimsoll_engine::workload::Input;
use plimsoll_engine::{DeclaredWorkload, Failure, LoadClient, Protocol, Run, RunSpec, Session, Statement, Workload};
use plimsoll_host::Home;
use plimsoll_host::facts::HostFacts;
use plimsoll_lab::LabError;
use plimsoll_lab::apart::told::{ToldLoad, lines_of, tell};
use plimsoll_lab::load_point::{Circumstances, Outcome, trial};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::{End, LoopTotals};
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource, Spent};
use plimsoll_load::tally::Tally;
use plimsoll_load::window::Limit;
use plimsoll_model::samples::Phase;
use plimsoll_model::summary::Counts;
use plimsoll_model::{LoadPoint, StatementKind};
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_plan::{Target, Url};
use plimsoll_record::{EarlyEnd, Manifest, Parameters, Recording, TrialFacts, read};
use plimsoll_testkit::fake::{Fake, FakePlace, Talk};
use plimsoll_testkit::servers;
use plimsoll_watch::Unwatched;
use serde_json::{Value, json};
use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::io::BufReader;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Where the other process finds what it is to do: a directory with the sockets of both sides.
const PLACE: &str = "PLIMSOLL_TEST_SOURCE";
/// Set where it is to die in the middle of its load.
const DIES: &str = "PLIMSOLL_TEST_SOURCE_DIES";
const CONNECTIONS: usize = 4;
const EVENTS: u64 = 1001;
const ASK: &str = "SHOW VARIABLES LIKE 'autocommit'";

/// A SELECT, of which every third stands in a transaction, and some of those are rolled back.
struct Mixed;

impl DeclaredWorkload for Mixed {
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        let statement = |name, kind, sql: &str| Statement { name, kind, sql: sql.to_owned(), prepared: false };
        vec![
            statement("select", StatementKind::Select, "SELECT 1"),
            statement("begin", StatementKind::Begin, "BEGIN"),
            statement("commit", StatementKind::Commit, "COMMIT"),
        ]
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["alone", "within"]
    }

    fn counters(&self) -> &'static [&'static str] {
        &["selects"]
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, input: &mut Input) -> Result<End, Failure> {
        let (within, rolled_back) = (input.rng.between(1, 3) == 1, input.rng.between(1, 4) == 1);
        input.transaction = usize::from(within);
        if within {
            session.execute(1, &[]).await?;
        }
        session.execute(0, &[]).await?;
        let end = match (within, rolled_back) {
            (false, _) => End::Autocommit(1),
            (true, true) => session.rollback().await.map(|_| End::RolledBack)?,
            (true, false) => session.execute(2, &[]).await.map(|_| End::Committed)?,
        };
        session.count(0, 1);
        Ok(end)
    }
}

fn spec(socket: &Path, limit: Limit, ask: Option<&'static str>) -> RunSpec {
    RunSpec {
        endpoint: private_endpoint(socket),
        connections: CONNECTIONS,
        loops: 2,
        arrivals: Arrivals::Closed,
        limit,
        warmup_ns: 0,
        seed: 7,
        protocol: Protocol::Text,
        outage_limit_ns: 10_000_000_000,
        ignore_errors: Vec::new(),
        private: true,
        ask,
        part: None,
        commits: None,
    }
}

/// The other process: serves the load that it finds in its place.
#[test]
fn this_test_serves_a_load_if_it_is_asked_to() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let dies = std::env::var_os(DIES).is_some();
    let limit = if dies { Limit::Time(3_600_000_000_000) } else { Limit::Events(EVENTS) };
    let mut run = Run::begin(spec(&place.join("server"), limit, Some(ASK)), Arc::new(Mixed));
    let mut outside = UnixStream::connect(place.join("source")).unwrap();
    let orders = lines_of(BufReader::new(outside.try_clone().unwrap()));
    let loops = run.facts.loops;
    let (mut window, mut totals) = (Tally::new(run.facts.names.shape()), LoopTotals::new(run.facts.names.shape()));
    let mut seconds: BTreeMap<u64, usize> = BTreeMap::new();
    // Summed up before it is serialised.
    let each = |event: Option<&LoadEvent>| {
        // A second that all loops have told of.
        if dies && seconds.values().any(|told| *told == loops) {
            std::process::exit(7);
        }
        match event {
            Some(LoadEvent::Interval(tally)) if tally.phase == Phase::Measure => {
                window.add(tally);
                *seconds.entry(tally.start_ns).or_default() += 1;
            }
            Some(LoadEvent::Drained(drained)) => totals.add(drained.clone()),
            _ => {}
        }
    };
    tell(&mut run, &orders, &mut outside, each).unwrap();
    fs::write(place.join("counted.json"), counted(&window, &totals, &run.facts).to_string()).unwrap();
    run.finish();
}

/// What was counted in a window, in words of this test's own: histograms as the counts of their buckets.
fn counted(window: &Tally, totals: &LoopTotals, facts: &LoadFacts) -> Value {
    let (names, counters) = (&facts.names, &window.counters);
    let mut histograms = BTreeMap::new();
    for (name, kind) in names.transactions.iter().zip(&window.transactions) {
        histograms.insert(format!("txn.{name}.service"), buckets(&kind.service));
    }
    for (name, statement) in names.statements.iter().zip(&window.statements) {
        histograms.insert(format!("stmt.{name}"), buckets(&statement.latency));
    }
    json!({
        "transactions": counters.transactions,
        "rollbacks": counters.rollbacks,
        "queries": counters.queries,
        "statements": counters.statements,
        "counted": window.counted,
        "counts": totals.counts,
        "sent": totals.sent,
        "committed": totals.committed,
        "events": totals.served.iter().map(|served| served.events).collect::<Vec<_>>(),
        "histograms": histograms.into_iter().filter(|(_, buckets)| !buckets.is_empty()).collect::<BTreeMap<_, _>>(),
    })
}

fn buckets(values: &hdrhistogram::Histogram<u64>) -> Vec<(u64, u64)> {
    values.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect()
}

/// A load in another process.
struct Elsewhere {
    told: ToldLoad,
    child: Child,
}

impl Elsewhere {
    fn begin(place: &Path, limit: Limit, dies: bool) -> Elsewhere {
        let listener = UnixListener::bind(place.join("source")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "this_test_serves_a_load_if_it_is_asked_to"]).env(PLACE, place);
        command.stdout(Stdio::null());
        if dies {
            command.env(DIES, "1");
        }
        let child = command.spawn().unwrap();
        let (orders, _) = listener.accept().unwrap();
        let facts =
            LoadFacts { names: Mixed.catalogue().names, loops: 0, tellers: 0, open_loop: false, warmup_ns: 0, limit };
        let told = ToldLoad::begin(orders, facts, Duration::from_secs(60)).unwrap();
        Elsewhere { told, child }
    }
}

impl LoadSource for Elsewhere {
    fn facts(&self) -> &LoadFacts {
        &self.told.facts
    }

    fn start(&mut self, _: &dyn Fn() -> bool) -> Duration {
        self.told.order("start");
        Duration::ZERO
    }

    fn next(&mut self, wait: Duration) -> Option<LoadEvent> {
        self.told.next(wait)
    }

    fn ended(&self) -> usize {
        self.told.ended()
    }

    fn spent(&self) -> Option<Spent> {
        None
    }

    fn recycle(&mut self, _: Tally) {}

    fn stop(&mut self) {
        self.told.order("stop");
    }

    fn finish(mut self) {
        self.told.order("finish");
        self.child.wait().unwrap();
    }
}

/// A server, and a place for the sockets of both sides.
struct Stage {
    target: OpenTarget,
    socket: PathBuf,
    place: TempDir,
    // What has to be there as long as they are, and is dropped after them.
    _below: Box<dyn Any>,
}

impl Stage {
    /// A server that does nothing, in this process.
    fn with_fake() -> Stage {
        let fake = Fake::unix(Talk::behave);
        let FakePlace::Unix(socket) = fake.place.clone() else { unreachable!("it listens on a Unix socket") };
        let target = Target::External(Url { socket: Some(socket.clone()), ..Url::default() });
        Stage::set(target, socket, Path::new("/nowhere"), Box::new(fake))
    }

    #[track_caller]
    fn with_server() -> Option<Stage> {
        let server = servers::mariadb()?;
        let (slot, home) = (servers::slot(), servers::home());
        let socket = home.path().join("server.sock");
        let target = Target::Private(server.display().to_string());
        let path = home.path().to_owned();
        let mut stage = Stage::set(target, socket, &path, Box::new((home, slot)));
        stage.socket = stage.target.server.as_ref()?.socket().to_owned();
        Some(stage)
    }

    fn set(target: Target, socket: PathBuf, home: &Path, below: Box<dyn Any>) -> Stage {
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| home.as_os_str().to_owned()));
        let spec = TargetSpec {
            target,
            password: Password::default(),
            default_user: "root".to_owned(),
            database: None,
            holder: "a test".to_owned(),
        };
        let target = OpenTarget::open(&spec, &home.unwrap(), &mut Unwatched).unwrap();
        Stage { target, socket, place: servers::home(), _below: below }
    }

    /// The load in another process.
    fn elsewhere(&mut self, limit: Limit, dies: bool) -> (Outcome, BTreeMap<String, Vec<(u64, u64)>>) {
        let place = self.place.path().to_owned();
        symlink(&self.socket, place.join("server")).unwrap();
        self.trial(|_, _| Ok(Elsewhere::begin(&place, limit, dies)))
    }

    /// What a load comes to, and the histograms that its trial has recorded, as the counts of their buckets.
    fn trial<S: LoadSource>(
        &mut self,
        begin: impl FnOnce(Option<&'static str>, &dyn Fn() -> bool) -> Result<S, LabError>,
    ) -> (Outcome, BTreeMap<String, Vec<(u64, u64)>>) {
        let home = servers::home();
        let manifest =
            Manifest::new("source", "0", Timestamp::now(), Plan::Storage(StoragePlan::default()), HostFacts::default());
        let recording = Recording::create(home.path(), manifest).unwrap();
        let facts = TrialFacts {
            index: 1,
            variant: "a".to_owned(),
            point: "c4".to_owned(),
            round: 1,
            started: Timestamp::now(),
            parameters: Parameters::Load(Box::default()),
        };
        let mut writer = recording.trial(&facts).unwrap();
        let point = LoadPoint { connections: CONNECTIONS, rate: None };
        let circumstances = Circumstances { ask: Some(ASK), ..Circumstances::default() };
        let outcome = trial(&mut self.target, begin, point, circumstances, &mut writer, &mut Unwatched).unwrap();
        let recorded = read::open(recording.directory()).unwrap();
        let histograms = recorded.trials[0].latency(0..u64::MAX).unwrap();
        (outcome, histograms.iter().map(|(tag, values)| (tag.clone(), buckets(values))).collect())
    }
}

/// A trial's own numbers in the words of [`counted`].
fn summed_up(outcome: &Outcome, histograms: &BTreeMap<String, Vec<(u64, u64)>>) -> Value {
    let (point, counted) = (&outcome.point, &outcome.counted);
    let values = |named: &[(&str, u64)]| named.iter().map(|(_, count)| *count).collect::<Vec<_>>();
    json!({
        "transactions": point.transactions,
        "rollbacks": point.rollbacks,
        "queries": point.queries,
        "statements": point.statements,
        "counted": values(&counted.window),
        "counts": point.counts,
        "sent": outcome.sent,
        "committed": values(&counted.committed),
        "histograms": histograms,
    })
}

/// How many values each histogram has.
fn lengths(histograms: &BTreeMap<String, Vec<(u64, u64)>>) -> BTreeMap<&str, u64> {
    let length = |buckets: &[(u64, u64)]| buckets.iter().map(|(_, count)| count).sum();
    histograms.iter().map(|(tag, buckets)| (tag.as_str(), length(buckets))).collect()
}

/// Compares a load in another process with what that process has counted itself, and with loops here.
fn counts_as_loops_here_do(stage: &mut Stage) -> [Outcome; 2] {
    let limit = Limit::Events(EVENTS);
    let (there, histograms) = stage.elsewhere(limit, false);
    let counted = fs::read(stage.place.path().join("counted.json")).unwrap();
    let mut counted: Value = serde_json::from_slice(&counted).unwrap();
    let events: Vec<u64> = serde_json::from_value(counted["events"].take()).unwrap();
    counted.as_object_mut().unwrap().remove("events");
    assert_eq!(there.ended, None);
    assert_eq!(summed_up(&there, &histograms), counted, "bucket by bucket");
    assert_eq!(there.point.fairness.events_min, events.iter().min().copied());

    let socket = stage.socket.clone();
    let (here, of_here) = stage.trial(|ask, _| Ok(Run::begin(spec(&socket, limit, ask), Arc::new(Mixed))));
    assert_eq!(here.ended, None);
    // How long each took is another time every time; how many there were is not.
    let without_latencies = |outcome: &Outcome| summed_up(outcome, &BTreeMap::new());
    assert_eq!(without_latencies(&there), without_latencies(&here));
    assert_eq!(lengths(&histograms), lengths(&of_here));
    assert_eq!(there.answer, here.answer);
    [there, here]
}

#[test]
fn a_load_in_another_process_counts_as_loops_here_do() {
    let [there, here] = counts_as_loops_here_do(&mut Stage::with_fake());
    let counts = Counts { offered: EVENTS, started: EVENTS, finished: EVENTS, ..Counts::default() };
    assert_eq!((there.point.counts, there.counted.window.as_slice()), (counts, [("selects", EVENTS)].as_slice()));
    assert!(there.point.rollbacks > 0 && there.counted.committed("within") > 0, "{:?}", there.counted);
    // What the other process used is not known here, and nobody makes it up.
    let process_cpu = |outcome: &Outcome| outcome.point.client.process_cpu_us_per_query;
    assert!(process_cpu(&there).is_none() && process_cpu(&here).is_some());
}

#[test]
fn a_load_in_another_process_counts_as_its_server_does() {
    let Some(mut stage) = Stage::with_server() else { return };
    for outcome in counts_as_loops_here_do(&mut stage) {
        assert_eq!(outcome.answer, [("autocommit".to_owned(), "ON".to_owned())].into());
        let server = outcome.point.server.as_ref().unwrap();
        assert_eq!(server.statements, Some(outcome.sent));
    }
}

#[test]
fn a_load_whose_process_dies_ends_its_trial_and_what_it_told_is_kept() {
    let (outcome, histograms) = Stage::with_fake().elsewhere(Limit::Time(3_600_000_000_000), true);
    assert_eq!(outcome.ended, Some(EarlyEnd::Failed("a loop ended by itself".to_owned())));
    let point = &outcome.point;
    assert!(point.seconds > 0.9 && point.transactions > 0, "{point:?}");
    let kinds = lengths(&histograms);
    assert_eq!(kinds["txn.alone.service"] + kinds["txn.within.service"], point.transactions + point.rollbacks);
}
