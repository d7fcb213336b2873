//! What a load tells as lines of text, for a source in another process: first a head that says which version this is and
//! what is counted, then one JSON value for each event. What is read may be anybody's: a line that is not ours is an
//! error that says so, and what passes can be added to what was counted here.

use crate::source::{LoadEvent, LoadFacts};
use crate::tally::{Names, Shape, Tally};
use plimsoll_model::samples::Phase;
use plimsoll_stats::latency::{HIGHEST_NS, LOWEST_NS};
use serde::{Deserialize, Serialize};

/// Changes whenever a reader of the version before would misunderstand a line.
pub const VERSION: u32 = 1;
/// Bytes of a line that is read.
pub const MOST_BYTES: usize = 64 << 20;
/// The latest time that a tally may tell of, nanoseconds since the load began: a hundred days.
const LATEST_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// What must be the same on both sides, in words: this version, and the bounds of histograms.
pub fn digest() -> String {
    format!("lines {VERSION}, histograms of {LOWEST_NS} to {HIGHEST_NS} ns")
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LineError {
    #[error(
        "it tells of its load in version {found}, and this program reads version {VERSION}: use the same build on both sides"
    )]
    Version { found: u32 },
    #[error("it counts {found} as {what}, and {expected} belong to this load: use the same build on both sides")]
    Names { what: &'static str, found: String, expected: String },
    #[error("a tally with {found:?} where {expected:?} belong to this load")]
    Shape { found: Shape, expected: Shape },
    #[error("a tally of the phase {phase:?} from {start_ns} to {end_ns} ns, which no load has")]
    Times { phase: Phase, start_ns: u64, end_ns: u64 },
    #[error("a line of {0} bytes; {MOST_BYTES} are the most")]
    TooLong(usize),
    #[error("a line that tells of no load: {0}")]
    Malformed(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u32,
    loops: usize,
    transactions: Vec<String>,
    statements: Vec<String>,
    counters: Vec<String>,
}

/// Only this is looked at before the version is known.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// The first line, without its end.
pub fn head(facts: &LoadFacts) -> String {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let Names { transactions, statements, counters } = &facts.names;
    json(&Head {
        version: VERSION,
        loops: facts.loops,
        transactions: owned(transactions),
        statements: owned(statements),
        counters: owned(counters),
    })
}

/// How many loops the load has whose first line this is, and that counts under these `names`.
///
/// # Errors
/// If it is of another version, or of another load.
pub fn read_head(line: &str, names: &Names) -> Result<usize, LineError> {
    let Versioned { version } = parse(line)?;
    if version != VERSION {
        return Err(LineError::Version { found: version });
    }
    let head: Head = parse(line)?;
    for (what, found, expected) in [
        ("transactions", &head.transactions, names.transactions),
        ("statements", &head.statements, names.statements.as_slice()),
        ("counters", &head.counters, names.counters),
    ] {
        if found != expected {
            return Err(LineError::Names { what, found: found.join(", "), expected: expected.join(", ") });
        }
    }
    Ok(head.loops)
}

/// An event as a line, without its end.
pub fn write(event: &LoadEvent) -> String {
    json(event)
}

/// The event of a line, of a load whose tallies have this `shape`.
///
/// # Errors
/// If it is no event, or not of this load.
pub fn read(line: &str, shape: Shape) -> Result<LoadEvent, LineError> {
    let event = parse(line)?;
    match &event {
        LoadEvent::Interval(tally) => {
            has_shape(tally.shape(), shape)?;
            has_times(tally)?;
        }
        LoadEvent::Drained(totals) => {
            let (transactions, counters) = (totals.committed.len(), totals.counted.len());
            has_shape(Shape { transactions, counters, ..shape }, shape)?;
        }
        LoadEvent::Ready(_) | LoadEvent::Failed(_) | LoadEvent::Lost { .. } | LoadEvent::Machine(_) => {}
    }
    Ok(event)
}

fn has_shape(found: Shape, expected: Shape) -> Result<(), LineError> {
    if found == expected { Ok(()) } else { Err(LineError::Shape { found, expected }) }
}

fn has_times(tally: &Tally) -> Result<(), LineError> {
    let &Tally { phase, start_ns, end_ns, .. } = tally;
    let is_of_a_load = matches!(phase, Phase::WarmUp | Phase::Measure | Phase::Drain);
    if is_of_a_load && start_ns <= end_ns && end_ns <= LATEST_NS {
        return Ok(());
    }
    Err(LineError::Times { phase, start_ns, end_ns })
}

fn parse<'l, T: Deserialize<'l>>(line: &'l str) -> Result<T, LineError> {
    if line.len() > MOST_BYTES {
        return Err(LineError::TooLong(line.len()));
    }
    serde_json::from_str(line).map_err(|error| LineError::Malformed(error.to_string()))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("keys are numbers and names, and no histogram of ours is too large")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{LoopTotals, Served};
    use crate::source::{Peer, Readiness};
    use crate::tally::record;
    use crate::window::Limit;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape { transactions: 2, statements: 1, counters: 1 };

    fn names() -> Names {
        Names { transactions: &["pay", "order"], statements: vec!["select"], counters: &["rows"] }
    }

    fn facts() -> LoadFacts {
        LoadFacts { names: names(), loops: 3, tellers: 3, open_loop: true, warmup_ns: 0, limit: Limit::Events(9) }
    }

    /// A tally in which everything has been counted, among them the latencies `ns`.
    fn tally(number: u64, ns: &[u64]) -> Tally {
        let mut tally = Tally::new(SHAPE);
        (tally.phase, tally.start_ns, tally.end_ns) = (Phase::Measure, 5, 1_000_000_005);
        let counters = &mut tally.counters;
        (counters.transactions, counters.queries, counters.statements.write) = (number, u64::MAX - number, number);
        counters.sent[plimsoll_model::StatementKind::Select] = number;
        counters.errors.insert(1213, number);
        counters.retried.insert(1205, 1);
        counters.failed_attempts_ns.insert(1205, number);
        (counters.completed_ns, counters.lag_ns_max) = (Some((7, 1_000_000_000)), number);
        (counters.counts.offered, counters.loop_cpu_ns) = (number, 12_345);
        (counters.script_ns, counters.script_ns_max) = (number, 7);
        for latency in ns {
            record(&mut tally.transactions[0].service, *latency);
            record(&mut tally.transactions[1].response, latency / 2);
            record(&mut tally.statements[0].latency, latency / 3);
        }
        (tally.transactions[1].committed, tally.statements[0].errors) = (number, 2);
        tally.counted[0] = number;
        tally
    }

    fn told(event: LoadEvent) -> LoadEvent {
        read(&write(&event), SHAPE).unwrap()
    }

    #[test]
    fn an_event_is_what_was_told() {
        let totals = LoopTotals {
            served: vec![Served { events: 3, busy_ns: u64::MAX }, Served::default()],
            unknown: 4,
            ..LoopTotals::new(SHAPE)
        };
        let readiness = Readiness {
            server: Peer { pid: Some(7), version: None },
            answer: vec![("a\n".to_owned(), "\u{1b}".to_owned())],
        };
        for event in [
            LoadEvent::Ready(readiness),
            LoadEvent::Interval(Box::new(tally(u64::MAX, &[]))),
            LoadEvent::Drained(totals),
            LoadEvent::Failed("the server \"was\" gone".to_owned()),
        ] {
            assert!(!write(&event).contains('\n'));
            assert_eq!(told(event.clone()), event);
        }
        assert_eq!(read_head(&head(&facts()), &names()), Ok(3));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_told_adds_up_to_what_was_counted(
            latencies in prop::collection::vec(prop::collection::vec(0u64..4_000_000_000_000, 0..40), 1..5)
        ) {
            let (mut here, mut there) = (Tally::new(SHAPE), Tally::new(SHAPE));
            for (number, ns) in (1..).zip(&latencies) {
                let tally = tally(number, ns);
                here.add(&tally);
                let LoadEvent::Interval(told) = told(LoadEvent::Interval(Box::new(tally))) else { unreachable!() };
                there.add(&told);
            }
            let all = latencies.iter().map(Vec::len).sum::<usize>() as u64;
            prop_assert_eq!(there.statements[0].latency.len(), all);
            prop_assert_eq!(there, here);
        }

        #[test]
        fn a_line_that_was_changed_is_refused_or_of_the_same_load(
            at in any::<prop::sample::Index>(), length in 0usize..40, text in "[ -~]{0,40}"
        ) {
            let line = write(&LoadEvent::Interval(Box::new(tally(3, &[5_000, 70_000, 900_000_000]))));
            let from = at.index(line.len());
            let to = (from + length).min(line.len());
            let changed = format!("{}{text}{}", &line[..from], &line[to..]);
            if let Ok(LoadEvent::Interval(tally)) = read(&changed, SHAPE) {
                let mut sum = Tally::new(SHAPE);
                sum.add(&tally);
                sum.add(&tally);
                prop_assert_eq!(tally.shape(), SHAPE);
            }
        }
    }

    #[test]
    fn what_is_not_of_this_load_is_refused_with_the_reason() {
        let refused = |line: &str, why: &str| {
            let found = read(line, SHAPE).unwrap_err().to_string();
            assert!(found.contains(why), "{found}");
        };
        let line = |tally: Tally| write(&LoadEvent::Interval(Box::new(tally)));
        refused(&line(Tally::new(Shape { transactions: 1, ..SHAPE })), "transactions: 1");
        refused(&write(&LoadEvent::Drained(LoopTotals::new(Shape { counters: 9, ..SHAPE }))), "counters: 9");
        refused(&line(Tally { end_ns: u64::MAX, ..Tally::new(SHAPE) }), "18446744073709551615 ns");
        refused(&line(Tally { start_ns: 2, end_ns: 1, ..Tally::new(SHAPE) }), "from 2 to 1");
        refused(&line(Tally { phase: Phase::Restore, ..Tally::new(SHAPE) }), "Restore");
        let whole = line(tally(1, &[5_000]));
        refused(&whole[..whole.len() / 2], "tells of no load");
        refused(&whole.replacen("\"phase\"", "\"faze\"", 1), "faze");
        refused("{\"started\":1}", "started");
        refused("", "tells of no load");
    }

    #[test]
    fn a_head_of_another_version_or_load_is_refused_with_the_reason() {
        let refused = |line: &str, why: &str| {
            let found = read_head(line, &names()).unwrap_err().to_string();
            assert!(found.contains(why), "{found}");
        };
        let ours = head(&facts());
        refused(&ours.replacen("\"version\":1", "\"version\":2,\"more\":[]", 1), "in version 2");
        refused(&ours.replacen("\"order\"", "\"deliver\"", 1), "pay, deliver as transactions, and pay, order belong");
        refused(&ours.replacen("\"select\"", "\"select\",\"update\"", 1), "select, update as statements");
        refused("[]", "tells of no load");
    }
}
