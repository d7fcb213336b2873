//! The trials second by second.

use crate::document::{Block, Section};
use crate::figure::seconds;
use crate::subject::{Recorded, Trial};
use plimsoll_model::number::counted;

const CAPTION: &str = "One value per second, trial after trial. Shaded parts were not measured: warm-up and drain. No intervals: \
                       each second is shown as it was.";

pub fn section(recorded: &Recorded) -> Option<Section> {
    let trials: Vec<&Trial> = recorded.trials.iter().collect();
    let figure = seconds::draw("timeline", &trials, CAPTION)?;
    let found = format!("every second of {}", counted(trials.len() as f64, "trial"));
    Some(Section::of("timeline", "Timeline", vec![Block::Figure(figure)])?.found(found))
}
