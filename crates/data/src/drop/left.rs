//! Whether a database that Plimsoll created may be dropped: if nothing is left in it, and the login would see it if
//! there were.

use super::grants::Grants;
use crate::DataError;
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_model::Flavour;
use plimsoll_model::text::escaped;
use plimsoll_wire::text::identifier;

/// What can be in a database, by name and kind.
const CONTENTS: [&str; 4] = [
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE() LIMIT 1",
    "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = DATABASE() LIMIT 1",
    "SELECT event_name, 'event' FROM information_schema.events WHERE event_schema = DATABASE() LIMIT 1",
    "SELECT trigger_name, 'trigger' FROM information_schema.triggers WHERE trigger_schema = DATABASE() LIMIT 1",
];
/// MySQL since 9.2.
const LIBRARIES: &str =
    "SELECT library_name, 'library' FROM information_schema.libraries WHERE library_schema = DATABASE() LIMIT 1";
/// The server's "unknown table" of the information schema.
const UNKNOWN_TABLE: u16 = 1109;

/// Any of these shows the routines of a database to a login that has it there (MySQL manual, "The INFORMATION_SCHEMA
/// ROUTINES Table"; MariaDB, "Information Schema ROUTINES Table").
const SHOW_ROUTINES: &[&str] = &["EXECUTE", "CREATE ROUTINE", "ALTER ROUTINE"];
/// And any of these on all databases; MariaDB checks neither.
const SHOW_ROUTINES_OF_MYSQL: &[&str] = &["SHOW_ROUTINE", "SELECT"];

/// Drops the current database, named `database`, if nothing is in it. Otherwise says why it is kept.
///
/// # Errors
/// [`DataError::Environment`] if the server does not answer.
pub(super) fn drop_if_empty(control: &mut Control, database: &str) -> Result<Option<String>, DataError> {
    let dropped = match blocked(control, database) {
        Ok(Some(why)) => return Ok(Some(why)),
        Ok(None) => control.run(&format!("DROP DATABASE {}", identifier(database))).map(drop),
        Err(failure) => Err(failure),
    };
    match dropped {
        Ok(()) => Ok(None),
        Err(Failure::Server(message)) => Ok(Some(format!("the server says: {message}"))),
        Err(failure) => Err(DataError::sql("dropping the database", &failure)),
    }
}

fn blocked(control: &mut Control, database: &str) -> Result<Option<String>, Failure> {
    if let Some((name, kind)) = first(control)? {
        let (name, kind) = (escaped(&name), escaped(&kind));
        let kind = if kind == "BASE TABLE" { "table".to_owned() } else { kind.to_lowercase() };
        return Ok(Some(format!("it has the {kind} `{name}`, which Plimsoll did not load")));
    }
    let grants = Grants::of_login(control)?;
    let has = |privileges: &[&str]| grants.anywhere(privileges) || grants.in_database(database, privileges);
    let of_mysql = control.flavour() == Flavour::MySql && grants.anywhere(SHOW_ROUTINES_OF_MYSQL);
    let hidden: Vec<&str> =
        [("routines", of_mysql || has(SHOW_ROUTINES)), ("events", has(&["EVENT"])), ("tables", has(&["DROP"]))]
            .into_iter()
            .filter(|(_, seen)| !seen)
            .map(|(what, _)| what)
            .collect();
    Ok((!hidden.is_empty()).then(|| {
        format!(
            "the grants of this login do not let it see the database's {}, and others may have some there; a login \
             with all privileges on the database can drop it",
            hidden.join(" and ")
        )
    }))
}

/// Name and kind of something in the current database.
fn first(control: &mut Control) -> Result<Option<(String, String)>, Failure> {
    for query in CONTENTS.into_iter().chain([LIBRARIES]) {
        match control.rows(query) {
            Ok(rows) => {
                if let Some((name, kind)) = rows.pairs().next() {
                    return Ok(Some((name.to_owned(), kind.to_owned())));
                }
            }
            Err(Failure::Server(message)) if query == LIBRARIES && message.code == UNKNOWN_TABLE => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(None)
}
