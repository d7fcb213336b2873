//! The loops of this process as a source of load.

use crate::run::Run;
use plimsoll_host::sample::{cpu_wait, process_cpu};
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource, LocalLoad, Spent};
use plimsoll_load::tally::Tally;
use std::time::{Duration, Instant};

impl LoadSource for Run {
    fn facts(&self) -> &LoadFacts {
        &self.facts
    }

    fn start(&mut self, _: &dyn Fn() -> bool) -> Duration {
        Run::start(self)
    }

    fn next(&mut self, wait: Duration) -> Option<LoadEvent> {
        Run::next(self, wait).map(LoadEvent::from)
    }

    fn ended(&self) -> usize {
        Run::ended(self)
    }

    fn spent(&self) -> Option<Spent> {
        Some(Spent { cpu: process_cpu(), waited: cpu_wait(std::process::id()) })
    }

    fn recycle(&mut self, tally: Tally) {
        Run::recycle(self, tally);
    }

    fn stop(&mut self) {
        Run::stop(self);
    }

    fn finish(self) {
        Run::finish(self);
    }
}

impl LocalLoad for Run {
    fn start_at(&mut self, at: Instant) {
        Run::start_at(self, at);
    }
}
