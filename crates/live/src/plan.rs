//! The whole plan of a growing recording in one small figure: a box for each trial, ended, under way and to come.

use crate::follow::{AgendaTrial, Follower, MeasuredTrial};
use plimsoll_model::LoadPoint;
use plimsoll_model::layout::shortened;
use plimsoll_model::number::{counted, short};
use plimsoll_report::svg::{Anchor, Svg};

const WIDTH: f64 = 960.0;
/// Room for the names of rows, beside them.
const NAMES: f64 = 250.0;
const NAME_LETTERS: usize = 38;
const ROW: f64 = 19.0;
const BOX: f64 = 13.0;
const WIDEST: f64 = 110.0;
const GAP: f64 = 4.0;
/// A page is not made longer for more.
const ROWS_MOST: usize = 40;
/// It is drawn each second, beside what is measured: a plan of more trials is not.
const TRIALS_MOST: usize = 1_000;

/// A trial as a box.
#[derive(Clone, Debug, PartialEq)]
enum TrialBox {
    Ended(Option<f64>),
    Failed(String),
    UnderWay(Option<f64>),
    ToCome,
}

/// What is measured at one load point of a variant, round by round.
#[derive(Debug)]
struct PlanRow {
    name: String,
    trials: Vec<TrialBox>,
}

/// The figure with its legend; nothing before anything is known of the plan, or if it is too large to be drawn.
pub fn whole(follower: &Follower) -> String {
    let (to_come, is_all) = follower.next();
    let measured = follower.measured();
    if measured.len() + to_come.len() > TRIALS_MOST {
        return String::new();
    }
    let rows = rows(&measured, follower.under_way().is_some() && !follower.is_over(), to_come);
    if rows.is_empty() {
        return String::new();
    }
    let more = rows.len().saturating_sub(ROWS_MOST);
    let more = if more == 0 { String::new() } else { format!(" {} more have no room.", counted(more as f64, "row")) };
    let depends = if is_all { "" } else { " What else comes depends on the results." };
    format!(
        "<figure class=\"live\"><h3>The plan</h3>\n{}<figcaption>A box for each trial, in the order of rounds: filled as \
         far as its throughput reaches, framed while it is under way, empty until it begins.{depends}{more}</figcaption>\
         </figure>\n",
        drawing(&rows[..rows.len().min(ROWS_MOST)])
    )
}

fn rows(measured: &[MeasuredTrial], last_is_under_way: bool, to_come: &[AgendaTrial]) -> Vec<PlanRow> {
    let mut rows: Vec<PlanRow> = Vec::new();
    let mut add = |variant: &str, point: &str, trial: TrialBox| {
        let name = format!("{variant}, {}", load(point));
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.trials.push(trial),
            None => rows.push(PlanRow { name, trials: vec![trial] }),
        }
    };
    for (place, trial) in measured.iter().enumerate() {
        let state = match &trial.failed {
            Some(why) => TrialBox::Failed(why.clone()),
            None if last_is_under_way && place + 1 == measured.len() => TrialBox::UnderWay(trial.throughput),
            None => TrialBox::Ended(trial.throughput),
        };
        add(&trial.variant, &trial.point, state);
    }
    to_come.iter().for_each(|turn| add(&turn.variant, &turn.point, TrialBox::ToCome));
    rows
}

fn drawing(rows: &[PlanRow]) -> String {
    let mut svg = Svg::new(WIDTH, ROW * rows.len() as f64 + 4.0, "The trials of the plan");
    let throughput = |trial: &TrialBox| match trial {
        TrialBox::Ended(value) | TrialBox::UnderWay(value) => *value,
        TrialBox::Failed(_) | TrialBox::ToCome => None,
    };
    let most = rows.iter().flat_map(|row| &row.trials).filter_map(throughput).fold(f64::MIN_POSITIVE, f64::max);
    let longest = rows.iter().map(|row| row.trials.len()).max().unwrap_or(1).max(1) as f64;
    let width = ((WIDTH - NAMES) / longest - GAP).clamp(2.0, WIDEST);
    for (place, row) in rows.iter().enumerate() {
        let top = ROW * place as f64 + 2.0;
        svg.text((0.0, top + BOX - 2.0), Anchor::Start, "tick", &shortened(&row.name, NAME_LETTERS));
        for (column, trial) in row.trials.iter().enumerate() {
            let left = NAMES + column as f64 * (width + GAP);
            let share = throughput(trial).map_or(0.0, |value| (value / most).clamp(0.0, 1.0));
            let class = match trial {
                TrialBox::Failed(_) => "trial broken",
                TrialBox::UnderWay(_) => "trial now",
                TrialBox::Ended(_) | TrialBox::ToCome => "trial",
            };
            svg.rect((left, top), (width * share, BOX), "bar s1");
            svg.bar((left, top), (width, BOX), class, &told(trial));
        }
    }
    svg.finish()
}

/// A load such as `c64-rate500` in words; for storage, the name of the measurement itself.
pub fn load(point: &str) -> String {
    LoadPoint::of_label(point).map_or(point.to_owned(), |point| point.to_string())
}

/// What a pointer that rests on a box is told.
fn told(trial: &TrialBox) -> String {
    match trial {
        TrialBox::Ended(Some(value)) => format!("{} per second", short(*value)),
        TrialBox::UnderWay(Some(value)) => format!("under way: {} per second so far", short(*value)),
        TrialBox::Ended(None) => "nothing was measured".to_owned(),
        TrialBox::UnderWay(None) => "under way, not measured yet".to_owned(),
        TrialBox::Failed(why) => format!("failed: {why}"),
        TrialBox::ToCome => "to come".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(point: &str, throughput: Option<f64>, failed: Option<&str>) -> MeasuredTrial {
        MeasuredTrial {
            variant: "base".to_owned(),
            point: point.to_owned(),
            throughput,
            p99_ms: None,
            failed: failed.map(str::to_owned),
        }
    }

    #[test]
    fn every_trial_has_its_box_whether_it_has_begun_or_not() {
        let ended =
            [measured("c1", Some(100.0), None), measured("c8", None, Some("<killed>")), measured("c1", None, None)];
        let to_come =
            ["c8", "c1"].map(|point| AgendaTrial { variant: "base".to_owned(), point: point.to_owned(), round: 2 });
        let rows = rows(&ended, true, &to_come);
        let states: Vec<&[TrialBox]> = rows.iter().map(|row| row.trials.as_slice()).collect();
        assert_eq!(
            states,
            [
                &[TrialBox::Ended(Some(100.0)), TrialBox::UnderWay(None), TrialBox::ToCome][..],
                &[TrialBox::Failed("<killed>".to_owned()), TrialBox::ToCome]
            ]
        );
        let svg = drawing(&rows);
        assert_eq!(svg.matches("class=\"trial").count(), 5, "{svg}");
        assert!(svg.contains("base, 8 connections") && svg.contains("failed: &lt;killed&gt;"), "{svg}");
    }

    #[test]
    fn load_points_are_told_in_words() {
        assert_eq!(load("c1"), "1 connection");
        assert_eq!(load("c64-rate500"), "64 connections at 500 arrivals per second");
        assert_eq!(load("commit-1"), "commit-1");
    }
}
