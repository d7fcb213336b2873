//! What pages are made of, whatever they tell: a [`document`] of sections and blocks, its [`table`]s, the one writer of drawings
//! ([`svg`]) with its [`scale`]s, and how far a number can be trusted, in words ([`interval`]).
//!
//! Everything is a pure function. Text is held as it came; whoever shows it makes it harmless first.

pub mod document;
pub mod interval;
pub mod scale;
pub mod svg;
pub mod table;
