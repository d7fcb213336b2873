//! What is compared, one file per comparison, all of one shape: the contestants, run in turn; what each measured;
//! the ratios pair by pair; the findings, each with its target.

mod advise;
mod connections;
mod drop_in;
mod fleet;
pub mod io;
mod lab;
mod ledger;
mod live;
mod load;
mod packaged;
mod pages;
mod point_select;
mod read_write;
mod restore;
mod telemetry;
mod tpcc;
mod tune;
mod verdicts;

use crate::arena::Arena;
use crate::args::{Args, BenchSuite};
use crate::stats::SampleSpread;
use anyhow::bail;
use std::fmt;

/// How much to measure.
pub struct BenchExtent {
    pub pairs: u32,
    pub load_pairs: Option<u32>,
    pub seconds: u32,
}

/// A comparison that was made.
#[derive(Default)]
pub struct PeerComparison {
    pub title: String,
    pub rows: Vec<BenchRow>,
    /// What was counted, where that is more than rows can say.
    pub counts: Option<CountTable>,
    pub findings: Vec<BenchFinding>,
    pub notes: Vec<String>,
}

/// Counts of one kind, by who or what they are of.
pub struct CountTable {
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// One quantity, round by round.
pub struct BenchRow {
    pub what: String,
    pub samples: Vec<f64>,
    /// Decimals that are worth printing.
    pub digits: usize,
    pub target: Option<BenchTarget>,
}

impl BenchRow {
    fn new(what: impl Into<String>, digits: usize, samples: impl IntoIterator<Item = f64>) -> BenchRow {
        BenchRow { what: what.into(), samples: samples.into_iter().collect(), digits, target: None }
    }

    /// One contestant over another, pair by pair.
    fn ratio(what: impl Into<String>, over: &BenchRow, under: &BenchRow) -> BenchRow {
        BenchRow::new(what, 2, crate::stats::ratios(&over.samples, &under.samples))
    }

    fn with_target(self, target: BenchTarget) -> BenchRow {
        BenchRow { target: Some(target), ..self }
    }

    pub fn spread(&self) -> Option<SampleSpread> {
        SampleSpread::of(&self.samples)
    }

    /// Whether the median meets the target; `None` without target or samples.
    pub fn met(&self) -> Option<bool> {
        Some(self.target?.met_by(self.spread()?.median))
    }

    /// The median and the quartiles around it.
    pub fn in_short(&self) -> String {
        self.spread().map_or("–".to_owned(), |spread| {
            let digits = self.digits;
            let SampleSpread { lower_quartile, median, upper_quartile, .. } = spread;
            format!("{median:.digits$} ({lower_quartile:.digits$} – {upper_quartile:.digits$})")
        })
    }

    /// This row as a finding of the summary.
    fn finding(&self, name: &'static str, arena: &Arena) -> BenchFinding {
        self.finding_on(name, arena.label())
    }

    fn finding_on(&self, name: &'static str, on: &str) -> BenchFinding {
        BenchFinding {
            name,
            on: on.to_owned(),
            value: self.in_short(),
            target: self.target.map(|target| target.to_string()).unwrap_or_default(),
            met: self.met(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BenchTarget {
    AtMost(f64),
    AtLeast(f64),
    /// From … to.
    Within(f64, f64),
}

impl BenchTarget {
    fn met_by(self, value: f64) -> bool {
        match self {
            BenchTarget::AtMost(limit) => value <= limit,
            BenchTarget::AtLeast(limit) => value >= limit,
            BenchTarget::Within(low, high) => (low..=high).contains(&value),
        }
    }
}

impl fmt::Display for BenchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = |limit: f64| if limit < 10.0 { 2 } else { 0 };
        match *self {
            BenchTarget::AtMost(limit) => write!(f, "≤ {limit:.*}", digits(limit)),
            BenchTarget::AtLeast(limit) => write!(f, "≥ {limit:.*}", digits(limit)),
            BenchTarget::Within(low, high) => write!(f, "{low:.*} – {high:.*}", digits(low), digits(high)),
        }
    }
}

/// One line of the summary.
pub struct BenchFinding {
    pub name: &'static str,
    /// The server, or which reads and writes.
    pub on: String,
    pub value: String,
    pub target: String,
    /// `None` where it could not be told.
    pub met: Option<bool>,
}

/// Makes the comparison of a suite that is of a server; see [`io`] for the others.
pub fn run(suite: BenchSuite, arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    match suite {
        BenchSuite::PointSelect => point_select::compare(arena, extent),
        BenchSuite::ReadWrite => read_write::compare(arena, extent),
        BenchSuite::Connections => connections::compare(arena, extent),
        BenchSuite::Load => load::compare(arena, extent),
        BenchSuite::Telemetry => telemetry::compare(arena, extent),
        BenchSuite::Lab => lab::compare(arena, extent),
        BenchSuite::Verdicts => verdicts::compare(arena, extent),
        BenchSuite::Advise => advise::compare(arena, extent),
        BenchSuite::Tune => tune::compare(arena, extent),
        BenchSuite::Live => live::compare(arena, extent),
        BenchSuite::Ledger => ledger::compare(arena, extent),
        BenchSuite::Fleet => fleet::compare(arena, extent),
        BenchSuite::Pages => pages::compare(arena, extent),
        BenchSuite::Restore => restore::compare(arena, extent),
        BenchSuite::Packaged => packaged::compare(arena, extent),
        BenchSuite::Sysbench => drop_in::compare(arena, extent),
        BenchSuite::TpccLoad => tpcc::load::compare(arena, extent),
        BenchSuite::TpccSysbench => tpcc::sysbench::compare(arena, extent),
        BenchSuite::TpccGo => tpcc::go::compare(arena, extent),
        BenchSuite::TpccTerminals => tpcc::terminals::compare(arena, extent),
        BenchSuite::IoFio | BenchSuite::IoSysbench | BenchSuite::IoNull => {
            bail!("{} is of files, not of a server", suite.name())
        }
    }
}

/// A guess, to be said before it begins.
pub fn expected_seconds(suite: BenchSuite, args: &Args) -> u64 {
    let (pairs, seconds) = (u64::from(args.pairs), u64::from(args.seconds) + 1);
    match suite {
        BenchSuite::PointSelect => (pairs + 1) * 3 * seconds,
        BenchSuite::ReadWrite => (pairs + 1) * 2 * seconds,
        BenchSuite::Connections => {
            connections::rounds(args.pairs) as u64 * 2 * (u64::from(connections::seconds(args.seconds)) + 6)
        }
        BenchSuite::Load => u64::from(args.load_pairs.unwrap_or(args.pairs)) * 20 + 10,
        BenchSuite::Telemetry => telemetry::expected_seconds(args.pairs, seconds),
        BenchSuite::Lab => lab::expected_seconds(args.pairs),
        BenchSuite::Verdicts => verdicts::expected_seconds(args.pairs),
        BenchSuite::Advise => advise::expected_seconds(),
        BenchSuite::Tune => tune::expected_seconds(args.pairs),
        BenchSuite::Live => live::expected_seconds(pairs, seconds),
        BenchSuite::Ledger => ledger::expected_seconds(pairs, seconds),
        BenchSuite::Fleet => fleet::expected_seconds(pairs, seconds),
        BenchSuite::Pages => pages::expected_seconds(args.pairs),
        BenchSuite::Restore => restore::expected_seconds(args.pairs),
        BenchSuite::Packaged => (pairs + 1) * 2 * seconds,
        BenchSuite::Sysbench => drop_in::expected_seconds(args.pairs, seconds),
        BenchSuite::TpccLoad => u64::from(args.load_pairs.unwrap_or(args.pairs)) * 120 + 20,
        BenchSuite::TpccSysbench => (pairs + 1) * 2 * (u64::from(tpcc::seconds(args.seconds)) + 1) + 80,
        BenchSuite::TpccGo => (pairs + 1) * 2 * (u64::from(tpcc::seconds(args.seconds)) + 1) + 60,
        BenchSuite::TpccTerminals => tpcc::terminals::expected_seconds(args.pairs),
        BenchSuite::IoFio | BenchSuite::IoSysbench | BenchSuite::IoNull => {
            io::parts(suite, args.seconds).len() as u64 * pairs * 2 * seconds
        }
    }
}

/// One who takes part: a name, and how to let it run once.
type Contestant<'a, T> = (&'a str, &'a dyn Fn() -> anyhow::Result<T>);

/// As [`take_turns`], where it is known how many take part.
fn in_turn<T, const N: usize>(
    title: &str,
    rounds: usize,
    contestants: [Contestant<T>; N],
    describe: impl Fn(&T) -> String,
) -> anyhow::Result<[Vec<T>; N]> {
    let mut results = take_turns(title, rounds, &contestants, describe)?.into_iter();
    Ok(std::array::from_fn(|_| results.next().unwrap_or_default()))
}

/// Lets the contestants run in turn, `rounds` times; what each did, round by round. Who begins changes from round to
/// round, so that what a run leaves behind for the next (dirty pages, a warm cache) falls on all alike.
fn take_turns<T>(
    title: &str,
    rounds: usize,
    contestants: &[Contestant<T>],
    describe: impl Fn(&T) -> String,
) -> anyhow::Result<Vec<Vec<T>>> {
    eprintln!("{title}");
    let mut results: Vec<Vec<T>> = contestants.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..rounds {
        for place in 0..contestants.len() {
            let who = (round + place) % contestants.len();
            let (name, run) = &contestants[who];
            let result = run()?;
            eprintln!("  {:>3}/{rounds}  {name}: {}", round + 1, describe(&result));
            results[who].push(result);
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn everybody_begins_equally_often() {
        let order = RefCell::new(String::new());
        let run = |who: char| {
            let order = &order;
            move || {
                order.borrow_mut().push(who);
                Ok(who)
            }
        };
        let (a, b, c) = (run('a'), run('b'), run('c'));
        let results = in_turn("", 3, [("a", &a), ("b", &b), ("c", &c)], char::to_string).unwrap();
        assert_eq!(*order.borrow(), "abcbcacab");
        assert_eq!(results, [vec!['a'; 3], vec!['b'; 3], vec!['c'; 3]]);
    }

    #[test]
    fn the_median_is_judged() {
        let row = BenchRow::new("x", 2, [0.52, 0.59, 0.92]);
        assert_eq!(row.met(), None);
        let row = row.with_target(BenchTarget::AtMost(0.6));
        assert_eq!((row.met(), row.in_short().as_str()), (Some(true), "0.59 (0.55 – 0.76)"));
        assert_eq!(row.with_target(BenchTarget::AtLeast(0.6)).met(), Some(false));
        assert_eq!(BenchRow::new("x", 2, []).with_target(BenchTarget::AtMost(1.0)).met(), None);
    }
}
