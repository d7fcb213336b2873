//! What InnoDB says of itself.

use plimsoll_engine::Endpoint;
use plimsoll_engine::control::Control;
use std::time::Duration;

/// A server that takes longer to say how InnoDB is has not said it.
const STATUS_WITHIN: Duration = Duration::from_secs(5);

/// What SHOW ENGINE INNODB STATUS prints, over a connection of its own; none if it is refused or the server is gone.
pub fn innodb_status(endpoint: &Endpoint) -> Option<String> {
    let mut control = Control::open(endpoint).ok()?;
    control.set_limit(STATUS_WITHIN);
    let rows = control.rows("SHOW ENGINE INNODB STATUS").ok()?;
    rows.rows.into_iter().next()?.into_iter().next_back().flatten()
}
