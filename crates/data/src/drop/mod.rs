//! Removes what `load` created, and nothing else.

mod grants;
mod left;
mod own;

use crate::DataError;
use crate::dataset;
use crate::instance::put_back;
use crate::target::OpenTarget;
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_wire::text::identifier;
use plimsoll_workloads::chosen::names_of;
use plimsoll_workloads::dataset::{DatasetNames, Loaded};

pub(crate) use own::made_by_load;

/// "A foreign key refers to it", as MariaDB and MySQL say it.
const REFERRED_TO: [u16; 2] = [1451, 3730];

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    pub tables: Vec<String>,
    pub database: bool,
    /// Why a database that Plimsoll created is kept.
    pub stays: Option<String>,
}

/// Drops the tables and procedures of a dataset that Plimsoll loaded, and the database if Plimsoll created it and
/// nothing else is in it, as far as the login can see.
///
/// # Errors
/// [`DataError::Refused`], and nothing was dropped, if the data have no marker, or one that names what loading does not
/// create, or if others have replaced a table or attached something to it.
pub fn drop(target: &mut OpenTarget, family: &str) -> Result<Dropped, DataError> {
    drop_named(target, family, &|loaded| Ok(names_of(family, loaded)?))
}

/// The same, where `names` says what data of the family with these parameters consist of.
///
/// # Errors
/// As [`drop`].
pub fn drop_named(
    target: &mut OpenTarget,
    family: &str,
    names: &dyn Fn(Loaded<'_>) -> Result<Option<DatasetNames>, DataError>,
) -> Result<Dropped, DataError> {
    let nothing = |why: String| DataError::Refused(format!("nothing was dropped: {why}"));
    if !target.enter_database()? {
        return Err(nothing(format!("there is no database `{}`", target.database)));
    }
    let Some(marker) = dataset::marker(&mut target.control, family)? else {
        return Err(nothing(format!(
            "the database `{}` has no `{family}` data that Plimsoll loaded; tables of others are not dropped",
            target.database
        )));
    };
    made_by_load(&marker, names(marker.description.loaded())).map_err(nothing)?;
    let foreign = own::put_there_by_others(&mut target.control, &marker.description.tables)?;
    foreign.map_or(Ok(()), |what| Err(nothing(what)))?;
    // Otherwise the record of the settings that a killed load changed would go with the marker.
    put_back(target)?;
    let control = &mut target.control;
    drop_tables(control, &marker.description.tables)?;
    drop_routines(control, &marker.description.routines)?;
    dataset::forget(control, family)?;
    let mut dropped = Dropped { tables: marker.description.tables, ..Dropped::default() };
    if marker.description.created_database {
        dropped.stays = left::drop_if_empty(control, &target.database)?;
        dropped.database = dropped.stays.is_none();
    }
    Ok(dropped)
}

/// Tables that others refer to are dropped after those; tables that somebody else's table refers to are not dropped.
fn drop_tables(control: &mut Control, tables: &[String]) -> Result<(), DataError> {
    let mut left: Vec<&String> = tables.iter().rev().collect();
    while !left.is_empty() {
        let mut referred_to = Vec::new();
        let mut why = None;
        for table in &left {
            match control.run(&format!("DROP TABLE IF EXISTS {}", identifier(table))) {
                Ok(_) => {}
                Err(Failure::Server(message)) if REFERRED_TO.contains(&message.code) => {
                    why = Some(DataError::sql(&format!("dropping {table}"), &Failure::Server(message)));
                    referred_to.push(*table);
                }
                Err(failure) => return Err(DataError::sql(&format!("dropping {table}"), &failure)),
            }
        }
        if let Some(why) = why.filter(|_| referred_to.len() == left.len()) {
            return Err(why);
        }
        left = referred_to;
    }
    Ok(())
}

/// Drops the procedures that a description names.
pub(crate) fn drop_routines(control: &mut Control, routines: &[String]) -> Result<(), DataError> {
    for routine in routines {
        control
            .run(&format!("DROP PROCEDURE IF EXISTS {}", identifier(routine)))
            .map_err(|failure| DataError::sql(&format!("dropping the procedure {routine}"), &failure))?;
    }
    Ok(())
}
