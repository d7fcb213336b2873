//! The last words of a server that died under a load.

use super::LOOK;
use crate::target::OpenTarget;
use std::thread;
use std::time::{Duration, Instant};

/// A server that ends has closed its connections this long before at most.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// What failed, and what a private server that is gone wrote last. Its connections close a little before it is gone.
pub fn with_epitaph(target: &OpenTarget, text: String) -> String {
    let until = Instant::now() + GONE_WITHIN;
    loop {
        match target.epitaph() {
            Some(tail) => return format!("{text}\nthe private server is gone; its error log ends with:\n{tail}"),
            None if !target.is_private() || Instant::now() > until => return text,
            None => thread::sleep(LOOK),
        }
    }
}
