//! Which load point is the peak, which is the knee, and what axis they are drawn over.

use crate::interval::Measured;
use plimsoll_model::Metric;
use plimsoll_model::number::number;
use plimsoll_model::scaling::{Knee, Scaling};
use plimsoll_model::summary::{LatencyMs, Point, Summary};
use plimsoll_model::total;
use std::collections::BTreeMap;

/// What grows from load point to load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepAxis {
    Connections,
    /// Arrivals per second, at one number of connections.
    Rate,
}

/// What throughput is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second, of all kinds.
    Transactions,
    /// Committed per minute: the NOPM of order entry.
    NewOrders,
}

impl Unit {
    /// New orders where some were committed.
    pub fn of(points: &[Point]) -> Unit {
        let has_new_orders = points.iter().any(|point| point.nopm.is_some_and(|nopm| nopm > 0.0));
        if has_new_orders { Unit::NewOrders } else { Unit::Transactions }
    }

    pub fn name(self) -> &'static str {
        self.metric().unit()
    }

    /// [`Unit::name`] where room is short.
    pub fn short_name(self) -> &'static str {
        match self {
            Unit::Transactions => "per s",
            Unit::NewOrders => "per min",
        }
    }

    pub fn metric(self) -> Metric {
        match self {
            Unit::Transactions => Metric::TransactionsPerSecond,
            Unit::NewOrders => Metric::Nopm,
        }
    }

    pub fn throughput(self, point: &Point) -> Option<f64> {
        self.metric().value(point)
    }
}

/// The load points of a run, seen as a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    pub points: &'a [Point],
    pub load: SweepAxis,
    pub unit: Unit,
    /// What the sweep shows as a whole, if it is over connections and counted in this unit.
    pub scaling: Option<&'a Scaling>,
}

impl<'a> Sweep<'a> {
    pub fn new(summary: &'a Summary) -> Sweep<'a> {
        let points = &summary.points[..];
        let one_number = points.windows(2).all(|pair| pair[0].load.connections == pair[1].load.connections);
        let all_rates = points.iter().all(|point| point.load.rate.is_some());
        let load = if points.len() > 1 && one_number && all_rates { SweepAxis::Rate } else { SweepAxis::Connections };
        let unit = Unit::of(points);
        let is_of_this = |scaling: &&Scaling| load == SweepAxis::Connections && scaling.metric == unit.metric();
        Sweep { points, load, unit, scaling: summary.scaling.as_ref().filter(is_of_this) }
    }

    /// The place of a point on the axis of loads.
    pub fn x(&self, point: &Point) -> f64 {
        match self.load {
            SweepAxis::Connections => point.load.connections as f64,
            SweepAxis::Rate => point.load.rate.unwrap_or(0.0),
        }
    }

    /// `32 connections` or `500 arrivals per second`.
    pub fn load_text(&self, point: &Point) -> String {
        match self.load {
            SweepAxis::Connections => point.load.connections_in_words(),
            SweepAxis::Rate => format!("{} arrivals per second", number(self.x(point), 0)),
        }
    }

    /// What the axis of loads is called.
    pub fn axis_title(&self) -> &'static str {
        match self.load {
            SweepAxis::Connections => "connections",
            SweepAxis::Rate => "arrivals offered per second",
        }
    }

    /// The points with a positive load, smallest first.
    pub fn by_load(&self) -> Vec<&'a Point> {
        let mut sorted: Vec<&Point> = self.points.iter().filter(|point| self.x(point) > 0.0).collect();
        sorted.sort_by(|a, b| self.x(a).total_cmp(&self.x(b)));
        sorted
    }

    /// False if two points share a load (other rates, rounds): no line joins such points.
    pub fn is_one_line(&self) -> bool {
        self.by_load().windows(2).all(|pair| self.x(pair[0]) < self.x(pair[1]))
    }

    /// Index of the point with the highest throughput, if anything succeeded.
    pub fn peak(&self) -> Option<usize> {
        let rate = |at: usize| self.throughput(&self.points[at]).unwrap_or(0.0);
        let best = (0..self.points.len()).reduce(|best, at| if rate(at) > rate(best) { at } else { best })?;
        (rate(best) > 0.0).then_some(best)
    }

    /// In [`Sweep::unit`].
    pub fn throughput(&self, point: &Point) -> Option<f64> {
        self.unit.throughput(point)
    }

    /// [`Sweep::throughput`] with its interval.
    pub fn measured(&self, point: &Point) -> Measured {
        Measured::of(point, self.unit.metric())
    }

    /// The point that is shown in detail: the peak, or the first if nothing succeeded.
    pub fn detailed(&self) -> Option<&'a Point> {
        self.points.get(self.peak().unwrap_or(0))
    }

    pub fn knee(&self) -> Option<&'a Knee> {
        self.scaling?.knee.as_ref()
    }

    /// Index of the smallest load at or above the knee.
    pub fn knee_row(&self) -> Option<usize> {
        let wanted = self.knee()?.load.value * (1.0 - 1e-9);
        let above = (0..self.points.len()).filter(|&at| self.x(&self.points[at]) >= wanted);
        above.min_by(|&a, &b| self.x(&self.points[a]).total_cmp(&self.x(&self.points[b])))
    }
}

/// The latency that matters to the user of a server: from the due time if a rate was set, otherwise from the first
/// send.
pub fn shown_latency(point: &Point) -> &LatencyMs {
    point.response_ms.as_ref().unwrap_or(&point.latency_ms)
}

/// `1213 × 12, 1205 × 1, lost connections × 3`, if there were any.
pub fn errors_by_code(points: &[Point]) -> Option<String> {
    let mut by_code: BTreeMap<u16, u64> = BTreeMap::new();
    for (code, count) in points.iter().flat_map(|point| &point.errors) {
        let sum = by_code.entry(*code).or_default();
        *sum = total([*sum, *count]);
    }
    let lost = total(points.iter().map(|point| point.lost_connections));
    let coded = by_code.iter().map(|(code, count)| (code.to_string(), *count));
    let all = coded.chain((lost > 0).then(|| ("lost connections".to_owned(), lost)));
    let named: Vec<String> = all.map(|(name, count)| format!("{name} × {}", number(count as f64, 0))).collect();
    (!named.is_empty()).then(|| named.join(", "))
}
