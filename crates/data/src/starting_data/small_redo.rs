//! A dataset has a small redo log. It is empty after a clean shutdown, and a server whose settings ask for another size
//! resizes it at the start, which only allocates room; copying a large one each time would take longer.
//!
//! Sources: MySQL manual, "Changing the Number or Size of InnoDB Redo Log Files" and "Configuring Redo Log Capacity";
//! MariaDB, `innodb_log_file_size`.

use crate::DataError;
use plimsoll_server::Settings;

/// A server has one of them, and its baseline sets it.
const SIZE_SETTINGS: [&str; 2] = ["innodb_log_file_size", "innodb_redo_log_capacity"];
/// Twice the smallest size that MySQL accepts.
const SIZE: &str = "16M";

/// The baseline `settings` with a small redo log.
///
/// # Errors
/// As [`Settings::set`].
pub fn with(mut settings: Settings) -> Result<Settings, DataError> {
    for name in SIZE_SETTINGS {
        if settings.get(name).is_some() {
            settings.set(name, SIZE, "the small redo log of a dataset")?;
        }
    }
    Ok(settings)
}
