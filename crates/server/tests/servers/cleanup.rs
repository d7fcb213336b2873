use crate::place::{NAME, home_with_cache, on_each_server, on_one_server};
use plimsoll_host::process::Identity;
use plimsoll_server::registry::{self, Cleaned, ServerState};
use plimsoll_server::{Opening, ServerError};
use plimsoll_testkit::servers;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};

fn edit_record(path: &Path, edit: impl Fn(&mut Value)) {
    let file = path.join("server.json");
    let mut record = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    edit(&mut record);
    fs::write(file, record.to_string()).unwrap();
}

/// Somebody else's process, who must survive everything.
struct Stranger(Child);

impl Stranger {
    fn new() -> Stranger {
        Stranger(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn clean_stops_a_server_that_outlived_its_plimsoll() {
    on_each_server(|place| {
        let server = place.open(Opening::new("keeper").keep_running()).unwrap();
        let (pid, socket) = (server.pid(), server.socket().to_owned());
        drop(server);
        // As if `server start` had been killed before the server was ready.
        edit_record(&place.path(), |record| record["process"]["kept"] = json!(false));
        assert_eq!(registry::list(&place.home).unwrap()[0].state, ServerState::Leftover { pid });
        fs::create_dir(place.path().join("data.new")).unwrap();

        let cleaning = registry::clean(&place.home);
        assert!(cleaning.cleaned.contains(&Cleaned::Server { name: NAME.into(), pid }), "{cleaning:?}");
        assert!(cleaning.cleaned.contains(&Cleaned::Path(place.path().join("data.new"))), "{cleaning:?}");
        assert!(Identity::of(pid).is_none() && !socket.exists());
        assert!(place.path().join("data/plimsoll-data.json").exists(), "clean removed data");
        assert!(registry::clean(&place.home).cleaned.is_empty());
    });
}

#[test]
fn clean_finds_a_server_whose_pid_was_never_written_down() {
    on_one_server(|place| {
        let server = place.open(Opening::new("keeper").keep_running()).unwrap();
        let pid = server.pid();
        drop(server);
        edit_record(&place.path(), |record| record["process"] = Value::Null);
        assert_eq!(registry::list(&place.home).unwrap()[0].state, ServerState::Leftover { pid });
        let cleaning = registry::clean(&place.home);
        assert!(cleaning.cleaned.contains(&Cleaned::Server { name: NAME.into(), pid }), "{cleaning:?}");
    });
}

#[test]
fn nobody_touches_a_stranger_with_a_reused_pid() {
    on_one_server(|place| {
        let kept = place.open(Opening::new("keeper").keep_running()).unwrap();
        kept.stop(std::time::Duration::from_secs(60)).unwrap();
        let mut stranger = Stranger::new();
        let identity = Identity::of(stranger.0.id()).unwrap();
        let mut process = serde_json::to_value(&identity).unwrap();
        process["build"] = serde_json::to_value(&place.build).unwrap();
        process["socket"] = json!(place.home.socket(NAME).unwrap());
        process["started_at"] = json!("2024-01-01T00:00:00Z");
        for (kept, start_ticks) in [(false, 1), (true, 1), (false, identity.start_ticks), (true, identity.start_ticks)]
        {
            // Even when pid and start time match, the command line is not our server's.
            process["kept"] = json!(kept);
            process["start_ticks"] = json!(start_ticks);
            edit_record(&place.path(), |record| record["process"] = process.clone());
            assert_eq!(registry::list(&place.home).unwrap()[0].state, ServerState::Stale);
            registry::clean(&place.home);
            assert!(stranger.lives());
            edit_record(&place.path(), |record| record["process"] = process.clone());
            registry::stop(&place.home, NAME, std::time::Duration::from_secs(1)).unwrap();
            assert!(stranger.lives());
        }
        edit_record(&place.path(), |record| record["process"] = process.clone());
        let server = place.open(Opening::new("a test")).unwrap();
        assert!(server.started_here() && stranger.lives());
    });
}

#[test]
fn clean_leaves_a_server_in_use_alone() {
    on_one_server(|place| {
        let owner = place.another_plimsoll("owner");
        let cleaning = registry::clean(&place.home);
        assert!(cleaning.cleaned.is_empty(), "{cleaning:?}");
        assert!(matches!(&cleaning.left[..], [ServerError::Locked { .. }]), "{cleaning:?}");
        assert!(Identity::of(owner.said.parse().unwrap()).is_some());
        owner.end();
    });
}

#[test]
fn clean_removes_a_template_that_was_never_finished() {
    // In a cache of its own: every other test that cleans the shared one would remove it, too.
    let base = servers::home();
    let home = home_with_cache(base.path(), &base.path().join("cache"));
    let half = home.templates().join("mariadb-0-0000000000000000.building");
    fs::create_dir_all(half.join("data")).unwrap();
    let cleaning = registry::clean(&home);
    assert_eq!(cleaning.cleaned, [Cleaned::Path(half.clone())]);
    assert!(!half.exists());
}
