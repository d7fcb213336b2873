//! The engine against servers that lie, stall and hang up, and against real ones.

mod accounting;
mod catalogue;
mod conduct;
mod determinism;
mod fairness;
mod hostile;
mod login;
mod outage;
mod passwords;
mod real;
mod reconnects;
mod results;
mod scripts;
mod steps;
mod tls;
