//! The dashboard: what `plimsoll serve` shows. It reads recordings from disk, including growing ones, and has no other
//! channel to the processes that write them; it writes nothing.
//!
//! Begin with [`server`], which lists the pages; [`connections`] and [`guard`] say who may ask for them. [`history`],
//! [`recording`], [`comparison`] and [`trends`] are pages that are made on request, [`apart`] from the thread that answers
//! requests; [`api`] gives the same as data. [`follow`] tails a growing recording; [`followers`] shares one follower among all viewers, and [`live`]
//! shows its findings.

mod agents;
mod apart;
mod api;
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
mod plan;
mod recording;
mod script;
mod server;
mod shown;
mod token;
mod trends;

pub use server::{Dashboard, ServeError};
