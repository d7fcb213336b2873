//! The last words of a server that died under a load.

use crate::target::OpenTarget;
use std::thread;
use std::time::{Duration, Instant};

/// How often the server is checked.
const LOOK: Duration = Duration::from_millis(50);
/// A server closes its connections at most this long before it ends.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// What failed, what a private server that is gone complained of, and what has died below its data. Its connections
/// close a little before it ends.
pub fn with_epitaph(target: &OpenTarget, text: String) -> String {
    let until = Instant::now() + GONE_WITHIN;
    loop {
        match target.epitaph() {
            Some(words) => return format!("{}; the private server is gone; {words}", below(target, text)),
            None if !target.is_private() || Instant::now() > until => return below(target, text),
            None => thread::sleep(LOOK),
        }
    }
}

fn below(target: &OpenTarget, text: String) -> String {
    match target.broken_lane() {
        Some(broken) => format!("{text}; {broken}"),
        None => text,
    }
}
