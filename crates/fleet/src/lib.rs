//! A load on several machines: load agents make its parts, a coordinator hears them as one
//! [`plimsoll_load::source::LoadSource`]. Between them is a broker, NATS with JetStream, that [`link`] alone knows.
//!
//! Begin with [`coordinator`] (who is there, and what each is given), [`fleet_load`] (what it tells, from the start in common to
//! the last drained) and [`agent`] (the other side). [`clock`] says what time it is elsewhere, [`roster`] who is lost.

pub mod agent;
mod agent_facts;
pub mod broker_config;
pub mod clock;
pub mod coordinator;
pub mod error;
pub mod fleet_load;
mod held_job;
mod job;
mod key;
pub mod link;
mod member;
pub mod message;
pub mod own;
mod part;
pub mod roster;
pub mod spool;
mod subject;
mod teller;
mod voice;

pub use agent::{AgentNews, LoadMaker, serve};
pub use agent_facts::AgentFacts;
pub use coordinator::{Fleet, FleetWish};
pub use error::FleetError;
pub use fleet_load::FleetLoad;
pub use held_job::AgentJob;
pub use job::{FleetJob, JobHand};
pub use member::{LoopRange, Member};
pub use message::FleetBuild;
