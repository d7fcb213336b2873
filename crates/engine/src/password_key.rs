//! The key under which a password is sent where there is no TLS, and the files that keys and certificates stand in.

use crate::error::Failure;
use plimsoll_host::regular::{self, Unread};
use plimsoll_wire::auth::PublicKey;
use std::path::Path;

/// Certificates of every authority in the world have a fourth of this.
const PEM_BYTES: u64 = 1 << 20;

/// The key under which a password is sent where there is no TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PasswordKey {
    #[default]
    None,
    /// Whichever the server sends: `get-server-public-key`.
    Servers,
    /// This one, whatever the server sends: `server-public-key-path`.
    Of(PublicKey),
}

impl PasswordKey {
    /// Reads the key of a server from a PEM file.
    ///
    /// # Errors
    /// [`Failure::Setup`] with the file, where it cannot be read or has no such key.
    pub fn read(path: &Path) -> Result<PasswordKey, Failure> {
        const OPTION: &str = "server-public-key-path";
        PublicKey::from_pem(&read_pem(OPTION, path)?).map(PasswordKey::Of).map_err(|why| {
            unusable(
                OPTION,
                path,
                &format!("{why}; accepted is the server's RSA key, which begins with -----BEGIN PUBLIC KEY-----"),
            )
        })
    }
}

fn unusable(option: &str, path: &Path, why: &str) -> Failure {
    Failure::Setup(format!("{option} {}: {why}", path.display()))
}

/// Reads the PEM file that an option names: a regular file, since others may have no end.
pub(crate) fn read_pem(option: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    regular::read(path, PEM_BYTES).map_err(|unread| match unread {
        Unread::Io(error) => unusable(option, path, &error.to_string()),
        Unread::Kind(_) => unusable(option, path, "it is no regular file; accepted is a PEM file"),
        Unread::TooLong(_) => unusable(option, path, "it has more than 1 MiB; accepted is a PEM file"),
    })
}
