//! A running server that trials share: what the next one asks for is set on it.

use super::UnderWay;
use super::limits;
use super::server::was_killed;
use super::watchdog::Victim;
use crate::error::LabError;
use plimsoll_data::target::OpenTarget;
use plimsoll_model::samples::Phase;
use plimsoll_plan::knowledge::value::truth;
use plimsoll_plan::quantity;
use plimsoll_server::Settings;
use plimsoll_wire::text::identifier;

impl UnderWay<'_> {
    /// Sets on the running server what `settings` have other than those that it runs with; what they do not have gets its
    /// default. Sessions that begin later have all of it.
    pub fn flip(&mut self, target: &mut OpenTarget, settings: &Settings) -> Result<(), LabError> {
        self.watch.enter(Phase::Flip);
        if let Some(server) = &target.server {
            self.watch.watchdog.guard(Victim::of(server));
        }
        for (name, value) in changes(&target.settings, settings)? {
            let sql = format!("SET GLOBAL {} = {value}", identifier(&name));
            target
                .control
                .run(&sql)
                .map_err(|failure| LabError::sql(&format!("setting {name} to {value}"), &failure))?;
        }
        target.settings = settings.clone();
        self.is_flipped = true;
        Ok(())
    }
}

/// What has to be set, by name, to get from one to the other.
fn changes(from: &Settings, to: &Settings) -> Result<Vec<(String, String)>, LabError> {
    let mut changes = Vec::new();
    for setting in to.iter().filter(|setting| from.get(&setting.name).is_none_or(|old| old.value != setting.value)) {
        changes.push((setting.name.clone(), literal(&setting.name, &setting.value)?));
    }
    let gone = from.iter().filter(|setting| to.get(&setting.name).is_none());
    changes.extend(gone.map(|setting| (setting.name.clone(), "DEFAULT".to_owned())));
    Ok(changes)
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

/// Stops a server that no trial needs any more.
pub fn stop(target: OpenTarget) -> Result<(), LabError> {
    let Some(server) = target.server else { return Ok(()) };
    was_killed(server.stop(limits::STOP)?).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        pairs.iter().for_each(|(name, value)| settings.set(name, value, "plan").expect("a setting"));
        settings
    }

    #[test]
    fn only_what_differs_is_set() {
        let from = settings(&[("innodb_io_capacity", "200"), ("sync_binlog", "1"), ("innodb_deadlock_detect", "ON")]);
        let to = settings(&[("innodb_io_capacity", "2K"), ("sync_binlog", "1"), ("innodb_max_dirty_pages_pct", "7.5")]);
        let expected = [
            ("innodb_io_capacity", "2048"),
            ("innodb_max_dirty_pages_pct", "7.5"),
            ("innodb_deadlock_detect", "DEFAULT"),
        ];
        let found = changes(&from, &to).expect("numbers");
        let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
        assert!(changes(&to, &to).expect("numbers").is_empty());
    }

    #[test]
    fn what_is_no_number_and_no_switch_goes_into_no_statement() {
        assert_eq!(literal("innodb_flush_sync", "off").expect("a switch"), "OFF");
        let refused = literal("innodb_flush_sync", "1; DROP DATABASE sbtest").expect_err("no value");
        assert!(refused.to_string().contains("innodb_flush_sync"), "{refused}");
    }
}
