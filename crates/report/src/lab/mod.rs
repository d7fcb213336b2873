//! What a lab found: its answer, and the tables that it stands on.

mod tables;
mod terminal;
#[cfg(test)]
mod tests;

pub use terminal::terminal;
