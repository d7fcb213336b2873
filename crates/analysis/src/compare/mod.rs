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

use crate::AnalysisError;
use crate::plan::summary_of;
use facts::Facts;
use plimsoll_measures::lab::comparisons_of;
use plimsoll_model::Caveat;
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Comparison, Design, Row, SCHEMA_VERSION, Side, Verdict};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::io_comparison::IoComparison;
use plimsoll_model::lab::VariantComparison;
use plimsoll_model::stopping::{CarriedOver, MAY_BE_CARRIED_OVER};
use plimsoll_plan::LabPlan;
use plimsoll_record::{RecordError, read};
use plimsoll_schedule::stopping::criterion;
use plimsoll_stats::comparison::{each_of, verdict};
use plimsoll_stats::sides::{Criterion, Sides, equivalence as of_floor, floor, middle};
use rounds::Round;
use sides::Chosen;
pub use sides::NamedRounds;
use std::path::Path;

/// One side with what its rounds measured.
struct Group {
    chosen: Chosen,
    facts: Facts,
    /// In the order in which they began.
    rounds: Vec<Round>,
    /// Also those that have no partner: what two of them differ by without any reason is told by all.
    all: Vec<Round>,
}

/// A change within this share is none between storage evaluations, which have no rounds to take it from.
const EQUIVALENT: f64 = 0.02;

/// What two sides are found to be.
#[derive(Debug)]
pub enum Compared {
    Runs(Box<Comparison>),
    Storage(Box<IoComparison>),
}

/// Compares the sides that `a` and `b` name: recordings below `recordings` or elsewhere, as [`sides`] reads them. A
/// change within `equivalence`, a share, counts as no difference; where none is given, one within the noise floor of `a`.
///
/// # Errors
/// [`AnalysisError::Refused`] if a side is not to be found or the two cannot be compared, [`AnalysisError::Record`] if a
/// recording cannot be read.
pub fn compare(recordings: &Path, a: &str, b: &str, equivalence: Option<f64>) -> Result<Compared, AnalysisError> {
    let listing = read::list(recordings)?;
    let (mut of_a, mut of_b) = (Chosen::find(&listing, a)?, Chosen::find(&listing, b)?);
    of_a.must_not_share(&of_b)?;
    if of_a.name == of_b.name {
        (of_a.name, of_b.name) = (a.to_owned(), b.to_owned());
    }
    match (of_a.is_storage()?, of_b.is_storage()?) {
        (true, true) => Ok(Compared::Storage(Box::new(io::compare(
            of_a,
            of_b,
            equivalence.unwrap_or(EQUIVALENT),
            &listing.unreadable,
        )?))),
        (false, false) => Ok(Compared::Runs(Box::new(runs(of_a, of_b, equivalence, &listing.unreadable)?))),
        (storage, _) => {
            let (evaluated, run) = if storage { (of_a.name, of_b.name) } else { (of_b.name, of_a.name) };
            Err(AnalysisError::Refused(format!(
                "{evaluated} is a storage evaluation and {run} is a run of a workload; compare recordings of one kind"
            )))
        }
    }
}

/// Compares rounds with others: those of a baseline with new ones.
///
/// # Errors
/// As [`compare`].
pub fn compare_rounds(a: NamedRounds<'_>, b: NamedRounds<'_>) -> Result<Comparison, AnalysisError> {
    let (a, b) = (Chosen::of(a)?, Chosen::of(b)?);
    match (a.is_storage()?, b.is_storage()?) {
        (false, false) => runs(a, b, None, &[]),
        _ => Err(AnalysisError::Refused(format!(
            "{} is a storage evaluation, which has no throughput of a workload",
            a.name
        ))),
    }
}

fn runs(
    a: Chosen,
    b: Chosen,
    equivalence: Option<f64>,
    unreadable: &[RecordError],
) -> Result<Comparison, AnalysisError> {
    let (mut a, mut b) = (Group::measure(a)?, Group::measure(b)?);
    pairing::align(&mut a, &mut b);
    let workload = rounds::workload(&a, &b)?;
    let (common, left_out) = rounds::load_points(&a, &b);
    if common.is_empty() {
        return Err(rounds::nothing_in_common(&a, &b));
    }
    let unpaired_because = pairing::obstacle(&a, &b);
    let design = if unpaired_because.is_none() { Design::Paired } else { Design::Unpaired };
    let lab = one_lab(&a, &b);
    let mut table = Table { a: &a, b: &b, common: &common, design, equivalence: 0.0, lab };
    let deciding = table.deciding()?;
    let decide = lab.and_then(|plan| Some(plan.trials.stopping?.decide));
    table.equivalence = equivalence.or(decide).unwrap_or_else(|| of_floor(a.floor(&common, deciding).as_ref()));
    let mut headline = table.headline(deciding)?;
    let mut rows = table.rows()?;
    let judged = lab.and_then(|plan| judged(&a, &b, plan));
    let switchback = judged.as_ref().and_then(|of| of.stopping.as_ref()?.switchback.clone());
    if let Some(VariantComparison { rows: of_lab, .. }) = &judged {
        let row = Row { a: headline.a, b: headline.b, ..of_lab[0].clone() };
        headline = verdict_of(row, switchback.as_ref(), table.equivalence);
        if let Some(missing) = &headline.change.missing {
            rows = rows.into_iter().map(|row| row.withheld(missing)).collect();
        }
    }
    let mut caveats = caveats::all(&a, &b, design, &left_out, unreadable);
    let explained = judged.and_then(|of| of.explained);
    caveats.extend(explained.map(|explained| Caveat::new("explained", explained.in_words())));
    Ok(Comparison {
        schema_version: SCHEMA_VERSION,
        workload,
        design,
        unpaired_because,
        equivalence: table.equivalence,
        rows,
        a: a.side(&common, headline.metric),
        b: b.side(&common, headline.metric),
        headline,
        unlike_work: a.facts.unlike_work(&b.facts),
        differences: a.facts.differences(&b.facts),
        switchback,
        caveats,
    })
}

/// What a lab found, with the verdict for this equivalence: none that says equal while more may be carried over.
fn verdict_of(row: Row, carried: Option<&CarriedOver>, equivalence: f64) -> Row {
    let row = Row { verdict: verdict(&row.change, equivalence), ..row };
    match row.verdict {
        Verdict::Equivalent if carried.is_some_and(|of| of.hides_more_than(equivalence)) => {
            row.withheld(MAY_BE_CARRIED_OVER)
        }
        _ => row,
    }
}

impl Group {
    fn measure(chosen: Chosen) -> Result<Group, AnalysisError> {
        let rounds = rounds::rounds(&chosen)?;
        Ok(Group { facts: Facts::of(&chosen), chosen, all: rounds.clone(), rounds })
    }

    /// The metric of each round at a load point; `None` if a round has none.
    fn at(&self, point: LoadPoint, metric: Metric) -> Option<Vec<Option<f64>>> {
        self.over(&[point], metric)
    }

    /// The geometric mean over the load points, of each round.
    fn over(&self, points: &[LoadPoint], metric: Metric) -> Option<Vec<Option<f64>>> {
        // All rounds have it, or none is told.
        self.rounds.iter().map(|round| over(round, points, metric).map(Some)).collect()
    }

    /// What two of its rounds differ by without any reason.
    fn floor(&self, points: &[LoadPoint], metric: Metric) -> Option<Estimate> {
        floor(&self.all.iter().map(|round| over(round, points, metric)).collect::<Vec<_>>())
    }

    fn side(&self, points: &[LoadPoint], metric: Metric) -> Side {
        Side {
            name: self.chosen.name.clone(),
            variant: self.chosen.variant.clone(),
            recordings: self.chosen.recordings.iter().map(|view| view.directory.display().to_string()).collect(),
            rounds: self.rounds.len(),
            noise_floor: self.floor(points, metric),
        }
    }
}

/// The geometric mean over the load points; none if one of these has no value.
fn over(round: &Round, points: &[LoadPoint], metric: Metric) -> Option<f64> {
    let values: Option<Vec<f64>> = points.iter().map(|point| round.value(*point, metric)).collect();
    values.map(|values| middle(&values))
}

/// What the rows of a comparison are made from.
struct Table<'a> {
    a: &'a Group,
    b: &'a Group,
    common: &'a [LoadPoint],
    design: Design,
    equivalence: f64,
    /// That both are variants of.
    lab: Option<&'a LabPlan>,
}

impl Table<'_> {
    /// What decides. At a set rate throughput is what was offered, so there it is p99.
    fn deciding(&self) -> Result<Metric, AnalysisError> {
        let at_set_rates = self.common.iter().all(|point| point.rate.is_some());
        let throughput = [Metric::Nopm, Metric::TransactionsPerSecond];
        let candidates = if at_set_rates { &[Metric::P99][..] } else { &throughput };
        let both = |metric: &&Metric| {
            self.a.over(self.common, **metric).is_some() && self.b.over(self.common, **metric).is_some()
        };
        candidates.iter().find(both).copied().ok_or_else(|| self.incomplete(candidates))
    }

    /// What decides, over all load points together.
    fn headline(&self, deciding: Metric) -> Result<Row, AnalysisError> {
        let both = self.a.over(self.common, deciding).zip(self.b.over(self.common, deciding));
        let point = match self.common {
            [only] => Some(*only),
            _ => None,
        };
        let (a, b) = both.ok_or_else(|| self.incomplete(&[deciding]))?;
        self.row(point, deciding, &a, &b, &self.criterion(1))
    }

    /// Which round has none of the figures that could decide.
    fn incomplete(&self, candidates: &[Metric]) -> AnalysisError {
        let rounds = self.a.rounds.iter().chain(&self.b.rounds);
        let mut figures = rounds.flat_map(|round| self.common.iter().map(move |point| (round, *point)));
        let lacks = |(round, point): &(&Round, LoadPoint)| candidates.iter().all(|m| round.value(*point, *m).is_none());
        let figure = if candidates == [Metric::P99] { "response times" } else { "completed transactions" };
        AnalysisError::Refused(match figures.find(lacks) {
            Some((round, point)) => format!(
                "{} has no {figure} at {}; name the recordings without it",
                round.directory.display(),
                point.label()
            ),
            None => "some rounds have new orders per minute and others only transactions; compare rounds of one kind"
                .to_owned(),
        })
    }

    /// Of intervals of so many load points: together with those of all comparisons that the lab makes.
    fn criterion(&self, points: usize) -> Criterion {
        match self.lab {
            Some(plan) => criterion(&plan.trials, comparisons_of(plan).max(1) * points),
            None => Criterion::Planned { confidence: each_of(points, CONFIDENCE) },
        }
    }

    fn rows(&self) -> Result<Vec<Row>, AnalysisError> {
        let criterion = self.criterion(self.common.len());
        let mut rows = Vec::new();
        for metric in Metric::COMPARED {
            for point in self.common {
                if let (Some(a), Some(b)) = (self.a.at(*point, metric), self.b.at(*point, metric)) {
                    rows.push(self.row(Some(*point), metric, &a, &b, &criterion)?);
                }
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        point: Option<LoadPoint>,
        metric: Metric,
        a: &[Option<f64>],
        b: &[Option<f64>],
        criterion: &Criterion,
    ) -> Result<Row, AnalysisError> {
        let row = Sides::new(self.design, a, b).row(point, metric, criterion, self.equivalence);
        row.map_err(|refusal| AnalysisError::Refused(refusal.to_string()))
    }
}

/// What the lab that both are variants of found, if it has judged their change by more than the values of its rounds: by what
/// others took, or by what flips of a running server carried over.
fn judged(a: &Group, b: &Group, plan: &LabPlan) -> Option<VariantComparison> {
    let summary = summary_of(a.chosen.recordings.first()?, plan);
    let is_same = |of: &VariantComparison| of.a == a.chosen.variant && of.b == b.chosen.variant;
    let is_flipped = |of: &VariantComparison| of.stopping.as_ref().is_some_and(|of| of.switchback.is_some());
    let found = summary.comparisons.into_iter().find(is_same)?;
    (!found.rows.is_empty() && (found.explained.is_some() || is_flipped(&found))).then_some(found)
}

/// The plan that both are variants of: they are compared as the lab compares them, so that both say the same.
fn one_lab<'a>(a: &'a Group, b: &Group) -> Option<&'a LabPlan> {
    match (a.chosen.recordings.as_slice(), b.chosen.recordings.as_slice()) {
        ([one], [other]) if one.directory == other.directory => one.manifest.plan.lab(),
        _ => None,
    }
}
