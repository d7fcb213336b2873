use crate::place::{NAME, Place, on_each_server, on_one_server};
use plimsoll_host::process::Identity;
use plimsoll_host::sample;
use plimsoll_model::OpeningStep;
use plimsoll_server::registry::{self, ServerState};
use plimsoll_server::{Ending, Opening, ServerError};
use plimsoll_testkit::servers::wait_until;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn state(place: &Place) -> ServerState {
    let all = registry::list(&place.home).unwrap();
    assert_eq!(all.len(), 1);
    all[0].state.clone()
}

#[test]
fn a_server_starts_serves_and_ends_with_its_owner() {
    on_each_server(|place| {
        let mut steps = Vec::new();
        let opening = Opening::new("a test").watched_by(|step, _| {
            if steps.last() != Some(&step) {
                steps.push(step);
            }
            ControlFlow::Continue(())
        });
        let server = place.open(opening).unwrap();
        assert_eq!(steps.last(), Some(&OpeningStep::Ready));
        assert!(steps.contains(&OpeningStep::Copying) && steps.contains(&OpeningStep::Starting), "{steps:?}");
        assert!(server.is_alive() && server.started_here() && server.settings_applied());
        let stream = UnixStream::connect(server.socket()).unwrap();
        assert_eq!(sample::local_server_pid(&stream), Some(server.pid()));
        drop(stream);
        let used = sample::process(server.pid(), 0).unwrap();
        assert!(used.resident_bytes > 10 << 20 && used.cpu_user_us + used.cpu_system_us > 0, "{used:?}");
        assert!(sample::context_switches(server.pid()).unwrap() > 0);
        assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o777, 0o700);

        let identity = Identity::of(server.pid()).unwrap();
        assert!(
            matches!(state(place), ServerState::Running { held_by: Some(who), .. } if who.starts_with("a test (pid "))
        );
        let socket = server.socket().to_owned();
        drop(server);
        assert!(!identity.is_alive() && !socket.exists());
        assert_eq!(state(place), ServerState::Stopped);
        assert!(fs::read_dir(place.path()).unwrap().all(|e| e.unwrap().file_name() != "server.pid"));
    });
}

#[test]
fn data_persist_and_are_not_initialised_twice() {
    on_each_server(|place| {
        let id = |place: &Place| fs::read_to_string(place.path().join("data/auto.cnf")).ok();
        drop(place.open(Opening::new("first")).unwrap());
        let first = id(place);
        let mut copied = false;
        let opening = Opening::new("second").watched_by(|step, _| {
            copied |= step == OpeningStep::Copying;
            ControlFlow::Continue(())
        });
        drop(place.open(opening).unwrap());
        assert!(!copied);
        assert_eq!(id(place), first);
    });
}

#[test]
fn a_kept_server_is_attached_to_and_stopped_by_hand() {
    on_each_server(|place| {
        let keeper = place.another_plimsoll("keeper");
        let pid: u32 = keeper.said.parse().unwrap();
        keeper.kill();
        assert_eq!(state(place), ServerState::Running { pid, held_by: None });
        assert!(registry::clean(&place.home).cleaned.is_empty(), "clean touched a kept server");

        let server = place.open(Opening::new("a guest")).unwrap();
        assert_eq!(server.pid(), pid);
        assert!(!server.started_here() && server.settings_applied());
        assert!(matches!(registry::stop(&place.home, NAME, LONG), Err(ServerError::Locked { .. })));
        drop(server);
        assert_eq!(state(place), ServerState::Running { pid, held_by: None });

        let info = registry::list(&place.home).unwrap().remove(0);
        assert!(info.data_bytes > 1 << 20 && info.up_since.is_some() && info.socket.unwrap().exists());
        assert_eq!(info.build.unwrap(), place.build);

        assert_eq!(registry::stop(&place.home, NAME, LONG).unwrap(), Ending::Stopped);
        assert_eq!(state(place), ServerState::Stopped);
        assert_eq!(registry::stop(&place.home, NAME, LONG).unwrap(), Ending::WasDown);
    });
}

#[test]
fn a_guest_is_told_when_a_kept_server_has_other_settings() {
    on_one_server(|place| {
        let kept = place.open(Opening::new("keeper").keep_running()).unwrap();
        drop(kept);
        let mut settings = place.settings();
        settings.set("innodb_io_capacity", "300", "test").unwrap();
        let open = |settings| {
            plimsoll_server::PrivateServer::open(&place.home, NAME, &place.build, settings, Opening::new("guest"))
        };
        let guest = open(&settings).unwrap();
        assert!(!guest.settings_applied());
        assert_eq!(guest.stop(LONG).unwrap(), Ending::Stopped);
        let guest = open(&settings).unwrap();
        assert!(guest.settings_applied() && guest.started_here());
    });
}

#[test]
fn a_second_plimsoll_is_told_who_holds_the_server() {
    on_one_server(|place| {
        let server = place.open(Opening::new("plimsoll run oltp_read_only")).unwrap();
        let other = place.another_plimsoll("owner");
        let wanted = format!("is in use by plimsoll run oltp_read_only (pid {})", std::process::id());
        assert!(other.said.contains(&wanted), "{}", other.said);
        assert!(server.is_alive());
        other.end();
        drop(server);
        let other = place.another_plimsoll("owner");
        assert!(other.said.parse::<u32>().is_ok(), "{}", other.said);
        other.end();
        assert_eq!(state(place), ServerState::Stopped);
    });
}

#[test]
fn a_server_dies_with_its_killed_owner() {
    on_each_server(|place| {
        for role in ["owner", "thread"] {
            let owner = place.another_plimsoll(role);
            let server = Identity::of(owner.said.parse().unwrap()).unwrap();
            owner.kill();
            assert!(wait_until(LONG, || !server.is_alive()), "the server outlives its killed owner");
            assert_eq!(state(place), ServerState::Stale);
            let cleaning = registry::clean(&place.home);
            assert!(!cleaning.cleaned.is_empty() && cleaning.left.is_empty(), "{cleaning:?}");
            assert_eq!(state(place), ServerState::Stopped);
        }
        drop(place.open(Opening::new("the next one")).unwrap());
    });
}

#[test]
fn a_killed_server_is_noticed_and_its_log_is_at_hand() {
    on_each_server(|place| {
        let server = place.open(Opening::new("a test")).unwrap();
        let pid = rustix::process::Pid::from_raw(server.pid() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        assert!(wait_until(LONG, || !server.is_alive()));
        let tail = server.error_log_tail(50);
        assert!(tail.contains("ready for connections"), "{tail}");
        assert_eq!(server.error_log_tail(2).lines().count(), 2);
        assert_eq!(server.stop(LONG).unwrap(), Ending::WasDown);
        // It recovers.
        drop(place.open(Opening::new("a test")).unwrap());
    });
}

#[test]
fn giving_up_leaves_nothing_running() {
    on_one_server(|place| {
        let opening = Opening::new("impatient").watched_by(|step, _| match step {
            OpeningStep::Starting => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert!(matches!(place.open(opening), Err(ServerError::Interrupted { .. })));
        assert_eq!(state(place), ServerState::Stopped);
        let slow = place.open(Opening::new("impatient").ready_within(Duration::ZERO));
        assert!(matches!(slow, Err(ServerError::StartTimeout { .. })), "{slow:?}");
        assert_eq!(state(place), ServerState::Stopped);
        // One that is stopped by a signal does nothing, as one that hangs in its recovery.
        let stopped = Opening::new("impatient").hung_after(Duration::from_secs(3)).watched_by(|step, _| {
            if let (OpeningStep::Starting, ServerState::Running { pid, .. }) = (step, state(place)) {
                let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
            }
            ControlFlow::Continue(())
        });
        let hung = place.open(stopped);
        assert!(matches!(hung, Err(ServerError::Hung { .. })), "{hung:?}");
        assert_eq!(state(place), ServerState::Stopped);
    });
}
