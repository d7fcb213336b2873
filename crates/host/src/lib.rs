//! The machine around us: what it is, what it does, which processes run on it, and what may be done to its files.
//!
//! It knows no database and never opens a connection. Begin with [`home`], where everything of ours is, and
//! [`process`], which identifies a process. [`remove`] is the only remover of trees, [`mod@replace`] the only writer of
//! whole files, [`owner`] decides what can be trusted. [`facts`] and [`sample`] only read `/proc` and `/sys`.

pub mod error;
pub mod facts;
pub mod fingerprint;
pub mod home;
pub mod limits;
pub mod lock;
pub mod mounts;
pub mod owner;
pub mod place;
pub mod process;
pub mod random;
pub mod regular;
pub mod remove;
pub mod replace;
pub mod sample;
pub mod speed;

pub use error::HostError;
pub use home::Home;
