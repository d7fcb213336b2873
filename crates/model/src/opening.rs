//! How a private server comes up.

/// What opening a server is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpeningStep {
    /// The build makes its first data directory (kept as a template).
    Initialising,
    /// Another Plimsoll is initialising the same build.
    WaitingForTemplate,
    Copying,
    /// The server was started and is not ready yet.
    Starting,
    Ready,
}
