//! The dashboard: what `plimsoll serve` shows. It reads recordings as they lie on disk, those that grow among them, and
//! has no other channel to whatever writes them; it writes nothing.
//!
//! Begin with [`server`], which lists the pages; [`connections`] and [`guard`] say who may ask for them. [`history`],
//! [`recording`] and [`comparison`] are pages that are made when they are asked for, [`apart`] from the thread that
//! answers everybody. [`follow`] tails a recording that grows; [`followers`] shares one follower among all who watch,
//! and [`live`] shows what it finds.

mod apart;
mod catalogue;
mod chart;
mod comparison;
mod connections;
mod documents;
mod follow;
mod followers;
mod guard;
mod history;
mod live;
mod page;
mod recording;
mod script;
mod server;
mod shown;
mod token;

pub use server::{Dashboard, ServeError};
