//! Work that agents share piece by piece.

use crate::scene::{Scene, Script};
use plimsoll_fleet::FleetError;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

const SCRIPT: Script =
    Script { loops: 2, seconds: 2, pace: Duration::from_millis(50), silent: None, is_restless: false };

#[test]
fn pieces_are_done_by_all_hands_and_each_once() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let _agents = scene.agents(3);
    let fleet = scene.fleet(3, 0);
    let job = fleet.job("lengths", &|| false).unwrap();
    let mut hands = job.hands(2);
    assert_eq!(hands.len(), 6);
    let (left, sum) = (Mutex::new((1..=60usize).collect::<Vec<_>>()), Mutex::new(0));
    thread::scope(|scope| {
        for hand in &mut hands {
            scope.spawn(|| {
                loop {
                    let Some(length) = left.lock().unwrap().pop() else { return };
                    *sum.lock().unwrap() += hand.piece(&"x".repeat(length), &|| false).unwrap();
                }
            });
        }
    });
    assert_eq!(sum.into_inner().unwrap(), (1..=60).sum::<u64>());
    let why = hands[0].piece("no", &|| false).unwrap_err();
    assert_eq!(why, FleetError::Environment("the agent a01: it says no".to_owned()));
    drop(job);
    let why = hands[0].piece("late", &|| false).unwrap_err().to_string();
    assert!(why.contains("it is not ready for"), "{why}");
}

#[test]
fn a_job_that_is_not_understood_is_refused_and_a_lost_agent_is_named() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let mut agents = scene.agents(2);
    let fleet = scene.fleet(2, 0);
    let why = fleet.job("nonsense", &|| false).map(drop).unwrap_err().to_string();
    assert!(why.contains("refuses: \"nonsense\" is no job"), "{why}");
    let job = fleet.job("lengths", &|| false).unwrap();
    let mut hands = job.hands(1);
    agents[1].end();
    let why = hands[1].piece("x", &|| false).unwrap_err().to_string();
    assert!(why.contains("the agent a02"), "{why}");
}
