//! How to repeat what was measured.

use crate::document::{Block, Section};

/// `how_to_repeat` is a command line, `recording` a directory.
pub fn section(how_to_repeat: &str, recording: Option<&str>) -> Option<Section> {
    let kept =
        recording.map(|directory| Block::remark(format!("Everything that was measured is kept in {directory}.")));
    let command = (!how_to_repeat.is_empty()).then(|| Block::Listing(how_to_repeat.to_owned()));
    let first = how_to_repeat.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    Some(Section::of("repeat", "How to repeat it", command.into_iter().chain(kept).collect())?.found(first))
}
