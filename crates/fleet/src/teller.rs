//! What an agent's load tells on its way to the coordinator: onto the agent's own disk first, then to the broker, until the
//! broker has it, and once more if the coordinator misses some of it.

use crate::link::BrokerLink;
use crate::message::Word;
use crate::spool::{Spool, SpoolOwner};
use crate::subject;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two attempts at a broker that does not answer.
const AGAIN: Duration = Duration::from_millis(200);

/// Tells what a load of one trial says.
pub struct Teller {
    shared: Arc<Shared>,
    sender: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    spool: Spool,
    /// The letter that is sent next.
    next: u64,
    /// How often it was asked to begin again: what is sent again has another id, or the broker would drop it.
    again: u64,
    /// The longest that the broker took to acknowledge a letter, since somebody asked.
    longest: Duration,
    is_over: bool,
}

impl Teller {
    /// Of a trial that begins.
    ///
    /// # Errors
    /// Nothing can be written below `directory`.
    pub fn begin(
        link: Arc<BrokerLink>,
        agent: &str,
        directory: &Path,
        trial: &str,
        incarnation: u64,
    ) -> io::Result<Teller> {
        let spool = Spool::create(directory, SpoolOwner { agent, trial }, incarnation)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State { spool, next: 0, again: 0, longest: Duration::ZERO, is_over: false }),
            changed: Condvar::new(),
        });
        let (inside, subject, id) = (shared.clone(), subject::told(agent), format!("{trial}.{agent}.{incarnation}"));
        let sender = thread::Builder::new().name("teller".into()).spawn(move || {
            while let Some((number, again, body)) = inside.next_letter() {
                let id = if again == 0 { format!("{id}.{number}") } else { format!("{id}.{number}.{again}") };
                let sent = Instant::now();
                match link.store(&subject, &id, body) {
                    Ok(()) => inside.is_stored(number, again, sent.elapsed()),
                    Err(_) => thread::sleep(AGAIN),
                }
            }
        })?;
        Ok(Teller { shared, sender: Some(sender) })
    }

    /// Tells a word, once it is on our own disk.
    ///
    /// # Errors
    /// It cannot be written there.
    pub fn tell(&self, word: &Word) -> io::Result<()> {
        self.shared.state().spool.write(word)?;
        self.shared.changed.notify_one();
        Ok(())
    }

    /// How many letters have been written.
    pub fn written(&self) -> u64 {
        self.shared.state().spool.written()
    }

    /// The longest that the broker took to acknowledge a letter, since this was last asked.
    pub fn longest_stored(&self) -> Duration {
        std::mem::take(&mut self.shared.state().longest)
    }

    /// Sends everything from this letter on once more.
    pub fn tell_again(&self, from: u64) {
        let mut state = self.shared.state();
        state.next = from.min(state.next);
        state.again += 1;
        self.shared.changed.notify_one();
    }
}

impl Drop for Teller {
    /// What is not sent yet stays on our disk.
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_one();
        if let Some(sender) = self.sender.take() {
            let _ = sender.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits for a letter to send; `None` once it is over.
    fn next_letter(&self) -> Option<(u64, u64, Vec<u8>)> {
        let mut state = self.state();
        while !state.is_over {
            // What cannot be read now may be readable later; the coordinator notices that it is missing.
            if let Ok(Some(body)) = state.spool.letter(state.next) {
                return Some((state.next, state.again, body));
            }
            let waited = self.changed.wait_timeout(state, AGAIN);
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
        None
    }

    fn is_stored(&self, number: u64, again: u64, after: Duration) {
        let mut state = self.state();
        state.longest = state.longest.max(after);
        // Unless it was told to begin again meanwhile.
        if state.next == number && state.again == again {
            state.next += 1;
        }
    }
}
