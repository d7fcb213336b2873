//! The settings that were in effect.

use crate::document::{Block, Section};
use crate::subject::{Recorded, SettingRow, Subject};
use crate::table::{Column, Mark, Table};
use plimsoll_model::number::{NOTHING, counted};

pub fn section(recorded: &Recorded) -> Option<Section> {
    let mut blocks = Vec::new();
    if let Subject::Run(summary) = &recorded.subject
        && !summary.target.durability.is_empty()
    {
        blocks.push(Block::subheading("Durability fingerprint"));
        blocks.push(Block::remark("What decides which commits survive a crash, as read from the running server."));
        blocks.push(Block::Pairs(summary.target.durability.clone().into_iter().collect()));
    }
    let requested = recorded.trials.first().map_or(&[][..], |trial| &trial.settings);
    if !requested.is_empty() {
        blocks.push(Block::subheading("Settings"));
        blocks.push(Block::table("settings", table(requested), []));
    }
    let differing = requested.iter().filter(|row| row.differs).count();
    let found = if requested.is_empty() { String::new() } else { told(requested.len(), differing) };
    Some(Section::of("settings", "Settings in effect", blocks)?.found(found))
}

/// How many of all settings differ from what was requested.
pub fn told(all: usize, differing: usize) -> String {
    let all = counted(all as f64, "setting");
    match differing {
        0 => format!("{all}, all as requested"),
        some => format!("{some} of {all} not as requested"),
    }
}

/// The settings as requested and as the server had them; a row says so if the two differ.
pub fn table(settings: &[SettingRow]) -> Table {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| NOTHING.to_owned());
    let columns = vec![
        Column::words("setting", settings.iter().map(|row| row.name.clone()).collect()),
        Column::words("requested", settings.iter().map(|row| shown(&row.requested)).collect()),
        Column::words("in effect", settings.iter().map(|row| shown(&row.effective)).collect()),
        Column::words("origin", settings.iter().map(|row| row.origin.clone()).collect()),
    ];
    Table { columns, marks: settings.iter().map(|row| row.differs.then_some(Mark::Differs)).collect() }
}
