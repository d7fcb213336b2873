//! What is compared, one file per comparison, all of one shape: the contestants, run in turn; what each measured;
//! the ratios pair by pair; the findings, each with its target.

mod connections;
pub mod io;
mod lab;
mod live;
mod load;
mod point_select;
mod read_write;
mod restore;
mod telemetry;
mod tpcc;

use crate::arena::Arena;
use crate::args::{Args, Suite};
use crate::stats::Spread;
use anyhow::bail;
use std::fmt;

/// How much to measure.
pub struct Extent {
    pub pairs: u32,
    pub load_pairs: Option<u32>,
    pub seconds: u32,
}

/// A comparison that was made.
pub struct Comparison {
    pub title: String,
    pub rows: Vec<Row>,
    pub findings: Vec<Finding>,
    pub notes: Vec<String>,
}

/// One quantity, round by round.
pub struct Row {
    pub what: String,
    pub samples: Vec<f64>,
    /// Decimals that are worth printing.
    pub digits: usize,
    pub target: Option<Target>,
}

impl Row {
    fn new(what: impl Into<String>, digits: usize, samples: impl IntoIterator<Item = f64>) -> Row {
        Row { what: what.into(), samples: samples.into_iter().collect(), digits, target: None }
    }

    /// One contestant over another, pair by pair.
    fn ratio(what: impl Into<String>, over: &Row, under: &Row) -> Row {
        Row::new(what, 2, crate::stats::ratios(&over.samples, &under.samples))
    }

    fn with_target(self, target: Target) -> Row {
        Row { target: Some(target), ..self }
    }

    pub fn spread(&self) -> Option<Spread> {
        Spread::of(&self.samples)
    }

    /// Whether the median meets the target; `None` without target or samples.
    pub fn met(&self) -> Option<bool> {
        Some(self.target?.met_by(self.spread()?.median))
    }

    /// The median and the quartiles around it.
    pub fn in_short(&self) -> String {
        self.spread().map_or("–".to_owned(), |spread| {
            let digits = self.digits;
            let Spread { lower_quartile, median, upper_quartile, .. } = spread;
            format!("{median:.digits$} ({lower_quartile:.digits$} – {upper_quartile:.digits$})")
        })
    }

    /// This row as a finding of the summary.
    fn finding(&self, name: &'static str, arena: &Arena) -> Finding {
        self.finding_on(name, arena.label())
    }

    fn finding_on(&self, name: &'static str, on: &str) -> Finding {
        Finding {
            name,
            on: on.to_owned(),
            value: self.in_short(),
            target: self.target.map(|target| target.to_string()).unwrap_or_default(),
            met: self.met(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// From … to.
    Within(f64, f64),
}

impl Target {
    fn met_by(self, value: f64) -> bool {
        match self {
            Target::AtMost(limit) => value <= limit,
            Target::AtLeast(limit) => value >= limit,
            Target::Within(low, high) => (low..=high).contains(&value),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = |limit: f64| if limit < 10.0 { 2 } else { 0 };
        match *self {
            Target::AtMost(limit) => write!(f, "≤ {limit:.*}", digits(limit)),
            Target::AtLeast(limit) => write!(f, "≥ {limit:.*}", digits(limit)),
            Target::Within(low, high) => write!(f, "{low:.*} – {high:.*}", digits(low), digits(high)),
        }
    }
}

/// One line of the summary.
pub struct Finding {
    pub name: &'static str,
    /// The server, or which reads and writes.
    pub on: String,
    pub value: String,
    pub target: String,
    /// `None` where it could not be told.
    pub met: Option<bool>,
}

/// Makes the comparison of a suite that is of a server; see [`io`] for the others.
pub fn run(suite: Suite, arena: &Arena, extent: &Extent) -> anyhow::Result<Comparison> {
    match suite {
        Suite::PointSelect => point_select::compare(arena, extent),
        Suite::ReadWrite => read_write::compare(arena, extent),
        Suite::Connections => connections::compare(arena, extent),
        Suite::Load => load::compare(arena, extent),
        Suite::Telemetry => telemetry::compare(arena, extent),
        Suite::Lab => lab::compare(arena, extent),
        Suite::Live => live::compare(arena, extent),
        Suite::Restore => restore::compare(arena, extent),
        Suite::TpccLoad => tpcc::load::compare(arena, extent),
        Suite::TpccSysbench => tpcc::sysbench::compare(arena, extent),
        Suite::TpccGo => tpcc::go::compare(arena, extent),
        Suite::TpccTerminals => tpcc::terminals::compare(arena, extent),
        Suite::IoFio | Suite::IoSysbench | Suite::IoNull => bail!("{} is of files, not of a server", suite.name()),
    }
}

/// A guess, to be said before it begins.
pub fn expected_seconds(suite: Suite, args: &Args) -> u64 {
    let (pairs, seconds) = (u64::from(args.pairs), u64::from(args.seconds) + 1);
    match suite {
        Suite::PointSelect => (pairs + 1) * 3 * seconds,
        Suite::ReadWrite => (pairs + 1) * 2 * seconds,
        Suite::Connections => {
            connections::rounds(args.pairs) as u64 * 2 * (u64::from(connections::seconds(args.seconds)) + 6)
        }
        Suite::Load => u64::from(args.load_pairs.unwrap_or(args.pairs)) * 20 + 10,
        Suite::Telemetry => telemetry::expected_seconds(args.pairs, seconds),
        Suite::Lab => lab::expected_seconds(args.pairs),
        Suite::Live => live::expected_seconds(pairs, seconds),
        Suite::Restore => restore::expected_seconds(args.pairs),
        Suite::TpccLoad => u64::from(args.load_pairs.unwrap_or(args.pairs)) * 120 + 20,
        Suite::TpccSysbench => (pairs + 1) * 2 * (u64::from(tpcc::seconds(args.seconds)) + 1) + 80,
        Suite::TpccGo => (pairs + 1) * 2 * (u64::from(tpcc::seconds(args.seconds)) + 1) + 60,
        Suite::TpccTerminals => tpcc::terminals::expected_seconds(args.pairs),
        Suite::IoFio | Suite::IoSysbench | Suite::IoNull => {
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
        let row = Row::new("x", 2, [0.52, 0.59, 0.92]);
        assert_eq!(row.met(), None);
        let row = row.with_target(Target::AtMost(0.6));
        assert_eq!((row.met(), row.in_short().as_str()), (Some(true), "0.59 (0.55 – 0.76)"));
        assert_eq!(row.with_target(Target::AtLeast(0.6)).met(), Some(false));
        assert_eq!(Row::new("x", 2, []).with_target(Target::AtMost(1.0)).met(), None);
    }
}
