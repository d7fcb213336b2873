//! The settings of a plan as a current server takes them.
//!
//! An old option file is translated: a setting that was renamed gets its new name, one that was removed is left out,
//! and either is reported with its line. The plan itself is meant for current servers: there an old name is a mistake.

use super::{Standing, Version, normal, standing, times, vendor};
use crate::error::PlanError;
use crate::origin::Where;
use crate::setting::Setting;
use plimsoll_model::Flavour;

/// Files of a redo log if an option file does not say how many: two, on every server that had several.
const FILES_IN_GROUP: u64 = 2;

/// Settings for one server, and the remarks on those that are not as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// In the order in which they were given, each name once.
    pub settings: Vec<Setting>,
    pub lines: Vec<TranslatedSetting>,
}

/// A setting that is no longer what it was when it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslatedSetting {
    pub at: Where,
    /// As written.
    pub name: String,
    /// `is called innodb_redo_log_capacity since MySQL 8.0.30: applied as 1000M`.
    pub what: String,
    pub consequence: Consequence,
}

/// What follows from a [`TranslatedSetting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// A setting of an option file, applied under today's name or with today's value.
    Applied,
    /// A setting of an option file, left out.
    LeftOut,
    /// A setting of the plan that has to be written differently: nothing may start.
    Refused,
    /// A setting of the plan that this server no longer has: the verdict of a rung, otherwise a mistake.
    Removed,
}

impl Translated {
    /// The first mistake in the plan itself, if there is one; removed settings count as mistakes too.
    pub fn mistake(&self) -> Option<PlanError> {
        let mistaken =
            |line: &&TranslatedSetting| matches!(line.consequence, Consequence::Refused | Consequence::Removed);
        self.lines.iter().find(mistaken).map(TranslatedSetting::refusal)
    }
}

impl TranslatedSetting {
    pub fn refusal(&self) -> PlanError {
        PlanError::File { at: self.at.clone(), problem: format!("{}: {}", self.name, self.what) }
    }
}

/// Turns `settings` into those that a server of this vendor and version takes.
pub fn translate(settings: &[Setting], flavour: Flavour, version: Version) -> Translated {
    let mut translated = Translated::default();
    let standings = standings(settings, flavour, version);
    let has_own = |name: &str| {
        let mut known = settings.iter().zip(&standings);
        known.any(|(setting, standing)| *standing == Standing::Current && normal(&setting.name) == name)
    };
    for (setting, standing) in settings.iter().zip(&standings) {
        match standing {
            // A server that has today's name does not look at the old one, whichever comes later.
            Standing::Renamed { name, remark, .. }
                if setting.from_file && *name != normal(&setting.name) && has_own(name) =>
            {
                translated.leave_out(setting, &format!("{remark}, which is set as well"));
            }
            standing => translated.take(setting, standing.clone()),
        }
    }
    translated
}

/// What each of `settings` means on this server, in their order: two may mean something together.
pub fn standings(settings: &[Setting], flavour: Flavour, version: Version) -> Vec<Standing> {
    let joined = joined_redo(settings, flavour, version);
    let of_setting = |setting: &Setting| match &joined {
        Some((line, standing)) if *line == setting.at && setting.from_file => standing.clone(),
        _ => standing(&setting.name, &setting.value, flavour, version),
    };
    settings.iter().map(of_setting).collect()
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
            // A file name given to a switch, such as `log_bin = binlog`, is not a mistake in a plan.
            Standing::Renamed { name, value, .. } if name == normal(&setting.name) => {
                return self.settle(Setting { name, value, ..setting.clone() });
            }
            Standing::Renamed { name, value, remark } => {
                (format!("{remark}; write {name} = {value}"), Consequence::Refused)
            }
            Standing::Removed { remark } | Standing::NotOurs { remark } if setting.from_file => {
                return self.leave_out(setting, &remark);
            }
            Standing::Removed { remark } => (format!("leave it out: {remark}"), Consequence::Removed),
            Standing::NotOurs { remark } => (format!("leave it out: {remark}"), Consequence::Refused),
        };
        self.tell(setting, what, consequence);
    }

    fn leave_out(&mut self, setting: &Setting, why: &str) {
        self.tell(setting, format!("left out: {why}"), Consequence::LeftOut);
    }

    fn tell(&mut self, setting: &Setting, what: String, consequence: Consequence) {
        self.lines.push(TranslatedSetting { at: setting.at.clone(), name: setting.name.clone(), what, consequence });
    }

    /// Adds a setting. If two have become one, the plan's own wins over an option file's, and otherwise the later.
    fn settle(&mut self, setting: Setting) {
        match self.settings.iter_mut().find(|known| known.name == setting.name) {
            Some(known) if setting.from_file && !known.from_file => {}
            Some(known) => *known = setting,
            None => self.settings.push(setting),
        }
    }
}

/// The size of one redo file becomes that of all of them, if an old option file says how many there are and the
/// server has one size for the whole. Of several lines, servers take the last.
fn joined_redo(settings: &[Setting], flavour: Flavour, version: Version) -> Option<(Where, Standing)> {
    let of_file = |name: &str| settings.iter().rfind(|s| s.from_file && normal(&s.name) == name);
    let size = of_file("innodb_log_file_size")?;
    let count = of_file("innodb_log_files_in_group");
    let (name, since) = match flavour {
        Flavour::MySql => ("innodb_redo_log_capacity", (8, 0, 30)),
        Flavour::MariaDb => ("innodb_log_file_size", (10, 6, 0)),
    };
    // In MariaDB the name alone means what it always meant.
    if version < since || count.is_none() && flavour == Flavour::MariaDb {
        return None;
    }
    let files = count.map_or(Some(FILES_IN_GROUP), |count| count.value.trim().parse().ok())?;
    let value = times(&size.value, files)?;
    let remark = format!("was the size of one of {files} files; {} has {name} for the whole redo log", vendor(flavour));
    Some((size.at.clone(), Standing::Renamed { name: name.to_owned(), value, remark }))
}
