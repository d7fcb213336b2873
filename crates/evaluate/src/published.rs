//! What the article of 2008 printed, beside what an evaluation measured. The numbers are only in the plan that repeats
//! the article.

use plimsoll_measures::metric;
use plimsoll_model::io::{PrintedFigure, Probe};
use plimsoll_plan::PlanError;
use plimsoll_plan::lab::Printed;
use plimsoll_plan::lab::file;

const PLAN: &str = include_str!("../../../plans/percona-io.toml");

/// Each published number about a run, in the order of the plan.
///
/// # Errors
/// The mistake in the built-in plan, if there is one.
pub fn of_article(probes: &[Probe]) -> Result<Vec<PrintedFigure>, PlanError> {
    let none = |name: &str| Err(format!("{name} is not built in"));
    let plan = file::read("percona-io.toml", PLAN, file::PlanChoices::of_seed(0), &none)?;
    Ok(plan.published.iter().filter_map(|printed| Some(beside(printed, printed.probe.as_deref()?, probes))).collect())
}

fn beside(printed: &Printed, run: &str, probes: &[Probe]) -> PrintedFigure {
    let measured = metric::value(&printed.metric, run, probes);
    let probe = probes.iter().find(|probe| probe.id == run || probe.name == run);
    let missing = match (measured, probe) {
        (Some(Some(_)), _) => None,
        (None, _) => Some("not measured".to_owned()),
        (_, None) => Some("this run was not done".to_owned()),
        (_, Some(probe)) => Some(probe.error.clone().unwrap_or_else(|| "the system does not tell".to_owned())),
    };
    PrintedFigure {
        what: probe.map_or(run, |probe| &probe.name).to_owned(),
        metric: printed.metric.replace('_', " "),
        unit: printed.unit.clone().unwrap_or_default(),
        published: numbers(printed),
        measured: measured.flatten().map(|value| digits(value, printed)),
        probe: missing.is_none().then(|| run.to_owned()),
        note: missing.or_else(|| printed.note.clone()),
    }
}

/// In the form of the article.
fn numbers(printed: &Printed) -> String {
    let all = printed.value.iter().chain(printed.values.iter().flatten()).map(f64::to_string);
    let range = printed.range.map(|(low, high)| format!("{low} to {high}"));
    all.chain(range).chain(printed.text.clone()).collect::<Vec<_>>().join(" ")
}

/// With as many decimals as were printed, and more if the number would be 0.
fn digits(value: f64, printed: &Printed) -> String {
    let printed = printed.value.map_or(String::new(), |value| value.to_string());
    let decimals = printed.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let least = if value == 0.0 { 0.0 } else { 1.0 - value.abs().log10().floor() };
    format!("{value:.*}", decimals.max(least.clamp(0.0, 6.0) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_plan_stand_beside_the_runs() {
        let run = Probe { id: "percona.2".to_owned(), iops: Some(2000.0), ..Probe::default() };
        let all = of_article(&[run]).expect("the plan that is built in");
        assert!(all.len() > 30, "{all:?}");
        let rate = all.iter().find(|of| of.published == "23727.46").expect("a rate");
        assert_eq!((rate.measured.as_deref(), rate.probe.as_deref()), (Some("2000.00"), Some("percona.2")));
        for of in &all {
            assert!(of.measured.is_some() || of.note.is_some(), "{of:?}");
        }
    }

    #[test]
    fn digits_are_those_of_the_source_or_more() {
        let of = |value| Printed { value: Some(value), ..Printed::default() };
        assert_eq!(digits(2000.0, &of(12897.22)), "2000.00");
        assert_eq!(digits(0.000_037_4, &of(0.0001)), "0.000037");
        assert_eq!(digits(63.6, &of(64.0)), "64");
        assert_eq!(digits(0.0, &of(64.0)), "0");
    }
}
