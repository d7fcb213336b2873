//! `compare`: two sides, each some recordings, set against each other round by round.
//!
//! Everything is found from what the trials wrote. [`sides`] says which recordings a side is, [`rounds`] what was
//! measured in each of its rounds, [`pairing`] whether the rounds of the two sides belong together, [`facts`] what
//! else differs; the statistics are in [`plimsoll_stats::comparison`].

mod caveats;
mod facts;
mod io;
mod pairing;
mod rounds;
mod sides;
#[cfg(test)]
mod tests;

use crate::error::LabError;
use facts::Facts;
use plimsoll_model::comparison::{Comparison, Design, Metric, Row, SCHEMA_VERSION, Side};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::io_comparison::IoComparison;
use plimsoll_plan::points::LoadPoint;
use plimsoll_record::{RecordError, read};
use plimsoll_stats::comparison::{detectable, each_of, noise_floor, paired, pairs_needed, spread, unpaired, verdict};
use rounds::Round;
use sides::Chosen;
use std::path::Path;

/// One side with what its rounds measured.
struct Group {
    chosen: Chosen,
    facts: Facts,
    /// In the order in which they began.
    rounds: Vec<Round>,
}

/// What two sides are found to be.
#[derive(Debug)]
pub enum Compared {
    Runs(Box<Comparison>),
    Storage(Box<IoComparison>),
}

/// Compares the sides that `a` and `b` name: recordings below `recordings` or elsewhere, as [`sides`] reads them. A
/// change within `equivalence`, a share, counts as no difference.
///
/// # Errors
/// [`LabError::Refused`] if a side is not to be found or the two cannot be compared, [`LabError::Record`] if a
/// recording cannot be read.
pub fn compare(recordings: &Path, a: &str, b: &str, equivalence: f64) -> Result<Compared, LabError> {
    let listing = read::list(recordings)?;
    let (mut of_a, mut of_b) = (Chosen::find(&listing, a)?, Chosen::find(&listing, b)?);
    of_a.must_not_share(&of_b)?;
    if of_a.name == of_b.name {
        (of_a.name, of_b.name) = (a.to_owned(), b.to_owned());
    }
    match (of_a.is_storage()?, of_b.is_storage()?) {
        (true, true) => Ok(Compared::Storage(Box::new(io::compare(of_a, of_b, equivalence, &listing.unreadable)?))),
        (false, false) => Ok(Compared::Runs(Box::new(runs(of_a, of_b, equivalence, &listing.unreadable)?))),
        (storage, _) => {
            let (evaluated, run) = if storage { (of_a.name, of_b.name) } else { (of_b.name, of_a.name) };
            Err(LabError::Refused(format!(
                "{evaluated} is a storage evaluation and {run} is a run of a workload; compare recordings of one kind"
            )))
        }
    }
}

fn runs(a: Chosen, b: Chosen, equivalence: f64, unreadable: &[RecordError]) -> Result<Comparison, LabError> {
    let (mut a, mut b) = (Group::measure(a)?, Group::measure(b)?);
    pairing::align(&mut a, &mut b);
    let workload = rounds::workload(&a, &b)?;
    let (common, left_out) = rounds::load_points(&a, &b);
    if common.is_empty() {
        return Err(rounds::nothing_in_common(&a, &b));
    }
    let unpaired_because = pairing::obstacle(&a, &b);
    let design = if unpaired_because.is_none() { Design::Paired } else { Design::Unpaired };
    let table = Table { a: &a, b: &b, common: &common, design, equivalence };
    let headline = table.headline()?;
    Ok(Comparison {
        schema_version: SCHEMA_VERSION,
        workload,
        design,
        unpaired_because,
        equivalence,
        rows: table.rows()?,
        a: a.side(&common, headline.metric),
        b: b.side(&common, headline.metric),
        headline,
        differences: a.facts.differences(&b.facts),
        caveats: caveats::all(&a, &b, design, &left_out, unreadable),
    })
}

impl Group {
    fn measure(chosen: Chosen) -> Result<Group, LabError> {
        let rounds = rounds::rounds(&chosen)?;
        Ok(Group { facts: Facts::of(&chosen), chosen, rounds })
    }

    /// The metric of each round at a load point; `None` if a round has none.
    fn at(&self, point: LoadPoint, metric: Metric) -> Option<Vec<f64>> {
        self.rounds.iter().map(|round| round.value(point, metric)).collect()
    }

    /// The geometric mean over the load points, of each round.
    fn over(&self, points: &[LoadPoint], metric: Metric) -> Option<Vec<f64>> {
        let of = |round: &Round| {
            let values: Option<Vec<f64>> = points.iter().map(|point| round.value(*point, metric)).collect();
            values.map(|values| geometric_mean(&values))
        };
        self.rounds.iter().map(of).collect()
    }

    fn side(&self, points: &[LoadPoint], metric: Metric) -> Side {
        let rounds = self.over(points, metric);
        Side {
            name: self.chosen.name.clone(),
            variant: self.chosen.variant.clone(),
            recordings: self.chosen.recordings.iter().map(|view| view.directory.display().to_string()).collect(),
            rounds: self.rounds.len(),
            noise_floor: rounds.and_then(|rounds| noise_floor(&rounds).ok()),
        }
    }
}

/// What the rows of a comparison are made from.
struct Table<'a> {
    a: &'a Group,
    b: &'a Group,
    common: &'a [LoadPoint],
    design: Design,
    equivalence: f64,
}

impl Table<'_> {
    /// What decides, over all load points together. At a set rate throughput is what was offered, so there it is p99.
    fn headline(&self) -> Result<Row, LabError> {
        let at_set_rates = self.common.iter().all(|point| point.rate.is_some());
        let throughput = [Metric::Nopm, Metric::TransactionsPerSecond];
        let candidates = if at_set_rates { &[Metric::P99Ms][..] } else { &throughput };
        let both =
            |metric: &Metric| Some((*metric, self.a.over(self.common, *metric)?, self.b.over(self.common, *metric)?));
        let Some((metric, a, b)) = candidates.iter().find_map(both) else {
            return Err(self.incomplete(candidates));
        };
        let point = match self.common {
            [only] => Some(*only),
            _ => None,
        };
        self.row(point, metric, &a, &b, CONFIDENCE)
    }

    /// Which round has none of the figures that could decide.
    fn incomplete(&self, candidates: &[Metric]) -> LabError {
        let rounds = self.a.rounds.iter().chain(&self.b.rounds);
        let mut figures = rounds.flat_map(|round| self.common.iter().map(move |point| (round, *point)));
        let lacks = |(round, point): &(&Round, LoadPoint)| candidates.iter().all(|m| round.value(*point, *m).is_none());
        let figure = if candidates == [Metric::P99Ms] { "response times" } else { "completed transactions" };
        LabError::Refused(match figures.find(lacks) {
            Some((round, point)) => format!(
                "{} has no {figure} at {}; name the recordings without it",
                round.directory.display(),
                point.label()
            ),
            None => "some rounds have new orders per minute and others only transactions; compare rounds of one kind"
                .to_owned(),
        })
    }

    fn rows(&self) -> Result<Vec<Row>, LabError> {
        const METRICS: [Metric; 4] =
            [Metric::TransactionsPerSecond, Metric::Nopm, Metric::P99Ms, Metric::ServerCpuUsPerTransaction];
        let confidence = each_of(self.common.len(), CONFIDENCE);
        let mut rows = Vec::new();
        for metric in METRICS {
            for point in self.common {
                if let (Some(a), Some(b)) = (self.a.at(*point, metric), self.b.at(*point, metric)) {
                    rows.push(self.row(Some(*point), metric, &a, &b, confidence)?);
                }
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        point: Option<LoadPoint>,
        metric: Metric,
        a: &[f64],
        b: &[f64],
        confidence: f64,
    ) -> Result<Row, LabError> {
        let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
        let (change, spread) = match self.design {
            Design::Paired => (paired(&pairs, confidence), spread(&pairs)),
            Design::Unpaired => (unpaired(a, b, confidence), None),
        };
        let change = change.map_err(|refusal| LabError::Refused(refusal.to_string()))?;
        Ok(Row {
            connections: point.map(|point| point.connections),
            rate_offered: point.and_then(|point| point.rate),
            metric,
            a: geometric_mean(a),
            b: geometric_mean(b),
            verdict: verdict(&change, self.equivalence),
            change,
            detectable: spread.and_then(|spread| detectable(spread, pairs.len())),
            pairs_needed: spread
                .map(|spread| pairs_needed(spread, self.equivalence))
                .filter(|pairs| *pairs < usize::MAX),
        })
    }
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
