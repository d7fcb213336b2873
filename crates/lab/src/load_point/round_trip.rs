//! How long a round trip to the server takes.

use crate::error::LabError;
use plimsoll_engine::control::Control;
use std::time::Duration;

const PINGS: usize = 21;
/// If round trips are so long that this time is used up, fewer are enough.
const LIMIT: Duration = Duration::from_millis(300);

/// Shortest time from a ping to its answer, which is the path's own: whatever else both machines do comes on top.
///
/// # Errors
/// If the server does not answer: what follows needs the same connection.
pub(super) fn round_trip(control: &mut Control) -> Result<Duration, LabError> {
    let (mut shortest, mut spent) = (Duration::MAX, Duration::ZERO);
    for _ in 0..PINGS {
        let taken = control.ping().map_err(|failure| LabError::sql("pinging the server", &failure))?;
        (shortest, spent) = (shortest.min(taken), spent + taken);
        if spent >= LIMIT {
            break;
        }
    }
    Ok(shortest)
}
