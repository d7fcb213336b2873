//! Removes what `load` created, and nothing else.

use crate::dataset;
use crate::error::LabError;
use crate::target::OpenTarget;

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    pub tables: Vec<String>,
    pub database: bool,
}

/// Drops the tables of a dataset that Plimsoll loaded, and the database if Plimsoll made it and nothing else
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
    let control = &mut target.control;
    for table in &marker.description.tables {
        control
            .run(&format!("DROP TABLE IF EXISTS `{table}`"))
            .map_err(|failure| LabError::sql(&format!("dropping {table}"), &failure))?;
    }
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
