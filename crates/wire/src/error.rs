//! What can be wrong with a server's packets.

use plimsoll_model::text::clean;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("the server's {what} ends in the middle of a field")]
    Truncated { what: &'static str },
    #[error("the server's {what} is not understood: {found}")]
    Malformed { what: &'static str, found: String },
    #[error("the server's packets are out of order: expected number {expected}, found {found}")]
    OutOfOrder { expected: u8, found: u8 },
    #[error("the server sent {what} of {bytes} bytes; at most {limit} are accepted")]
    TooLarge { what: &'static str, bytes: usize, limit: usize },
    #[error("the server sent more than {limit} {what} in one answer")]
    TooMany { what: &'static str, limit: u32 },
    #[error(
        "the answers that all connections hold together reach {} MiB, which is the limit; use fewer connections, or \
         statements with shorter answers",
        limit >> 20
    )]
    OverBudget { limit: usize },
    #[error("the server asked for a local file although no load was under way")]
    UnaskedLocalFile,
    #[error("the server asks for the authentication method `{plugin}`, which {reason}")]
    Authentication { plugin: String, reason: &'static str },
    #[error(
        "the server asks for the password itself, and whoever answers here could read it; choose one of these for the \
         target: ssl-mode=verify-ca with ssl-ca=FILE, ssl-mode=required, server-public-key-path=FILE, \
         get-server-public-key=true, or socket=PATH"
    )]
    PasswordKept,
}

/// An error answer of the server, its text stripped of control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerMessage {
    pub code: u16,
    pub state: [u8; 5],
    pub text: String,
}

impl fmt::Display for ServerMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {} ({}): {}", self.code, printable(&self.state), self.text)
    }
}

/// Longer than any text that a server sends for people; the rest is cut off.
const SHOWN_CHARACTERS: usize = 2_000;

/// Text from a server in a form that may be shown: clean, with invalid UTF-8 replaced, of limited length.
pub fn printable(bytes: &[u8]) -> String {
    // A character has at most four bytes; the rest need not be examined.
    let bytes = &bytes[..bytes.len().min(4 * SHOWN_CHARACTERS)];
    clean(&String::from_utf8_lossy(bytes)).chars().take(SHOWN_CHARACTERS).collect()
}
