//! Where the CPU time went: the host's by kind, and the load generator's own.

use super::{LEFT, Panel, thinned, whisker};
use crate::document::Figure;
use crate::document::NARROW;
use crate::interval::Measured;
use crate::scale::{Scale, spread};
use crate::svg::{Anchor, Svg};
use crate::sweep::Sweep;
use crate::table::{Column, Table};
use plimsoll_model::Metric;
use plimsoll_model::number::{in_percent, percent_decimals, tick};
use plimsoll_model::summary::HostShares;

/// Side by side.
const HOST: Panel = Panel { left: LEFT, right: 350.0, top: 40.0, bottom: 210.0 };
const CLIENT: Panel = Panel { left: 530.0, right: 736.0, top: 40.0, bottom: 210.0 };

/// The same on a phone, below each other.
const NARROW_HOST: Panel = Panel { left: 44.0, right: 214.0, top: 40.0, bottom: 190.0 };
const NARROW_CLIENT: Panel = Panel { left: 44.0, right: 214.0, top: 284.0, bottom: 384.0 };

/// Name, metric, class and value.
type Part = (&'static str, Metric, &'static str, fn(&HostShares) -> f64);

const PARTS: [Part; 4] = [
    ("user", Metric::HostUser, "s1", |host| host.user),
    ("system", Metric::HostSystem, "s5", |host| host.system),
    ("I/O wait", Metric::HostIowait, "s3", |host| host.iowait),
    ("stolen", Metric::HostSteal, "s4", |host| host.steal),
];

/// `None` if neither is known at any point.
pub fn draw(sweep: &Sweep<'_>, caption: &str) -> Option<Figure> {
    let has_host = sweep.points.iter().any(|point| point.host.is_some());
    let has_client = sweep.points.iter().any(|point| point.client.cpu_fraction.is_some());
    if !has_host && !has_client {
        return None;
    }
    Some(Figure::drawn("cpu", caption, table(sweep), |width| {
        let (of_host, of_client) = match width > NARROW {
            true => (HOST, CLIENT),
            false => (NARROW_HOST, if has_host { NARROW_CLIENT } else { NARROW_HOST }),
        };
        let mut svg = Svg::new(width, 0.0, "CPU time of the host by kind, and of the load generator, by load point");
        if has_host {
            host(&mut svg, &of_host, sweep);
        }
        if has_client {
            client(&mut svg, &of_client, sweep);
        }
        svg.with_height(if has_client { of_client.bottom } else { of_host.bottom } + 44.0).finish()
    }))
}

/// The shares in percent.
fn table(sweep: &Sweep<'_>) -> Table {
    let share = |name: &str, metric: Metric| {
        let measured = sweep.points.iter().map(|point| Measured::of(point, metric).scaled(100.0));
        Column::measured(name, "%", 1, &measured.collect::<Vec<_>>())
    };
    let mut columns = vec![Column::words("load", sweep.points.iter().map(|point| sweep.load_text(point)).collect())];
    columns.extend(PARTS.map(|(name, metric, ..)| share(&format!("host {name}"), metric)));
    columns.push(share("load generator", Metric::ClientCpuFraction));
    Table::new(columns)
}

/// Left edge and width of each bar of a panel.
fn bars(panel: &Panel, count: usize) -> Vec<(f64, f64)> {
    let pitch = (panel.right - panel.left) / count.max(1) as f64;
    let width = (0.68 * pitch).min(44.0);
    (0..count).map(|at| (panel.left + pitch * (at as f64 + 0.5) - 0.5 * width, width)).collect()
}

fn axis(svg: &mut Svg, panel: &Panel, sweep: &Sweep<'_>, places: &[(f64, f64)]) {
    let labels = places.iter().zip(sweep.points).map(|(&(x, w), point)| (x + 0.5 * w, tick(sweep.x(point)))).collect();
    panel.horizontal_axis(svg, &thinned(labels), sweep.axis_title());
}

fn host(svg: &mut Svg, panel: &Panel, sweep: &Sweep<'_>) {
    let y = Scale::linear((0.0, 100.0), panel.vertical());
    let cpus = sweep.points.iter().find_map(|point| point.host).map_or(0, |host| host.cpus);
    let unit = if cpus > 1 { format!("% of {cpus} CPUs") } else { "% of its CPU".to_owned() };
    panel.frame(svg, &y, 4, "Host", &unit);
    let places = bars(panel, sweep.points.len());
    let mut labels = Vec::new();
    for (point, &(x, width)) in sweep.points.iter().zip(&places) {
        let Some(shares) = &point.host else { continue };
        let mut below = 0.0;
        labels.clear();
        for (name, metric, class, share) in PARTS {
            let is_visible = |host: &HostShares| share(host) >= 0.005;
            let percents = Measured::of(point, metric).scaled(100.0);
            let share = share(shares).clamp(0.0, 1.0 - below);
            let (top, bottom) = (y.at(100.0 * (below + share)), y.at(100.0 * below));
            svg.rect((x, top), (width, bottom - top), &format!("bar {class}"));
            if sweep.points.iter().filter_map(|point| point.host).any(|host| is_visible(&host)) {
                let percents = percents.label_in("%", percent_decimals(100.0 * share));
                labels.push((format!("{name} {percents}"), class, 0.5 * (top + bottom), x + width));
            }
            below += share;
        }
    }
    // The last bar's parts are named; the others have the same colours in the same order.
    let heights: Vec<f64> = labels.iter().map(|label| label.2).collect();
    for (label, height) in labels.iter().zip(spread(&heights, 14.0, (panel.top, panel.bottom))) {
        svg.text((label.3 + 9.0, height + 4.0), Anchor::Start, &format!("name {}", label.1), &label.0);
    }
    axis(svg, panel, sweep, &places);
}

fn client(svg: &mut Svg, panel: &Panel, sweep: &Sweep<'_>) {
    let y = Scale::linear((0.0, 100.0), panel.vertical());
    panel.frame(svg, &y, 4, "Load generator", "% of its threads’ time");
    let places = bars(panel, sweep.points.len());
    for (point, &(x, width)) in sweep.points.iter().zip(&places) {
        let Some(share) = point.client.cpu_fraction else { continue };
        let top = y.at(100.0 * share.clamp(0.0, 1.0));
        let percents = Measured::of(point, Metric::ClientCpuFraction).scaled(100.0);
        svg.rect((x, top), (width, panel.bottom - top), "bar s2");
        whisker(svg, panel, &y, x + 0.5 * width, &percents, "interval");
        if width > 16.0 {
            let above = percents.ends().1.map_or(top, |end| y.at(end).min(top));
            let baseline = (above - 5.0).max(panel.top + 9.0);
            svg.text((x + 0.5 * width, baseline), Anchor::Middle, "tick halo", &in_percent(share));
        }
    }
    axis(svg, panel, sweep, &places);
}
