//! A broker that is reached from other machines: TLS, keys, and what an agent may not do.

use crate::scene::{Scene, Script, Then, follow, follow_to_its_end};
use async_nats::ConnectOptions;
use nkeys::KeyPair;
use plimsoll_fleet::FleetError;
use plimsoll_fleet::broker_config::{BrokerConfig, Secured, TlsFiles};
use plimsoll_fleet::link::BrokerLink;
use plimsoll_load::source::LoadSource;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_testkit::broker::Broker;
use plimsoll_testkit::certificates::Certificates;
use plimsoll_testkit::servers::wait_until;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const SCRIPT: Script =
    Script { loops: 2, seconds: 3, pace: Duration::from_millis(100), silent: None, is_restless: false };

struct Keys {
    directory: TempDir,
    certificates: Certificates,
    secured: Secured,
}

impl Keys {
    fn of(agents: &[&str]) -> Keys {
        let directory = tempfile::tempdir().unwrap();
        let certificates = Certificates::for_hosts(&["localhost"]);
        let public = |name: &str| write_key(directory.path(), name);
        let secured = Secured {
            tls: Some(TlsFiles {
                certificate: certificates.path("server.pem"),
                key: certificates.path("server-key.pem"),
            }),
            coordinator: public("coordinator"),
            agents: agents.iter().map(|name| ((*name).to_owned(), public(name))).collect(),
        };
        Keys { directory, certificates, secured }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.nk"))
    }

    fn address(&self, broker: &Broker, name: &str) -> BrokerAddress {
        let (port, ca) = (broker.port(), self.certificates.path("ca.pem"));
        let text = format!("tls://localhost:{port}?key={}&ca={}", self.file(name).display(), ca.display());
        BrokerAddress::parse(&text).unwrap()
    }

    /// Has the broker acknowledge in these places what an agent stores: whoever stores something says where.
    fn acknowledged(&self, broker: &Broker, agent: &str, places: &[&str]) {
        let options = ConnectOptions::with_nkey(fs::read_to_string(self.file(agent)).unwrap())
            .custom_inbox_prefix(format!("_INBOX_{agent}"))
            .add_root_certificates(self.certificates.path("ca.pem"))
            .require_tls(true);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = options.connect(format!("tls://localhost:{}", broker.port())).await.unwrap();
            for place in places {
                let (subject, place) = (format!("plimsoll.told.{agent}"), (*place).to_owned());
                client.publish_with_reply(subject, place, "stored".into()).await.unwrap();
            }
            client.flush().await.unwrap();
        });
        // It does so a little later.
        thread::sleep(Duration::from_millis(300));
    }
}

/// Writes a key, and returns the public part of it.
fn write_key(directory: &Path, name: &str) -> String {
    let (pair, file) = (KeyPair::new_user(), directory.join(format!("{name}.nk")));
    fs::write(&file, pair.seed().unwrap()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    pair.public_key()
}

fn secured(agents: &[&str]) -> Option<(Scene, Keys)> {
    let keys = Keys::of(agents);
    let config = BrokerConfig { listen: String::new(), directory: PathBuf::new(), secured: None };
    assert!(!config.to_string().contains("authorization"));
    let broker = Broker::with(keys.secured.to_string())?;
    let scene = Scene::at(broker, SCRIPT);
    Some((scene, keys))
}

/// What comes until so many are there, and within a second after that.
fn heard(inbox: &Receiver<plimsoll_fleet::link::Letter>, expected: usize) -> Vec<String> {
    let mut subjects = Vec::new();
    loop {
        let patience = Duration::from_secs(if subjects.len() < expected { 60 } else { 1 });
        match inbox.recv_timeout(patience) {
            Ok(letter) => subjects.push(letter.subject),
            Err(_) => return subjects,
        }
    }
}

/// Stores it, however long a busy machine takes to acknowledge it.
fn store(link: &BrokerLink, subject: &str, id: &str) {
    let is_stored = || link.store(subject, id, id.as_bytes().to_vec()).is_ok();
    assert!(wait_until(Duration::from_secs(60), is_stored), "{subject} is not stored");
}

#[test]
fn agents_with_keys_of_their_own_make_a_load_over_tls() {
    let Some((scene, keys)) = secured(&["a01", "a02"]) else { return };
    let address = |name: &str| keys.address(&scene.broker, name);
    let _agents = ["a01", "a02"].map(|name| scene.agent_at(name, address(name)));
    let fleet = scene.fleet_at(address("coordinator"), 2);
    let mut load = scene.begin(&fleet, 2);
    let outcome = follow_to_its_end(&mut load);
    assert_eq!((&outcome.failed, outcome.lost), (&Vec::new(), 0));
    assert!(outcome.tallies() == SCRIPT.whole());
    load.finish();
}

#[test]
fn an_agent_can_neither_hear_nor_tell_what_is_anothers_nor_delete_what_is_stored() {
    let Some((scene, keys)) = secured(&["a01", "a02"]) else { return };
    let address = |name: &str| keys.address(&scene.broker, name);
    let coordinator = BrokerLink::connect(&address("coordinator"), "coordinator-x").unwrap();
    coordinator.prepare_stream().unwrap();
    let (one, two) =
        (BrokerLink::connect(&address("a01"), "a01").unwrap(), BrokerLink::connect(&address("a02"), "a02").unwrap());
    let (sender, others) = mpsc::channel();
    for subject in ["plimsoll.told.a02", "plimsoll.to.a02", "plimsoll.hb.>", "_INBOX_a02.>", ">"] {
        // The broker says no later, if at all to us.
        let _ = one.hear(subject, sender.clone());
    }
    store(&one, "plimsoll.told.a01", "own");
    store(&two, "plimsoll.told.a02", "other");
    two.tell("plimsoll.hb.a02", b"beat".to_vec());
    coordinator.tell("plimsoll.to.a02", b"order".to_vec());
    coordinator.flush();
    two.flush();
    assert_eq!(heard(&others, 0), Vec::<String>::new(), "nothing of the other reaches it");
    assert!(one.store("plimsoll.told.a02", "forged", b"forged".to_vec()).is_err(), "nor can it speak for the other");
    keys.acknowledged(&scene.broker, "a01", &["$JS.API.STREAM.PURGE.PLIMSOLL", "$JS.API.STREAM.MSG.DELETE.PLIMSOLL"]);
    let (sender, stored) = mpsc::channel();
    coordinator.read_stored(0, sender);
    let all = ["plimsoll.told.a01", "plimsoll.told.a02", "plimsoll.told.a01", "plimsoll.told.a01"];
    assert_eq!(heard(&stored, all.len()), all, "all is there, and nothing forged");
}

#[test]
fn what_is_stored_is_deleted_by_nobody() {
    let Some(scene) = Scene::of(SCRIPT) else { return };
    let link = BrokerLink::connect(&scene.address(), "x").unwrap();
    link.prepare_stream().unwrap();
    store(&link, "plimsoll.told.a01", "told");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let is_deleted = runtime.block_on(async {
        let client = async_nats::connect(scene.broker.address()).await.unwrap();
        let stream = async_nats::jetstream::new(client).get_stream("PLIMSOLL").await.unwrap();
        (stream.purge().await.is_ok(), stream.delete_message(1).await.is_ok())
    });
    assert_eq!(is_deleted, (false, false));
    let (sender, stored) = mpsc::channel();
    link.read_stored(0, sender);
    assert_eq!(heard(&stored, 1), ["plimsoll.told.a01"]);
}

#[test]
fn what_a_broker_acknowledges_in_the_name_of_an_agent_is_no_word_of_it() {
    let Some((mut scene, keys)) = secured(&["a01", "a02"]) else { return };
    scene.script.seconds = 20;
    let address = |name: &str| keys.address(&scene.broker, name);
    let _agents = ["a01", "a02"].map(|name| scene.agent_at(name, address(name)));
    let fleet = scene.fleet_at(address("coordinator"), 2);
    let mut load = scene.begin(&fleet, 2);
    let mut is_said = false;
    let outcome = follow(&mut load, |so_far| {
        if !is_said && !so_far.seconds.is_empty() {
            is_said = true;
            keys.acknowledged(&scene.broker, "a01", &["plimsoll.hb.a02", "plimsoll.hello.a02"]);
        }
        Then::GoOn
    });
    assert_eq!((is_said, &outcome.failed, outcome.lost), (true, &Vec::new(), 0));
    assert!(outcome.tallies() == scene.script.whole());
    load.finish();
}

#[test]
fn an_agent_with_the_key_of_another_says_so_and_ends() {
    let Some((scene, keys)) = secured(&["a01", "a02"]) else { return };
    let why = scene.served("a02", keys.address(&scene.broker, "a01")).unwrap_err();
    assert!(matches!(&why, FleetError::Refused(text) if text.contains("the orders of a02")), "{why}");
}

#[test]
fn a_stranger_and_a_connection_in_the_clear_are_refused_without_a_secret() {
    let Some((scene, keys)) = secured(&["a01"]) else { return };
    write_key(keys.directory.path(), "stranger");
    let seed = fs::read_to_string(keys.file("stranger")).unwrap();
    let clear = BrokerAddress::parse(&format!("nats://127.0.0.1:{}", scene.broker.port())).unwrap();
    for address in [keys.address(&scene.broker, "stranger"), clear] {
        let Err(why) = BrokerLink::connect(&address, "x") else { panic!("{address} was let in") };
        assert!(matches!(why, FleetError::Environment(_)) && !why.to_string().contains(&seed), "{why}");
    }
    assert!(!scene.broker.log().contains(&seed));
}
