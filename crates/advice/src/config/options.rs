//! What the lines of an option file mean for a release.

use super::read::{Oddity, ReadOptions, WrittenOption};
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::{Class, Flavour};
use plimsoll_plan::knowledge::number::in_option_file;
use plimsoll_plan::knowledge::options::OptionFate;
use plimsoll_plan::knowledge::settings::{SettingFacts, facts};
use plimsoll_plan::knowledge::value::number;
use plimsoll_plan::knowledge::{Release, Standing, classes, is_in_table, normal, options, standings, unswitched};
use plimsoll_plan::option_file::is_read_by;
use plimsoll_plan::setting::Setting;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Whether the file has today's name as well, which then counts, wherever it stands.
    pub yields: bool,
}

/// The options of a file, judged by name.
pub struct ConfigOptions {
    pub release: Release,
    /// What a crash may cost, as whoever asks has said.
    pub allowed: BTreeSet<Class>,
    pub oddities: Vec<Oddity>,
    /// Those of groups that the server does not read.
    pub elsewhere: Vec<WrittenOption>,
    all: Vec<ConfigOption>,
    /// The place of the last option for each setting.
    last: BTreeMap<String, usize>,
}

impl ConfigOptions {
    pub fn of(read: ReadOptions, release: Release, allowed: BTreeSet<Class>) -> ConfigOptions {
        let (ours, elsewhere): (Vec<_>, Vec<_>) =
            read.options.into_iter().partition(|option| is_read_by(&option.group, release));
        let settings: Vec<Setting> = ours.iter().map(as_setting).collect();
        let standings = standings(&settings, release.flavour, release.version);
        let mut all: Vec<ConfigOption> =
            ours.into_iter().zip(standings).map(|(option, standing)| meant(option, standing)).collect();
        let own = all.iter().filter(|option| !option.is_renamed()).map(|option| option.setting.clone());
        let own: BTreeSet<String> = own.collect();
        for option in &mut all {
            option.yields = option.is_renamed() && !option.is_alias(release) && own.contains(&option.setting);
        }
        let counted = all.iter().enumerate().filter(|(_, option)| !option.yields);
        let last = counted.map(|(at, option)| (option.setting.clone(), at)).collect();
        ConfigOptions { release, allowed, oddities: read.oddities, elsewhere, all, last }
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
        let given = self.in_effect().map(|option| (option.setting.clone(), self.taken(option).to_owned()));
        defaults.chain(given).collect()
    }

    /// The end of its range that the server takes instead of an option's value; `None` if it takes the value.
    pub fn bound(&self, option: &ConfigOption) -> Option<&'static str> {
        let (least, most) = facts(&option.setting)?.accepts(self.release)?.split_once("..")?;
        let value = in_option_file(&option.setting, &option.value)?;
        match (number(least), number(most)) {
            (Some(end), _) if value < end => Some(least),
            (_, Some(end)) if value > end => Some(most),
            _ => None,
        }
    }

    /// The value that the server makes of an option's.
    pub fn taken<'o>(&self, option: &'o ConfigOption) -> &'o str {
        self.bound(option).unwrap_or(&option.value)
    }

    /// What a value costs in durability, besides what may be lost.
    pub fn costs(&self, setting: &str, value: &str) -> Vec<Class> {
        let costs = classes(setting, value, self.release.flavour).into_iter();
        costs.filter(|class| class.costs_durability() && !self.allowed.contains(class)).collect()
    }

    /// Whether the file has the server load a plugin.
    pub fn loads(&self, plugin: &str) -> bool {
        let loading = ["plugin_load", "plugin_load_add", "early_plugin_load"];
        self.all.iter().any(|option| loading.contains(&option.setting.as_str()) && option.value.contains(plugin))
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

impl ConfigOption {
    fn is_renamed(&self) -> bool {
        matches!(self.standing, Standing::Renamed { .. })
    }

    /// Whether its old name is another one for the same variable, so that the later of both counts.
    fn is_alias(&self, release: Release) -> bool {
        matches!(options::fate(&self.name, release), Some(OptionFate::Taken | OptionFate::Deprecated(_)))
    }
}

fn meant(written: WrittenOption, standing: Standing) -> ConfigOption {
    let given = written.value.clone().unwrap_or_default();
    let name = normal(&written.name);
    let is_loose = written.name.to_ascii_lowercase().replace('-', "_").starts_with("loose_");
    let (base, value) = unswitched(&name, given.trim());
    let (setting, value, standing) = match standing {
        // What stands behind it is the name of the log: only a switch turns it off.
        _ if name == "log_bin" => (base.to_owned(), "ON".to_owned(), Standing::Current),
        // The size of MariaDB's one file is what it was.
        Standing::Renamed { name: today, .. } if today == base => (today, value.to_owned(), Standing::Current),
        Standing::Renamed { name: today, value, remark } => {
            let taken = if is_log_of_slow(&today, &value) { "ON".to_owned() } else { value.clone() };
            (today.clone(), taken, Standing::Renamed { name: today, value, remark })
        }
        other => (base.to_owned(), value.to_owned(), other),
    };
    let value = if value.is_empty() && written.value.is_none() { "ON".to_owned() } else { value };
    ConfigOption { written, name, is_loose, setting, value, standing, yields: false }
}

/// Whether it is the file that servers of old were given instead of a switch: `log_slow_queries = /var/log/slow.log`.
pub fn is_log_of_slow(today: &str, value: &str) -> bool {
    today == "slow_query_log" && value.contains('/')
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
