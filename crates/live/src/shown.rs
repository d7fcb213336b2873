//! What viewers of a recording are shown.

use std::sync::Arc;
use tokio::sync::watch;

/// A recording's state as its viewers see it.
#[derive(Debug, Default)]
pub struct ShownState {
    pub title: String,
    /// Parts of the page, by the ids of their elements.
    pub parts: Vec<(&'static str, String)>,
    /// The same in numbers.
    pub samples: Vec<LiveSample>,
    /// Nothing will change any more.
    pub over: bool,
}

/// A number of a running recording, for collectors of metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSample {
    pub family: &'static str,
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

/// A channel for the latest state.
pub type Watched = watch::Receiver<Arc<ShownState>>;
