//! What sysbench does with a script that Plimsoll does otherwise: which errors begin an event again, what is said of those
//! that end the run, what a statement is sent to, and when there are no more events.

use plimsoll_engine::Failure;
use plimsoll_engine::endpoint::{Address, Endpoint, Password};
use plimsoll_engine::tls::Tls;
use plimsoll_load::window::Window;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A value of `sysbench.opt`.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<String>),
}

/// The errors that begin an event again, as `--mysql-ignore-errors` names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredErrors {
    All,
    These(Vec<u16>),
}

impl IgnoredErrors {
    pub fn has(&self, code: u16) -> bool {
        match self {
            IgnoredErrors::All => true,
            IgnoredErrors::These(codes) => codes.contains(&code),
        }
    }
}

/// What connections are made to, one after the other.
#[derive(Debug)]
pub struct ServerList {
    pub addresses: Vec<Address>,
    /// As messages name them, one by one.
    pub shown: Vec<String>,
    pub user: String,
    pub password: Password,
    pub database: String,
    pub tls: Arc<Tls>,
    /// How many connections were made.
    pub made: AtomicUsize,
}

impl ServerList {
    /// The place of the server that the next connection is for.
    pub fn next(&self) -> usize {
        self.made.fetch_add(1, Ordering::Relaxed) % self.addresses.len().max(1)
    }

    /// How to reach the server at a place.
    ///
    /// # Errors
    /// Its name cannot be resolved.
    pub fn endpoint(&self, place: usize) -> Result<Endpoint, Failure> {
        let address =
            self.addresses.get(place).cloned().ok_or_else(|| Failure::Lost("no server is named".to_owned()))?;
        Ok(Endpoint {
            resolved: address.resolve()?,
            address,
            user: self.user.clone(),
            password: self.password.clone(),
            database: Some(self.database.clone()),
            tls: self.tls.clone(),
            local_files: false,
        })
    }
}

/// How many events all threads together may begin, and how long they may.
#[derive(Debug, Default)]
pub struct Budget {
    /// 0 for as many as there are.
    pub events: u64,
    /// After the warm-up; 0 for as long as it takes.
    pub time_ns: u64,
    begun: AtomicU64,
}

impl Budget {
    pub fn new(events: u64, time_ns: u64) -> Budget {
        Budget { events, time_ns, begun: AtomicU64::new(0) }
    }

    /// Takes one event from it, if there is one: during the warm-up there always is, and none once the run was ended.
    pub fn take(&self, now_ns: u64, window: Window) -> bool {
        if window.is_over(now_ns) {
            return false;
        }
        if now_ns < window.w0_ns {
            return true;
        }
        let in_time = self.time_ns == 0 || now_ns - window.w0_ns < self.time_ns;
        in_time && (self.events == 0 || self.begins())
    }

    fn begins(&self) -> bool {
        let next = |begun: u64| (begun < self.events).then_some(begun + 1);
        self.begun.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Puts an event back that has failed and may be taken again.
    pub fn put_back(&self, now_ns: u64, window: Window) {
        if now_ns >= window.w0_ns && self.events > 0 {
            let less = |begun: u64| begun.checked_sub(1);
            let _ = self.begun.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

/// How a script is treated that was written for sysbench and is run as sysbench runs it.
#[derive(Debug)]
pub struct Dialect {
    pub ignored: IgnoredErrors,
    /// Errors are treated and told as sysbench does, and not as Plimsoll does.
    pub is_compatible: bool,
    /// Nothing is sent, and everything succeeds.
    pub is_dry: bool,
    /// Each thread has a virtual machine of its own.
    pub is_isolated: bool,
    /// What `--db-driver` names.
    pub driver: String,
    pub servers: ServerList,
    pub budget: Budget,
    pub command: Option<String>,
    /// The script as it was named.
    pub path: Option<String>,
    /// `sysbench.opt`, once the script has said what options it has.
    pub options: OnceLock<Vec<(String, OptionValue)>>,
    /// Options that a script without declarations reads as globals.
    pub globals: OnceLock<Vec<(String, String)>>,
    /// The options that the script declares, as they are listed.
    pub test_options: OnceLock<String>,
    /// Somebody has asked for the driver.
    pub uses_sql: AtomicBool,
    /// Takes a line for the standard output.
    pub say: fn(&str),
}

impl Dialect {
    /// Says something that ends the run.
    pub fn fatal(&self, text: &str) {
        (self.say)(&format!("FATAL: {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_by_number_and_by_time_and_a_warm_up_takes_nothing_from_it() {
        let window = Window { start_ns: 0, w0_ns: 100, w1_ns: None };
        let budget = Budget::new(2, 0);
        assert!(budget.take(50, window) && budget.take(100, window) && budget.take(900, window));
        assert!(!budget.take(900, window));
        budget.put_back(900, window);
        assert!(budget.take(900, window) && !budget.take(900, window), "one was put back");
        let budget = Budget::new(0, 10);
        assert!(budget.take(109, window) && !budget.take(110, window));
        assert!(Budget::default().take(u64::MAX, window));
        let ended = Window { w1_ns: Some(500), ..window };
        assert!(Budget::default().take(499, ended) && !Budget::default().take(500, ended), "the run was ended");
    }

    #[test]
    fn errors_are_ignored_that_are_named() {
        assert!(IgnoredErrors::All.has(1));
        let these = IgnoredErrors::These(vec![1213, 1205]);
        assert!(these.has(1205) && !these.has(1062));
    }
}
