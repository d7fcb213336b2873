//! The built binary on real servers: what a user types, what comes out, and what is left behind.
//!
//! One binary with a module per topic, so that it is linked once. Begin with [`harness`]. Tests that mount file
//! systems or run whole matrices are ignored by default; `make test-all` runs them.

mod bottlenecks;
mod bottlenecks_storage;
mod compare;
mod conditions;
mod contract;
mod cut_short;
mod dashboard;
mod data;
mod datasets;
mod documents;
mod drops;
mod every_plan;
mod faces;
mod harness;
mod hostile_plans;
mod hostile_text;
mod interchange;
mod io;
mod kills;
mod lab;
mod lab_places;
mod lab_truths;
mod lanes;
mod live_view;
mod logins;
mod matrix;
mod mutations;
mod network_lanes;
mod network_storage;
mod open_loop;
mod order_entry;
mod over_tls;
mod ownership;
mod pages;
mod parity;
mod plan_leave;
mod plans;
mod plans_netapp;
mod plans_storage;
mod plans_systems;
mod proofs;
mod quickstart;
mod random_kills;
mod recordings;
mod refusals;
mod remote;
mod removers;
mod reports;
mod servers;
mod smack;
mod small_disks;
mod storage_truths;
mod tampered;
