//! Copies of data directories: how one is made, the proof that it is one, and the store in which datasets are kept.

pub mod digest;
pub mod store;
pub mod tree;
