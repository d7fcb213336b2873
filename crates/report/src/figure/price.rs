//! The price of safety: what each variant carries over the worst that a fault made it lose.

use super::label::shortened;
use crate::document::{Figure, NARROW};
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::FaultKind;
use plimsoll_model::crash::CrashCell;
use plimsoll_model::lab::{Cell, LabSummary};
use plimsoll_model::number::{number, short};

const CAPTION: &str = "What each variant carries over the worst that one fault made it lose: further up is faster, further \
                       right loses more. What nobody could use afterwards, a server, a copy or a \
                       replica, has lost everything.";
const HEIGHT: f64 = 320.0;
/// From the last second to the place of what has lost everything.
const EVERYTHING: f64 = 80.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 46.0;

/// A variant with what it carries and loses.
struct Priced {
    name: String,
    /// Transactions or new orders, with the interval.
    throughput: Measured,
    /// Seconds of commits; none if everything is gone.
    worst_seconds: Option<f64>,
    fault: Option<FaultKind>,
}

/// `None` if no variant's throughput was measured.
pub fn draw(id: &str, summary: &LabSummary) -> Option<Figure> {
    let (unit, priced) = priced(summary);
    (!priced.is_empty())
        .then(|| Figure::drawn(id, CAPTION, table(unit, &priced), |width| drawing(unit, &priced, width)))
}

fn priced(summary: &LabSummary) -> (&'static str, Vec<Priced>) {
    let has_orders = summary.cells.iter().any(|cell| cell.nopm.is_some());
    let unit = if has_orders { "new orders per minute" } else { "transactions per second" };
    let of = |cell: &Cell| {
        let throughput = if has_orders { &cell.nopm } else { &cell.transactions_per_second };
        let throughput = Measured::from(throughput.as_ref()?);
        // A lying device makes every setting lose.
        let crashes: Vec<&CrashCell> = summary
            .crashes
            .iter()
            .filter(|crash| crash.variant == cell.variant && crash.fault != FaultKind::Lying && crash.faults > 0)
            .collect();
        let gone = crashes.iter().find(|crash| crash.not_started + crash.untold > 0);
        let most = crashes.iter().filter(|crash| crash.losing > 0).max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        Some(Priced {
            name: cell.variant.clone(),
            throughput,
            worst_seconds: if gone.is_some() { None } else { Some(most.map_or(0.0, |crash| seconds(crash))) },
            fault: gone.or(most).map(|crash| crash.fault),
        })
    };
    (unit, summary.cells.iter().filter_map(of).collect())
}

fn seconds(cell: &CrashCell) -> f64 {
    cell.worst_seconds.unwrap_or(0.0)
}

fn lost(of: &Priced) -> String {
    of.worst_seconds.map_or("everything".to_owned(), |seconds| number(seconds, 2))
}

fn table(unit: &str, priced: &[Priced]) -> Table {
    let throughput: Vec<Measured> = priced.iter().map(|of| of.throughput.clone()).collect();
    Table::new(vec![
        Column::words("variant", priced.iter().map(|of| of.name.clone()).collect()),
        Column::measured("throughput", unit, 1, &throughput),
        Column::numbers("worst loss", "s", priced.iter().map(lost).collect()),
        Column::words(
            "by",
            priced.iter().map(|of| of.fault.map_or(String::new(), |fault| fault.words().to_owned())).collect(),
        ),
    ])
}

fn drawing(unit: &str, priced: &[Priced], width: f64) -> String {
    let mut svg = Svg::new(width, HEIGHT, "What each variant carries over the worst that it lost");
    svg.panel_title((6.0, 14.0), "Throughput", unit);
    let right = width - if width > NARROW { 120.0 } else { 70.0 };
    // What has lost everything has a place of its own, beyond the seconds.
    let is_gone = priced.iter().any(|of| of.worst_seconds.is_none());
    let last = if is_gone { right - EVERYTHING } else { right };
    let bottom = HEIGHT - BOTTOM;
    let fastest = priced.iter().filter_map(|of| of.throughput.ends().1.or(of.throughput.value)).fold(0.0, f64::max);
    let worst = priced.iter().filter_map(|of| of.worst_seconds).fold(0.5, f64::max);
    let y = Scale::from_zero(fastest, (bottom, TOP), 5);
    let x = Scale::from_zero(worst, (LEFT, last), 5);
    for tick in y.ticks(5) {
        svg.line((LEFT, y.at(tick)), (right, y.at(tick)), "grid");
        svg.text((LEFT - 8.0, y.at(tick) + 4.0), Anchor::End, "tick", &short(tick));
    }
    for tick in x.ticks(5) {
        svg.text((x.at(tick), bottom + 18.0), Anchor::Middle, "tick", &short(tick));
    }
    if is_gone {
        svg.text((right, bottom + 18.0), Anchor::Middle, "tick", "everything");
    }
    svg.line((LEFT, bottom), (right, bottom), "zero");
    svg.line((LEFT, TOP), (LEFT, bottom), "zero");
    svg.text(
        (0.5 * (LEFT + right), HEIGHT - 8.0),
        Anchor::Middle,
        "label",
        "worst loss by one fault, seconds of commits",
    );
    for of in priced {
        let Some(value) = of.throughput.value else { continue };
        let place = (of.worst_seconds.map_or(right, |seconds| x.at(seconds)), y.at(value));
        if let (Some(low), Some(high)) = of.throughput.ends() {
            svg.line((place.0, y.at(low)), (place.0, y.at(high)), "line thin s1");
        }
        let hint = format!("{}: {} {unit}, worst loss {} s", of.name, short(value), lost(of));
        svg.dot(place, 4.5, "dot s1", &hint);
        svg.text(
            (place.0 + 9.0, place.1 + 4.0),
            Anchor::Start,
            "label halo",
            &shortened(&of.name, width - place.0 - 12.0),
        );
    }
    svg.finish()
}
