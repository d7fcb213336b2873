//! Bounds every phase: when its time is over, the server is killed, so that whatever waits for it fails.

use plimsoll_host::process::Identity;
use plimsoll_model::samples::Phase;
use plimsoll_server::process;
use plimsoll_server::{PrivateServer, ServerError};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The process of a private server; it is signalled only as long as it is still that process.
#[derive(Clone, Debug)]
pub struct Victim {
    name: String,
    identity: Identity,
    my_cnf: PathBuf,
}

impl Victim {
    /// `None` if the server has ended.
    pub fn of(server: &PrivateServer) -> Option<Victim> {
        let identity = Identity::of(server.pid())?;
        Some(Victim { name: server.name().to_owned(), identity, my_cnf: server.directory().my_cnf() })
    }

    /// Sends it SIGKILL. It may take until its storage answers before it is gone.
    ///
    /// # Errors
    /// If it cannot be signalled.
    pub fn strike(&self) -> Result<(), ServerError> {
        process::strike(&self.identity, &self.my_cnf)
    }

    /// Kills it with SIGKILL and waits until it is gone. `clean` finds one that cannot be killed.
    pub fn kill(&self) {
        let _ = process::kill(&self.name, &self.identity, &self.my_cnf);
    }
}

/// One thread with one deadline, that of the current phase.
#[derive(Debug)]
pub struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    deadline: Option<(Instant, Phase, Duration)>,
    victim: Option<Victim>,
    struck: Option<String>,
    done: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut state = self.state();
        while !state.done {
            let Some((at, phase, limit)) = state.deadline else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = at.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.deadline = None;
            state.struck = Some(format!("the phase {} took longer than {:.0} s", name(phase), limit.as_secs_f64()));
            if let Some(victim) = state.victim.take() {
                drop(state);
                victim.kill();
                state = self.state();
            }
        }
    }
}

impl Watchdog {
    pub fn start() -> Watchdog {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        // If no thread can be started, phases are not bounded, and nothing else changes.
        let thread = thread::Builder::new().name("watchdog".into()).spawn(move || watched.watch()).ok();
        Watchdog { shared, thread }
    }

    /// A phase begins, which may take this long.
    pub fn allow(&self, phase: Phase, limit: Duration) {
        self.shared.state().deadline = Some((Instant::now() + limit, phase, limit));
        self.shared.changed.notify_one();
    }

    /// The server that is killed when a phase takes too long.
    pub fn guard(&self, victim: Option<Victim>) {
        self.shared.state().victim = victim;
    }

    /// What took too long, in words.
    pub fn struck(&self) -> Option<String> {
        self.shared.state().struck.clone()
    }

    /// The same, after which things may go on.
    pub fn forgive(&self) -> Option<String> {
        let mut state = self.shared.state();
        state.deadline = None;
        state.struck.take()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.state().done = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It never panics, and if it did, it would have nothing to report.
            let _ = thread.join();
        }
    }
}

/// The name of a phase in recordings.
pub fn name(phase: Phase) -> String {
    serde_json::to_value(phase).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_host::process::{Lifetime, spawn};
    use std::process::Command;

    #[test]
    fn a_phase_that_takes_too_long_ends_its_server_and_says_so() {
        let my_cnf = PathBuf::from("/nowhere/watchdog/my.cnf");
        let mut command = Command::new("sh");
        // It stays without a child of its own, which would outlive it.
        command.args(["-c", "kill -STOP $$"]).arg(format!("--defaults-file={}", my_cnf.display()));
        let mut child = spawn(command, Lifetime::WithPlimsoll).unwrap();
        // Until it is the program that was asked for.
        while !Identity::of(child.id()).is_some_and(|found| plimsoll_server::process::runs_with(&found, &my_cnf)) {
            thread::sleep(Duration::from_millis(1));
        }
        let identity = Identity::of(child.id()).unwrap();
        let watchdog = Watchdog::start();
        watchdog.guard(Some(Victim { name: "x".into(), identity: identity.clone(), my_cnf }));
        watchdog.allow(Phase::Start, Duration::from_secs(3600));
        assert!(identity.is_alive() && watchdog.struck().is_none());
        watchdog.allow(Phase::WarmUp, Duration::ZERO);
        child.wait().unwrap();
        assert_eq!(watchdog.struck().unwrap(), "the phase warm-up took longer than 0 s");
    }
}
