//! What agents tell is what one process would have told.

use crate::scene::{Outcome, Scene, Script, Then, follow, follow_to_its_end};
use plimsoll_fleet::link::BrokerLink;
use plimsoll_fleet::message::{self, ToldLetter, Word};
use plimsoll_load::lines;
use plimsoll_load::seed::Rng;
use plimsoll_load::source::{LoadEvent, LoadSource};
use plimsoll_load::tally::Tally;
use plimsoll_load::window::SECOND_NS;
use plimsoll_testkit::broker::Broker;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::mpsc;
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

#[test]
fn what_is_recorded_is_forgotten_by_the_broker_and_nothing_else_is() {
    let Some(scene) = Scene::of(Script::of(2, 3, PACE)) else { return };
    let _agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    let mut load = scene.begin(&fleet, 2);
    let other = BrokerLink::connect(&scene.address(), "other").unwrap();
    other.store("plimsoll.told.other", "1", b"other".to_vec()).unwrap();
    is_whole(&follow_to_its_end(&mut load), &scene.script);
    load.finish();
    let (sender, stored) = mpsc::channel();
    other.read_stored(0, sender);
    let first = stored.recv_timeout(Duration::from_secs(20)).map(|letter| letter.subject);
    assert_eq!(first, Ok("plimsoll.told.other".to_owned()));
    // The last word of the coordinator to itself may come after what it had read.
    let left = |subject: &str| subject.starts_with("plimsoll.told.a0");
    assert!(!stored.try_iter().any(|letter| left(&letter.subject)));
}
