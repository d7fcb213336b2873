//! What InnoDB says about itself.

use plimsoll_engine::Endpoint;
use plimsoll_engine::control::Control;
use std::time::Duration;

/// The answer of a server that takes longer is not awaited.
const STATUS_WITHIN: Duration = Duration::from_secs(5);

/// What SHOW ENGINE INNODB STATUS prints, over a separate connection; `None` if it is refused or the server is gone.
pub fn innodb_status(endpoint: &Endpoint) -> Option<String> {
    let mut control = Control::open(endpoint).ok()?;
    control.set_limit(STATUS_WITHIN);
    let rows = control.rows("SHOW ENGINE INNODB STATUS").ok()?;
    rows.rows.into_iter().next()?.into_iter().next_back().flatten()
}
