//! A running server that trials share: what the next one asks for is set on it, and what it does not ask for set back.

use super::UnderWay;
use super::limits;
use super::server::was_killed;
use super::watchdog::Victim;
use crate::error::LabError;
use crate::settings::variables;
use plimsoll_data::target::OpenTarget;
use plimsoll_model::samples::Phase;
use plimsoll_plan::knowledge::live_settings;
use plimsoll_plan::knowledge::value::{in_effect, truth};
use plimsoll_plan::quantity;
use plimsoll_server::Settings;
use plimsoll_wire::text::identifier;
use std::collections::BTreeMap;

/// How often is set what another setting has limited or moved meanwhile.
const PASSES: usize = 3;
/// What gives a setting its default.
const DEFAULT: &str = "DEFAULT";

/// All global variables of a server by name.
type Variables = BTreeMap<String, String>;

/// A running server, and what it has where nobody asks for anything.
pub struct SharedServer {
    pub target: OpenTarget,
    unasked: Unasked,
}

impl SharedServer {
    pub fn new(target: OpenTarget) -> SharedServer {
        SharedServer { target, unasked: Unasked::default() }
    }

    /// Stops a server that no trial needs any more.
    pub fn stop(self) -> Result<(), LabError> {
        let Some(server) = self.target.server else { return Ok(()) };
        was_killed(server.stop(limits::STOP)?).map(drop)
    }

    /// Sets what `settings` have, and sets back what they do not have, until the server has all of it.
    fn becomes(&mut self, settings: &Settings) -> Result<(), LabError> {
        let mut found = variables(&mut self.target)?;
        self.unasked.learn(&self.target.settings, &found);
        for _ in 0..PASSES {
            let changes = self.unasked.changes(settings, &found)?;
            if changes.is_empty() {
                break;
            }
            for (name, value) in &changes {
                let sql = format!("SET GLOBAL {} = {value}", identifier(name));
                let told = |failure| LabError::sql(&format!("setting {name} to {value}"), &failure);
                self.target.control.run(&sql).map_err(told)?;
            }
            found = variables(&mut self.target)?;
            let by_default = changes.iter().filter(|(_, value)| value == DEFAULT);
            self.unasked.learn_of(by_default.map(|(name, _)| name.as_str()), &found);
        }
        self.unasked.must_be_back(settings, &found)?;
        self.target.settings = settings.clone();
        Ok(())
    }
}

impl UnderWay<'_> {
    /// Makes the running server one with these settings. Sessions that begin later have all of them.
    pub fn flip(&mut self, shared: &mut SharedServer, settings: &Settings) -> Result<(), LabError> {
        self.watch.enter(Phase::Flip);
        if let Some(server) = &shared.target.server {
            self.watch.watchdog.guard(Victim::of(server));
        }
        shared.becomes(settings)?;
        self.is_flipped = true;
        Ok(())
    }
}

/// The values of settings that can be flipped where nobody asks for them: as the server was started, which is not always
/// what `DEFAULT` gives.
#[derive(Default)]
struct Unasked(Variables);

impl Unasked {
    /// Takes what a server has that runs with what was `asked`.
    fn learn(&mut self, asked: &Settings, found: &Variables) {
        self.learn_of(live_settings().filter(|name| asked.get(name).is_none()), found);
    }

    /// What is known stays: later the value may have moved.
    fn learn_of<'n>(&mut self, names: impl Iterator<Item = &'n str>, found: &Variables) {
        for name in names {
            if let Some(value) = found.get(name) {
                self.0.entry(name.to_owned()).or_insert_with(|| value.clone());
            }
        }
    }

    /// What has to be set, by name, on a server that has `found`.
    fn changes(&self, to: &Settings, found: &Variables) -> Result<Vec<(String, String)>, LabError> {
        let mut changes = Vec::new();
        for name in live_settings() {
            let Some(found) = found.get(name) else { continue };
            match (to.get(name), self.0.get(name)) {
                (Some(asked), _) if in_effect(name, &asked.value, found) => {}
                (Some(asked), _) => changes.push((name.to_owned(), literal(name, &asked.value)?)),
                (None, Some(unasked)) if unasked == found => {}
                (None, Some(unasked)) => changes.push((name.to_owned(), literal(name, unasked)?)),
                (None, None) => changes.push((name.to_owned(), DEFAULT.to_owned())),
            }
        }
        Ok(changes)
    }

    /// What is asked for is verified like all settings; what nobody asks for has to be as it was.
    fn must_be_back(&self, to: &Settings, found: &Variables) -> Result<(), LabError> {
        let moved = |name: &&str| to.get(name).is_none() && self.0.get(*name) != found.get(*name);
        let Some(name) = live_settings().find(moved) else { return Ok(()) };
        let value = |of: &Variables| of.get(name).cloned().unwrap_or_else(|| "no value".to_owned());
        Err(LabError::Environment(format!(
            "{name} was {} and is {} since other settings were flipped; set it on each side, or leave switchback out",
            value(&self.0),
            value(found)
        )))
    }
}

/// A number or a switch as a statement has it; what can be flipped has no other values.
fn literal(name: &str, value: &str) -> Result<String, LabError> {
    if let Ok(bytes) = quantity::size(value) {
        return Ok(bytes.to_string());
    }
    if let Ok(number) = value.parse::<f64>() {
        return Ok(number.to_string());
    }
    match truth(value) {
        Some(true) => Ok("ON".to_owned()),
        Some(false) => Ok("OFF".to_owned()),
        None => Err(LabError::Environment(format!("{name} = {value} cannot be set on a running server"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::of_pairs as settings;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn changes(unasked: &Unasked, to: &Settings, found: &Variables) -> Vec<String> {
        let changes = unasked.changes(to, found).expect("numbers and switches");
        changes.into_iter().map(|(name, value)| format!("{name} = {value}")).collect()
    }

    #[test]
    fn what_is_asked_for_is_set_and_the_rest_set_back_to_what_the_server_started_with() {
        let found = variables(&[
            ("innodb_deadlock_detect", "ON"),
            ("innodb_flush_sync", "OFF"),
            ("innodb_lru_scan_depth", "1536"),
            ("sync_binlog", "1"),
        ]);
        let from = settings(&[("innodb_deadlock_detect", "1"), ("sync_binlog", "1")]);
        let to = settings(&[("innodb_lru_scan_depth", "2K"), ("sync_binlog", "1"), ("max_connections", "50")]);
        let mut unasked = Unasked::default();
        unasked.learn(&from, &found);
        assert_eq!(changes(&unasked, &from, &found), [""; 0], "it has all of it");
        // With what the server was started, nobody knows what it has otherwise.
        assert_eq!(
            changes(&unasked, &to, &found),
            ["innodb_deadlock_detect = DEFAULT", "innodb_lru_scan_depth = 2048"]
        );
        let flipped = variables(&[
            ("innodb_deadlock_detect", "OFF"),
            ("innodb_flush_sync", "OFF"),
            ("innodb_lru_scan_depth", "2048"),
            ("sync_binlog", "1"),
        ]);
        unasked.learn_of(["innodb_deadlock_detect"].into_iter(), &flipped);
        assert_eq!(changes(&unasked, &to, &flipped), [""; 0]);
        assert_eq!(changes(&unasked, &from, &flipped), ["innodb_deadlock_detect = 1", "innodb_lru_scan_depth = 1536"]);
    }

    #[test]
    fn what_another_setting_has_moved_is_set_back_or_named() {
        let started =
            variables(&[("innodb_max_dirty_pages_pct", "90.000000"), ("innodb_max_dirty_pages_pct_lwm", "10.000000")]);
        let mut unasked = Unasked::default();
        unasked.learn(&Settings::default(), &started);
        let to = settings(&[("innodb_max_dirty_pages_pct", "5")]);
        let moved =
            variables(&[("innodb_max_dirty_pages_pct", "5.000000"), ("innodb_max_dirty_pages_pct_lwm", "5.000000")]);
        assert_eq!(changes(&unasked, &to, &moved), ["innodb_max_dirty_pages_pct_lwm = 10"]);
        let refused = unasked.must_be_back(&to, &moved).expect_err("it has moved").to_string();
        assert!(refused.contains("innodb_max_dirty_pages_pct_lwm was 10.000000 and is 5.000000"), "{refused}");
        unasked.must_be_back(&to, &started).expect("it is where it was");
    }

    #[test]
    fn what_is_no_number_and_no_switch_goes_into_no_statement() {
        assert_eq!(literal("innodb_flush_sync", "off").expect("a switch"), "OFF");
        let refused = literal("innodb_flush_sync", "1; DROP DATABASE sbtest").expect_err("no value");
        assert!(refused.to_string().contains("innodb_flush_sync"), "{refused}");
    }
}
