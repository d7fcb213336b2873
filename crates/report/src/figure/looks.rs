//! How a comparison that got rounds until it was decided came to its end: its interval after each round.

use super::{Panel, thinned, whisker};
use crate::document::Figure;
use crate::document::NARROW;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::Estimate;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::number::{NOTHING, counted, percent, signed_percent};
use plimsoll_model::stopping::{RoundLook, Stopping};

/// Early intervals are drawn as far as so many times the last one's half width.
const SHOWN: f64 = 3.0;

/// `name` is what was compared. `None` if it was looked at only once.
pub fn draw(id: &str, name: &str, stopping: &Stopping) -> Option<Figure> {
    if stopping.looks.len() < 2 {
        return None;
    }
    let caption = format!(
        "The change of {name} after each round with its interval, which holds however often it is looked at; the dashed \
         lines are ±{}, within which a change counts as none. It was {}.",
        percent(stopping.decide),
        stopping.in_words()
    );
    let looks = Looked { name, looks: &stopping.looks, decide: stopping.decide };
    Some(Figure::drawn(id, &caption, looks.table(), |width| looks.drawing(width)))
}

struct Looked<'a> {
    name: &'a str,
    looks: &'a [RoundLook],
    decide: f64,
}

impl Looked<'_> {
    fn table(&self) -> Table {
        let end = |of: fn(&RoundLook) -> Option<f64>| {
            self.looks.iter().map(|look| of(look).map_or(NOTHING.to_owned(), signed_percent)).collect()
        };
        Table::new(vec![
            Column::numbers("rounds", "", self.looks.iter().map(|look| look.rounds.to_string()).collect()),
            Column::numbers("change", "", end(|look| Some(look.change))),
            Column::numbers("at least", "", end(|look| look.low)),
            Column::numbers("at most", "", end(|look| look.high)),
        ])
    }

    /// In percent: all changes, what counts as none, and as much of the intervals as shows how they narrow.
    fn domain(&self) -> (f64, f64) {
        let last = self.looks.last().and_then(|look| Some((look.change, (look.high? - look.low?) / 2.0)));
        let around = last.map_or(Vec::new(), |(at, half)| vec![at - SHOWN * half, at + SHOWN * half]);
        let changes = self.looks.iter().map(|look| look.change);
        let all: Vec<f64> = changes.chain(around).chain([-1.5 * self.decide, 1.5 * self.decide]).collect();
        let end = |of: fn(f64, f64) -> f64, from: f64| 100.0 * all.iter().copied().fold(from, of);
        (end(f64::min, f64::INFINITY), end(f64::max, f64::NEG_INFINITY))
    }

    fn drawing(&self, width: f64) -> String {
        let mut svg = Svg::new(width, 226.0, &format!("the change of {} over the rounds", self.name));
        // Beside the lines there is room for what they are.
        let right = width - if width > NARROW { 64.0 } else { 48.0 };
        let panel = Panel { left: super::LEFT, right, top: 34.0, bottom: 180.0 };
        let y = Scale::linear(self.domain(), panel.vertical());
        panel.frame(&mut svg, &y, 4, &format!("change of {}", self.name), "%");
        let most = self.looks.last().map_or(1, |look| look.rounds);
        let x = Scale::linear((1.0, most.max(2) as f64), (panel.left + 12.0, panel.right - 12.0));
        let ticks = self.looks.iter().map(|look| (x.at(look.rounds as f64), look.rounds.to_string())).collect();
        panel.horizontal_axis(&mut svg, &thinned(ticks), "rounds");
        svg.line((panel.left, y.at(0.0)), (panel.right, y.at(0.0)), "zero");
        for share in [-self.decide, self.decide] {
            let at = y.at(100.0 * share);
            svg.line((panel.left, at), (panel.right, at), "guide");
        }
        let beside = (panel.right + 4.0, y.at(100.0 * self.decide) + 4.0);
        svg.text(beside, Anchor::Start, "note", &format!("±{}", percent(self.decide)));
        for look in self.looks {
            self.look(&mut svg, &panel, &x, &y, look);
        }
        svg.finish()
    }

    fn look(&self, svg: &mut Svg, panel: &Panel, x: &Scale, y: &Scale, look: &RoundLook) {
        let at = x.at(look.rounds as f64);
        let change = measured(look).scaled(100.0);
        whisker(svg, panel, y, at, &change, "interval s1");
        let hint = format!("after {}: {}", counted(look.rounds as f64, "round"), change.told_with_ends(1));
        svg.marker((at, y.at(100.0 * look.change)), 3.5, 0, "dot s1", &hint);
    }
}

fn measured(look: &RoundLook) -> Measured {
    let RoundLook { rounds, change, low, high } = *look;
    let estimate = low.zip(high).map(|ends| Estimate::new(change, ends, CONFIDENCE, rounds as f64, String::new()));
    Measured { value: Some(change), estimate, ..Measured::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopping(decided: bool) -> Stopping {
        let look = |rounds: usize, change: f64, half: Option<f64>| RoundLook {
            rounds,
            change,
            low: half.map(|half| change - half),
            high: half.map(|half| change + half),
        };
        let looks =
            vec![look(2, -0.2, None), look(3, -0.1, Some(0.9)), look(4, -0.14, Some(0.2)), look(5, -0.15, Some(0.1))];
        Stopping {
            decide: 0.02,
            most: 40,
            most_seconds: None,
            decided,
            looks,
            rounds_needed: (!decided).then_some(70),
            gate: None,
            switchback: None,
        }
    }

    #[test]
    fn the_interval_is_drawn_after_each_round_and_the_end_is_said() {
        let figure = draw("f", "nfs against fc", &stopping(true)).expect("a figure");
        let svg = &figure.svg;
        assert_eq!(svg.matches("<circle class=\"dot s1\"").count(), 4, "{svg}");
        assert!(svg.contains("±2.0 %") && svg.contains(">rounds<"), "{svg}");
        assert!(figure.caption.contains("It was decided after 5 of up to 40 rounds."), "{}", figure.caption);
        assert_eq!(figure.table.columns[0].cells, ["2", "3", "4", "5"]);
        assert_eq!(figure.table.columns[2].cells, [NOTHING, "−100 %", "−34.0 %", "−25.0 %"]);
        let open = draw("f", "nfs against fc", &stopping(false)).expect("a figure").caption;
        assert!(open.contains("It was open after 5 of up to 40 rounds; about 70 would decide it."), "{open}");
    }

    #[test]
    fn one_look_is_no_figure() {
        let mut once = stopping(true);
        once.looks.truncate(1);
        assert!(draw("f", "nfs against fc", &once).is_none());
    }
}
