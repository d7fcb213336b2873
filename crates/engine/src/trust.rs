//! How far a server is trusted with the password itself: by what the connection is, and by what the user chose.
//!
//! A scramble of it crosses any connection. The password itself would serve whoever answers, and with
//! `ssl-mode=preferred` that can be anybody: TLS is stripped by whoever sits in the middle, and no certificate is checked.

use crate::password_key::PasswordKey;
use crate::tls::{Mode, Tls};
use plimsoll_wire::auth::Trust;

/// What the bytes of a connection go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Unix,
    Tls,
    /// TCP without TLS.
    Plain,
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
