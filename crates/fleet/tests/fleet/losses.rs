//! Agents that are lost, in all the ways in which that happens.

use crate::scene::{Scene, Script, Then, follow};
use plimsoll_fleet::AgentNews;
use plimsoll_fleet::roster::LOST_AFTER;
use plimsoll_load::source::{LoadEvent, LoadSource};
use plimsoll_testkit::servers::wait_until;
use std::time::{Duration, Instant};

const PACE: Duration = Duration::from_millis(100);

/// More seconds than any of these loads comes to: it ends by what the test does, however busy the machine is.
const SECONDS: u64 = 500;

#[test]
fn one_that_is_interrupted_is_said_and_its_load_is_given_to_nobody() {
    let Some(scene) = Scene::of(Script::of(2, SECONDS, PACE)) else { return };
    let mut agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    let mut load = scene.begin(&fleet, 2);
    let outcome = follow(&mut load, |so_far| {
        if so_far.seconds.len() == 3 {
            agents[1].end();
        }
        Then::GoOn
    });
    assert!(outcome.failed[0].contains("the agent a02: it was interrupted"), "{:?}", outcome.failed);
    assert!(outcome.seconds.len() < SECONDS as usize, "the load ends with it");
}

#[test]
fn one_that_is_started_again_is_lost_and_joins_the_next_load() {
    let Some(scene) = Scene::of(Script::of(2, SECONDS, PACE)) else { return };
    let _first = scene.agent("a01");
    // It falls silent without a word when it is ended: what another process does when it is killed.
    let mut second = Some(scene.agent("a02"));
    let fleet = scene.fleet(2, 1);
    let mut load = scene.begin(&fleet, 2);
    let mut again = None;
    let outcome = follow(&mut load, |so_far| {
        if so_far.seconds.len() == 3 && again.is_none() {
            again = Some(scene.agent("a02"));
        }
        let goes_on_without_it = so_far.seconds.last().is_some_and(|(_, missing)| *missing == 1);
        if goes_on_without_it { Then::Stop } else { Then::GoOn }
    });
    assert_eq!((outcome.failed.as_slice(), outcome.lost), (&[][..], 1), "as many as may be lost");
    let missing: Vec<usize> = outcome.seconds.iter().map(|(_, missing)| *missing).collect();
    assert!(missing[..3] == [0, 0, 0] && missing.is_sorted() && missing.last() == Some(&1), "{missing:?}");
    let lost: Vec<_> = load.agents().into_iter().filter_map(|agent| Some((agent.agent, agent.lost?))).collect();
    assert_eq!(lost, [("a02".to_owned(), "it was started again".to_owned())]);
    load.finish();
    drop(second.take());
    let mut next = scene.begin(&fleet, 2);
    let outcome = follow(&mut next, |so_far| if so_far.seconds.len() < 3 { Then::GoOn } else { Then::Stop });
    assert!(outcome.seconds.len() >= 3 && outcome.seconds.iter().all(|(_, missing)| *missing == 0));
}

#[test]
fn one_whose_load_never_pauses_hears_that_it_is_to_stop() {
    let script = Script { is_restless: true, ..Script::of(2, 80, PACE) };
    let Some(scene) = Scene::of(script) else { return };
    let _agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    let mut load = scene.begin(&fleet, 2);
    let outcome = follow(&mut load, |so_far| if so_far.seconds.len() < 3 { Then::GoOn } else { Then::Stop });
    assert!(outcome.failed.is_empty() && outcome.lost == 0, "{:?}", outcome.failed);
    assert!(outcome.seconds.len() < 80, "{}", outcome.seconds.len());
}

#[test]
fn one_too_many_ends_the_load() {
    let Some(scene) = Scene::of(Script::of(2, SECONDS, PACE)) else { return };
    let _agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    let mut load = scene.begin(&fleet, 2);
    let mut again = None;
    let outcome = follow(&mut load, |so_far| {
        if so_far.seconds.len() == 3 && again.is_none() {
            again = Some(scene.agent("a02"));
        }
        Then::GoOn
    });
    assert_eq!(outcome.failed, ["the agent a02 is lost: it was started again"]);
    assert!(outcome.seconds.len() < SECONDS as usize);
}

#[test]
fn nobody_is_lost_while_the_broker_is_stopped() {
    let Some(scene) = Scene::of(Script::of(2, SECONDS, PACE)) else { return };
    let _agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    let mut load = scene.begin(&fleet, 2);
    let mut stopped = None::<Instant>;
    let mut has_gone_on = false;
    let outcome = follow(&mut load, |so_far| {
        if so_far.seconds.len() == 3 && stopped.is_none() {
            scene.broker.stop();
            stopped = Some(Instant::now());
        }
        if !has_gone_on && stopped.is_some_and(|stopped| stopped.elapsed() > LOST_AFTER + Duration::from_secs(2)) {
            scene.broker.go_on();
            has_gone_on = true;
        }
        if so_far.seconds.len() < 100 { Then::GoOn } else { Then::Stop }
    });
    assert!(has_gone_on && outcome.failed.is_empty(), "{:?}", outcome.failed);
    assert!(outcome.seconds.len() >= 100 && outcome.seconds.iter().all(|(_, missing)| *missing == 0));
}

#[test]
#[ignore = "waits until an agent is lost: `make test-all`"]
fn one_whose_heart_beats_and_whose_load_is_silent_is_lost_within_five_seconds() {
    let script = Script { silent: Some((1, 3)), ..Script::of(2, 80, PACE) };
    let Some(scene) = Scene::of(script) else { return };
    let _agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    let mut load = scene.begin(&fleet, 2);
    let mut since = None;
    let outcome = follow(&mut load, |so_far| {
        if so_far.seconds.len() == 3 {
            since.get_or_insert_with(Instant::now);
        }
        Then::GoOn
    });
    let [why] = &outcome.failed[..] else { panic!("{:?}", outcome.failed) };
    assert!(why.contains("the agent a02 is lost: nothing of its load for") && why.contains("its heart beats"), "{why}");
    // A busy machine looks later, never sooner.
    assert!(since.is_some_and(|since| since.elapsed() > Duration::from_secs(4)));
}

#[test]
#[ignore = "waits until an agent gives up: `make test-all`"]
fn one_whose_coordinator_is_gone_finishes_what_was_agreed_and_keeps_it() {
    let Some(scene) = Scene::of(Script::of(1, 3, PACE)) else { return };
    let agent = scene.agent("a01");
    let fleet = scene.fleet(1, 0);
    let mut load = scene.begin(&fleet, 1);
    while !matches!(load.next(Duration::from_millis(20)), Some(LoadEvent::Ready(_))) {}
    load.start(&|| false);
    // A coordinator that is killed says nothing.
    std::mem::forget(load);
    let is_abandoned = |news: &AgentNews| matches!(news, AgentNews::Abandoned { .. });
    assert!(wait_until(Duration::from_secs(60), || agent.has_said(is_abandoned)));
    let kept = std::fs::read_to_string(&agent.letters()[0]).unwrap();
    assert!(kept.contains("drained"), "what was agreed was done to its end");
}
