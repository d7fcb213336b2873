//! What a thread of a script does with its time, apart from asking the server: it computes, waits and runs commands.

use super::ScriptThread;
use crate::shell::ShellCommand;
use plimsoll_engine::Failure;
use plimsoll_engine::helper::on_a_thread;
use plimsoll_load::recorder::Effect;

impl ScriptThread {
    /// The script has computed since then.
    pub fn computed_since(&self, begun_ns: u64) {
        let ns = self.exchanges.borrow_mut().look().saturating_sub(begun_ns);
        let (sum, longest) = self.computed_ns.get();
        self.computed_ns.set((sum + ns, longest.max(ns)));
    }

    /// The script has waited: the time is no longer that of the last answer.
    pub fn waited(&self) {
        self.exchanges.borrow_mut().waited();
    }

    /// A statement of a dry run, which is counted with the others of its event.
    pub fn count_nothing(&self) {
        self.nothing.set(self.nothing.get() + 1);
    }

    /// Counts how long an event has computed, and the statements of a dry run: as none of reads and writes, as sysbench does.
    pub fn count_event(&self) {
        let (nothing, (ns, longest_ns)) = (self.nothing.take(), self.computed_ns.take());
        let mut recorder = self.connector.meter.at(self.now_ns());
        recorder.computed(ns, longest_ns);
        if nothing > 0 {
            recorder.counted_as(Effect::Other, nothing);
        }
    }

    /// The same of what came before the events, whose time is no part of theirs.
    pub fn count_setup(&self) {
        self.computed_ns.take();
        self.count_event();
    }

    /// Lets other connections of the loop run, if this one has kept it long without asking anything.
    pub async fn give_way(&self) {
        let reactor = &self.connector.reactor;
        if reactor.has_had_its_share(reactor.now_ns()) {
            reactor.give_way(&self.slot).await;
            self.waited();
        }
    }

    /// Waits for so long; false if the run ends meanwhile.
    pub async fn sleep(&self, seconds: f64) -> bool {
        let reactor = &self.connector.reactor;
        let wait_ns = (seconds.max(0.0) * 1e9).min(1e18) as u64;
        self.apart(reactor.sleep_until(&self.slot, reactor.now_ns() + wait_ns)).await
    }

    /// Runs a command on a thread of its own; nothing if the run ends meanwhile.
    ///
    /// # Errors
    /// [`Failure::Script`] if it cannot be run.
    pub async fn shell(&self, command: ShellCommand) -> Result<Option<(i32, Vec<u8>)>, Failure> {
        let shown = String::from_utf8_lossy(&command.text).into_owned();
        let running = on_a_thread(&self.connector.reactor, &self.slot, move || command.run());
        let failed = |error| Failure::Script(format!("cannot run '{shown}': {error}"));
        self.apart(running).await.map_err(failed)?.transpose().map_err(failed)
    }

    /// Waits for something else than the server, of which nothing is asked meanwhile.
    async fn apart<T>(&self, waiting: impl Future<Output = T>) -> T {
        let reactor = &self.connector.reactor;
        if self.in_event.get() {
            reactor.end_exchange();
        }
        let done = waiting.await;
        if self.in_event.get() {
            reactor.begin_exchange(reactor.now_ns());
        }
        self.waited();
        done
    }
}
