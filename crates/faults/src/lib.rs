//! A block device that forgets what was not flushed.
//!
//! Writes go to a [`VolatileDevice`]: they are read back at once, and are durable only when a flush, or their own FUA flag, says
//! so. A [`cut`](VolatileDevice::cut) ends it as a power cut would: of what was not flushed a seeded part survives, in any order.
//! [`serve`] offers it over NBD (the NBD protocol, newstyle negotiation) on a Unix socket, and takes orders on another.
//!
//! Begin with [`device`], then [`cut`], [`nbd`] and [`serve`].

#[cfg(test)]
mod client;
pub mod cut;
pub mod device;
pub mod nbd;
#[cfg(test)]
mod nbdkit;
pub mod serve;
#[cfg(test)]
mod writer;

pub use cut::{Cut, CutReport, Survival};
pub use device::{DeviceError, Fault, FaultyOperation, VolatileDevice};
