//! Coordinator and agents over a real broker. The loads are replayed, so that what has to come out is known to the last
//! bucket; those of real servers are in the tests of the command line.

mod collected;
mod jobs;
mod losses;
mod merging;
mod refusals;
mod scene;
mod security;
