//! What InnoDB says about itself.

use plimsoll_engine::Endpoint;
use plimsoll_engine::control::Control;
use std::time::Duration;

/// The answer of a server that takes longer is not awaited.
const STATUS_WITHIN: Duration = Duration::from_secs(5);

/// Redo since the last checkpoint: what a recovery would have to read; `None` if the server does not tell.
pub fn redo_bytes(endpoint: &Endpoint) -> Option<u64> {
    redo_in(&innodb_status(endpoint)?)
}

/// It is in the section LOG (MySQL Reference Manual, "InnoDB Standard Monitor and Lock Monitor Output").
fn redo_in(status: &str) -> Option<u64> {
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    number("Log sequence number")?.checked_sub(number("Last checkpoint at")?)
}

/// What SHOW ENGINE INNODB STATUS prints, over a separate connection; `None` if it is refused or the server is gone.
pub fn innodb_status(endpoint: &Endpoint) -> Option<String> {
    let mut control = Control::open(endpoint).ok()?;
    control.set_limit(STATUS_WITHIN);
    let rows = control.rows("SHOW ENGINE INNODB STATUS").ok()?;
    rows.rows.into_iter().next()?.into_iter().next_back().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redo_is_what_came_after_the_last_checkpoint() {
        let mariadb = "---\nLOG\n---\nLog sequence number 5000\nLog flushed up to   4990\nPages flushed up to 4000\n\
                       Last checkpoint at  1200\n";
        let mysql =
            "Log sequence number          5000\nLog buffer assigned up to    5000\nLast checkpoint at           1200\n";
        assert_eq!((redo_in(mariadb), redo_in(mysql)), (Some(3800), Some(3800)));
        assert_eq!(redo_in("Log sequence number 5000\n"), None);
    }
}
