//! Copies of data directories: how they are made and verified, and the store in which datasets are kept.

pub mod digest;
pub mod store;
pub mod tree;
