//! The settings that were really in effect.

use crate::document::{Block, Section};
use crate::format::NOTHING;
use crate::subject::{Recorded, SettingRow, Subject};
use crate::table::{Column, Mark, Table};

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
    Section::of("settings", "Settings in effect", blocks)
}

/// As requested and as the server had them; where the two are not the same, the row says so.
pub fn table(settings: &[SettingRow]) -> Table {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| NOTHING.to_owned());
    let differs = |row: &SettingRow| {
        let both = row.requested.as_ref().zip(row.effective.as_ref());
        both.is_some_and(|(requested, effective)| !is_same_value(requested, effective))
    };
    let columns = vec![
        Column::words("setting", settings.iter().map(|row| row.name.clone()).collect()),
        Column::words("requested", settings.iter().map(|row| shown(&row.requested)).collect()),
        Column::words("in effect", settings.iter().map(|row| shown(&row.effective)).collect()),
        Column::words("origin", settings.iter().map(|row| row.origin.clone()).collect()),
    ];
    Table { columns, marks: settings.iter().map(|row| differs(row).then_some(Mark::Differs)).collect() }
}

/// True if two spellings mean the same: `1G` and `1073741824`, `on` and `ON` and `1`.
fn is_same_value(requested: &str, effective: &str) -> bool {
    let plain = |text: &str| -> String {
        let lower = text.trim().trim_end_matches('/').to_ascii_lowercase();
        let shift = match lower.chars().last() {
            Some('k') => 10,
            Some('m') => 20,
            Some('g') => 30,
            Some('t') => 40,
            _ => 0,
        };
        let digits = if shift > 0 { &lower[..lower.len() - 1] } else { &lower[..] };
        match (digits.parse::<u64>(), digits.parse::<f64>(), &lower[..]) {
            (Ok(number), _, _) => number.saturating_mul(1 << shift).to_string(),
            (_, Ok(number), _) if shift == 0 => number.to_string(),
            (_, _, "on" | "true" | "yes") => "1".to_owned(),
            (_, _, "off" | "false" | "no") => "0".to_owned(),
            _ => lower,
        }
    };
    plain(requested) == plain(effective)
}

#[cfg(test)]
mod tests {
    use super::is_same_value;

    #[test]
    fn spellings_of_one_value_do_not_differ() {
        for (a, b) in [("1G", "1073741824"), ("on", "1"), ("OFF", "0"), ("O_DIRECT", "o_direct"), ("/d/", "/d")] {
            assert!(is_same_value(a, b), "{a} {b}");
        }
        for (a, b) in [("1G", "1000000000"), ("1", "2"), ("O_DIRECT", "fsync"), ("on", "off"), ("", "0")] {
            assert!(!is_same_value(a, b), "{a} {b}");
        }
    }
}
