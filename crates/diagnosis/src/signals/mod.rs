//! The numbers that the rules look at, each over the measured window alone. What was not recorded is `None`, and so is
//! what is not a number.

mod host;
mod load;
mod locks;
mod process;
mod storage;

pub use host::{Host, SWAPPED};
pub use load::LoadSignals;
pub use locks::Locks;
pub use process::{Client, ControlGroup, Server, TICKETS, ThreadLimit};
pub use storage::StorageSignals;
pub use storage::rate;

use crate::Observed;

/// What the samples of a load point amount to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    pub load: LoadSignals,
    pub client: Client,
    pub server: Server,
    pub host: Host,
    pub storage: StorageSignals,
    pub locks: Locks,
}

impl Signals {
    pub fn of(observed: &Observed<'_>) -> Signals {
        Signals {
            load: LoadSignals::of(observed),
            client: Client::of(observed),
            server: Server::of(observed),
            host: Host::of(observed),
            storage: StorageSignals::of(observed),
            locks: Locks::of(observed),
        }
    }
}

/// Only a number that is not below 0.
fn number(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value >= 0.0)
}

/// `None` without any, and if the result is not a number.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    Some(sum / count).filter(|mean| mean.is_finite())
}

/// Fewer samples, one each second, say little about what was in between.
pub(crate) const LOOKS: usize = 5;

/// The mean of a value that is sampled as it is at the moment; `None` without enough samples.
fn gauge(values: impl Iterator<Item = u64>) -> Option<f64> {
    let values: Vec<u64> = values.collect();
    if values.len() < LOOKS {
        return None;
    }
    mean(values.into_iter().map(|value| value as f64))
}

/// How fast a counter moved. One that went backwards was reset, and says nothing.
fn per_second(before: Option<u64>, after: Option<u64>, seconds: f64) -> Option<f64> {
    number(Some(after?.checked_sub(before?)? as f64 / seconds))
}
