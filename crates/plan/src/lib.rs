//! What to run, read from text and checked before anything starts: targets, load points, durations, sizes.
//!
//! Pure: it opens nothing, asks nothing and starts nothing; files are handed to it as text. Begin with
//! [`plan::RunPlan`], which stands in every recording's manifest, then [`target`] and [`points`].

pub mod defaults;
pub mod error;
pub mod knowledge;
pub mod lab;
pub mod option_file;
pub mod origin;
pub mod plan;
pub mod points;
pub mod quantity;
pub mod setting;
pub mod target;

pub use error::PlanError;
pub use lab::LabPlan;
pub use plan::RunPlan;
pub use target::{Target, Url};
