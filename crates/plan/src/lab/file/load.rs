//! `[load]`: how many connections send the load, and how often.

use super::value::DocumentValue;
use crate::error::PlanError;
use crate::lab::{Load, Objective};
use crate::plan::ArrivalSpread;
use crate::quantity;
use plimsoll_model::LoadPoint;
use plimsoll_model::load_point::{BadList, Connections, Rates};
use std::collections::BTreeSet;
use std::str::FromStr;

const KEYS: [&str; 8] =
    ["connections", "rate", "find", "arrivals", "loops", "protocol", "ignore_errors", "outage_limit"];
/// Most numbers of connections, and most rates.
const MOST: usize = 1000;
/// Most load points of a variant.
const MOST_POINTS: usize = 10_000;
const CONNECTIONS: usize = 16;
const OUTAGE_LIMIT_SECONDS: f64 = 30.0;
const OBJECTIVE: &str = "a percentile of the response time and its limit, such as p99 < 20ms or p999 < 1s";

/// Reads a whole `[load]`.
pub(super) fn load(table: &DocumentValue) -> Result<Load, PlanError> {
    let fields = table.fields(&KEYS)?;
    let connections = fields.read("connections", |value| several(value, |Connections(all)| all))?;
    let rates = fields.read("rate", |value| several(value, |Rates(all)| all))?.unwrap_or_default();
    let find = fields.read("find", |value| value.parsed(objective))?;
    if let (Some(_), Some(value)) = (fields.get("rate"), fields.get("find")) {
        return Err(value.problem("`find` looks for the highest rate itself; leave `rate` out"));
    }
    let connections = connections.unwrap_or_else(|| vec![CONNECTIONS]);
    if connections.len() * rates.len() > MOST_POINTS {
        let found = format!("{} numbers of connections with {} rates", connections.len(), rates.len());
        return Err(table.problem(format!("found {found}; at most {MOST_POINTS} combinations are accepted")));
    }
    Ok(Load {
        points: LoadPoint::cross(&connections, &rates),
        find,
        arrivals: fields.read("arrivals", arrivals)?.unwrap_or_default(),
        loops: fields.read("loops", |value| value.count(1..=256))?.map_or(1, |loops| loops as usize),
        protocol: fields.read("protocol", protocol)?,
        ignore_errors: fields.read("ignore_errors", |value| value.list_of(error_code))?.unwrap_or_default(),
        outage_limit_seconds: fields.read("outage_limit", DocumentValue::seconds)?.unwrap_or(OUTAGE_LIMIT_SECONDS),
    })
}

/// The values that a number, a text such as `1..64`, or a list of them stands for; each only once.
fn several<L: FromStr<Err = BadList>, T: ToString>(
    value: &DocumentValue,
    all_of: fn(L) -> Vec<T>,
) -> Result<Vec<T>, PlanError> {
    let parse = |text: &str| Ok(all_of(text.parse()?));
    let mut all = Vec::new();
    let mut known = BTreeSet::new();
    for part in value.one_or_more()? {
        for number in part.parsed(parse)? {
            let text = number.to_string();
            if known.contains(&text) {
                return Err(part.problem(format!("{text} occurs twice")));
            }
            known.insert(text);
            all.push(number);
        }
    }
    match all.len() {
        ..=MOST => Ok(all),
        many => Err(value.problem(format!("found {many} of them; at most {MOST} are accepted"))),
    }
}

fn arrivals(value: &DocumentValue) -> Result<ArrivalSpread, PlanError> {
    value.choice(&[("poisson", ArrivalSpread::Poisson), ("constant", ArrivalSpread::Constant)])
}

fn protocol(value: &DocumentValue) -> Result<String, PlanError> {
    value.choice(&[("prepared", "prepared"), ("text", "text")]).map(str::to_owned)
}

fn error_code(value: &DocumentValue) -> Result<u16, PlanError> {
    value.count(1..=u64::from(u16::MAX)).map(|code| code as u16)
}

/// Reads `p99 < 20ms`. `p999` is the 99.9th percentile, as is `p99.9`.
pub fn objective(text: &str) -> Result<Objective, PlanError> {
    let wrong = || PlanError::value("objective", text, OBJECTIVE);
    let (percentile, limit) = text.split_once('<').ok_or_else(wrong)?;
    let limit = limit.strip_prefix('=').unwrap_or(limit).trim();
    let digits: String = percentile.trim().strip_prefix('p').ok_or_else(wrong)?.replacen('.', "", 1);
    if !(2..=9).contains(&digits.len()) || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let quantile: f64 = format!("0.{digits}").parse().map_err(|_| wrong())?;
    let limit_ms = quantity::limit_ms(limit).ok_or_else(wrong)?;
    match quantile > 0.0 {
        true => Ok(Objective { text: text.trim().to_owned(), quantile, limit_ms }),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_percentiles_with_a_limit() {
        let read = |text| objective(text).map(|o| (o.quantile, o.limit_ms)).ok();
        assert_eq!(read("p99 < 20ms"), Some((0.99, 20.0)));
        assert_eq!(read(" p50<=1.5s "), Some((0.5, 1500.0)));
        assert_eq!(read("p999 < 500us"), Some((0.999, 0.5)));
        assert_eq!(read("p99.9 <= 1m"), Some((0.999, 60_000.0)));
        for wrong in [
            "",
            "p99",
            "p99 < 20",
            "p9 < 1s",
            "p00 < 1s",
            "99 < 1s",
            "p99 > 1s",
            "p99 < 0ms",
            "p1e9 < 1s",
            "p9.9.9 < 1s",
        ] {
            let error = objective(wrong).unwrap_err().to_string();
            assert!(error.contains("such as p99 < 20ms"), "{error}");
        }
    }
}
