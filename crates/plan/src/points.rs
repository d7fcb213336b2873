//! Load points: lists and ranges of connections and rates, and their cross product.

use crate::error::PlanError;
use serde::{Deserialize, Serialize};

const LIST: &str = "numbers from 1 to 100000 in lists and ranges: 1,8,64 or 1..64 (doubling) or 8..64+8";
const RATES: &str = "rates per second above 0, in a list: 500,1000";
const MOST: usize = 100_000;

/// A number of connections, or an arrival rate over that many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    pub connections: usize,
    /// Arrivals per second; `None` for a closed loop.
    pub rate: Option<f64>,
}

impl LoadPoint {
    /// What a recording calls it: `c64`, `c64-rate500`.
    pub fn label(&self) -> String {
        match self.rate {
            None => format!("c{}", self.connections),
            Some(rate) => format!("c{}-rate{rate}", self.connections),
        }
    }
}

/// Reads `1,8,64`, `1..64` (doubling, its end always part of it) and `8..64+8`.
pub fn connections(text: &str) -> Result<Vec<usize>, PlanError> {
    let wrong = || PlanError::value("connections", text, LIST);
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
    Ok(all)
}

/// Reads `500` or `500,1000`.
pub fn rates(text: &str) -> Result<Vec<f64>, PlanError> {
    let wrong = || PlanError::value("rate", text, RATES);
    text.split(',')
        .map(|part| match part.trim().parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate <= 1e7 => Ok(rate),
            _ => Err(wrong()),
        })
        .collect()
}

/// Every number of connections, at every rate if there are any.
pub fn cross(connections: &[usize], rates: &[f64]) -> Vec<LoadPoint> {
    if rates.is_empty() {
        return connections.iter().map(|c| LoadPoint { connections: *c, rate: None }).collect();
    }
    let at = |c: &usize| {
        let connections = *c;
        rates.iter().map(move |rate| LoadPoint { connections, rate: Some(*rate) })
    };
    connections.iter().flat_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(rates("0").is_err() && rates("x").is_err() && rates("inf").is_err());
        let points = cross(&[1, 2], &[10.0, 20.0]);
        let labels: Vec<_> = points.iter().map(LoadPoint::label).collect();
        assert_eq!(labels, ["c1-rate10", "c1-rate20", "c2-rate10", "c2-rate20"]);
        assert_eq!(cross(&[4], &[])[0].label(), "c4");
    }
}
