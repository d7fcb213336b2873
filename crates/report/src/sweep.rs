//! Which load point is the peak, which the knee, and over what they are drawn.

use crate::format::{counted, number};
use crate::interval::Measured;
use plimsoll_model::scaling::{Knee, Scaling};
use plimsoll_model::summary::{LatencyMs, Point, Summary};
use plimsoll_model::total;
use std::collections::BTreeMap;

/// What grows from load point to load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
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
        match self {
            Unit::Transactions => "transactions per second",
            Unit::NewOrders => "new orders per minute",
        }
    }

    /// [`Unit::name`] where there is little room.
    pub fn short_name(self) -> &'static str {
        match self {
            Unit::Transactions => "per s",
            Unit::NewOrders => "per min",
        }
    }

    /// The field of a point that it is.
    fn path(self) -> &'static str {
        match self {
            Unit::Transactions => "transactions_per_second",
            Unit::NewOrders => "nopm",
        }
    }

    pub fn throughput(self, point: &Point) -> Option<f64> {
        match self {
            Unit::Transactions => point.transactions_per_second,
            Unit::NewOrders => point.nopm,
        }
    }
}

/// The load points of a run, seen as a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    pub points: &'a [Point],
    pub load: Load,
    pub unit: Unit,
    /// What the sweep tells as a whole, if it is one over connections and counted in this unit.
    pub scaling: Option<&'a Scaling>,
}

impl<'a> Sweep<'a> {
    pub fn new(summary: &'a Summary) -> Sweep<'a> {
        let points = &summary.points[..];
        let one_number = points.windows(2).all(|pair| pair[0].connections == pair[1].connections);
        let all_rates = points.iter().all(|point| point.rate_offered.is_some());
        let load = if points.len() > 1 && one_number && all_rates { Load::Rate } else { Load::Connections };
        let unit = Unit::of(points);
        let is_of_this = |scaling: &&Scaling| load == Load::Connections && scaling.metric == unit.path();
        Sweep { points, load, unit, scaling: summary.scaling.as_ref().filter(is_of_this) }
    }

    /// The place of a point on the axis of loads.
    pub fn x(&self, point: &Point) -> f64 {
        match self.load {
            Load::Connections => point.connections as f64,
            Load::Rate => point.rate_offered.unwrap_or(0.0),
        }
    }

    /// `32 connections` or `500 arrivals per second`.
    pub fn load_text(&self, point: &Point) -> String {
        match self.load {
            Load::Connections => counted(point.connections as f64, "connection"),
            Load::Rate => format!("{} arrivals per second", number(self.x(point), 0)),
        }
    }

    /// What the axis of loads is called.
    pub fn axis_title(&self) -> &'static str {
        match self.load {
            Load::Connections => "connections",
            Load::Rate => "arrivals offered per second",
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
        Measured::of(point, self.unit.path(), self.throughput(point))
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

/// The latency that counts for the user of a server: from the due time where a rate was set, else from the first send.
pub fn shown_latency(point: &Point) -> &LatencyMs {
    point.response_ms.as_ref().unwrap_or(&point.latency_ms)
}

/// A number of [`shown_latency`] with its interval; `field` is its name in the summary.
pub fn measured_latency(point: &Point, field: &str, pick: impl Fn(&LatencyMs) -> Option<f64>) -> Measured {
    let of = if point.response_ms.is_some() { "response_ms" } else { "latency_ms" };
    Measured::of(point, &format!("{of}.{field}"), pick(shown_latency(point)))
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
