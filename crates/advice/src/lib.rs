//! What to do about a server, from what is known of its settings.
//!
//! Pure: it is given text and numbers, and opens, asks and starts nothing. [`config`] judges option files, [`window`] measured load
//! points; a finding is a [`plimsoll_model::advice::AdviceFinding`], whatever found it. [`page`]
//! shows all of them.

pub mod config;
mod losses;
pub mod measured;
#[cfg(test)]
mod mistakes;
pub mod page;
pub mod window;
