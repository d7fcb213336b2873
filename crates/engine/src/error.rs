//! Why something did not work.

use plimsoll_wire::{ServerMessage, WireError};
use std::io;

/// Why an exchange with the server failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server answered with an error; the connection is still good.
    #[error("{0}")]
    Server(ServerMessage),
    /// The connection is gone: closed, refused, or it never came to be.
    #[error("{0}")]
    Lost(String),
    /// What the server sends is not the protocol.
    #[error("{0}")]
    Wire(#[from] WireError),
    /// The run is over and this exchange was not waited for.
    #[error("not answered before the run ended")]
    Cancelled,
    /// The server kept silent for too long.
    #[error("the server did not answer for {0:.0} s")]
    Silent(f64),
    /// The server sent something all the time, but not to the end.
    #[error("the server did not come to the end of {what} within {seconds:.0} s")]
    Endless { what: &'static str, seconds: f64 },
    /// The machine or the request cannot do this.
    #[error("{0}")]
    Setup(String),
    /// A transaction asks to be tried again, for a reason of its own.
    #[error("the transaction asked to be tried again")]
    Again,
    /// A script failed, by no error of the server's: its file, its line and what it says.
    #[error("{0}")]
    Script(String),
}

/// What was done when a connection was found to be gone before anything could be sent on it.
pub const SENDING: &str = "sending to the server";

impl Failure {
    /// Whether the connection was gone before the request was sent.
    pub fn is_unsent(&self) -> bool {
        matches!(self, Failure::Lost(text) if text.starts_with(SENDING))
    }

    pub fn from_io(error: &io::Error, what: &str) -> Failure {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::Lost(format!("{what}: the server closed the connection")),
            _ => Failure::Lost(format!("{what}: {error}")),
        }
    }
}

/// Why a run ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the statement `{statement}` failed: {message}")]
    Statement { statement: String, message: String },
    #[error("{0}")]
    Lost(String),
    #[error("{0}")]
    Setup(String),
    #[error("{0}")]
    Script(String),
}
