//! Semi-synchronous replication: built into MariaDB, in plugins that come with MySQL (MySQL Reference Manual,
//! "Semisynchronous Replication"; MariaDB, "Semisynchronous Replication").

use crate::error::LabError;
use plimsoll_model::Flavour;
use plimsoll_plan::knowledge::value::truth;
use plimsoll_server::Settings;
use plimsoll_server::settings::ORIGIN;

/// Loads code of a server by name, several separated by semicolons.
const LOADS: &str = "plugin_load_add";

/// What a flavour calls it.
pub(crate) struct SemiSyncNames {
    /// The setting of a primary that waits.
    pub enabled: &'static str,
    /// After which a primary waits no longer, milliseconds.
    pub timeout: &'static str,
    pub wait_point: &'static str,
    /// The setting of a replica that answers.
    pub answers: &'static str,
    /// Status variables of a primary: whether it waits, and for how many replicas.
    pub status: &'static str,
    pub clients: &'static str,
    /// Libraries of a primary and of a replica.
    libraries: Option<[&'static str; 2]>,
}

const MARIADB: SemiSyncNames = SemiSyncNames {
    enabled: "rpl_semi_sync_master_enabled",
    timeout: "rpl_semi_sync_master_timeout",
    wait_point: "rpl_semi_sync_master_wait_point",
    answers: "rpl_semi_sync_slave_enabled",
    status: "Rpl_semi_sync_master_status",
    clients: "Rpl_semi_sync_master_clients",
    libraries: None,
};

const MYSQL: SemiSyncNames = SemiSyncNames {
    enabled: "rpl_semi_sync_source_enabled",
    timeout: "rpl_semi_sync_source_timeout",
    wait_point: "rpl_semi_sync_source_wait_point",
    answers: "rpl_semi_sync_replica_enabled",
    status: "Rpl_semi_sync_source_status",
    clients: "Rpl_semi_sync_source_clients",
    libraries: Some(["semisync_source.so", "semisync_replica.so"]),
};

impl SemiSyncNames {
    pub fn of(flavour: Flavour) -> &'static SemiSyncNames {
        match flavour {
            Flavour::MariaDb => &MARIADB,
            Flavour::MySql => &MYSQL,
        }
    }

    /// Whether a primary with these settings waits for its replica.
    pub fn is_asked(&self, settings: &Settings) -> bool {
        settings.get(self.enabled).is_some_and(|setting| truth(&setting.value) == Some(true))
    }

    /// The library without which a primary does not know the setting `name`, if it is one of these.
    pub fn library_of<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<&'static str> {
        let [of_primary, _] = self.libraries?;
        let is_one = |name: &str| [self.enabled, self.timeout, self.wait_point].contains(&name);
        names.any(is_one).then_some(of_primary)
    }

    /// Has a primary load what its settings need.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn load(&self, settings: &mut Settings) -> Result<(), LabError> {
        let library = self.library_of(settings.iter().map(|setting| setting.name.as_str()));
        library.map_or(Ok(()), |library| load(settings, library))
    }

    /// Has a replica answer, and wait for nobody once it has taken over.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn answer(&self, settings: &mut Settings, origin: &str) -> Result<(), LabError> {
        if let Some([_, of_replica]) = self.libraries {
            load(settings, of_replica)?;
        }
        settings.set(self.answers, "ON", origin)?;
        Ok(settings.set(self.enabled, "OFF", origin)?)
    }
}

fn load(settings: &mut Settings, library: &str) -> Result<(), LabError> {
    let all = match settings.get(LOADS) {
        Some(others) => format!("{};{library}", others.value),
        None => library.to_owned(),
    };
    Ok(settings.set(LOADS, &all, ORIGIN)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::of_pairs as settings;

    #[test]
    fn what_mysql_has_in_libraries_is_loaded_beside_what_the_plan_loads() {
        let names = SemiSyncNames::of(Flavour::MySql);
        let mut primary = settings(&[("plugin_load_add", "audit.so"), ("rpl_semi_sync_source_enabled", "1")]);
        names.load(&mut primary).unwrap();
        assert_eq!(primary.get(LOADS).unwrap().value, "audit.so;semisync_source.so");
        assert!(names.is_asked(&primary));
        names.answer(&mut primary, "a test").unwrap();
        assert_eq!(primary.get(LOADS).unwrap().value, "audit.so;semisync_source.so;semisync_replica.so");
        assert!(!names.is_asked(&primary));
        let mut other = settings(&[("sync_binlog", "1")]);
        names.load(&mut other).unwrap();
        assert!(other.get(LOADS).is_none());
    }

    #[test]
    fn mariadb_has_it_built_in() {
        let names = SemiSyncNames::of(Flavour::MariaDb);
        let mut primary = settings(&[("rpl_semi_sync_master_enabled", "ON")]);
        names.load(&mut primary).unwrap();
        assert!(names.is_asked(&primary) && primary.get(LOADS).is_none());
    }
}
