//! The settings of a plan as a server of today takes them.
//!
//! An option file of another time is translated: what has another name gets it, what is gone is left out, and either is
//! said with its line. What stands in the plan itself is meant for today's servers: there a name of old is a mistake.

use super::{Standing, Version, normal, standing, times, vendor};
use crate::error::PlanError;
use crate::origin::Where;
use crate::setting::Setting;
use plimsoll_model::Flavour;

/// Files of a redo log where an option file does not say how many: two, on every server that had several.
const FILES_IN_GROUP: u64 = 2;

/// Settings for one server, and what there is to say about those that are not as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// In the order in which they were given, each name once.
    pub settings: Vec<Setting>,
    pub lines: Vec<Line>,
}

/// A setting that is not what it was when it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub at: Where,
    /// As written.
    pub name: String,
    /// `is called innodb_redo_log_capacity since MySQL 8.0.30: applied as 1000M`.
    pub what: String,
    pub consequence: Consequence,
}

/// What follows from a [`Line`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// A setting of an option file, applied under today's name or with today's value.
    Applied,
    /// A setting of an option file, left out.
    LeftOut,
    /// A setting of the plan that has to be written otherwise: nothing may start.
    Refused,
    /// A setting of the plan that this server has no more: the verdict of a rung, else a mistake.
    Removed,
}

impl Translated {
    /// The first mistake in the plan itself, if there is one; settings that are gone count as mistakes too.
    pub fn mistake(&self) -> Option<PlanError> {
        let mistaken = |line: &&Line| matches!(line.consequence, Consequence::Refused | Consequence::Removed);
        self.lines.iter().find(mistaken).map(Line::refusal)
    }
}

impl Line {
    pub fn refusal(&self) -> PlanError {
        PlanError::File { at: self.at.clone(), problem: format!("{}: {}", self.name, self.what) }
    }
}

/// Makes of `settings` those that a server of this vendor and version takes.
pub fn translate(settings: &[Setting], flavour: Flavour, version: Version) -> Translated {
    let mut translated = Translated::default();
    let joined = joined_redo(settings, flavour, version);
    for setting in settings {
        let standing = match &joined {
            Some((line, standing)) if *line == setting.at && setting.from_file => standing.clone(),
            _ => standing(&setting.name, &setting.value, flavour, version),
        };
        translated.take(setting, standing);
    }
    translated
}

impl Translated {
    fn take(&mut self, setting: &Setting, standing: Standing) {
        let (what, consequence) = match standing {
            Standing::Current => {
                let name = normal(&setting.name);
                return self.settle(Setting { name, ..setting.clone() });
            }
            Standing::Renamed { name, value, remark } if setting.from_file => {
                let what = format!("{remark}: applied as {name} = {value}");
                self.settle(Setting { name, value, ..setting.clone() });
                (what, Consequence::Applied)
            }
            // A file name given to a switch, such as `log_bin = binlog`, is no mistake in a plan.
            Standing::Renamed { name, value, .. } if name == normal(&setting.name) => {
                return self.settle(Setting { name, value, ..setting.clone() });
            }
            Standing::Renamed { name, value, remark } => {
                (format!("{remark}; write {name} = {value}"), Consequence::Refused)
            }
            Standing::Removed { remark } | Standing::NotOurs { remark } if setting.from_file => {
                (format!("left out: {remark}"), Consequence::LeftOut)
            }
            Standing::Removed { remark } => (format!("leave it out: {remark}"), Consequence::Removed),
            Standing::NotOurs { remark } => (format!("leave it out: {remark}"), Consequence::Refused),
        };
        self.lines.push(Line { at: setting.at.clone(), name: setting.name.clone(), what, consequence });
    }

    /// Adds a setting. Of two that have become one, the plan's own wins over an option file's, and the later wins.
    fn settle(&mut self, setting: Setting) {
        match self.settings.iter_mut().find(|known| known.name == setting.name) {
            Some(known) if setting.from_file && !known.from_file => {}
            Some(known) => *known = setting,
            None => self.settings.push(setting),
        }
    }
}

/// The size of one redo file becomes that of all of them, where an option file of old says how many there are and the
/// server has one size for the whole.
fn joined_redo(settings: &[Setting], flavour: Flavour, version: Version) -> Option<(Where, Standing)> {
    let of_file = |name: &str| settings.iter().find(|s| s.from_file && normal(&s.name) == name);
    let size = of_file("innodb_log_file_size")?;
    let count = of_file("innodb_log_files_in_group");
    let (name, since) = match flavour {
        Flavour::MySql => ("innodb_redo_log_capacity", (8, 0, 30)),
        Flavour::MariaDb => ("innodb_log_file_size", (10, 6, 0)),
    };
    // To MariaDB the name alone means what it always meant.
    if version < since || count.is_none() && flavour == Flavour::MariaDb {
        return None;
    }
    let files = count.map_or(Some(FILES_IN_GROUP), |count| count.value.trim().parse().ok())?;
    let value = times(&size.value, files)?;
    let remark = format!("was the size of one of {files} files; {} has {name} for the whole redo log", vendor(flavour));
    Some((size.at.clone(), Standing::Renamed { name: name.to_owned(), value, remark }))
}
