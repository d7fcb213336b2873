//! The running private server that is copied. Another Plimsoll that loads it may hold its lock, so it is known by its
//! record: pid, start time and boot id, checked again before anything is done to it.

use crate::DataError;
use crate::target::private_endpoint;
use plimsoll_engine::control::Control;
use plimsoll_host::Home;
use plimsoll_host::process::Identity;
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_server::ServerError;
use plimsoll_server::directory::ServerDirectory;
use plimsoll_server::registry::{self, ServerInfo, ServerState};
use std::path::{Path, PathBuf};

/// A private server that is running and lets us log in.
pub struct DatasetSource {
    /// The home or place that it belongs to.
    pub home: Home,
    pub directory: ServerDirectory,
    pub identity: Identity,
    pub build: Build,
    pub socket: PathBuf,
    pub control: Control,
}

impl DatasetSource {
    /// The private server `name` of the home or one of its places; if no name is given, the only one that is running.
    ///
    /// # Errors
    /// [`DataError::Refused`] if it is not running, or it is not clear which one is meant; [`DataError::Environment`]
    /// if it does not answer.
    pub fn find(home: &Home, name: Option<&str>) -> Result<DatasetSource, DataError> {
        let runs = |info: &ServerInfo| matches!(info.state, ServerState::Running { .. });
        let (running, others): (Vec<_>, Vec<_>) = registry::list(home)?.into_iter().partition(runs);
        let meant = |info: &&ServerInfo| name.is_none_or(|name| info.name == name);
        match (running.iter().filter(meant).collect::<Vec<_>>().as_slice(), name) {
            ([info], _) => DatasetSource::open(info.home.clone(), ServerDirectory::existing(&info.home, &info.name)?),
            ([], None) => Err(DataError::Refused(
                "no private server is running; only a running one can be copied: `plimsoll server start`".to_owned(),
            )),
            ([], Some(name)) if others.iter().any(|info| info.name == name) => Err(down(name)),
            ([], Some(name)) => Err(ServerError::Unknown { name: name.to_owned() }.into()),
            (several, _) => Err(DataError::Refused(format!(
                "several private servers are running: {}; name one with --server",
                several.iter().map(|info| info.name.as_str()).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// The server that runs in this directory.
    ///
    /// # Errors
    /// As [`DatasetSource::find`].
    pub fn open(home: Home, directory: ServerDirectory) -> Result<DatasetSource, DataError> {
        let record = directory.record()?;
        let running = directory.running(&record);
        let (Some(identity), Some(process)) = (running, record.process) else {
            return Err(down(directory.name()));
        };
        if process.identity != identity || directory.data_build()?.is_none() {
            return Err(down(directory.name()));
        }
        let control = connect(&process.socket)?;
        if control.peer_pid() != Some(identity.pid) {
            return Err(DataError::Environment(format!(
                "private server `{}` is pid {}, but another process answers on `{}`",
                directory.name(),
                identity.pid,
                process.socket.display()
            )));
        }
        Ok(DatasetSource { home, directory, identity, build: process.build, socket: process.socket, control })
    }

    /// The server's values of these variables, in the order of their names.
    ///
    /// # Errors
    /// [`DataError::Environment`] if it does not answer.
    pub fn variables(&mut self, names: &[&str]) -> Result<Vec<(String, String)>, DataError> {
        let listed: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let query = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", listed.join(", "));
        let rows = self.control.rows(&query).map_err(|failure| DataError::sql("asking for settings", &failure))?;
        Ok(rows.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Whether it writes a binary log.
    ///
    /// # Errors
    /// [`DataError::Environment`] if it does not answer.
    pub fn writes_binlog(&mut self) -> Result<bool, DataError> {
        Ok(self.variables(&["log_bin"])?.iter().any(|(_, value)| value == "ON"))
    }

    /// What part of the server's data is outside its data directory, so that copying the directory would miss it.
    ///
    /// # Errors
    /// [`DataError::Environment`] if it does not answer.
    pub fn outside(&mut self) -> Result<Option<String>, DataError> {
        let settings = self.variables(&[
            "aria_log_dir_path",
            "innodb_data_home_dir",
            "innodb_doublewrite_dir",
            "innodb_log_group_home_dir",
            "innodb_undo_directory",
            "log_bin_basename",
        ])?;
        let data = self.directory.data();
        let elsewhere = |path: &str| Path::new(path).is_absolute() && !Path::new(path).starts_with(&data);
        if let Some((name, value)) = settings.iter().find(|(_, value)| elsewhere(value)) {
            return Ok(Some(format!("{name} = {value}")));
        }
        let query = match self.build.flavour {
            Flavour::MySql => "SELECT path FROM information_schema.innodb_datafiles",
            Flavour::MariaDb => "SELECT filename FROM information_schema.innodb_sys_tablespaces",
        };
        let files = self.control.rows(query).map_err(|failure| DataError::sql("asking for data files", &failure))?;
        let mut paths = files.rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
        Ok(paths.find(|path| elsewhere(path)))
    }
}

/// A connection of our own, as root.
///
/// # Errors
/// [`DataError::Environment`].
pub fn connect(socket: &Path) -> Result<Control, DataError> {
    let failed = |failure| DataError::sql("logging in to the private server that is to be copied", &failure);
    Control::open(&private_endpoint(socket)).map_err(failed)
}

fn down(name: &str) -> DataError {
    DataError::Refused(format!(
        "private server `{name}` is not running; only a running one can be copied: `plimsoll server start {name}`"
    ))
}
