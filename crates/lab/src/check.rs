//! Verifies what must hold of loaded data: the queries go over several connections, each of which looks at one
//! snapshot; what they find is put together by name.

use crate::client;
use crate::dataset::{self, Marker, State};
use crate::error::LabError;
use crate::target::OpenTarget;
use crate::watch::{Event, Watcher};
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_model::summary::Finding;
use plimsoll_workloads::check::{Check, Expectation, Judgement, Moment};
use plimsoll_workloads::chosen::Chosen;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Connections that ask, unless told otherwise.
pub const CONNECTIONS: usize = 2;
/// A count over a large table takes a while.
const CHECK_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How often somebody who wants it to end is listened to.
const LOOK: Duration = Duration::from_millis(50);

/// In which state the marker says that the data are.
///
/// # Errors
/// They are still being loaded; `workload` is what to go on loading with.
pub fn moment(marker: Option<&Marker>, workload: &str) -> Result<Moment, LabError> {
    match marker.map(|marker| (marker.state, &marker.family)) {
        Some((State::Loading, family)) => Err(LabError::Refused(format!(
            "the load of `{family}` has not ended; run `plimsoll load {workload}` again to go on with it"
        ))),
        Some((State::Loaded, _)) => Ok(Moment::Loaded),
        Some((State::Driven, _)) | None => Ok(Moment::Driven),
    }
}

/// Asks and judges; a query that fails is a broken invariant, with the server's words.
pub fn verdict(target: &mut OpenTarget, check: &Check) -> Finding {
    let mut judgement = Judgement::default();
    match target.control.rows(&check.sql) {
        Ok(rows) => judgement.add(check, &rows.rows),
        Err(failure) => judgement.failed(failure.to_string()),
    }
    finding(check, judgement)
}

/// Asks all of `checks` over some connections. The findings are in the order in which their names first come; on a
/// server where others write, the connections do not see exactly the same data.
///
/// # Errors
/// If it was interrupted, or a connection could not be made.
pub fn check(
    target: &mut OpenTarget,
    checks: &[Check],
    connections: usize,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Finding>, LabError> {
    if !target.enter_database()? {
        return Err(LabError::Refused(format!("there is no database `{}` to check", target.database)));
    }
    let (findings, places) = by_name(checks);
    let asking =
        Asking { endpoint: target.load_endpoint(), checks, next: AtomicUsize::new(0), stop: AtomicBool::new(false) };
    let (sender, answers) = channel();
    let mut collected = Collected { checks, places, findings, answered: 0, ids: Vec::new() };
    let ended = std::thread::scope(|scope| {
        for _ in 0..connections.clamp(1, checks.len().max(1)) {
            let (asking, sender) = (&asking, sender.clone());
            scope.spawn(move || asking.work(&sender));
        }
        drop(sender);
        let ended = collected.follow(&answers, watcher);
        if ended.is_err() {
            asking.stop.store(true, Ordering::Relaxed);
            collected.break_off(&answers, &mut target.control);
        }
        ended
    });
    ended?;
    Ok(collected.findings.into_iter().map(|(check, judgement)| finding(check, judgement)).collect())
}

/// Asks everything that must hold of all data of the workload, whatever part of them `chosen` uses.
///
/// # Errors
/// As [`check`], and if the data are still being loaded.
pub fn findings(
    target: &mut OpenTarget,
    chosen: &Chosen,
    connections: usize,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Finding>, LabError> {
    let (marker, ledger) = match target.enter_database()? {
        true => {
            let marker = dataset::marker(&mut target.control, chosen.family())?;
            (marker, client::read(&mut target.control, chosen.family())?)
        }
        false => (None, None),
    };
    let moment = moment(marker.as_ref(), chosen.name())?;
    let seed = marker.as_ref().map(|marker| marker.description.seed);
    let chosen = match &marker {
        Some(marker) => chosen.over_all(marker.description.loaded())?,
        None => chosen.clone(),
    };
    check(target, &chosen.checks(moment, seed, ledger.as_ref()), connections, watcher)
}

/// The checks by name in the order of their first appearance, and for each of them the place of its name.
fn by_name(checks: &[Check]) -> (Vec<(&Check, Judgement)>, Vec<usize>) {
    let mut findings: Vec<(&Check, Judgement)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let place = |check| {
        let check: &Check = check;
        *known.entry(check.name.as_str()).or_insert_with(|| {
            findings.push((check, Judgement::default()));
            findings.len() - 1
        })
    };
    let places = checks.iter().map(place).collect();
    (findings, places)
}

fn finding(check: &Check, judgement: Judgement) -> Finding {
    let skipped = match &check.expectation {
        Expectation::Skipped(why) => Some(why.clone()),
        _ => None,
    };
    let found = judgement.end(check).err();
    Finding { name: check.name.clone(), holds: found.is_none(), found, skipped }
}

/// A connection in a transaction that sees the data as they were when it began; and its number.
fn snapshot(endpoint: &Endpoint) -> Result<(Control, u64), LabError> {
    let failed = |failure: Failure| LabError::sql("connecting to check", &failure);
    let mut control = Control::open(endpoint).map_err(failed)?;
    let rows = control.rows("SELECT CONNECTION_ID()").map_err(failed)?;
    let id = rows.single().and_then(|id| id.parse().ok()).unwrap_or_default();
    for statement in
        ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]
    {
        control.run(statement).map_err(failed)?;
    }
    control.set_limit(CHECK_LIMIT);
    Ok((control, id))
}

/// What a connection has to say.
enum Told {
    Connected(u64),
    NotConnected(LabError),
    /// A check that is about to be asked.
    Asking(usize),
    Answer(usize, Result<Vec<Vec<Option<String>>>, String>),
}

/// What all connections share.
struct Asking<'a> {
    endpoint: Endpoint,
    checks: &'a [Check],
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Asking<'_> {
    fn work(&self, sender: &Sender<Told>) {
        // Nobody listens any more once it was interrupted.
        let tell = |told| drop(sender.send(told));
        let mut control = match snapshot(&self.endpoint) {
            Ok((control, id)) => {
                tell(Told::Connected(id));
                control
            }
            Err(error) => return tell(Told::NotConnected(error)),
        };
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(check) = self.checks.get(number).filter(|_| !self.stop.load(Ordering::Relaxed)) else { return };
            tell(Told::Asking(number));
            let answer = match &check.expectation {
                Expectation::Skipped(_) => Ok(Vec::new()),
                _ => control.rows(&check.sql).map(|rows| rows.rows).map_err(|failure| failure.to_string()),
            };
            tell(Told::Answer(number, answer));
        }
    }
}

struct Collected<'a> {
    checks: &'a [Check],
    /// The place in `findings` of each check.
    places: Vec<usize>,
    findings: Vec<(&'a Check, Judgement)>,
    answered: usize,
    /// The connections.
    ids: Vec<u64>,
}

impl Collected<'_> {
    /// Takes answers until all are there.
    fn follow(&mut self, answers: &Receiver<Told>, watcher: &mut dyn Watcher) -> Result<(), LabError> {
        loop {
            if watcher.interrupted() {
                return Err(LabError::Interrupted);
            }
            match answers.recv_timeout(LOOK) {
                Ok(Told::Connected(id)) => self.ids.push(id),
                Ok(Told::NotConnected(error)) => return Err(error),
                Ok(Told::Asking(number)) => {
                    let text = format!("{} of {}: {}", number + 1, self.checks.len(), self.checks[number].name);
                    watcher.tell(Event::Doing(&text));
                }
                Ok(Told::Answer(number, answer)) => {
                    self.answered += 1;
                    let judgement = &mut self.findings[self.places[number]].1;
                    match answer {
                        Ok(rows) => judgement.add(&self.checks[number], &rows),
                        Err(why) => judgement.failed(why),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.answered == self.checks.len() => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LabError::Environment("a checking thread died; this is a bug".to_owned()));
                }
            }
        }
    }

    /// Ends the queries under way, until all connections are done.
    fn break_off(&mut self, answers: &Receiver<Told>, control: &mut Control) {
        loop {
            for id in &self.ids {
                // One that is idle or gone needs no stopping.
                let _ = control.run(&format!("KILL QUERY {id}"));
            }
            match answers.recv_timeout(LOOK) {
                Ok(Told::Connected(id)) => self.ids.push(id),
                Err(RecvTimeoutError::Disconnected) => return,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_come_in_the_order_of_their_first_part() {
        let check = |name: &str| Check::new(name, "", Expectation::None);
        let checks = [check("b"), check("a"), check("b"), Check::skipped("c", "not kept")];
        let (findings, places) = by_name(&checks);
        assert_eq!(places, [0, 1, 0, 2]);
        let named: Vec<Finding> = findings.into_iter().map(|(check, judgement)| finding(check, judgement)).collect();
        assert_eq!(named.iter().map(|finding| finding.name.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
        assert!(named[2].holds && named[2].skipped.as_deref() == Some("not kept"));
    }
}
