//! How large the data are that a target holds.

use crate::target::OpenTarget;
use plimsoll_model::Flavour;

/// Bytes of the files of the tables in the database that was entered, indexes included. None where the user may not ask:
/// it takes the privilege PROCESS (INNODB_TABLESPACES in the manuals of both vendors).
pub fn data_bytes(target: &mut OpenTarget) -> Option<u64> {
    let table = match target.flavour {
        Flavour::MariaDb => "INNODB_SYS_TABLESPACES",
        Flavour::MySql => "INNODB_TABLESPACES",
    };
    // A database with other than ASCII characters has another name there, and nothing is found.
    let sql = format!(
        "SELECT SUM(FILE_SIZE) FROM information_schema.{table} WHERE LEFT(NAME, CHAR_LENGTH(DATABASE()) + 1) = \
         CONCAT(DATABASE(), '/')"
    );
    let rows = target.control.rows(&sql).ok()?;
    rows.rows.first()?.first()?.as_ref()?.parse().ok()
}
