//! Load points: how many connections ask, and how often. They are read, written and worded here, and nowhere else.

use crate::number::{counted, thousands, tick};
use crate::text::{each_once, escaped};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

const LIST: &str = "numbers from 1 to 100000 in lists and ranges: 1,8,64 or 1..64 (doubling) or 8..64+8";
const RATES: &str = "rates per second above 0, in a list: 500,1000 or 20k";
const MOST: usize = 100_000;
const HIGHEST_RATE: f64 = 1e7;

/// A number of connections, or an arrival rate over that many. In JSON it is part of what was measured there:
/// `{"connections": 64, "rate_offered": null}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct LoadPoint {
    pub connections: usize,
    /// Arrivals per second; `None` for a closed loop.
    #[serde(rename = "rate_offered")]
    pub rate: Option<f64>,
}

impl LoadPoint {
    /// So many connections in a closed loop.
    pub const fn closed(connections: usize) -> LoadPoint {
        LoadPoint { connections, rate: None }
    }

    /// Every number of connections, at every rate if there are any.
    pub fn cross(connections: &[usize], rates: &[f64]) -> Vec<LoadPoint> {
        let at = |connections: &usize| {
            let closed = LoadPoint::closed(*connections);
            let open = rates.iter().map(move |rate| LoadPoint { rate: Some(*rate), ..closed });
            rates.is_empty().then_some(closed).into_iter().chain(open)
        };
        connections.iter().flat_map(at).collect()
    }

    /// Whether somebody could have typed its rate, if it has one.
    pub fn is_offerable(&self) -> bool {
        self.rate.is_none_or(is_offerable)
    }

    /// What a recording calls it: `c64`, `c64-rate500`.
    pub fn label(&self) -> String {
        match self.rate {
            None => format!("c{}", self.connections),
            Some(rate) => format!("c{}-rate{rate}", self.connections),
        }
    }

    /// Reads what [`LoadPoint::label`] has written.
    pub fn of_label(label: &str) -> Option<LoadPoint> {
        let (connections, rate) = label.split_once("-rate").map_or((label, None), |(c, rate)| (c, Some(rate)));
        let connections = connections.strip_prefix('c')?.parse().ok()?;
        Some(LoadPoint { connections, rate: rate.map(str::parse).transpose().ok()? })
    }

    /// `64 connections`, without the rate.
    pub fn connections_in_words(&self) -> String {
        counted(self.connections as f64, "connection")
    }
}

/// What is asked of a server: `32 connections`, `16 connections at 300 arrivals per second`.
impl fmt::Display for LoadPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.connections_in_words())?;
        match self.rate {
            Some(rate) => write!(f, " at {} arrivals per second", tick(rate)),
            None => Ok(()),
        }
    }
}

/// `1, 8, 64 connections`, with the rates where there are any: load points that [`LoadPoint::cross`] has made.
pub fn list_in_words(points: &[LoadPoint]) -> String {
    let connections = each_once(points.iter().map(|point| point.connections.to_string()));
    let rates = each_once(points.iter().filter_map(|point| Some(point.rate?.to_string())));
    let plural = if connections == ["1"] { "" } else { "s" };
    let connections = format!("{} connection{plural}", connections.join(", "));
    match rates.is_empty() {
        true => connections,
        false => format!("{connections}, {} arrivals per second", rates.join(", ")),
    }
}

/// A list of connections or of rates that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadList {
    pub what: &'static str,
    /// Fit to be shown.
    pub found: String,
    pub accepted: &'static str,
}

impl fmt::Display for BadList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found `{}`; accepted is {}", self.what, self.found, self.accepted)
    }
}

impl std::error::Error for BadList {}

/// Numbers of connections as they are typed: `1,8,64`, `1..64` (doubling, its end always part of it), `8..64+8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connections(pub Vec<usize>);

impl FromStr for Connections {
    type Err = BadList;

    fn from_str(text: &str) -> Result<Connections, BadList> {
        let wrong = || BadList { what: "connections", found: escaped(text), accepted: LIST };
        let number = |text: &str| match text.trim().parse::<usize>() {
            Ok(number) if (1..=MOST).contains(&number) => Ok(number),
            _ => Err(wrong()),
        };
        let mut all = Vec::new();
        for part in text.split(',') {
            if all.len() > MOST {
                return Err(wrong());
            }
            let Some((low, high)) = part.split_once("..") else {
                all.push(number(part)?);
                continue;
            };
            let (high, step) = match high.split_once('+') {
                Some((high, step)) => (number(high)?, Some(number(step)?)),
                None => (number(high)?, None),
            };
            let low = number(low)?;
            if low > high {
                return Err(wrong());
            }
            let next = |at: &usize| Some(step.map_or(at * 2, |step| at + step));
            all.extend(std::iter::successors(Some(low), next).take_while(|at| *at < high));
            all.push(high);
        }
        Ok(Connections(all))
    }
}

/// Arrival rates as they are typed: `500`, `500,1000` or `20k`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates(pub Vec<f64>);

impl FromStr for Rates {
    type Err = BadList;

    fn from_str(text: &str) -> Result<Rates, BadList> {
        let rate = |part: &str| match thousands(part.trim()) {
            Some(rate) if is_offerable(rate) => Ok(rate),
            _ => Err(BadList { what: "rate", found: escaped(text), accepted: RATES }),
        };
        text.split(',').map(rate).collect::<Result<_, _>>().map(Rates)
    }
}

fn is_offerable(rate: f64) -> bool {
    rate > 0.0 && rate <= HIGHEST_RATE
}

/// A load point that need not be there, as fields of what holds it: `null` and `null` where it is not.
pub mod optional {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Fields {
        connections: Option<usize>,
        rate_offered: Option<f64>,
    }

    pub fn serialize<S: Serializer>(point: &Option<LoadPoint>, serializer: S) -> Result<S::Ok, S::Error> {
        let (connections, rate_offered) = point.map_or((None, None), |point| (Some(point.connections), point.rate));
        Fields { connections, rate_offered }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LoadPoint>, D::Error> {
        let Fields { connections, rate_offered: rate } = Fields::deserialize(deserializer)?;
        Ok(connections.map(|connections| LoadPoint { connections, rate }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(text: &str) -> Result<Vec<usize>, BadList> {
        text.parse().map(|Connections(all)| all)
    }

    fn rates(text: &str) -> Result<Vec<f64>, BadList> {
        text.parse().map(|Rates(all)| all)
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(connections("1,8,64"), Ok(vec![1, 8, 64]));
        assert_eq!(connections("1..64"), Ok(vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(connections("1..6"), Ok(vec![1, 2, 4, 6]));
        assert_eq!(connections("8..64+8"), Ok(vec![8, 16, 24, 32, 40, 48, 56, 64]));
        assert_eq!(connections("1,4..8"), Ok(vec![1, 4, 8]));
        for wrong in ["", "0", "a", "8..4", "1..", "1,,2", "1..8+0", "100001"] {
            assert!(connections(wrong).is_err(), "{wrong}");
        }
        let far_too_many = vec!["1..100000+1"; 20_000].join(",");
        assert!(connections(&far_too_many).is_err());
    }

    #[test]
    fn rates_and_connections_are_crossed() {
        assert_eq!(rates("500,1000"), Ok(vec![500.0, 1000.0]));
        assert_eq!(rates("0.5k,1.5M"), Ok(vec![500.0, 1_500_000.0]));
        assert!(rates("0").is_err() && rates("x").is_err() && rates("inf").is_err());
        let points = LoadPoint::cross(&[1, 2], &[10.0, 20.0]);
        let labels: Vec<_> = points.iter().map(LoadPoint::label).collect();
        assert_eq!(labels, ["c1-rate10", "c1-rate20", "c2-rate10", "c2-rate20"]);
        assert_eq!(LoadPoint::cross(&[4], &[]), [LoadPoint::closed(4)]);
    }

    #[test]
    fn a_label_says_which_load_point_it_is() {
        for point in [LoadPoint::closed(64), LoadPoint { connections: 16, rate: Some(0.5) }] {
            assert_eq!(LoadPoint::of_label(&point.label()), Some(point));
        }
        for other in ["commit-1", "c", "cx", "c1-ratex", "c1-rate", ""] {
            assert_eq!(LoadPoint::of_label(other), None, "{other}");
        }
    }

    #[test]
    fn a_rate_that_nobody_could_type_is_not_offerable() {
        let at = |rate| LoadPoint { connections: 1, rate: Some(rate) }.is_offerable();
        assert!(at(0.5) && at(1e7) && LoadPoint::closed(1).is_offerable());
        assert!([0.0, -1.0, 1e300, f64::NAN, f64::INFINITY].into_iter().all(|rate| !at(rate)));
    }

    #[test]
    fn load_points_are_told_in_words() {
        assert_eq!(LoadPoint::closed(1).to_string(), "1 connection");
        let open = |connections, rate| LoadPoint { connections, rate: Some(rate) };
        assert_eq!(open(16, 1300.0).to_string(), "16 connections at 1,300 arrivals per second");
        assert_eq!(open(2, 0.5).to_string(), "2 connections at 0.5 arrivals per second");
        assert_eq!(list_in_words(&LoadPoint::cross(&[1], &[])), "1 connection");
        let crossed = LoadPoint::cross(&[8, 64], &[500.0, 1000.0]);
        assert_eq!(list_in_words(&crossed), "8, 64 connections, 500, 1000 arrivals per second");
        assert_eq!(list_in_words(&LoadPoint::cross(&[8, 64], &[])), "8, 64 connections");
    }

    #[test]
    fn a_load_point_is_two_fields_of_what_holds_it() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Row {
            #[serde(flatten, with = "optional")]
            load: Option<LoadPoint>,
            a: f64,
        }
        for (load, text) in [
            (None, r#"{"connections":null,"rate_offered":null,"a":1.0}"#),
            (Some(LoadPoint::closed(8)), r#"{"connections":8,"rate_offered":null,"a":1.0}"#),
        ] {
            let row = Row { load, a: 1.0 };
            assert_eq!(serde_json::to_string(&row).unwrap(), text);
            assert_eq!(serde_json::from_str::<Row>(text).unwrap(), row);
        }
    }
}
