//! What a fleet refuses, and what it says then.

use crate::scene::{Scene, Script, assign};
use plimsoll_fleet::link::BrokerLink;
use plimsoll_fleet::message::{self, AgentAnswer, AgentOrder, Call, Hello};
use plimsoll_fleet::{AgentNews, Fleet, FleetBuild, FleetError, FleetLoad, FleetWish};
use plimsoll_load::source::{LoadEvent, LoadSource};
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_testkit::servers::wait_until;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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
    let patience = Duration::from_secs(60);
    assert!(why().contains("no agent answers at nats://127.0.0.1:") && why().contains("plimsoll agent"), "{}", why());
    {
        let _old = scene.agent_of("old", scene.address(), FleetBuild::of("0.9.0"));
        assert!(wait_until(patience, || fleet.roll_call().is_ok_and(|all| all.len() == 1)));
        let why = why();
        assert!(why.contains("the agent old is Plimsoll 0.9.0") && why.contains("and this is 1.2.3"), "{why}");
    }
    let _twins = [scene.agent("twin"), scene.agent("twin")];
    let twice = |why: FleetError| why.to_string().contains("the agent twin: two have this name");
    assert!(wait_until(patience, || fleet.roll_call().is_err_and(twice)));
    assert!(why().contains("the agent twin: two have this name"), "{}", why());
}

#[test]
fn a_later_load_waits_for_as_many_agents_as_the_first_had() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let mut agents = scene.agents(2);
    let wish = FleetWish { address: scene.address(), agents: None, tolerate_lost: 0, build: FleetBuild::of("1.2.3") };
    let fleet = Fleet::join(wish, "x").unwrap();
    assert!(wait_until(Duration::from_secs(60), || fleet.roll_call().unwrap().len() == 2));
    let mustered = || fleet.muster(&|| false).unwrap().len();
    assert_eq!(mustered(), 2);
    drop(agents.pop());
    thread::scope(|scope| {
        let late = scope.spawn(|| {
            thread::sleep(Duration::from_millis(2500));
            scene.agent("a02")
        });
        assert_eq!(mustered(), 2, "one of them comes later");
        drop(late.join());
    });
}

#[test]
fn whoever_waits_for_an_answer_may_be_interrupted() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let link = BrokerLink::connect(&scene.address(), "x").unwrap();
    let (sender, _inbox) = mpsc::channel();
    // Whoever is asked hears it, and says nothing.
    link.hear("plimsoll.to.silent", sender).unwrap();
    let question = || vec![("plimsoll.to.silent".to_owned(), b"?".to_vec())];
    let since = Instant::now();
    assert_eq!(link.ask_all_unless(question(), Duration::from_secs(60), &|| true), None);
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    let why = link.ask_all(question(), Duration::from_millis(300)).pop().unwrap().unwrap_err();
    assert_eq!(why, "no answer within 0.3 s");
}

/// What a load tells within a moment of why it failed.
fn failures(load: &mut FleetLoad<'_>) -> Vec<String> {
    let since = Instant::now();
    let mut all = Vec::new();
    while since.elapsed() < Duration::from_millis(500) {
        if let Some(LoadEvent::Failed(why)) = load.next(Duration::from_millis(20)) {
            all.push(why);
        }
    }
    all
}

#[test]
fn a_start_that_is_called_off_or_interrupted_ends_the_load_at_once() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let agent = scene.agent("a01");
    let fleet = scene.fleet(1, 0);
    let hostile = BrokerLink::connect(&scene.address(), "hostile").unwrap();
    let mut load = scene.begin(&fleet, 1);
    while !matches!(load.next(Duration::from_millis(20)), Some(LoadEvent::Ready(_))) {}
    let trial = fleet.muster(&|| false).unwrap()[0].hello.trial.clone().expect("it has a load");
    hostile.tell("plimsoll.all", message::write(&Call::Finish { trial }));
    let has_ended = |news: &AgentNews| matches!(news, AgentNews::Ends { .. });
    assert!(wait_until(Duration::from_secs(60), || agent.has_said(has_ended)));
    load.start(&|| false);
    assert_eq!(load.ended(), 1);
    let why = failures(&mut load);
    assert!(why.len() == 1 && why[0].starts_with("the start was called off: the agent a01: it has no load"), "{why:?}");
    load.finish();
    let mut load = scene.begin(&fleet, 1);
    while !matches!(load.next(Duration::from_millis(20)), Some(LoadEvent::Ready(_))) {}
    load.start(&|| true);
    assert_eq!((load.ended(), failures(&mut load)), (1, Vec::new()));
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
