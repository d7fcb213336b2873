//! Waits for a quiet machine: what other processes take from the server affects every outcome, and a search or a ladder
//! builds the next trial on it.

use crate::error::LabError;
use crate::options::Options;
use plimsoll_host::sample::{Busy, Neighbours};
use plimsoll_model::number::duration;
use plimsoll_model::summary::Point;
use plimsoll_model::text::escaped;
use plimsoll_plan::LabPlan;
use plimsoll_watch::{Event, LabEvent, Watcher};
use std::collections::VecDeque;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A machine is not quiet if others use this many CPUs or more, over [`WINDOW`].
const BUSY: f64 = 0.5;
const WINDOW: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_secs(1);
/// How often it checks for an interrupt.
const LISTEN: Duration = Duration::from_millis(50);
/// At most this many of the processes that keep the machine busy are named.
const NAMED: usize = 3;
/// Processes that take fewer CPUs than this are not named.
const WORTH_A_NAME: f64 = 0.05;

/// Whether the trials of `plan` build on each other, so that a disturbed one spoils those after it, and nobody said to
/// go on nevertheless.
pub fn is_needed(plan: &LabPlan, options: &Options) -> bool {
    let builds = !plan.rungs.is_empty()
        || plan.tune.is_some()
        || plan.variants.iter().any(|variant| variant.load.find.is_some());
    builds && !plan.trials.noisy_host && !options.noisy_host
}

/// Whether others kept the machine busy while this was measured.
pub fn was_missing(point: &Point) -> bool {
    let stolen = point.host.map_or(0.0, |host| host.steal * host.cpus as f64);
    point.cpus_of_others().unwrap_or(0.0).max(stolen) >= BUSY
}

/// Returns as soon as other processes have left the machine alone for 10 s; waits at most `most` for that.
///
/// # Errors
/// [`LabError::Environment`] with the names of the processes if they stay; [`LabError::Interrupted`].
pub fn wait(most: Duration, watcher: &mut dyn Watcher) -> Result<(), LabError> {
    let begun = Instant::now();
    let mut looks = VecDeque::from([Neighbours::look()]);
    let mut told = false;
    watcher.tell(Event::Doing("checking for 10 s whether the machine is quiet"));
    loop {
        pause(watcher)?;
        looks.push_back(Neighbours::look());
        let Some(busy) = over_window(&mut looks) else { continue };
        if busy.cpus < BUSY {
            return Ok(());
        }
        if begun.elapsed() >= most + WINDOW {
            return Err(LabError::Environment(format!(
                "{}; they would be part of any load line or ladder found now: end them, wait longer with \
                 --wait-quiet, or continue nevertheless with --noisy-host",
                who(&busy)
            )));
        }
        if !told {
            told = true;
            let text = format!("{}: waiting up to {} for a quiet machine", who(&busy), duration(most.as_secs_f64()));
            watcher.tell(Event::Lab(LabEvent::Note { text: &text }));
            watcher.tell(Event::Doing("waiting for a quiet machine"));
        }
    }
}

/// What others took in the last 10 s; `None` until that much time has passed. Older samples are dropped.
fn over_window(looks: &mut VecDeque<Neighbours>) -> Option<Busy> {
    let last = looks.back()?.clone();
    while looks.get(1).is_some_and(|next| last.after(next) >= WINDOW) {
        looks.pop_front();
    }
    let first = looks.front().filter(|first| last.after(first) >= WINDOW)?;
    // What cannot be observed is not waited for.
    Some(last.since(first, std::process::id()).unwrap_or_default())
}

fn pause(watcher: &dyn Watcher) -> Result<(), LabError> {
    let until = Instant::now() + LOOK;
    while Instant::now() < until {
        if watcher.interrupted() {
            return Err(LabError::Interrupted);
        }
        sleep(LISTEN);
    }
    Ok(())
}

/// `others used 1.3 CPUs of this machine over 10 s: cc1plus (process 4242) 1.0, …`.
fn who(busy: &Busy) -> String {
    let by_process = |(name, pid, cpus): &(String, u32, f64)| format!("{} (process {pid}) {cpus:.1}", escaped(name));
    let most = busy.most.iter().filter(|(.., cpus)| *cpus >= WORTH_A_NAME).take(NAMED);
    let mut named: Vec<String> = most.map(by_process).collect();
    if busy.stolen >= WORTH_A_NAME {
        named.push(format!("the hypervisor {:.1}", busy.stolen));
    }
    let named = match named.as_slice() {
        [] => "processes that have ended since".to_owned(),
        named => named.join(", "),
    };
    format!("others used {:.1} CPUs of this machine over {} s: {named}", busy.cpus, WINDOW.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::{ClientCost, HostShares, ServerCost};

    #[test]
    fn who_keeps_the_machine_busy_is_named() {
        let process = |name: &str, pid, cpus| (name.to_owned(), pid, cpus);
        let most = vec![process("cc1\u{1b}", 7, 1.02), process("make", 8, 0.2), process("sh", 9, 0.01)];
        let busy = Busy { cpus: 1.31, stolen: 0.1, most };
        let text = "others used 1.3 CPUs of this machine over 10 s: cc1\\u{1b} (process 7) 1.0, make (process 8) 0.2, \
                    the hypervisor 0.1";
        assert_eq!(who(&busy), text);
        let ended = Busy { cpus: 0.6, ..Busy::default() };
        assert!(who(&ended).ends_with("processes that have ended since"));
    }

    #[test]
    fn a_trial_that_others_disturbed_is_noticed() {
        let point = |busy, steal| Point {
            seconds: 10.0,
            queries: 1000,
            host: Some(HostShares { cpus: 4, busy, steal, ..HostShares::default() }),
            server: Some(ServerCost { cpus_busy: Some(1.0), ..ServerCost::default() }),
            client: ClientCost { process_cpu_us_per_query: Some(1000.0), ..ClientCost::default() },
            ..Point::default()
        };
        // A tenth of a CPU is the load generator's.
        assert!(!was_missing(&point(0.35, 0.0)) && was_missing(&point(0.41, 0.0)));
        assert!(was_missing(&point(0.3, 0.125)), "half a CPU was stolen");
        assert!(!was_missing(&Point::default()));
    }
}
