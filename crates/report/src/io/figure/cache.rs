//! The cache map: latency of random reads over the size of their working set.

use super::{logarithmic, names, positive};
use crate::document::Figure;
use crate::document::WIDTH;
use crate::figure::{LEFT, Panel, thinned};
use crate::io::tables;
use crate::scale::Scale;
use crate::svg::Svg;
use plimsoll_model::OpKind;
use plimsoll_model::io::{LatencyUs, Probe};
use plimsoll_model::number::{binary_size, short};

const LATENCY: Panel = Panel { left: LEFT, right: 690.0, top: 44.0, bottom: 250.0 };

type Pick = fn(&LatencyUs) -> Option<f64>;

const PERCENTILES: [(&str, &str, Pick); 4] =
    [("p50", "s2", |l| l.p50), ("p90", "s1", |l| l.p90), ("p99", "s4", |l| l.p99), ("p99.9", "aside", |l| l.p999)];

/// `None` without at least two sizes.
pub fn draw(probes: &[Probe], caption: &str) -> Option<Figure> {
    let is_read = |probe: &&Probe| probe.probe == 13 && probe.word("what") == "read";
    let set = |probe: &Probe| Some((positive(probe.number("set_bytes"))?, *probe.latency_us.get(&OpKind::Read)?));
    let mut sets: Vec<(f64, LatencyUs)> = probes.iter().filter(is_read).filter_map(set).collect();
    sets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (smallest, largest) = (sets.first()?.0, sets.last()?.0);
    if smallest == largest {
        return None;
    }
    let all = sets.iter().flat_map(|(_, latency)| PERCENTILES.map(|(_, _, pick)| positive(pick(latency)))).flatten();
    let y = logarithmic(all, LATENCY.vertical())?;
    let x = Scale::logarithmic((smallest, largest), (LATENCY.left + 12.0, LATENCY.right - 12.0));
    let mut svg = Svg::new(WIDTH, LATENCY.bottom + 44.0, "Latency of random reads over the size of their working set");
    LATENCY.frame(&mut svg, &y, 6, "Latency of a read", "microseconds, logarithmic");
    let mut ends = Vec::new();
    for (name, class, pick) in PERCENTILES {
        let known: Vec<(f64, f64)> = sets.iter().filter_map(|(bytes, l)| Some((*bytes, positive(pick(l))?))).collect();
        let places: Vec<(f64, f64)> = known.iter().map(|&(bytes, us)| (x.at(bytes), y.at(us))).collect();
        svg.polyline(&places, &format!("line {class}"));
        for ((bytes, us), place) in known.iter().zip(&places) {
            svg.dot(
                *place,
                3.0,
                &format!("dot {class}"),
                &format!("{}: {name} {} µs", binary_size(*bytes), short(*us)),
            );
        }
        ends.extend(places.last().map(|place| (name.to_owned(), class, *place)));
    }
    names(&mut svg, &ends, (LATENCY.top, LATENCY.bottom));
    let ticks = sets.iter().map(|&(bytes, _)| (x.at(bytes), binary_size(bytes))).collect();
    LATENCY.horizontal_axis(&mut svg, &thinned(ticks), "size of the working set, logarithmic");
    let behind: Vec<&Probe> = probes.iter().filter(is_read).collect();
    Some(super::figure("cache", svg, caption, tables::probes(&behind, true)))
}
