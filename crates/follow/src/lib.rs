//! Follows a load from its source to its end: what the loops tell is put together second by second, and each second is
//! recorded and shown; a load that somebody interrupts, or that cannot go on, is ended.
//!
//! It knows a load as a [`plimsoll_load::source::LoadSource`] alone, neither what it asks nor whom. What a second means is
//! the [`Account`]'s affair: that of a server's load point, or that of a measurement of storage.

mod account;
mod follow;
mod ready;
mod series;

pub use account::{Account, FollowedSecond, Seen};
pub use follow::{Ended, Followed, follow};
pub use ready::{NotReady, until_ready};
pub use series::SeriesWriter;
