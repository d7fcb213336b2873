//! The machine around us, as far as it decides what may be done to files: what is mounted where, whom a path can be
//! trusted to, how a tree is removed and a file replaced so that nobody else's is touched.
//!
//! Begin with [`remove`], the only remover of trees, and [`owner`], which is asked where trust begins. [`mod@replace`] is
//! how whole files are written; [`mounts`] reads the kernel's table, [`regular`]
//! whole files that somebody names.

pub mod error;
pub mod mounts;
pub mod owner;
pub mod regular;
pub mod remove;
pub mod replace;

pub use error::HostError;
