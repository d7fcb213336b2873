//! How a search for better settings went: what each trial brought, the best so far, and what was left of it when it was confirmed.

use super::{Panel, thinned, whisker};
use crate::document::{Figure, NARROW};
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::number::{NOTHING, signed_percent};
use plimsoll_model::tune::{TriedSettings, TuneSummary};

const HEIGHT: f64 = 270.0;
/// Beside the trials: what was believed, and what was confirmed.
const ASIDE: f64 = 176.0;
const NARROW_ASIDE: f64 = 140.0;
/// A trial that is worse than this is drawn at the lower edge, so that the better ones have room, percent.
const LOWEST: f64 = -60.0;

/// `None` before a second trial has ended.
pub fn draw(id: &str, tune: &TuneSummary) -> Option<Figure> {
    if tune.tried.len() < 2 {
        return None;
    }
    let caption = "What each trial measured against the mean of today’s configuration; the line is the best so far. Rings are \
                   today’s configuration again, squares what was tried in any case, crosses trials that failed. On the right, \
                   what the search believed of the best, and what it brought when it was measured again, with its 95 % interval.";
    Some(Figure::drawn(id, caption, table(tune), |width| drawing(tune, width)))
}

fn table(tune: &TuneSummary) -> Table {
    let gain = |tried: &TriedSettings| tried.gain.map_or_else(|| NOTHING.to_owned(), signed_percent);
    Table::new(vec![
        Column::numbers("number", "", (1..=tune.tried.len()).map(|number| number.to_string()).collect()),
        Column::words("trial", tune.tried.iter().map(|tried| tried.label.clone()).collect()),
        Column::numbers("better by", "", tune.tried.iter().map(gain).collect()),
    ])
}

fn drawing(tune: &TuneSummary, width: f64) -> String {
    let mut svg = Svg::new(width, HEIGHT, "What each trial of the search brought");
    let aside = if width > NARROW { ASIDE } else { NARROW_ASIDE };
    let panel = Panel { left: super::LEFT, right: width - aside, top: 34.0, bottom: HEIGHT - 46.0 };
    let y = Scale::linear(domain(tune), panel.vertical());
    panel.frame(&mut svg, &y, 5, "better than today’s configuration by", "%");
    let count = tune.tried.len();
    let x = Scale::linear((1.0, count as f64), (panel.left + 10.0, panel.right - 10.0));
    let ticks = x.ticks(6).into_iter().filter(|tick| *tick >= 1.0 && tick.fract() == 0.0);
    let ticks = ticks.map(|number| (x.at(number), format!("{number:.0}"))).collect();
    panel.horizontal_axis(&mut svg, &thinned(ticks), "trials of the search");
    svg.line((panel.left, y.at(0.0)), (width - 8.0, y.at(0.0)), "zero");
    best_so_far(&mut svg, tune, &x, &y);
    for (place, tried) in tune.tried.iter().enumerate() {
        trial(&mut svg, &panel, x.at((place + 1) as f64), &y, tried);
    }
    conclusion(&mut svg, tune, Panel { left: panel.right, right: width, ..panel }, &y);
    svg.finish()
}

/// In percent: from the worst to the best, with the ends of the confirmation.
fn domain(tune: &TuneSummary) -> (f64, f64) {
    let confirmed = tune.confirmed.iter().chain(&tune.kept).flat_map(|of| [Some(of.value), of.low, of.high]);
    let gains = tune.tried.iter().map(|tried| tried.gain).chain([tune.believed, Some(0.0)]).chain(confirmed);
    let all: Vec<f64> = gains.flatten().map(|gain| (100.0 * gain).max(LOWEST)).collect();
    let lowest = all.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = (0.08 * (highest - lowest)).max(1.0);
    (lowest - room, highest + room)
}

fn best_so_far(svg: &mut Svg, tune: &TuneSummary, x: &Scale, y: &Scale) {
    let mut best = 0.0f64;
    let mut line = vec![(x.at(1.0), y.at(0.0))];
    for (place, tried) in tune.tried.iter().enumerate() {
        let gain = 100.0 * tried.gain.unwrap_or(0.0);
        if gain > best && !tried.changed.is_empty() {
            let at = x.at((place + 1) as f64);
            line.extend([(at, y.at(best)), (at, y.at(gain))]);
            best = gain;
        }
    }
    line.push((x.at(tune.tried.len() as f64), y.at(best)));
    svg.polyline(&line, "line thin s2");
}

fn trial(svg: &mut Svg, panel: &Panel, x: f64, y: &Scale, tried: &TriedSettings) {
    let Some(gain) = tried.gain else {
        svg.cross((x, panel.bottom - 8.0), 4.0, "cross");
        return;
    };
    let (number, class) = match tried.label.as_str() {
        "today" => (0, "ring s7"),
        label if label.starts_with("arm/") => (1, "dot s3"),
        _ => (0, "dot s1"),
    };
    let hint = format!("{}: {}", tried.label, signed_percent(gain));
    svg.marker((x, y.at((100.0 * gain).max(LOWEST))), 4.0, number, class, &hint);
}

/// What was believed, and what was confirmed.
fn conclusion(svg: &mut Svg, tune: &TuneSummary, panel: Panel, y: &Scale) {
    let step = (panel.right - panel.left) / 3.0;
    let (believed_at, confirmed_at) = (panel.left + 0.6 * step, panel.left + 1.8 * step);
    if let Some(believed) = tune.believed {
        let hint = format!("believed by the search: {}", signed_percent(believed));
        svg.marker((believed_at, y.at(100.0 * believed)), 5.0, 2, "ring s1", &hint);
        svg.text((believed_at, panel.bottom + 19.0), Anchor::Middle, "tick", "believed");
    }
    if let Some(confirmed) = tune.shown_gain() {
        let measured = Measured::from(confirmed).scaled(100.0);
        whisker(svg, &panel, y, confirmed_at, &measured, "interval s4");
        let told = signed_percent(confirmed.value);
        svg.marker((confirmed_at, y.at(100.0 * confirmed.value)), 5.0, 2, "dot s4", &format!("measured again: {told}"));
        svg.text((confirmed_at, panel.bottom + 19.0), Anchor::Middle, "tick", "again");
        svg.text((confirmed_at + 9.0, y.at(100.0 * confirmed.value) + 4.0), Anchor::Start, "note", &told);
    }
}
