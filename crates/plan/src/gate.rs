//! The limits of a gate, as they are typed: `p99 > 20ms`, `tps < 1000`, `errors > 0`, `failed > 1%`.

use crate::error::PlanError;
use crate::quantity;
use plimsoll_model::Metric;
use plimsoll_model::gate::{Beyond, GateLimit, Limited};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::thousands;

const LIMIT: &str = "what the gate fails if, such as 'p99 > 20ms', 'tps < 1000', 'qps < 20k', 'nopm < 50k', \
                     'errors > 0', 'failed > 1%' or 'server_cpu_us_per_transaction > 300'; times are p50, p90, p95, \
                     p99, p999 and mean";
const TIME: &str = "a time with its unit, such as 20ms, 500us or 1s";
const NUMBER: &str = "a number such as 1000, 20k or 1.5M";
const COUNT: &str = "a whole number";
const FAILED: &str = "a whole number, or a percentage such as 1%";

/// Reads one limit. Which side of it is wrong is checked, because in other tools such a line says what has to hold.
///
/// # Errors
/// [`PlanError::Value`] for what is no limit, [`PlanError::Combination`] for one that would fail what is good.
pub fn limit(text: &str) -> Result<GateLimit, PlanError> {
    let wrong = || PlanError::value("limit", text, LIMIT);
    let (at, beyond) = text
        .char_indices()
        .find_map(|(at, sign)| match sign {
            '>' => Some((at, Beyond::Above)),
            '<' => Some((at, Beyond::Below)),
            _ => None,
        })
        .ok_or_else(wrong)?;
    let (name, value) = (text[..at].trim(), text[at + 1..].trim());
    let (of, value) = read(name, value).ok_or_else(wrong)??;
    let limit = GateLimit { text: text.trim().to_owned(), of, beyond, value };
    fails_what_is_bad(&limit, name)?;
    Ok(limit)
}

/// What is limited, and its limit; none if there is nothing of this name.
fn read(name: &str, value: &str) -> Option<Result<(Limited, f64), PlanError>> {
    let accepted = |what, accepted, found: Option<f64>| found.ok_or_else(|| PlanError::value(what, value, accepted));
    let (of, found) = match name {
        "errors" => (Limited::Errors, accepted("errors", COUNT, count(value))),
        "failed" => match value.contains('%') {
            true => (Limited::FailedShare, quantity::percent(value)),
            false => (Limited::Failed, accepted("failed", FAILED, count(value))),
        },
        _ => match time(name) {
            Some(metric) => (Limited::Metric(metric), accepted("limit of a time", TIME, quantity::limit_ms(value))),
            None => {
                let metric = rate(name).or_else(|| Metric::of_name(name))?;
                (Limited::Metric(metric), accepted("limit", NUMBER, number(value)))
            }
        },
    };
    Some(found.map(|found| (of, found)))
}

/// The percentiles and the mean of the response time, where transactions have a due time, else of the latency.
fn time(name: &str) -> Option<Metric> {
    let name = if name == "p99.9" { "p999" } else { name };
    Statistic::ALL.into_iter().find(|statistic| statistic.field() == name).map(Metric::Time)
}

fn rate(name: &str) -> Option<Metric> {
    match name {
        "tps" => Some(Metric::TransactionsPerSecond),
        "qps" => Some(Metric::QueriesPerSecond),
        _ => None,
    }
}

fn count(text: &str) -> Option<f64> {
    text.parse::<u64>().ok().map(|count| count as f64)
}

fn number(text: &str) -> Option<f64> {
    thousands(text).filter(|value| *value > 0.0 && value.is_finite())
}

fn fails_what_is_bad(limit: &GateLimit, name: &str) -> Result<(), PlanError> {
    let more_is_better = matches!(limit.of, Limited::Metric(metric) if metric.more_is_better());
    let (sign, good) = match (more_is_better, limit.beyond) {
        (true, Beyond::Above) => ('<', "more of it is better"),
        (false, Beyond::Below) => ('>', "less of it is better"),
        _ => return Ok(()),
    };
    let value = limit.text.split(['<', '>']).nth(1).unwrap_or_default().trim();
    Err(PlanError::Combination(format!(
        "`{}` would fail what is good: of {name}, {good}, and a gate fails if its limit holds; \
         accepted is '{name} {sign} {value}'",
        limit.text
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let read = |text| limit(text).map(|limit| (limit.of, limit.beyond, limit.value)).ok();
        let above = |of, value| Some((of, Beyond::Above, value));
        let below = |metric, value| Some((Limited::Metric(metric), Beyond::Below, value));
        assert_eq!(read("p99 > 20ms"), above(Limited::Metric(Metric::P99), 20.0));
        assert_eq!(read(" p99.9>1.5s "), above(Limited::Metric(Metric::Time(Statistic::P999)), 1500.0));
        assert_eq!(read("mean > 500us"), above(Limited::Metric(Metric::Time(Statistic::Mean)), 0.5));
        assert_eq!(read("tps < 1000"), below(Metric::TransactionsPerSecond, 1000.0));
        assert_eq!(read("qps<1.5M"), below(Metric::QueriesPerSecond, 1.5e6));
        assert_eq!(read("nopm < 50k"), below(Metric::Nopm, 50_000.0));
        assert_eq!(read("errors > 0"), above(Limited::Errors, 0.0));
        assert_eq!(read("failed > 3"), above(Limited::Failed, 3.0));
        assert_eq!(read("failed > 1%"), above(Limited::FailedShare, 0.01));
        let cpu = Limited::Metric(Metric::ServerCpuUsPerTransaction);
        assert_eq!(read("server_cpu_us_per_transaction > 300"), above(cpu, 300.0));
        assert_eq!(limit(" p99  >20ms ").unwrap().text, "p99  >20ms");
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for (wrong, says) in [
            ("", "such as 'p99 > 20ms'"),
            ("p99", "such as 'p99 > 20ms'"),
            ("> 20ms", "such as 'p99 > 20ms'"),
            ("latency > 20ms", "such as 'p99 > 20ms'"),
            ("p99 > 20", "a time with its unit"),
            ("p99 > 0ms", "a time with its unit"),
            ("p99 >= 20ms", "a time with its unit"),
            ("tps < -1", "a number such as 1000"),
            ("tps < 1e999", "a number such as 1000"),
            ("errors > 1%", "a whole number"),
            ("errors > -1", "a whole number"),
            ("failed > 100%", "a percentage"),
            ("p99 < 20ms", "accepted is 'p99 > 20ms'"),
            ("tps > 1k", "accepted is 'tps < 1k'"),
            ("errors < 1", "accepted is 'errors > 1'"),
        ] {
            let error = limit(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }
}
