//! What to run, read from text and checked before anything starts: targets, load points, durations, sizes.
//!
//! Pure: it opens nothing, asks nothing and starts nothing; it is given files as text. Begin with
//! [`recorded::Plan`], which stands in every recording's manifest, then [`target`].

pub mod allowed_target;
pub mod broker;
pub mod defaults;
pub mod error;
pub mod gate;
pub mod knowledge;
pub mod lab;
pub mod listen;
pub mod option_file;
pub mod plan;
pub mod quantity;
pub mod recorded;
pub mod setting;
pub mod target;

pub use error::PlanError;
pub use lab::LabPlan;
pub use plan::RunPlan;
pub use plimsoll_model::origin;
pub use recorded::{Plan, StoragePlan};
pub use target::{Target, Url};
