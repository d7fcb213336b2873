//! What was found in a recording, of whichever kind it is.

use plimsoll_report::subject::Subject;

/// What a report needs of a recording before its trials are looked at.
pub struct Found {
    pub title: String,
    pub subject: Subject,
    /// Of one that is still being written.
    pub state: Option<String>,
    pub missing: Vec<String>,
    /// A command line.
    pub how_to_repeat: String,
}
