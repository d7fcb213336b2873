//! Loads whose coordinator is killed, and that the next one collects.

use crate::merging::{is_whole, sum_of_spools};
use crate::scene::{Agent, Scene, Script, Then, follow, follow_to_its_end};
use plimsoll_fleet::link::BrokerLink;
use plimsoll_fleet::message::{self, AgentAnswer, AgentOrder};
use plimsoll_fleet::{AgentNews, FleetError};
use plimsoll_load::seed::Rng;
use plimsoll_load::source::{LoadEvent, LoadSource};
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_testkit::servers::wait_until;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

const SCRIPT: Script =
    Script { loops: 4, seconds: 20, pace: Duration::from_millis(50), silent: None, is_restless: false };

/// Begins a load and forgets it after a while, as one that is killed does.
fn begun(scene: &Scene, patience: Duration) -> AgreedLoad {
    let first = scene.fleet(2, 0);
    let mut load = scene.begin(&first, 2);
    let mut since = None;
    follow(&mut load, |_| {
        let since = since.get_or_insert_with(Instant::now);
        if since.elapsed() < patience { Then::GoOn } else { Then::Leave }
    });
    let agreed = load.agreed().expect("it was begun");
    std::mem::forget(load);
    agreed
}

#[track_caller]
fn is_collected(scene: &Scene, agents: &[Agent], agreed: &AgreedLoad) {
    let next = scene.fleet(2, 0);
    let mut load = next.collect(scene.script.facts(), agreed, &|| false).unwrap();
    is_whole(&follow_to_its_end(&mut load), &scene.script);
    assert!(sum_of_spools(scene, agents) == scene.script.whole(), "what is kept is what was collected");
    let points = load.agents();
    assert!(points.iter().all(|point| point.clock_bound_us > 0.0 && point.lost.is_none()), "{points:?}");
    load.finish();
}

#[test]
fn the_next_coordinator_collects_what_the_killed_one_began() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let agents = scene.agents(2);
    let agreed = begun(&scene, Duration::from_millis(2500));
    assert_eq!(agreed.agents.iter().map(|part| part.loops).collect::<Vec<_>>(), [(0, 2), (2, 4)]);
    is_collected(&scene, &agents, &agreed);
}

#[test]
fn one_that_stops_collecting_leaves_all_of_it_to_the_next() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let agents = scene.agents(2);
    let agreed = begun(&scene, Duration::from_millis(2500));
    let second = scene.fleet(2, 0);
    let interrupted = second.collect(scene.script.facts(), &agreed, &|| true).map(drop);
    assert_eq!(interrupted, Err(FleetError::Interrupted));
    let mut load = second.collect(scene.script.facts(), &agreed, &|| false).unwrap();
    follow(&mut load, |so_far| if so_far.seconds.is_empty() { Then::GoOn } else { Then::Leave });
    load.stop();
    assert_eq!(load.ended(), 2, "nobody is waited for");
    load.leave();
    is_collected(&scene, &agents, &agreed);
}

#[test]
fn what_is_recorded_is_let_go_of_where_its_end_was_not_heard() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let agent = scene.forgetful("a01");
    let fleet = scene.fleet(1, 0);
    let mut load = scene.begin(&fleet, 1);
    while !matches!(load.next(Duration::from_millis(20)), Some(LoadEvent::Ready(_))) {}
    let trial = fleet.muster(&|| false).unwrap()[0].hello.trial.clone().expect("it has a load");
    assert_eq!(agent.letters().len(), 1);
    let link = BrokerLink::connect(&scene.address(), "x").unwrap();
    let order = message::write(&AgentOrder::Recorded { trial });
    let answer = link.ask_all(vec![("plimsoll.to.a01".to_owned(), order)], Duration::from_secs(20)).pop().unwrap();
    assert_eq!(message::read::<AgentAnswer>(&answer.unwrap()), Ok(AgentAnswer::Done));
    assert!(agent.letters().is_empty() && agent.has_said(|news| matches!(news, AgentNews::Ends { .. })));
}

#[test]
#[ignore = "twenty kills: `make test-all`"]
fn one_that_is_killed_at_twenty_random_moments_is_collected_each_time() {
    let seed = RandomState::new().build_hasher().finish();
    println!("seed of the kills: {seed}");
    let mut random = Rng::new(seed, 0, 0);
    for _ in 0..20 {
        let Some(scene) = Scene::of(SCRIPT) else { return };
        let agents = scene.agents(2);
        let agreed = begun(&scene, Duration::from_millis(random.between(0, 3500)));
        is_collected(&scene, &agents, &agreed);
    }
}

#[test]
#[ignore = "waits until agents give up: `make test-all`"]
fn agents_that_were_started_again_still_have_it() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let agents = scene.agents(2);
    let agreed = begun(&scene, Duration::from_millis(2500));
    let is_over = |agent: &Agent| agent.has_said(|news| matches!(news, AgentNews::Abandoned { .. }));
    assert!(wait_until(Duration::from_secs(60), || agents.iter().all(is_over)));
    let again: Vec<Agent> = agents.into_iter().map(|agent| scene.again(agent)).collect();
    is_collected(&scene, &again, &agreed);
}

#[test]
fn what_is_not_there_any_more_is_said() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let fleet = scene.fleet(1, 0);
    let agents = scene.agents(1);
    let part = |agent: &str, loops| plimsoll_model::agreed::AgreedPart {
        agent: agent.to_owned(),
        incarnation: 1,
        loops,
        clock_bound_us: 1.0,
    };
    let agreed = |part| AgreedLoad { load: "gone-1".to_owned(), loops: 4, agents: vec![part] };
    let collected = |part| fleet.collect(SCRIPT.facts(), &agreed(part), &|| false).map(drop);
    let why = |part| collected(part).unwrap_err().to_string();
    assert_eq!(why(part("a01", (0, 4))), "the agent a01 is lost: it has nothing of the trial gone-1");
    assert_eq!(why(part("a02", (0, 4))), "the agent a02 is lost: it is not there, and so what it kept is not");
    for hostile in [part("a01", (0, 5)), part("a01", (3, 3)), part("a.>", (0, 4))] {
        assert!(matches!(collected(hostile), Err(FleetError::Refused(_))));
    }
    drop(agents);
}
