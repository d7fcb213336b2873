//! Removes what `load` created, and nothing else.

use crate::dataset;
use crate::error::LabError;
use crate::load::{drop_routines, put_back};
use crate::target::OpenTarget;
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;

/// "A foreign key refers to it", as MariaDB and MySQL say it.
const REFERRED_TO: [u16; 2] = [1451, 3730];

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    pub tables: Vec<String>,
    pub database: bool,
}

/// Drops the tables and procedures of a dataset that Plimsoll loaded, and the database if Plimsoll made it and nothing else
/// is in it.
///
/// # Errors
/// [`LabError::Refused`] for data without Plimsoll's marker.
pub fn drop(target: &mut OpenTarget, family: &str) -> Result<Dropped, LabError> {
    let nothing = |why: String| LabError::Refused(format!("nothing was dropped: {why}"));
    if !target.enter_database()? {
        return Err(nothing(format!("there is no database `{}`", target.database)));
    }
    let Some(marker) = dataset::marker(&mut target.control, family)? else {
        return Err(nothing(format!(
            "the database `{}` has no `{family}` data that Plimsoll loaded; tables of others are theirs to drop",
            target.database
        )));
    };
    // What a load that was killed changed of the server goes with the marker otherwise.
    put_back(target)?;
    let control = &mut target.control;
    drop_tables(control, &marker.description.tables)?;
    drop_routines(control, &marker.description.routines)?;
    dataset::forget(control, family)?;
    let mut dropped = Dropped { tables: marker.description.tables, database: false };
    if marker.description.created_database {
        let left = control
            .rows("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()")
            .map_err(|failure| LabError::sql("asking for the tables of the database", &failure))?;
        if left.single() == Some("0") {
            control
                .run(&format!("DROP DATABASE `{}`", target.database))
                .map_err(|failure| LabError::sql("dropping the database", &failure))?;
            dropped.database = true;
        }
    }
    Ok(dropped)
}

/// Those that others refer to go after these; those that a table of somebody else refers to do not go.
fn drop_tables(control: &mut Control, tables: &[String]) -> Result<(), LabError> {
    let mut left: Vec<&String> = tables.iter().rev().collect();
    while !left.is_empty() {
        let mut referred_to = Vec::new();
        let mut why = None;
        for table in &left {
            match control.run(&format!("DROP TABLE IF EXISTS `{table}`")) {
                Ok(_) => {}
                Err(Failure::Server(message)) if REFERRED_TO.contains(&message.code) => {
                    why = Some(LabError::sql(&format!("dropping {table}"), &Failure::Server(message)));
                    referred_to.push(*table);
                }
                Err(failure) => return Err(LabError::sql(&format!("dropping {table}"), &failure)),
            }
        }
        if let Some(why) = why.filter(|_| referred_to.len() == left.len()) {
            return Err(why);
        }
        left = referred_to;
    }
    Ok(())
}
