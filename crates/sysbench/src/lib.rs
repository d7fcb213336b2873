//! sysbench as people type it and read it: its grammar, its options, its tests, its reports, its exit codes.
//!
//! Begin with [`grammar`] (what was typed), [`options`] (what it means) and [`dispatch`] (what is done). A test is a
//! workload of the engine: a script ([`scripts`]), or one of those that need no server ([`builtin`]). [`follow`] takes what
//! its loops count, and [`text`] is what is printed of it. Whoever keeps it is a [`recorder`] of the
//! caller's. Names, defaults and layouts are those of sysbench 1.0.20 as it
//! behaves; words that explain are our own.

pub mod builtin;
pub mod console;
pub mod dispatch;
pub mod follow;
pub mod general;
pub mod grammar;
pub mod halt;
pub mod lattice;
pub mod mysql;
pub mod old;
pub mod options;
pub mod planned;
pub mod recorder;
pub mod request;
pub mod scripts;
pub mod tables;
pub mod text;
pub mod totals;
