//! What a fleet refuses, and what it says then.

use crate::scene::{Scene, Script, assign};
use plimsoll_fleet::link::BrokerLink;
use plimsoll_fleet::message::{self, AgentAnswer, AgentOrder, Hello};
use plimsoll_fleet::{Fleet, FleetBuild, FleetError, FleetWish};
use plimsoll_load::source::{LoadEvent, LoadSource};
use plimsoll_plan::broker::BrokerAddress;
use std::time::Duration;

const SCRIPT: Script =
    Script { loops: 2, seconds: 2, pace: Duration::from_millis(50), silent: None, is_restless: false };

#[test]
fn a_broker_that_is_not_there_is_named() {
    let address = BrokerAddress::parse("nats://127.0.0.1:1").unwrap();
    let wish = FleetWish { address, agents: None, tolerate_lost: 0, build: FleetBuild::of("1") };
    let why = Fleet::join(wish, "x").map(drop).unwrap_err();
    assert!(matches!(&why, FleetError::Environment(text) if text.contains("nats://127.0.0.1:1")), "{why}");
}

#[test]
fn no_agents_two_of_one_name_and_those_of_another_build_are_refused() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let wish = FleetWish { address: scene.address(), agents: None, tolerate_lost: 0, build: FleetBuild::of("1.2.3") };
    let fleet = Fleet::join(wish, "x").unwrap();
    let why = || fleet.begin(SCRIPT.facts(), 1, 2, &assign, &|| false).map(drop).unwrap_err().to_string();
    assert!(why().contains("no agent answers at nats://127.0.0.1:") && why().contains("plimsoll agent"), "{}", why());
    {
        let _old = scene.agent_of("old", scene.address(), FleetBuild::of("0.9.0"));
        let why = why();
        assert!(why.contains("the agent old is Plimsoll 0.9.0") && why.contains("and this is 1.2.3"), "{why}");
    }
    let _twins = [scene.agent("twin"), scene.agent("twin")];
    assert!(why().contains("the agent twin: two have this name"), "{}", why());
}

#[test]
fn an_agent_refuses_what_it_does_not_understand() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let _agent = scene.agent("a01");
    let fleet = scene.fleet(1, 0);
    let nonsense = |_: &_| "nonsense".to_owned();
    let why = fleet.begin(SCRIPT.facts(), 1, 2, &nonsense, &|| false).map(drop).unwrap_err();
    assert_eq!(why, FleetError::Refused("the agent a01 refuses: \"nonsense\" names no loops".to_owned()));
}

#[test]
fn an_agent_refuses_a_start_that_is_far_away() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let _agent = scene.agent("a01");
    let fleet = scene.fleet(1, 0);
    let mut load = scene.begin(&fleet, 1);
    while !matches!(load.next(Duration::from_millis(20)), Some(LoadEvent::Ready(_))) {}
    let trial = fleet.muster(&|| false).unwrap()[0].hello.trial.clone().expect("it has a load");
    let hostile = BrokerLink::connect(&scene.address(), "hostile").unwrap();
    let order = |at_ns| message::write(&AgentOrder::Start { trial: trial.clone(), at_ns });
    let asked = |at_ns| {
        let question = vec![("plimsoll.to.a01".to_owned(), order(at_ns))];
        let answer = hostile.ask_all(question, Duration::from_secs(20)).pop().unwrap().unwrap();
        message::read::<AgentAnswer>(&answer).unwrap()
    };
    for far in [3_600_000_000_000, u64::MAX] {
        let answer = asked(far);
        assert!(matches!(&answer, AgentAnswer::Refused(why) if why.contains("no start")), "{answer:?}");
    }
    assert_eq!(asked(0), AgentAnswer::Done);
}

#[test]
fn a_hello_of_another_version_is_no_hello() {
    let text = br#"{"incarnation":1,"build":{"version":"2","digest":"x"},"machine":"m","boot":"b","cpus":1,"ceiling":null,"trial":null,"shoes":2}"#;
    assert!(message::read::<Hello>(text).unwrap_err().contains("shoes"));
}
