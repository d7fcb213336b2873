//! How far a server is trusted with the password itself: by what the connection is, and by what the user chose.
//!
//! A scramble of it crosses any connection. The password itself would serve whoever answers, and with
//! `ssl-mode=preferred` that can be anybody: TLS is stripped by whoever sits in the middle, and no certificate is checked.

use crate::error::Failure;
use crate::tls::{Mode, Tls};
use plimsoll_host::regular::{self, Unread};
use plimsoll_wire::auth::{PublicKey, Trust};
use std::path::Path;

/// Certificates of every authority in the world have a fourth of this.
const PEM_BYTES: u64 = 1 << 20;

/// What the bytes of a connection go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Unix,
    Tls,
    /// TCP without TLS.
    Plain,
}

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

impl Tls {
    /// What a connection over this channel may be told.
    pub fn trust(&self, channel: Channel) -> Trust<'_> {
        match (channel, self.mode, &self.key) {
            (Channel::Unix, ..) => Trust::Private,
            // `required` is nobody's default: whoever wrote it down wants the server taken for what it says it is.
            (Channel::Tls, Mode::VerifyCa | Mode::VerifyIdentity | Mode::Required, _) => Trust::Private,
            // To take any key is to take any server.
            (Channel::Tls, _, PasswordKey::Servers) => Trust::Private,
            (Channel::Plain, _, PasswordKey::Servers) => Trust::AnyKey,
            (Channel::Plain, _, PasswordKey::Of(key)) => Trust::Key(key),
            (Channel::Tls, _, PasswordKey::None | PasswordKey::Of(_)) | (Channel::Plain, _, PasswordKey::None) => {
                Trust::Anybody
            }
        }
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
