//! What takes long without telling how far it is.

use super::note;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Nobody is told of what takes less.
const UNSAID: Duration = Duration::from_secs(2);
const SAID_EACH: Duration = Duration::from_secs(10);

/// Does `work`; where it takes more than two seconds, `what` it is doing is said, and again every ten.
pub fn patiently<T>(what: &str, work: impl FnOnce() -> T) -> T {
    saying(what, [UNSAID, SAID_EACH], note, work)
}

/// It is said after the first of `waits`, and from then on after each of the second.
fn saying<T>(what: &str, waits: [Duration; 2], say: impl Fn(&str) + Send, work: impl FnOnce() -> T) -> T {
    let (working, worked) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let [mut wait, each] = waits;
            let begun = Instant::now();
            while worked.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                say(&format!("{what}: {} s so far", begun.elapsed().as_secs()));
                wait = each;
            }
        });
        let result = work();
        drop(working);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_said_again_and_again_and_what_is_quick_never() {
        let (told, heard) = mpsc::channel::<String>();
        let say = |text: &str| told.send(text.to_owned()).unwrap();
        let waits = [Duration::from_millis(1); 2];
        // It ends when it was said three times.
        let done = saying("reading x", waits, say, || heard.iter().take(3).collect::<Vec<_>>());
        assert_eq!(done, ["reading x: 0 s so far"; 3]);
        let never = |text: &str| assert!(text.is_empty(), "{text}");
        assert_eq!(saying("reading x", [Duration::from_secs(60), UNSAID], never, || 7), 7);
    }
}
