//! Why nothing more is done, and where that is said.

use std::fmt;

/// What ends the program before its test has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A mistake on the command line: told on standard error, exit code 1.
    Usage(String),
    /// Told on standard output after `FATAL: `, exit code 1.
    Fatal(String),
    /// Told on standard output as it is, exit code 1.
    Plain(String),
    /// Everything was said.
    Quiet(u8),
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Usage(text) | Halt::Fatal(text) | Halt::Plain(text) => f.write_str(text),
            Halt::Quiet(code) => write!(f, "it ended with exit code {code}"),
        }
    }
}

impl Halt {
    pub const FAILED: u8 = 1;
    /// A forced shutdown, or threads that were not ready in time.
    pub const FORCED: u8 = 2;
    pub const INTERRUPTED: u8 = 130;
}
