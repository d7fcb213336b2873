//! The last words of a server that died under a load.

use crate::target::OpenTarget;
use std::thread;
use std::time::{Duration, Instant};

/// How often the server is checked.
const LOOK: Duration = Duration::from_millis(50);
/// A server closes its connections at most this long before it ends.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// What failed, what has died below the data of a private server, and what the server complained of, if that has ended it
/// or its storage is gone. Its connections close a little before it ends.
pub fn with_epitaph(target: &OpenTarget, text: String) -> String {
    let until = Instant::now() + GONE_WITHIN;
    // A storage server that was killed closes its connections, too, before it ends: the server may be gone first.
    let is_told = || target.epitaph().is_some() && (target.broken_lane().is_some() || !target.is_on_a_network());
    while target.is_private() && !is_told() && Instant::now() < until {
        thread::sleep(LOOK);
    }
    let broken = target.broken_lane();
    let server = match target.epitaph() {
        Some(words) => Some(format!("the private server is gone; {words}")),
        // It may live on for a while and answer with errors.
        None if broken.is_some() => target.complaint(),
        None => None,
    };
    [Some(text), broken, server].into_iter().flatten().collect::<Vec<_>>().join("; ")
}
