//! Where Plimsoll keeps things: its home, its cache, and the short directory for sockets.

use crate::error::{During, HostError};
use crate::fingerprint::fingerprint;
use crate::owner;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The longest path that fits into `sockaddr_un` with its closing zero.
const SOCKET_PATH_LIMIT: usize = 107;

/// The directories of one Plimsoll user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    cache: PathBuf,
    sockets: PathBuf,
}

impl Home {
    /// Resolves and creates the home of this process's environment.
    ///
    /// # Errors
    /// As [`Home::resolve`].
    pub fn from_env() -> Result<Home, HostError> {
        Home::resolve(|name| std::env::var_os(name))
    }

    /// `$PLIMSOLL_HOME`, else `$XDG_DATA_HOME/plimsoll`, else `~/.local/share/plimsoll`, created with mode
    /// 0700; the cache likewise below `$XDG_CACHE_HOME` or `~/.cache`; sockets in `$XDG_RUNTIME_DIR/plimsoll`
    /// where that directory is ours, else in `/tmp/plimsoll-<uid>`. Relative XDG values are ignored, as the
    /// XDG specification says.
    ///
    /// # Errors
    /// [`HostError::Place`] if a directory belongs to another user, is not a directory, or cannot be determined.
    pub fn resolve(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Home, HostError> {
        let path = |name: &str| lookup(name).map(PathBuf::from).filter(|p| !p.as_os_str().is_empty());
        let xdg = |name: &str, otherwise: &str| {
            path(name)
                .filter(|p| p.is_absolute())
                .or_else(|| path("HOME").filter(|p| p.is_absolute()).map(|home| home.join(otherwise)))
                .map(|base| base.join("plimsoll"))
        };
        let unknown = |what| HostError::Place {
            what,
            path: PathBuf::new(),
            found: "neither PLIMSOLL_HOME, the XDG directories nor HOME is set".to_owned(),
            remedy: "set PLIMSOLL_HOME",
        };
        let root = match path("PLIMSOLL_HOME") {
            Some(given) => given,
            None => xdg("XDG_DATA_HOME", ".local/share").ok_or_else(|| unknown("home"))?,
        };
        let root = private_directory("home", &root, "set PLIMSOLL_HOME to a directory of your own")?;
        // Without a cache directory of the user's (a service account without HOME), the home serves as one.
        let cache = xdg("XDG_CACHE_HOME", ".cache").unwrap_or_else(|| root.join("cache"));
        let runtime = path("XDG_RUNTIME_DIR").filter(|dir| dir.is_absolute() && owner::check(dir).is_ok());
        let sockets = match runtime {
            Some(dir) => dir.join("plimsoll"),
            None => PathBuf::from(format!("/tmp/plimsoll-{}", geteuid().as_raw())),
        };
        Ok(Home { root, cache, sockets })
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The directory of all private servers; it need not exist yet.
    pub fn servers(&self) -> PathBuf {
        self.root.join("servers")
    }

    /// The directory of all recordings; it need not exist yet.
    pub fn recordings(&self) -> PathBuf {
        self.root.join("recordings")
    }

    /// The directory of all datasets; it need not exist yet.
    pub fn datasets(&self) -> PathBuf {
        self.root.join("datasets")
    }

    /// The cache of freshly initialised data directories; it need not exist yet.
    pub fn templates(&self) -> PathBuf {
        self.cache.join("datadirs")
    }

    /// The socket path of the private server `name`. It is short whatever the home is, and two homes never share one.
    ///
    /// # Errors
    /// [`HostError::SocketPath`] above 107 bytes; [`HostError::Place`] when the directory is not ours.
    pub fn socket(&self, name: &str) -> Result<PathBuf, HostError> {
        let remedy = "set XDG_RUNTIME_DIR to a directory of your own";
        let directory = real_directory("socket directory", &self.sockets, remedy)?;
        owner::check(&directory).map_err(HostError::ours("socket directory", remedy))?;
        let hash = fingerprint([self.root.as_os_str().as_bytes(), name.as_bytes()]);
        let path = directory.join(format!("{hash:016x}.sock"));
        match path.as_os_str().len() {
            bytes if bytes > SOCKET_PATH_LIMIT => Err(HostError::SocketPath { path, bytes }),
            _ => Ok(path),
        }
    }
}

impl Home {
    /// Refuses a directory in this home or place that others own or can write to; a missing one is fine. What is above
    /// a place is not checked: the user has named it.
    pub fn must_own(&self, what: &'static str, directory: &Path) -> Result<(), HostError> {
        for path in [self.path(), directory] {
            match owner::itself(path) {
                Err(HostError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                found => found.map_err(HostError::ours(what, "use another home with PLIMSOLL_HOME"))?,
            }
        }
        Ok(())
    }

    /// The same user's home with another root: cache and sockets are those of this one.
    pub fn rooted_at(&self, root: PathBuf) -> Home {
        Home { root, ..self.clone() }
    }
}

/// Creates `path` with mode 0700 if it is missing, and returns its canonical form. Links are followed: people do put
/// their home on another disk. Others must not be able to write to it or to what is above it.
fn private_directory(what: &'static str, path: &Path, remedy: &'static str) -> Result<PathBuf, HostError> {
    let refuse = |found: String| HostError::Place { what, path: path.to_owned(), found, remedy };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| refuse(e.to_string()))?;
    let path = path.canonicalize().map_err(|e| refuse(e.to_string()))?;
    owner::check(&path).map_err(HostError::ours(what, remedy))?;
    Ok(path)
}

/// Creates `path` with mode 0700 if it is missing. Refuses a link, another owner, what others can write to and, in a
/// directory that others may write to, anything that was put there to trap us.
pub fn real_directory(what: &'static str, path: &Path, remedy: &'static str) -> Result<PathBuf, HostError> {
    let refuse = |found: String| HostError::Place { what, path: path.to_owned(), found, remedy };
    // Without its parents: otherwise a removed place would come back without its note.
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        made => made.map_err(|e| refuse(e.to_string()))?,
    }
    let facts = fs::symlink_metadata(path).map_err(|e| refuse(e.to_string()))?;
    if !facts.is_dir() {
        return Err(refuse("it is a symbolic link or not a directory".to_owned()));
    }
    owner::itself(path).map_err(HostError::ours(what, remedy))?;
    if facts.mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o700)).during("restrict the mode of", path)?;
    }
    Ok(path.to_owned())
}

/// A home for a test, removed together with the directory.
#[cfg(test)]
pub fn temporary() -> (tempfile::TempDir, Home) {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
    (directory, home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn resolve(values: &[(&str, &Path)]) -> Result<Home, HostError> {
        let values: HashMap<&str, OsString> = values.iter().map(|(k, v)| (*k, v.as_os_str().to_owned())).collect();
        Home::resolve(|name| values.get(name).cloned())
    }

    #[test]
    fn the_home_follows_the_environment() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let home = resolve(&[("HOME", &base)]).unwrap();
        assert_eq!(home.path(), base.join(".local/share/plimsoll"));
        assert_eq!(home.templates(), base.join(".cache/plimsoll/datadirs"));
        let home = resolve(&[("HOME", &base), ("XDG_DATA_HOME", &base.join("d"))]).unwrap();
        assert_eq!(home.path(), base.join("d/plimsoll"));
        assert_eq!(fs::metadata(home.path()).unwrap().mode() & 0o777, 0o700);
        let home = resolve(&[("HOME", &base), ("PLIMSOLL_HOME", &base.join("own"))]).unwrap();
        assert_eq!(home.servers(), base.join("own/servers"));
        assert!(resolve(&[]).unwrap_err().to_string().contains("PLIMSOLL_HOME"));
    }

    #[test]
    fn sockets_are_short_and_differ_by_home_and_name() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("x".repeat(150));
        let one = resolve(&[("PLIMSOLL_HOME", &deep), ("XDG_RUNTIME_DIR", dir.path())]).unwrap();
        let two = resolve(&[("PLIMSOLL_HOME", dir.path()), ("XDG_RUNTIME_DIR", dir.path())]).unwrap();
        assert!(one.socket("a").unwrap().as_os_str().len() <= SOCKET_PATH_LIMIT);
        assert_ne!(one.socket("a").unwrap(), one.socket("b").unwrap());
        assert_ne!(one.socket("a").unwrap(), two.socket("a").unwrap());
        let far = resolve(&[("PLIMSOLL_HOME", dir.path()), ("XDG_RUNTIME_DIR", &deep)]).unwrap();
        assert!(matches!(far.socket("a"), Err(HostError::SocketPath { bytes: 108.., .. })));
    }

    #[test]
    fn a_home_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = match std::os::unix::fs::chown(dir.path(), Some(1), None) {
            Ok(()) => dir.path(),
            // Only root may give a directory away; for others the root directory is another user's.
            Err(_) => Path::new("/"),
        };
        let message = resolve(&[("PLIMSOLL_HOME", theirs)]).unwrap_err().to_string();
        assert!(message.contains("it belongs to user") && message.contains("PLIMSOLL_HOME"), "{message}");
    }

    #[test]
    fn a_linked_socket_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join("plimsoll")).unwrap();
        let home = resolve(&[("PLIMSOLL_HOME", &dir.path().join("h")), ("XDG_RUNTIME_DIR", dir.path())]).unwrap();
        assert!(home.socket("a").unwrap_err().to_string().contains("symbolic link"));
    }
}
