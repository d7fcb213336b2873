//! Checks the invariants of loaded data: queries run over several connections, each of which sees one snapshot, and
//! their findings are combined by name.

use crate::DataError;
use crate::dataset::{self, DatasetState, Marker};
use crate::epitaph::with_epitaph;
use crate::ledger;
use crate::target::OpenTarget;
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_model::summary::InvariantFinding;
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::check::{Check, Expectation, Judgement, Moment};
use plimsoll_workloads::chosen::ChosenWorkload;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Connections that query, unless told otherwise.
pub const CONNECTIONS: usize = 2;
/// A count over a large table takes a while.
const CHECK_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How often requests to stop are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The state of the data, by their marker.
///
/// # Errors
/// Loading has not finished; `workload` is the one to continue loading with.
pub fn moment(marker: Option<&Marker>, workload: &str) -> Result<Moment, DataError> {
    match marker.map(|marker| (marker.state, &marker.family)) {
        Some((DatasetState::Loading, family)) => Err(DataError::Refused(format!(
            "loading `{family}` has not finished; run `plimsoll load {workload}` again to continue"
        ))),
        Some((DatasetState::Loaded, _)) => Ok(Moment::Loaded),
        Some((DatasetState::Driven, _)) | None => Ok(Moment::Driven),
    }
}

/// Error codes which say that the data are not what the query expects, or are damaged: no such database, table, column,
/// index; a broken view; a sum out of range; errors of the storage engine; corrupt tables and indexes; missing
/// tablespaces.
const SPEAKS_OF_DATA: [u16; 20] = [
    1030, 1034, 1035, 1049, 1051, 1054, 1072, 1109, 1146, 1176, 1194, 1195, 1347, 1356, 1690, 1712, 1812, 1814, 1877,
    1932,
];

/// A failed query is a broken invariant, quoted in the server's words, only if the error is about the data.
///
/// # Errors
/// Every other failure says nothing about the data: the connection was lost, the server is full or shutting down, the
/// right to read is missing.
fn judged(judgement: &mut Judgement, failure: &Failure) -> Result<(), DataError> {
    match failure {
        Failure::Server(message) if SPEAKS_OF_DATA.contains(&message.code) => {
            judgement.failed(failure.to_string());
            Ok(())
        }
        _ => Err(DataError::sql("reading the tables", failure)),
    }
}

/// Runs a check and judges the answer.
///
/// # Errors
/// If the query could not be run.
pub fn verdict(target: &mut OpenTarget, check: &Check) -> Result<InvariantFinding, DataError> {
    let mut judgement = Judgement::default();
    match target.control.rows(&check.sql) {
        Ok(rows) => judgement.add(check, &rows.rows),
        Err(failure) => judged(&mut judgement, &failure).map_err(|error| with_last_words(target, error))?,
    }
    Ok(finding(check, judgement))
}

/// The error, with the last words of a private server that has died meanwhile.
fn with_last_words(target: &OpenTarget, error: DataError) -> DataError {
    match error {
        DataError::Environment(text) => DataError::Environment(with_epitaph(target, text)),
        other => other,
    }
}

/// Runs all `checks` over several connections. The findings are in the order in which their names first appear. If
/// others write to the server, the connections do not see exactly the same data.
///
/// # Errors
/// If it was interrupted, or a connection could not be made.
pub fn check(
    target: &mut OpenTarget,
    checks: &[Check],
    connections: usize,
    watcher: &mut dyn Watcher,
) -> Result<Vec<InvariantFinding>, DataError> {
    if !target.enter_database()? {
        return Err(DataError::Refused(format!("there is no database `{}` to check", target.database)));
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
    let findings = collected.findings;
    ended.map_err(|error| with_last_words(target, error))?;
    Ok(findings.into_iter().map(|(check, judgement)| finding(check, judgement)).collect())
}

/// Checks every invariant of all data of the workload, whatever part of them `chosen` uses.
///
/// # Errors
/// As [`check`], and if the data are still being loaded.
pub fn findings(
    target: &mut OpenTarget,
    chosen: &ChosenWorkload,
    connections: usize,
    watcher: &mut dyn Watcher,
) -> Result<Vec<InvariantFinding>, DataError> {
    let (marker, ledger) = match target.enter_database()? {
        true => {
            let marker = dataset::marker(&mut target.control, chosen.family())?;
            (marker, ledger::read(&mut target.control, chosen.family())?)
        }
        false => (None, None),
    };
    let moment = moment(marker.as_ref(), chosen.name())?;
    let seed = marker.as_ref().map(|marker| marker.description.seed);
    let chosen = match &marker {
        Some(marker) => chosen.over_all(marker.description.loaded())?,
        None => chosen.clone(),
    };
    let checks = chosen.checks(moment, seed, ledger.as_ref());
    let mut findings = check(target, &checks, connections, watcher)?;
    if moment == Moment::Loaded {
        let always = chosen.checks(Moment::Driven, seed, ledger.as_ref());
        doubt(&mut findings, &checks, &always);
    }
    Ok(findings)
}

/// Added to broken invariants that hold only until somebody works on the data.
const IN_DOUBT: &str = "as loaded and never run on; what clients other than Plimsoll's have done since is in no ledger";

/// Adds to broken invariants that are not among those that `always` hold that others may have worked on the data.
fn doubt(findings: &mut [InvariantFinding], checks: &[Check], always: &[Check]) {
    for finding in findings {
        let only_as_loaded = checks.iter().any(|check| check.name == finding.name && !always.contains(check));
        if let Some(found) = finding.found.as_mut().filter(|found| only_as_loaded && !found.contains("no ledger")) {
            found.push_str(&format!(" ({IN_DOUBT})"));
        }
    }
}

/// The names of the checks in the order of their first appearance, and for each check the index of its name.
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

fn finding(check: &Check, judgement: Judgement) -> InvariantFinding {
    let skipped = match &check.expectation {
        Expectation::Skipped(why) => Some(why.clone()),
        _ => None,
    };
    let missing = judgement.missing(check);
    let found = judgement.end(check).err();
    InvariantFinding { name: check.name.clone(), holds: found.is_none(), found, skipped, missing }
}

/// A connection in a transaction that sees the data as they were when it began, and its number.
fn snapshot(endpoint: &Endpoint) -> Result<(Control, u64), DataError> {
    let failed = |failure: Failure| DataError::sql("connecting to check", &failure);
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

/// What a connection reports.
enum Told {
    Connected(u64),
    NotConnected(DataError),
    /// A check is about to run.
    Asking(usize),
    Answer(usize, Result<Vec<Vec<Option<String>>>, Failure>),
}

/// What the connections share.
struct Asking<'a> {
    endpoint: Endpoint,
    checks: &'a [Check],
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Asking<'_> {
    fn work(&self, sender: &Sender<Told>) {
        // After an interruption nobody listens any more.
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
                _ => control.rows(&check.sql).map(|rows| rows.rows),
            };
            tell(Told::Answer(number, answer));
        }
    }
}

struct Collected<'a> {
    checks: &'a [Check],
    /// The index in `findings` of each check.
    places: Vec<usize>,
    findings: Vec<(&'a Check, Judgement)>,
    answered: usize,
    /// The connections.
    ids: Vec<u64>,
}

impl Collected<'_> {
    /// Receives answers until all have come.
    fn follow(&mut self, answers: &Receiver<Told>, watcher: &mut dyn Watcher) -> Result<(), DataError> {
        loop {
            if watcher.interrupted() {
                return Err(DataError::Interrupted);
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
                        Err(failure) => judged(judgement, &failure)?,
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.answered == self.checks.len() => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(DataError::Environment("a checking thread died; this is a bug".to_owned()));
                }
            }
        }
    }

    /// Kills the queries under way until all connections are done.
    fn break_off(&mut self, answers: &Receiver<Told>, control: &mut Control) {
        loop {
            for id in &self.ids {
                // An idle or closed connection has nothing to kill.
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
    fn only_what_speaks_of_the_data_breaks_an_invariant() {
        let server = |code| {
            Failure::Server(plimsoll_wire::ServerMessage { code, state: *b"HY000", text: "its words".to_owned() })
        };
        for code in [1146, 1054, 1176, 1877] {
            let mut judgement = Judgement::default();
            assert!(judged(&mut judgement, &server(code)).is_ok(), "{code}");
            assert!(judgement.end(&Check::new("c", "", Expectation::None)).is_err(), "{code}");
        }
        let lost = Failure::Lost("waiting for the server's answer: the server closed the connection".to_owned());
        for failure in [lost, Failure::Silent(30.0), server(1040), server(1053), server(1142), server(1317)] {
            let error = judged(&mut Judgement::default(), &failure).expect_err("says nothing of the data");
            assert_eq!((error.exit_code(), error.to_string()), (3, format!("reading the tables: {failure}")));
        }
    }

    #[test]
    fn what_holds_only_as_loaded_is_in_doubt_when_it_is_broken() {
        let check = |name: &str, most| Check::new(name, "", Expectation::Between { least: 0, most });
        let finding = |name: &str| InvariantFinding {
            name: name.to_owned(),
            holds: false,
            found: Some("found 7".to_owned()),
            skipped: None,
            missing: None,
        };
        let mut findings = [finding("rows"), finding("sums")];
        doubt(&mut findings, &[check("rows", 5), check("sums", 5)], &[check("sums", 5)]);
        let found = findings.map(|finding| finding.found.unwrap());
        assert_eq!(found, [format!("found 7 ({IN_DOUBT})"), "found 7".to_owned()]);
    }

    #[test]
    fn findings_come_in_the_order_of_their_first_part() {
        let check = |name: &str| Check::new(name, "", Expectation::None);
        let checks = [check("b"), check("a"), check("b"), Check::skipped("c", "not kept")];
        let (findings, places) = by_name(&checks);
        assert_eq!(places, [0, 1, 0, 2]);
        let named: Vec<InvariantFinding> =
            findings.into_iter().map(|(check, judgement)| finding(check, judgement)).collect();
        assert_eq!(named.iter().map(|finding| finding.name.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
        assert!(named[2].holds && named[2].skipped.as_deref() == Some("not kept"));
    }
}
