//! What agents tell is what one process would have told.

use crate::scene::{Outcome, Replay, Scene, Script, Then, follow, follow_to_its_end};
use plimsoll_fleet::message::{self, ToldLetter, Word};
use plimsoll_follow::{Account, FollowedSecond, Seen, SeriesWriter, follow as follow_load, until_ready};
use plimsoll_host::facts::HostFacts;
use plimsoll_load::lines;
use plimsoll_load::seed::Rng;
use plimsoll_load::source::{LoadEvent, LoadSource};
use plimsoll_load::tally::Tally;
use plimsoll_load::window::SECOND_NS;
use plimsoll_model::LoadPoint;
use plimsoll_plan::Plan;
use plimsoll_record::{LoadParameters, Manifest, Parameters, Recording, TrialFacts};
use plimsoll_testkit::broker::Broker;
use plimsoll_testkit::simulated::run_plan;
use plimsoll_watch::{Unwatched, Watcher};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

const PACE: Duration = Duration::from_millis(100);

/// The sum of everything that spools have of the measured window.
pub fn sum_of_spools(scene: &Scene, agents: &[crate::scene::Agent]) -> Vec<Tally> {
    let shape = crate::scene::names().shape();
    let mut seconds: Vec<Option<Tally>> = vec![None; scene.script.seconds as usize];
    for path in agents.iter().flat_map(|agent| agent.letters()) {
        let mut text = String::new();
        for line in fs::read_to_string(path).unwrap().lines() {
            let told: ToldLetter = message::read(line.as_bytes()).unwrap();
            text.push_str(&told.text);
            if told.more {
                continue;
            }
            let Ok(Word::Event(event)) = Word::read(&std::mem::take(&mut text)) else { continue };
            let LoadEvent::Interval(tally) = lines::read(&event, shape).unwrap() else { continue };
            match &mut seconds[(tally.start_ns / SECOND_NS) as usize] {
                Some(sum) => sum.add(&tally),
                none => *none = Some(*tally),
            }
        }
    }
    seconds.into_iter().map(|second| second.expect("every second was told of")).collect()
}

#[track_caller]
pub fn is_whole(outcome: &Outcome, script: &Script) {
    assert_eq!((&outcome.failed, outcome.lost, outcome.rest), (&Vec::new(), 0, 0));
    assert!(outcome.tallies() == script.whole(), "second by second, bucket by bucket");
    let mut served: Vec<u64> = outcome.totals.served.iter().map(|served| served.events).collect();
    served.sort_unstable();
    assert_eq!(served, (1..=script.loops as u64).collect::<Vec<_>>(), "every loop drained once");
}

#[test]
fn eight_agents_tell_what_their_loops_counted_bucket_by_bucket() {
    let Some(scene) = Scene::of(Script::of(8, 5, PACE)) else { return };
    let agents = scene.agents(8);
    let fleet = scene.fleet(8, 0);
    let mut load = scene.begin(&fleet, 8);
    let outcome = follow_to_its_end(&mut load);
    is_whole(&outcome, &scene.script);
    assert!(sum_of_spools(&scene, &agents) == scene.script.whole(), "and so do their spools");
    let points = load.agents();
    assert_eq!(points.len(), 8);
    let measured: u64 = scene.script.whole()[1..].iter().map(|second| second.counters.transactions).sum();
    assert_eq!(points.iter().map(|point| point.transactions).sum::<u64>(), measured);
    assert!(points.iter().all(|point| point.clock_bound_us > 0.0 && point.lost.is_none()), "{points:?}");
    load.finish();
}

#[test]
#[ignore = "a newer broker: `make test-all`"]
fn a_newer_broker_carries_the_same() {
    let Some(broker) = Broker::newer() else { return };
    let scene = Scene::at(broker, Script::of(4, 4, PACE));
    let _agents = scene.agents(4);
    let fleet = scene.fleet(4, 0);
    let mut load = scene.begin(&fleet, 4);
    is_whole(&follow_to_its_end(&mut load), &scene.script);
    load.finish();
}

#[test]
fn an_agent_of_several_loops_speaks_with_one_voice_and_serves_load_after_load() {
    let Some(scene) = Scene::of(Script::of(6, 3, PACE)) else { return };
    let _agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    for _ in 0..3 {
        let mut load = scene.begin(&fleet, 2);
        assert_eq!((load.facts().loops, load.facts().tellers), (6, 2));
        is_whole(&follow_to_its_end(&mut load), &scene.script);
        load.finish();
    }
}

#[test]
fn a_broker_that_is_killed_loses_nothing_and_doubles_nothing() {
    for forgets in [false, true] {
        let Some(mut scene) = Scene::of(Script::of(4, 20, PACE)) else { return };
        let script = scene.script;
        let _agents = scene.agents(4);
        let fleet = scene.fleet(4, 0);
        let mut load = scene.begin(&fleet, 4);
        let mut is_killed = false;
        let outcome = follow(&mut load, |so_far| {
            if so_far.seconds.len() >= 3 && !is_killed {
                is_killed = true;
                scene.broker.kill();
                std::thread::sleep(Duration::from_millis(700));
                if forgets {
                    scene.broker.forget();
                }
                scene.broker.begin();
            }
            Then::GoOn
        });
        assert!(is_killed);
        is_whole(&outcome, &script);
        load.finish();
    }
}

#[test]
#[ignore = "twenty kills: `make test-all`"]
fn a_broker_that_is_killed_at_twenty_random_moments_loses_nothing() {
    const KILLS: usize = 20;
    let seed = RandomState::new().build_hasher().finish();
    println!("seed of the kills: {seed}");
    let mut random = Rng::new(seed, 0, 0);
    let Some(mut scene) = Scene::of(Script::of(8, 400, Duration::from_millis(50))) else { return };
    let script = scene.script;
    let _agents = scene.agents(4);
    let fleet = scene.fleet(4, 0);
    let mut load = scene.begin(&fleet, 4);
    let (mut kills, mut next) = (0, Instant::now());
    let outcome = follow(&mut load, |so_far| {
        if so_far.seconds.is_empty() || kills == KILLS || Instant::now() < next {
            return Then::GoOn;
        }
        scene.broker.kill();
        std::thread::sleep(Duration::from_millis(random.between(0, 400)));
        // Every fifth time its disk is lost as well.
        if kills % 5 == 4 {
            scene.broker.forget();
        }
        scene.broker.begin();
        kills += 1;
        next = Instant::now() + Duration::from_millis(random.between(0, 700));
        Then::GoOn
    });
    assert_eq!(kills, KILLS);
    is_whole(&outcome, &script);
    load.finish();
}

#[test]
fn all_begin_at_one_time() {
    let Some(scene) = Scene::of(Script::of(8, 1, PACE)) else { return };
    let _agents = scene.agents(8);
    let fleet = scene.fleet(8, 0);
    let mut load = scene.begin(&fleet, 8);
    let outcome = follow_to_its_end(&mut load);
    assert_eq!(outcome.failed, Vec::<String>::new());
    let bound = load.agents().iter().map(|agent| agent.clock_bound_us).fold(0.0, f64::max);
    let started = scene.started_at.lock().unwrap();
    let (first, last) = (started.iter().min().unwrap(), started.iter().max().unwrap());
    assert_eq!(started.len(), 8);
    // Each is wrong by no more than what was said of its clock.
    assert!((*last - *first).as_secs_f64() * 1e6 <= 2.0 * bound, "{:?} apart, known to {bound} µs", *last - *first);
}

/// Nothing else is seen beside the load.
struct LoadAlone;

impl Account for LoadAlone {
    fn second(&mut self, _: &FollowedSecond<'_>, _: &mut dyn Watcher) -> Seen {
        Seen::default()
    }
}

/// What is recorded of a load's seconds, by the names of the files.
fn recorded(source: &mut dyn LoadSource) -> BTreeMap<String, Vec<u8>> {
    let home = tempfile::tempdir().unwrap();
    let started = "2026-01-01T00:00:00Z".parse().unwrap();
    let manifest = Manifest::new("merged", "1.2.3", started, Plan::Run(run_plan(&[])), HostFacts::default());
    let recording = Recording::create(home.path(), manifest).unwrap();
    let parameters =
        Parameters::Load(Box::new(LoadParameters { point: LoadPoint::closed(8), ..LoadParameters::default() }));
    let (variant, point) = ("replayed".to_owned(), "c8".to_owned());
    let facts = TrialFacts { index: 1, variant, point, round: 1, started, parameters };
    let mut writer = recording.trial(&facts).unwrap();
    assert!(until_ready(source, &Unwatched).is_ok());
    source.start(&|| false);
    let series = SeriesWriter { writer: &mut writer, before_ns: 0, phase: None };
    let followed = follow_load(source, &mut LoadAlone, series, &mut Unwatched);
    assert!(followed.is_drained && followed.ended.is_none());
    let directory = writer.directory().to_owned();
    drop(writer);
    let files = fs::read_dir(directory).unwrap().flatten();
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

#[test]
fn what_is_recorded_of_eight_agents_is_what_is_recorded_of_one_process() {
    let Some(scene) = Scene::of(Script::of(8, 5, PACE)) else { return };
    let _agents = scene.agents(8);
    let fleet = scene.fleet(8, 0);
    let mut load = scene.begin(&fleet, 8);
    let mut by_agents = recorded(&mut load);
    load.finish();
    let here = recorded(&mut Replay::of(scene.script, (0..8).collect(), scene.started_at.clone()));
    assert!(by_agents.remove("agents.ndjson").is_some(), "and what each of them did");
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&by_agents), names(&here));
    assert!(here.contains_key("intervals.ndjson") && here.len() > 2, "{:?}", names(&here));
    for (name, bytes) in &here {
        assert!(by_agents[name] == *bytes, "{name} is equal, byte by byte");
    }
}
