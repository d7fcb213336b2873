//! A job that an agent is ready for, and the pieces of it that it is at.

use crate::message::AgentAnswer;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// A job that nobody asks about for so long is nobody's any more.
const FORGOTTEN: Duration = Duration::from_secs(5);
/// Pieces that are done at the same time at most.
const MOST_PIECES: usize = 1024;

/// A job, pieces of which are done at the same time.
pub trait AgentJob: Send + Sync {
    /// Does a piece; what came of it.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn piece(&self, text: &str) -> Result<u64, String>;
}

/// A job that an agent is ready for.
pub struct HeldJob {
    pub name: String,
    made: Arc<dyn AgentJob>,
    /// The pieces that it is at, by their numbers: each lives as long as the thread that does it.
    pieces: BTreeMap<u64, Weak<()>>,
    /// When it was last asked for one, or about one.
    asked: Instant,
    /// Nobody asks for another.
    pub is_over: bool,
}

impl HeldJob {
    pub fn new(name: &str, made: Arc<dyn AgentJob>) -> HeldJob {
        HeldJob { name: name.to_owned(), made, pieces: BTreeMap::new(), asked: Instant::now(), is_over: false }
    }

    pub fn is_held(&self) -> bool {
        self.pieces.values().any(is_in_hand) || !self.is_over && self.asked.elapsed() < FORGOTTEN
    }

    /// Somebody asks whether it is at this piece.
    pub fn is_at(&mut self, number: u64) -> bool {
        self.asked = Instant::now();
        self.pieces.get(&number).is_some_and(is_in_hand)
    }

    /// Does a piece beside everything else; `answer` is given what came of it.
    ///
    /// # Errors
    /// Why it is not done.
    pub fn begin_piece(
        &mut self,
        number: u64,
        text: String,
        answer: impl FnOnce(AgentAnswer) + Send + 'static,
    ) -> Result<(), String> {
        self.asked = Instant::now();
        self.pieces.retain(|_, piece| is_in_hand(piece));
        if self.pieces.contains_key(&number) {
            return Err(format!("it is at the piece {number} of {} already", self.name));
        }
        if self.pieces.len() >= MOST_PIECES {
            return Err(format!("it is at {MOST_PIECES} pieces of {}, and does no more at a time", self.name));
        }
        let in_hand = Arc::new(());
        self.pieces.insert(number, Arc::downgrade(&in_hand));
        let made = self.made.clone();
        let begun = thread::Builder::new().name("piece".to_owned()).spawn(move || {
            answer(made.piece(&text).map_or_else(AgentAnswer::Refused, AgentAnswer::Counted));
            drop(in_hand);
        });
        begun.map(drop).map_err(|error| format!("it cannot start a thread: {error}"))
    }
}

fn is_in_hand(piece: &Weak<()>) -> bool {
    piece.strong_count() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{self, Receiver};
    use std::sync::{Mutex, PoisonError};

    /// Each piece lasts until it is let go.
    struct Held(Mutex<Receiver<()>>);

    impl AgentJob for Held {
        fn piece(&self, text: &str) -> Result<u64, String> {
            let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).recv();
            Ok(text.len() as u64)
        }
    }

    #[test]
    fn a_piece_is_in_hand_once_and_there_are_no_more_than_threads_can_do() {
        let ((go_on, held), (sender, answers)) = (mpsc::channel(), mpsc::channel());
        let mut job = HeldJob::new("j", Arc::new(Held(Mutex::new(held))));
        let begin = |job: &mut HeldJob, number: u64| {
            let sender = sender.clone();
            job.begin_piece(number, "abc".to_owned(), move |answer| drop(sender.send(answer)))
        };
        for number in 0..MOST_PIECES as u64 {
            assert_eq!(begin(&mut job, number), Ok(()));
        }
        assert!(begin(&mut job, 7).unwrap_err().contains("at the piece 7 of j already"));
        assert!(begin(&mut job, u64::MAX).unwrap_err().contains("no more at a time"));
        assert!(job.is_held() && job.is_at(7) && !job.is_at(u64::MAX));
        drop(go_on);
        for _ in 0..MOST_PIECES {
            assert_eq!(answers.recv(), Ok(AgentAnswer::Counted(3)));
        }
    }
}
