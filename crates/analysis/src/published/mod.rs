//! What the source printed, beside what was measured here.

mod metric;
mod storage;
mod sweep;

use metric::{compared_in, is_measured, more_is_better, over_trials};
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Row, Verdict};
use plimsoll_model::lab::{LabSummary, TrialStatus, VariantComparison};
use plimsoll_model::number::counted;
use plimsoll_model::stopping::flipped_label;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::Printed;
use plimsoll_report::subject::{MeasuredAt, Published, Subject, Trial};

/// By how much a rung or a variant changed what decides.
const CHANGE: &str = "change_percent";
const NOT_MEASURED: &str = "no trial was of this";

/// The numbers that the plan carries, each with its counterpart.
pub fn published(plan: &LabPlan, subject: &Subject, trials: &[Trial]) -> Vec<Published> {
    let Subject::Lab(summary) = subject else { return Vec::new() };
    let here = Here { plan, summary, trials };
    plan.published.iter().map(|printed| here.beside(printed)).collect()
}

/// What was measured here.
struct Here<'a> {
    plan: &'a LabPlan,
    summary: &'a LabSummary,
    trials: &'a [Trial],
}

impl Here<'_> {
    fn beside(&self, printed: &Printed) -> Published {
        let mut found = Published { printed: printed.clone(), ..Published::default() };
        // Several numbers are samples of a probe, whose mean is measured, or different things.
        let is_list = printed.values.is_some() && printed.probe.is_none();
        let is_words = printed.text.is_some() && printed.limit.is_none();
        if !printed.kind.is_result() || is_words || is_list {
            return found;
        }
        let told = match &printed.ordering {
            Some(names) => self.order(printed, names).map(|holds| found.holds = Some(holds)),
            None => self.number(printed, &mut found),
        };
        found.unknown = told.err();
        found
    }

    /// What was measured of a number, a range or words with a limit, and whether it lies within the range or limit.
    ///
    /// # Errors
    /// What is not known.
    fn number(&self, printed: &Printed, found: &mut Published) -> Result<(), String> {
        let (variant, rung) = (printed.variant.as_deref(), printed.rung.as_deref());
        let measured = match printed.metric.as_str() {
            CHANGE => self.change(printed, variant, rung)?,
            of if sweep::is_of(of) => sweep::measured(printed, &self.of_sweep(printed)?)?,
            of if !is_measured(of, printed.probe.as_deref()) => return Err("nothing measures it".to_owned()),
            _ => {
                let trials = self.asked(printed, variant, rung)?;
                found.at = trials.first().map(|first| place(first));
                over_trials(printed, &trials)?
            }
        };
        let rounds = self.trials.iter().map(|trial| trial.round).max().unwrap_or_default();
        let holds = printed.range.or(printed.limit).map(|(low, high)| lies_within(&measured, low, high, rounds));
        found.measured = Some(measured);
        found.holds = holds.transpose()?;
        Ok(())
    }

    /// The trials of one variant at all its load points.
    ///
    /// # Errors
    /// Why there are none.
    fn of_sweep(&self, printed: &Printed) -> Result<Vec<&Trial>, String> {
        let anywhere = Printed { connections: None, ..printed.clone() };
        let is_asked = |trial: &&Trial| {
            trial.status == TrialStatus::Done
                && is_of(trial, printed.variant.as_deref(), None)
                && is_alike(&anywhere, trial)
        };
        let asked: Vec<&Trial> = self.trials.iter().filter(is_asked).collect();
        let first = asked.first().ok_or_else(|| NOT_MEASURED.to_owned())?;
        match asked.iter().find(|other| other.base != first.base) {
            Some(other) => Err(ambiguous(&first.base, &other.base)),
            None => Ok(asked),
        }
    }

    /// The trials that a printed number speaks of, all of one variant at one load point.
    ///
    /// # Errors
    /// Why there are none.
    fn asked(&self, printed: &Printed, variant: Option<&str>, rung: Option<&str>) -> Result<Vec<&Trial>, String> {
        let is_asked = |trial: &&Trial| {
            trial.status == TrialStatus::Done && is_of(trial, variant, rung) && is_alike(printed, trial)
        };
        let asked: Vec<&Trial> = self.trials.iter().filter(is_asked).collect();
        let Some(first) = asked.first().map(|first| place(first)) else {
            return Err(NOT_MEASURED.to_owned());
        };
        match asked.iter().map(|trial| place(trial)).find(|other| *other != first) {
            Some(other) => Err(ambiguous(&in_words(&first), &in_words(&other))),
            None => Ok(asked),
        }
    }

    /// Percent by which a rung or a variant changed what decides: against the trials without it, or the first variant.
    ///
    /// # Errors
    /// Why there is none.
    fn change(&self, printed: &Printed, variant: Option<&str>, rung: Option<&str>) -> Result<Estimate, String> {
        if variant.or(rung).is_none() {
            return Err("no variant or rung of the plan is for this".to_owned());
        }
        let found: Vec<(String, &Estimate)> = match rung {
            Some(rung) => self.of_rung(printed, variant, rung),
            None => self.of_variants(printed, variant),
        };
        match found.as_slice() {
            [] => Err("it was not compared here".to_owned()),
            [(_, only)] => Ok(only.scaled(100.0)),
            [(a, _), (b, _), ..] => Err(ambiguous(a, b)),
        }
    }

    /// What a rung changed, by the variant whose ladder it is of.
    fn of_rung(&self, printed: &Printed, variant: Option<&str>, rung: &str) -> Vec<(String, &Estimate)> {
        let ladders = self.summary.ladders.iter().filter(|of| self.is_asked(printed, variant, &of.variant));
        let steps = ladders.filter_map(|of| Some((of, of.steps.iter().find(|step| step.rung == rung)?)));
        steps.filter_map(|(of, step)| Some((of.variant.clone(), step.change.as_ref()?))).collect()
    }

    /// What variants changed at the load points that are asked for, over all together where none is named.
    fn of_variants(&self, printed: &Printed, variant: Option<&str>) -> Vec<(String, &Estimate)> {
        let compared = self.summary.comparisons.iter().filter(|of| self.is_asked(printed, variant, &of.b));
        let rows = compared.flat_map(|of| {
            let deciding = of.rows.first().map(|row| row.metric);
            deciding.into_iter().flat_map(|metric| rows(of, metric, printed.connections)).map(move |row| (of, row))
        });
        rows.map(|(of, row)| (row_in_words(of, row), &row.change)).collect()
    }

    /// Whether a number may speak of a variant of this name.
    fn is_asked(&self, printed: &Printed, variant: Option<&str>, name: &str) -> bool {
        let mut trials = self.trials.iter().filter(|trial| trial.base == name);
        variant.is_none_or(|variant| variant == name) && trials.any(|trial| is_alike(printed, trial))
    }

    /// Whether variants or rungs stand in the order that the source says.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn order(&self, printed: &Printed, names: &[String]) -> Result<bool, String> {
        let mut unsure = None;
        for pair in names.windows(2) {
            let (better, worse) = if more_is_better(&printed.metric) { (0, 1) } else { (1, 0) };
            match self.is_above(printed, &pair[better], &pair[worse])? {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => unsure = unsure.or(Some(format!("{} and {} are too close to tell apart", pair[0], pair[1]))),
            }
        }
        unsure.map_or(Ok(true), Err)
    }

    /// Whether variant or rung a is above b, if that is certain: as the rounds compared in pairs say where they were,
    /// else where their intervals are apart.
    ///
    /// # Errors
    /// Why one of them is not known.
    fn is_above(&self, printed: &Printed, a: &str, b: &str) -> Result<Option<bool>, String> {
        if let Some(verdict) = self.compared(printed, a, b) {
            return Ok(verdict);
        }
        let is_rung = |name: &str| self.plan.rungs.iter().any(|rung| rung.name == name);
        let measured = |name: &str| {
            let (variant, rung) = match is_rung(name) {
                true => (printed.variant.as_deref(), Some(name)),
                false => (Some(name), printed.rung.as_deref()),
            };
            let found = match printed.metric.as_str() {
                CHANGE => self.change(printed, variant, rung),
                _ => self.asked(printed, variant, rung).and_then(|trials| over_trials(printed, &trials)),
            };
            found.map_err(|why| format!("{name}: {why}"))
        };
        Ok(are_apart(&measured(a)?, &measured(b)?))
    }

    /// What the comparison of two variants says of a being above b; none if they were not compared in this.
    fn compared(&self, printed: &Printed, a: &str, b: &str) -> Option<Option<bool>> {
        let metric = compared_in(&printed.metric).filter(|_| printed.rung.is_none())?;
        let is_it = |of: &&VariantComparison| (of.a == a && of.b == b) || (of.a == b && of.b == a);
        let of = self.summary.comparisons.iter().find(is_it)?;
        let [row] = rows(of, metric, printed.connections)[..] else { return None };
        let is_asked = [a, b].into_iter().all(|name| self.is_asked(printed, None, name));
        is_asked.then(|| match row.verdict {
            Verdict::Higher => Some(of.b == a),
            Verdict::Lower => Some(of.a == a),
            Verdict::Equivalent | Verdict::Unclear => None,
        })
    }
}

/// Rows of a metric at a number of connections, at every rate; without one the row over all load points.
fn rows(of: &VariantComparison, metric: Metric, connections: Option<usize>) -> Vec<&Row> {
    let first = of.rows.first().filter(|first| first.metric == metric);
    match connections {
        None => first.into_iter().collect(),
        Some(_) => of
            .rows
            .iter()
            .filter(|row| row.metric == metric && row.load.map(|load| load.connections) == connections)
            .collect(),
    }
}

fn row_in_words(of: &VariantComparison, row: &Row) -> String {
    row.load.map_or(of.b.clone(), |load| format!("{} ({load})", of.b))
}

fn ambiguous(a: &str, b: &str) -> String {
    format!("it was measured of {a} and of {b}, and the plan does not say which is meant")
}

/// Whether a trial ran the workload, on the CPUs and with the connections that a number speaks of.
fn is_alike(printed: &Printed, trial: &Trial) -> bool {
    printed.workload.as_ref().is_none_or(|workload| trial.workload == *workload)
        && printed.connections.is_none_or(|connections| trial.load.connections == connections)
        && printed.cpus.is_none_or(|cpus| trial.cpus == Some(cpus))
}

/// Whether a trial is one of those that a number speaks of; without a variant that is any.
fn is_of(trial: &Trial, variant: Option<&str>, rung: Option<&str>) -> bool {
    let rest = trial.variant.strip_prefix(&trial.base).unwrap_or_default();
    let rest = flipped_label(rest).unwrap_or(rest);
    let is_rung = match rung {
        Some(rung) => rest == format!("/{rung}/with"),
        None => rest.is_empty() || rest.starts_with("/floor/"),
    };
    is_rung && variant.is_none_or(|variant| variant == trial.base)
}

/// What a trial is one of several rounds of. What a ladder compares of its base with itself is the base.
fn place(trial: &Trial) -> MeasuredAt {
    let rest = trial.variant.strip_prefix(&trial.base).unwrap_or_default();
    MeasuredAt {
        variant: if rest.starts_with("/floor/") { &trial.base } else { &trial.variant }.clone(),
        workload: trial.workload.clone(),
        load: trial.load,
    }
}

/// `fc (64 connections of tpcc)`.
fn in_words(at: &MeasuredAt) -> String {
    format!("{} ({} of {})", at.variant, at.load, at.workload)
}

/// Whether a is above b: certain only where their intervals are apart.
fn are_apart(a: &Estimate, b: &Estimate) -> Option<bool> {
    let ((a_low, a_high), (b_low, b_high)) = (a.interval()?, b.interval()?);
    if a_low > b_high {
        Some(true)
    } else if a_high < b_low {
        Some(false)
    } else {
        None
    }
}

/// Whether what was measured in so many rounds lies within a printed range.
///
/// # Errors
/// Why that cannot be told.
fn lies_within(measured: &Estimate, low: f64, high: f64, rounds: u32) -> Result<bool, String> {
    let Some((least, most)) = measured.interval() else {
        return Err(measured.missing.clone().unwrap_or_else(|| "it has no interval".to_owned()));
    };
    if most < low || least > high {
        Ok(false)
    } else if least >= low && most <= high {
        Ok(true)
    } else {
        let rounds = counted(rounds.into(), "round");
        Err(format!("with {rounds} its interval lies on both sides of an end of the range"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::LoadPoint;
    use plimsoll_model::comparison::Design;

    #[test]
    fn a_change_at_two_rates_is_not_one_of_them() {
        let row = |rate| Row {
            load: Some(LoadPoint { connections: 16, rate }),
            metric: Metric::TransactionsPerSecond,
            a: 100.0,
            b: 110.0,
            change: estimate(0.08, 0.12),
            verdict: Verdict::Higher,
            detectable: None,
            pairs_needed: None,
        };
        let of = VariantComparison {
            a: "a".to_owned(),
            b: "b".to_owned(),
            design: Design::Paired,
            equivalence: 0.02,
            rows: vec![Row { load: None, ..row(None) }, row(Some(300.0)), row(Some(600.0))],
            floor: None,
            unlike: None,
            unlike_work: Vec::new(),
            stopping: None,
            explained: None,
        };
        let found = |connections| rows(&of, Metric::TransactionsPerSecond, connections).len();
        assert_eq!((found(Some(16)), found(None), found(Some(8))), (2, 1, 0));
        assert_ne!(row_in_words(&of, &of.rows[1]), row_in_words(&of, &of.rows[2]));
    }

    fn estimate(low: f64, high: f64) -> Estimate {
        Estimate::new((low + high) / 2.0, (low, high), 0.95, 3.0, String::new())
    }

    #[test]
    fn a_range_holds_only_where_the_interval_leaves_no_doubt() {
        assert_eq!(lies_within(&estimate(26.0, 31.0), 25.0, 33.0, 3), Ok(true));
        assert_eq!(lies_within(&estimate(34.0, 36.0), 25.0, 33.0, 3), Ok(false));
        assert!(lies_within(&estimate(31.0, 36.0), 25.0, 33.0, 3).is_err(), "it may lie in it or not");
        let bare = Estimate::bare(30.0, 1.0, String::new(), "1 round cannot have an interval; 3 can".to_owned());
        assert_eq!(lies_within(&bare, 25.0, 33.0, 1), Err("1 round cannot have an interval; 3 can".to_owned()));
    }

    #[test]
    fn an_order_is_sure_only_where_intervals_are_apart() {
        assert_eq!(are_apart(&estimate(12.0, 14.0), &estimate(9.0, 11.0)), Some(true));
        assert_eq!(are_apart(&estimate(9.0, 11.0), &estimate(12.0, 14.0)), Some(false));
        assert_eq!(are_apart(&estimate(9.0, 13.0), &estimate(12.0, 14.0)), None);
    }
}
