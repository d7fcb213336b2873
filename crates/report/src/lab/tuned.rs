//! What a search for better settings found, and what it rests on.

use crate::document::{Block, Item, Section};
use crate::figure::{search, together};
use crate::table::{Column, Table};
use plimsoll_model::Estimate;
use plimsoll_model::number::{NOTHING, counted, percent, signed_percent, signed_range};
use plimsoll_model::tune::{FoundSetting, SearchedSetting, TriedSettings, TuneConclusion, TuneSummary, by_reason};

/// The settings of the best that was found, and what each is worth.
pub fn settings(tune: &TuneSummary) -> Table {
    let words = |of: &dyn Fn(&FoundSetting) -> String| tune.found.iter().map(of).collect::<Vec<_>>();
    let today = |setting: &FoundSetting| setting.today.clone().unwrap_or_else(|| "not set".to_owned());
    let class = |setting: &FoundSetting| {
        setting.costs.iter().max().map_or_else(|| NOTHING.to_owned(), |class| class.words().to_owned())
    };
    let kept = |setting: &FoundSetting| match (is_confirmed(tune), setting.is_kept) {
        (false, _) => "not confirmed",
        (true, true) => "kept",
        (true, false) => "dropped",
    };
    Table::new(vec![
        Column::words("setting", words(&|setting| setting.name.clone())),
        Column::words("today", words(&today)),
        Column::words("found", words(&|setting| setting.value.clone())),
        Column::numbers("brings", "", words(&|setting| gain(setting.worth.as_ref()))),
        Column::words("95 % interval", words(&|setting| ends(setting.worth.as_ref()))).ranked(1),
        Column::words("", words(&|setting| kept(setting).to_owned())),
        Column::words("costs", words(&class)).ranked(2),
    ])
}

/// What was found against today's configuration: as the search believed, when it was measured again, and under other loads.
pub fn confirmations(tune: &TuneSummary) -> Table {
    let believed = tune.believed.map(|gain| ("as the search believed", signed_percent(gain), NOTHING.to_owned()));
    let again = format!("{} {}", if is_confirmed(tune) { "confirmed" } else { "measured again" }, tune.on_what());
    let measured = |what, of: Option<&Estimate>| of.map(|of| (what, gain(Some(of)), ends(Some(of))));
    let all = measured(again.as_str(), tune.confirmed.as_ref());
    let kept = measured("what is kept of it", tune.kept.as_ref());
    let elsewhere =
        tune.elsewhere.iter().map(|of| (of.load.as_str(), gain(of.change.as_ref()), ends(of.change.as_ref())));
    let rows: Vec<(&str, String, String)> = [believed, all, kept].into_iter().flatten().chain(elsewhere).collect();
    let cells = |of: fn(&(&str, String, String)) -> String| rows.iter().map(of).collect::<Vec<_>>();
    Table::new(vec![
        Column::words("against today’s configuration", cells(|row| row.0.to_owned())),
        Column::numbers("better by", "", cells(|row| row.1.clone())),
        Column::words("95 % interval", cells(|row| row.2.clone())),
    ])
}

fn is_confirmed(tune: &TuneSummary) -> bool {
    tune.conclusion == TuneConclusion::Confirmed
}

fn gain(of: Option<&Estimate>) -> String {
    of.map_or_else(|| NOTHING.to_owned(), |of| signed_percent(of.value))
}

fn ends(of: Option<&Estimate>) -> String {
    of.and_then(Estimate::interval).map_or_else(|| NOTHING.to_owned(), signed_range)
}

/// How what the settings bring, each for itself, goes with what they bring together; none unless all of it was measured.
pub fn together_in_words(tune: &TuneSummary) -> Option<String> {
    let (sum, adds_up) = (tune.sum_of_worths()?, tune.adds_up()?);
    let sum = format!("{} ({})", gain(Some(&sum)), ends(Some(&sum)));
    if adds_up {
        return Some(format!(
            "What the settings bring, each for itself, adds up to the whole within the intervals: {sum}."
        ));
    }
    let interact = tune.interaction.as_ref().map_or_else(
        || "which of them interact is not known".to_owned(),
        |of| format!("the search believes that {} and {} interact most", of.a, of.b),
    );
    Some(format!("What the settings bring, each for itself, comes to {sum}, which is not the whole: {interact}."))
}

/// Why trials failed, each reason once, with how many, and which settings all of them had: a sentence each. Reasons that differ in
/// numbers alone are one.
pub fn failures(tune: &TuneSummary) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&TriedSettings>)> = Vec::new();
    let words = |why: &str| why.replace(|letter: char| letter.is_ascii_digit() || ".,".contains(letter), "");
    for tried in tune.tried.iter().filter(|tried| tried.gain.is_none()) {
        let why = tried.why.as_deref().and_then(|why| why.lines().next()).unwrap_or("it missed what has to hold");
        match reasons.iter_mut().find(|(known, _)| words(known) == words(why)) {
            Some((_, all)) => all.push(tried),
            None => reasons.push((why, vec![tried])),
        }
    }
    let told = |(why, all): (&str, Vec<&TriedSettings>)| {
        let common = common(&all);
        let with = if common.is_empty() { String::new() } else { format!(", with {}", common.join(", ")) };
        format!("{}{with}: {why}", counted(all.len() as f64, "trial"))
    };
    reasons.into_iter().map(told).collect()
}

/// The settings that all of these had, as a server takes them.
fn common(all: &[&TriedSettings]) -> Vec<String> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let is_common = |change: &&(String, String)| others.iter().all(|other| other.changed.contains(change));
    first.changed.iter().filter(is_common).map(|(name, value)| format!("{name} = {value}")).collect()
}

/// Every configuration that was tried.
fn tried(tune: &TuneSummary) -> Table {
    let cells = |of: &dyn Fn(&TriedSettings) -> String| tune.tried.iter().map(of).collect::<Vec<_>>();
    let gain = |tried: &TriedSettings| tried.gain.map_or_else(|| NOTHING.to_owned(), signed_percent);
    let changed = |tried: &TriedSettings| {
        let changed: Vec<String> = tried.changed.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") }
    };
    Table::new(vec![
        Column::words("trial", cells(&|tried| tried.label.clone())),
        Column::numbers("better by", "", cells(&gain)),
        Column::words("changed", cells(&changed)),
    ])
}

fn searched(tune: &TuneSummary) -> Table {
    let cells = |of: fn(&SearchedSetting) -> String| tune.searched.iter().map(of).collect();
    Table::new(vec![
        Column::words("setting", cells(|of| of.name.clone())),
        Column::words("today", cells(|of| of.today.clone().unwrap_or_else(|| "not set".to_owned()))),
        Column::words("tried", cells(|of| of.values.clone())),
    ])
}

/// Settings that were not searched, by the reason.
fn left_out(tune: &TuneSummary) -> Table {
    let reasons = by_reason(&tune.left_out);
    Table::new(vec![
        Column::words("because", reasons.iter().map(|(why, _)| (*why).to_owned()).collect()),
        Column::words("settings", reasons.iter().map(|(_, names)| names.join(", ")).collect()),
    ])
}

pub fn section(tune: &TuneSummary) -> Option<Section> {
    let mut blocks: Vec<Block> = search::draw("search", tune).map(Block::Figure).into_iter().collect();
    if !tune.found.is_empty() {
        let brings = "What a setting brings is the best against itself with that setting put back, in pairs of trials; what was \
                      not shown to bring anything is dropped, if the rest is confirmed without it.";
        let less = "Of a time or a cost, better by 60 % means that it is divided by 1.6.";
        let less = (!tune.metric.more_is_better()).then(|| less.to_owned());
        let remarks = [Some(brings.to_owned()), less, together_in_words(tune)].into_iter().flatten();
        blocks.push(Block::table("found", settings(tune), remarks));
        blocks.push(Block::table("confirmed", confirmations(tune), []));
    }
    blocks.extend(tune.interaction.as_ref().and_then(|of| together::draw("together", of)).map(Block::Figure));
    let failures = failures(tune);
    if !failures.is_empty() {
        blocks.push(Block::subheading("What failed"));
        blocks.push(Block::List(failures.into_iter().map(Item::of).collect()));
    }
    blocks.push(Block::folded(&format!("All of {}", tune.tried_in_words()), "tried", tried(tune)));
    let searched_words = format!("What was tried of {}", counted(tune.searched.len() as f64, "setting"));
    blocks.push(Block::folded(&searched_words, "searched", searched(tune)));
    if !tune.left_out.is_empty() {
        let words = format!("Why {} left alone", of_settings(tune.left_out.len()));
        blocks.push(Block::folded(&words, "left-alone", left_out(tune)));
    }
    Some(Section::of("tune", "The search", blocks)?.found(found(tune)))
}

/// `1 setting was`, `60 settings were`.
fn of_settings(number: usize) -> String {
    format!("{} {}", counted(number as f64, "setting"), if number == 1 { "was" } else { "were" })
}

/// `38 trials, believed +52.0 %, confirmed +38.0 %`.
fn found(tune: &TuneSummary) -> String {
    let trials = tune.tried_in_words();
    let believed = tune.believed.map(|gain| format!(", believed {}", signed_percent(gain)));
    let again = if is_confirmed(tune) { "confirmed" } else { "measured again" };
    let confirmed = tune.shown_gain().map(|gain| format!(", {again} {}", signed_percent(gain.value)));
    let nothing = (tune.conclusion == TuneConclusion::Nothing)
        .then(|| format!(", none believed to be better by more than {}", percent(tune.decide)));
    [Some(trials), believed, confirmed, nothing].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_testkit::tuned::{found_setting, half_known, tried_settings, tune_summary};

    #[test]
    fn each_setting_has_its_worth_and_what_brings_nothing_is_dropped() {
        let table = settings(&tune_summary());
        assert_eq!(table.columns[3].cells, ["+20.0 %", "+1.0 %"]);
        assert_eq!(table.columns[4].cells, ["+15.0 % to +25.0 %", "−2.0 % to +4.0 %"]);
        assert_eq!(table.columns[5].cells, ["kept", "dropped"]);
        assert_eq!(confirmations(&tune_summary()).columns[1].cells, ["+50.0 %", "+45.0 %", "+38.0 %"]);
    }

    #[test]
    fn worths_that_do_not_add_up_to_the_whole_say_so() {
        let told = together_in_words(&tune_summary()).expect("both were measured");
        assert!(told.contains("+21.2 %") && told.contains("is not the whole"), "{told}");
        let whole = TuneSummary { confirmed: Some(half_known(0.25, 0.1)), ..tune_summary() };
        assert!(together_in_words(&whole).expect("told").contains("adds up to the whole"));
        let unknown = TuneSummary { found: vec![found_setting("a", None, true)], ..tune_summary() };
        assert_eq!(together_in_words(&unknown), None);
    }

    #[test]
    fn what_was_not_confirmed_is_not_called_so() {
        let refuted = TuneSummary { conclusion: TuneConclusion::NotConfirmed, missed: 2, ..tune_summary() };
        assert_eq!(found(&refuted), "3 trials, believed +50.0 %, measured again +38.0 %");
        assert_eq!(confirmations(&refuted).columns[0].cells[1], "measured again on other data");
    }

    #[test]
    fn trials_that_failed_for_one_reason_are_told_once_with_what_they_have_in_common() {
        assert_eq!(failures(&tune_summary()), ["2 trials, with a = 9: it did not start"]);
        let swapped = |label: &str, changed: &[&str], mib: &str| {
            tried_settings(label, changed, Err(&format!("the machine swapped: {mib} MiB went out")))
        };
        let tried = vec![swapped("1", &["a", "b"], "81"), swapped("2", &["a", "c"], "1,204")];
        let told = failures(&TuneSummary { tried, ..tune_summary() });
        assert_eq!(told, ["2 trials, with a = 9: the machine swapped: 81 MiB went out"]);
    }

    #[test]
    fn the_section_begins_with_the_search_and_says_what_came_of_it() {
        let section = section(&tune_summary()).expect("a section");
        assert_eq!(section.found, "3 trials, believed +50.0 %, confirmed +38.0 %");
        assert!(matches!(&section.blocks[0], Block::Figure(_)));
    }
}
