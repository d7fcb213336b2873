//! What the lines of an option file mean for a release.

use super::read::{Oddity, ReadOptions, WrittenOption};
use plimsoll_model::Flavour;
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_plan::knowledge::settings::{SettingFacts, facts};
use plimsoll_plan::knowledge::{Release, Standing, is_in_table, normal, options, standings, unswitched};
use plimsoll_plan::option_file::is_read_by;
use plimsoll_plan::setting::Setting;
use std::collections::BTreeMap;

/// An option of a group that the server reads.
pub struct ConfigOption {
    pub written: WrittenOption,
    /// As variables are written, without `loose`.
    pub name: String,
    /// Whether a server that does not know it goes on nevertheless.
    pub is_loose: bool,
    /// What the server calls the setting behind it, and the value that it gives it.
    pub setting: String,
    pub value: String,
    /// What became of its name.
    pub standing: Standing,
}

/// The options of a file, judged by name.
pub struct ConfigOptions {
    pub release: Release,
    pub oddities: Vec<Oddity>,
    /// Those of groups that the server does not read.
    pub elsewhere: Vec<WrittenOption>,
    all: Vec<ConfigOption>,
    /// The place of the last option for each setting.
    last: BTreeMap<String, usize>,
}

impl ConfigOptions {
    pub fn of(read: ReadOptions, release: Release) -> ConfigOptions {
        let (ours, elsewhere): (Vec<_>, Vec<_>) =
            read.options.into_iter().partition(|option| is_read_by(&option.group, release));
        let settings: Vec<Setting> = ours.iter().map(as_setting).collect();
        let standings = standings(&settings, release.flavour, release.version);
        let all: Vec<ConfigOption> =
            ours.into_iter().zip(standings).map(|(option, standing)| meant(option, standing)).collect();
        let last = all.iter().enumerate().map(|(at, option)| (option.setting.clone(), at)).collect();
        ConfigOptions { release, oddities: read.oddities, elsewhere, all, last }
    }

    /// All that the server reads, in order.
    pub fn of_server(&self) -> impl Iterator<Item = &ConfigOption> {
        self.all.iter()
    }

    /// Those that count: of several for a setting, the last; without those that the release does not have.
    pub fn in_effect(&self) -> impl Iterator<Item = &ConfigOption> {
        self.last.keys().filter_map(|setting| self.option(setting))
    }

    /// The option that counts for a setting.
    pub fn option(&self, setting: &str) -> Option<&ConfigOption> {
        let last = &self.all[*self.last.get(setting)?];
        (!matches!(last.standing, Standing::Removed { .. })).then_some(last)
    }

    /// What counts for this option's setting, if it is another option.
    pub fn shadow_of(&self, option: &ConfigOption) -> Option<&ConfigOption> {
        let last = &self.all[*self.last.get(&option.setting)?];
        (last.written.at != option.written.at).then_some(last)
    }

    /// The value that a setting will have: the file's, else its default; `None` if neither is known.
    pub fn value(&self, setting: &str) -> Option<&str> {
        let default = || facts(setting)?.default(self.release).filter(|text| *text != "auto");
        self.option(setting).map(|option| option.value.as_str()).or_else(default)
    }

    /// Values by setting: the file's, and defaults of those that decide what others cost.
    pub fn values(&self) -> BTreeMap<String, String> {
        let defaults = ["log_bin"].into_iter().filter_map(|name| Some((name.to_owned(), self.value(name)?.to_owned())));
        let given = self.in_effect().map(|option| (option.setting.clone(), option.value.clone()));
        defaults.chain(given).collect()
    }

    /// A finding about an option, of which the rest is to be filled in.
    pub fn finding(&self, rule: &str, severity: Severity, option: &ConfigOption) -> AdviceFinding {
        let facts = facts(&option.setting);
        AdviceFinding {
            rule: rule.to_owned(),
            step: facts.map_or(AdviceStep::Install, step),
            severity,
            setting: Some(option.name.clone()),
            at: Some(option.written.at.clone()),
            found: shown(&option.written),
            advised: String::new(),
            line: None,
            why: String::new(),
            costs: Vec::new(),
            shows: facts.and_then(|facts| facts.shows.clone()),
            source: facts.map_or_else(|| self.source_of_names(), |facts| facts.source(self.release.flavour)),
            confirmed: self.release.was_asked(),
            worth: 0.0,
            measured: None,
        }
    }

    /// What is known of names is known from.
    pub fn source_of_names(&self) -> String {
        match (self.release.was_asked(), self.release.flavour) {
            (true, _) => format!("what {} says when it is started with the option", self.release),
            (false, Flavour::MySql) => "MySQL manual: What Is New; Removed Features".to_owned(),
            (false, Flavour::MariaDb) => "MariaDB documentation: Upgrading; System Variables".to_owned(),
        }
    }
}

fn as_setting(option: &WrittenOption) -> Setting {
    let (name, value) = (option.name.clone(), option.value.clone().unwrap_or_default());
    Setting { name, value, at: option.at.clone(), from_file: true }
}

fn meant(written: WrittenOption, standing: Standing) -> ConfigOption {
    let given = written.value.clone().unwrap_or_default();
    let name = normal(&written.name);
    let is_loose = written.name.to_ascii_lowercase().replace('-', "_").starts_with("loose_");
    let (base, value) = unswitched(&name, given.trim());
    let (setting, value, standing) = match standing {
        // A path given to a switch is a value, not another name.
        Standing::Renamed { name: today, value, .. } if today == base => (today, value, Standing::Current),
        Standing::Renamed { name: today, value, remark } => {
            (today.clone(), value.clone(), Standing::Renamed { name: today, value, remark })
        }
        other => (base.to_owned(), value.to_owned(), other),
    };
    let value = if value.is_empty() && written.value.is_none() { "ON".to_owned() } else { value };
    ConfigOption { written, name, is_loose, setting, value, standing }
}

/// The step of the method to which a setting belongs, by what it acts on.
fn step(facts: &SettingFacts) -> AdviceStep {
    match facts.acts_on.first() {
        Some(Bottleneck::ReadIo | Bottleneck::CommitSync | Bottleneck::PageFlush) => AdviceStep::Io,
        _ => AdviceStep::Memory,
    }
}

/// Whether the value of an option of this name is nobody's business.
pub fn is_secret(name: &str) -> bool {
    ["password", "passphrase", "secret"].iter().any(|part| name.contains(part)) || name.ends_with("_auth")
}

/// The option as it is written; the value of one that no server is known to have may be a secret.
pub fn shown(written: &WrittenOption) -> String {
    let name = normal(&written.name);
    let is_open = options::is_known(&name) || facts(&name).is_some() || is_in_table(&name);
    match &written.value {
        Some(value) if is_open && !is_secret(&name) => format!("{} = {value}", written.name),
        Some(_) => format!("{} = …", written.name),
        None => written.name.clone(),
    }
}
