//! Members of a fleet, and their parts of a load.

use crate::message::Hello;
use std::ops::Range;

/// Which loops of a load an agent has, of how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopRange {
    pub loops: Range<usize>,
    pub of: usize,
}

/// A member of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    pub hello: Hello,
}
