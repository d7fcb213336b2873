//! A space from what is known of settings.
//!
//! The values that are worth trying stand in the knowledge, as text: `OFF, ON`; `0..50`; `128M..75% of memory, log, step 128M`;
//! `0, 8..256, log`; `1..4 × CPUs`.

use super::{Dimension, Need, NeededLevel, SearchSpace, SettingLevel, SpaceLimit, ValueRange};
use crate::knowledge::settings::{SettingFacts, all_settings, facts, is_live};
use crate::knowledge::value::{number, same_value};
use crate::knowledge::{Release, Standing, classes, normal, standing};
use crate::setting::Setting;
use plimsoll_model::Class;
use plimsoll_model::durability::Risks;
use plimsoll_model::tune::SettingLeftOut;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The settings that matter most often under load, the first ones first; the others follow by name.
const FIRST: [&str; 24] = [
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_adaptive_hash_index",
    "innodb_log_writer_threads",
    "innodb_log_buffer_size",
    "innodb_lru_scan_depth",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_adaptive_flushing_lwm",
    "thread_handling",
    "thread_pool_size",
    "innodb_thread_concurrency",
    "innodb_spin_wait_delay",
    "innodb_sync_spin_loops",
    "innodb_write_io_threads",
    "innodb_read_io_threads",
    "innodb_purge_threads",
    "innodb_doublewrite_pages",
    "innodb_change_buffering",
    "innodb_flushing_avg_loops",
];
/// Those of which the first may not exceed the second.
const ORDERED: [(&str, &str); 3] = [
    ("innodb_io_capacity", "innodb_io_capacity_max"),
    ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"),
    ("innodb_page_cleaners", "innodb_buffer_pool_instances"),
];
/// Memory that each connection may take, and that the server has once.
const PER_CONNECTION: [&str; 2] = ["sort_buffer_size", "join_buffer_size"];
const ONCE: [&str; 2] = ["innodb_buffer_pool_size", "innodb_log_buffer_size"];
/// Of the memory, all of these together.
const MOST_MEMORY: f64 = 0.85;
/// Files that a server makes at once, each of which takes no more than this share of the free disk.
const ON_DISK: [&str; 2] = ["innodb_log_file_size", "innodb_redo_log_capacity"];
const MOST_DISK: f64 = 0.1;
/// More steps of a linear range are nobody's.
const STEPS: f64 = 50.0;

/// What bounds values here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceHost {
    /// That the server may use, bytes.
    pub memory: u64,
    pub cpus: usize,
    /// Free where its data will be, bytes.
    pub disk: u64,
}

/// Which settings are to be tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedSettings {
    Named(Vec<String>),
    /// So many of those that matter most often.
    Top(usize),
}

/// A server as it is.
#[derive(Clone, Debug)]
pub struct TodaysServer<'a> {
    pub release: Release,
    pub machine: SpaceHost,
    /// What its option file sets.
    pub config: &'a [Setting],
    pub connections: usize,
}

/// What may be tried on it. Classes of safety that are not `allowed` never enter.
pub fn space(server: &TodaysServer<'_>, asked: &AskedSettings, allowed: &[Class]) -> SearchSpace {
    let names: Vec<String> = match asked {
        AskedSettings::Named(names) => names.iter().map(|name| normal(name)).collect(),
        AskedSettings::Top(_) => by_promise(),
    };
    let most = match asked {
        AskedSettings::Named(_) => usize::MAX,
        AskedSettings::Top(most) => *most,
    };
    let builder = Builder { server, allowed };
    let mut space = SearchSpace { flavour: Some(server.release.flavour), ..SearchSpace::default() };
    for name in &names {
        match builder.dimension(name) {
            Ok(_) if space.dimensions.len() >= most => left_out(&mut space, name, &format!("{most} others come first")),
            Ok(dimension) => space.dimensions.push(dimension),
            Err(why) => left_out(&mut space, name, &why),
        }
    }
    builder.settle_needs(&mut space);
    space.limits = builder.limits(&space);
    space
}

fn left_out(space: &mut SearchSpace, name: &str, why: &str) {
    space.left_out.push(SettingLeftOut { name: name.to_owned(), why: why.to_owned() });
}

/// Every setting that has values worth trying.
fn by_promise() -> Vec<String> {
    let first = FIRST.iter().copied();
    let others = all_settings().filter(|(name, facts)| facts.search.is_some() && !FIRST.contains(name));
    first.chain(others.map(|(name, _)| name)).map(str::to_owned).collect()
}

struct Builder<'a> {
    server: &'a TodaysServer<'a>,
    allowed: &'a [Class],
}

impl Builder<'_> {
    /// A setting with what may be tried of it, or why nothing may.
    fn dimension(&self, name: &str) -> Result<Dimension, String> {
        let release = self.server.release;
        let facts = facts(name).ok_or("it is not known which of its values are worth trying")?;
        let applies = facts.applies(release).ok_or_else(|| format!("{release} has no such setting"))?;
        if let Some(first) = facts.first_in(release) {
            return Err(format!("it came with {}.{}.{}", first.0, first.1, first.2));
        }
        if applies == crate::knowledge::settings::Applies::Initialisation {
            return Err("it is fixed when a data directory is made".to_owned());
        }
        let search = facts.search.as_deref().ok_or("none of its other values is known to be worth trying")?;
        let Worth { mut words, mut range } = worth(search, facts, self.server.machine)?;
        if let Some(range) = range.as_mut().filter(|_| ON_DISK.contains(&name)) {
            range.high = range.high.min(sixteenths(MOST_DISK * self.server.machine.disk as f64));
            if range.high <= range.low {
                return Err("there is too little room on the disk for any of its other values".to_owned());
            }
        }
        words.extend(self.risky_words(name, facts));
        if let Some(remark) = range.as_ref().and_then(|range| self.gone(name, &range.text(0.0))) {
            return Err(format!("it {remark}"));
        }
        words.retain(|word| self.gone(name, word).is_none());
        let costly: Vec<String> = words.iter().filter(|word| !self.is_allowed(name, word)).cloned().collect();
        words.retain(|word| !costly.contains(word));
        let mut dimension = Dimension {
            name: name.to_owned(),
            words,
            range,
            today: SettingLevel::Idle,
            written: self.written(name),
            needs: None,
            flips: is_live(name),
            cap: facts.cap.clone(),
        };
        self.place_today(&mut dimension, facts)?;
        match dimension.words.len() + usize::from(dimension.range.is_some()) * 2 {
            0 | 1 if !costly.is_empty() => {
                Err(format!("other values cost safety that is not allowed: {}", self.costs(name, &costly)))
            }
            0 | 1 => Err("it has the one value that is worth having".to_owned()),
            _ => Ok(dimension),
        }
    }

    /// As the option file has it.
    fn written(&self, name: &str) -> Option<String> {
        self.server.config.iter().find(|setting| normal(&setting.name) == name).map(|setting| setting.value.clone())
    }

    /// What the server has, set or not.
    fn value(&self, name: &str) -> Option<String> {
        self.written(name).or_else(|| facts(name)?.default(self.server.release).map(str::to_owned))
    }

    /// Today's value is among those that are tried, whatever it is.
    fn place_today(&self, dimension: &mut Dimension, facts: &SettingFacts) -> Result<(), String> {
        let value = self.value(&dimension.name).ok_or("its default is not known")?;
        let word = dimension.words.iter().position(|word| same_value(word, &value));
        let share = || dimension.range.as_ref()?.share(number(&value)?);
        dimension.today = match (word, share()) {
            (Some(place), _) => SettingLevel::Word(place),
            (None, Some(share)) if !facts.special.contains_key(&value) => SettingLevel::At(share),
            _ => {
                dimension.words.push(value);
                SettingLevel::Word(dimension.words.len() - 1)
            }
        };
        Ok(())
    }

    /// Values that cost safety which is allowed.
    fn risky_words(&self, name: &str, facts: &SettingFacts) -> Vec<String> {
        let costs = |value: &String| !classes(name, value, self.server.release.flavour).is_empty();
        let accepted = facts.accepts(self.server.release).unwrap_or_default();
        let listed = match accepted.split_once("..") {
            // A few numbers are words, too.
            Some((low, high)) => match (low.parse::<u32>(), high.parse::<u32>()) {
                (Ok(low), Ok(high)) if high - low.min(high) < 8 => (low..=high).map(|n| n.to_string()).collect(),
                _ => Vec::new(),
            },
            None => accepted.split(", ").filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>(),
        };
        let is_durability = |value: &String| {
            classes(name, value, self.server.release.flavour).iter().any(|class| class.costs_durability())
        };
        listed.into_iter().filter(|value| costs(value) && is_durability(value)).collect()
    }

    /// What has become of a value that this release no longer takes under this name: `is called innodb_redo_log_capacity since …`.
    fn gone(&self, name: &str, value: &str) -> Option<String> {
        let Release { flavour, version } = self.server.release;
        match standing(name, value, flavour, version) {
            Standing::Current => None,
            Standing::Renamed { remark, .. } | Standing::Removed { remark } | Standing::NotOurs { remark } => {
                Some(remark)
            }
        }
    }

    /// The classes that values cost which may not be paid: `d1, d1p`.
    fn costs(&self, name: &str, values: &[String]) -> String {
        let of = |value: &String| classes(name, value, self.server.release.flavour);
        let all: Risks = values.iter().flat_map(of).filter(|class| !self.allowed.contains(class)).collect();
        all.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ")
    }

    /// Whether all that a value costs may be paid. Availability is bounded by limits, not by words.
    fn is_allowed(&self, name: &str, value: &str) -> bool {
        let classes = classes(name, value, self.server.release.flavour);
        classes.iter().all(|class| *class == Class::A || self.allowed.contains(class))
    }

    /// Ties settings to those that they need, and leaves out those whose need is not met.
    fn settle_needs(&self, space: &mut SearchSpace) {
        let mut place = 0;
        while place < space.dimensions.len() {
            let name = space.dimensions[place].name.clone();
            let needs = facts(&name).and_then(|facts| facts.needs.clone());
            match needs.map(|text| self.need(&text, space)) {
                Some(Err(why)) => {
                    space.dimensions.remove(place);
                    left_out(space, &name, &why);
                    // Places have moved, and who needed it has lost it.
                    space.dimensions.iter_mut().for_each(|dimension| dimension.needs = None);
                    place = 0;
                }
                Some(Ok(need)) => {
                    space.dimensions[place].needs = need;
                    place += 1;
                }
                None => place += 1,
            }
        }
    }

    /// The need that a text speaks of; none if it is met for good or a limit takes care of it.
    fn need(&self, text: &str, space: &SearchSpace) -> Result<Option<Need>, String> {
        let unmet = || format!("it needs {text}");
        if text.contains("at least") {
            return Ok(None);
        }
        let (other, is) = if let Some((other, word)) = text.split_once(" = ") {
            (other, NeededText::Is(word))
        } else if let Some((other, word)) = text.split_once(" other than ") {
            (other, NeededText::IsNot(word))
        } else if let Some(other) = text.strip_suffix(" above 0") {
            (other, NeededText::AboveZero)
        } else {
            return Err(unmet());
        };
        let Some(of) = space.dimensions.iter().position(|dimension| dimension.name == other) else {
            let met = self.value(other).is_some_and(|value| is.holds(&value));
            return if met { Ok(None) } else { Err(unmet()) };
        };
        let word = |word: &str| space.dimensions[of].words.iter().position(|known| same_value(known, word));
        let is = match is {
            NeededText::Is(text) => NeededLevel::Word(word(text).ok_or_else(unmet)?),
            NeededText::IsNot(text) => match word(text) {
                Some(place) => NeededLevel::NotWord(place),
                None => return Ok(None),
            },
            NeededText::AboveZero => NeededLevel::AboveZero,
        };
        Ok(Some(Need { of, is }))
    }

    fn limits(&self, space: &SearchSpace) -> Vec<SpaceLimit> {
        let place = |name: &str| space.dimensions.iter().position(|dimension| dimension.name == name);
        let today = |name: &str| self.value(name).and_then(|value| number(&value)).unwrap_or(0.0);
        let ordered = ORDERED.iter().filter_map(|(less, more)| {
            let terms: Vec<(usize, f64)> = [(place(less), 1.0), (place(more), -1.0)]
                .into_iter()
                .filter_map(|(place, factor)| Some((place?, factor)))
                .collect();
            // A word, such as `auto`, follows the other one.
            let fixed = |name: &str| if place(name).is_none() { number(&self.value(name)?) } else { Some(0.0) };
            let (most, why) = (fixed(more)? - fixed(less)?, format!("{more} is at least {less}"));
            (!terms.is_empty()).then_some(SpaceLimit { terms, most, why })
        });
        let connections = self.server.connections as f64;
        let of_memory: BTreeMap<&str, f64> = ONCE
            .iter()
            .map(|name| (*name, 1.0))
            .chain(PER_CONNECTION.iter().map(|name| (*name, connections)))
            .collect();
        let terms: Vec<(usize, f64)> =
            of_memory.iter().filter_map(|(name, factor)| Some((place(name)?, *factor))).collect();
        let fixed: f64 =
            of_memory.iter().filter(|(name, _)| place(name).is_none()).map(|(name, factor)| today(name) * factor).sum();
        let memory = SpaceLimit {
            terms,
            most: MOST_MEMORY * self.server.machine.memory as f64 - fixed,
            why: format!("buffers take at most {:.0} % of the memory", MOST_MEMORY * 100.0),
        };
        ordered.chain((!memory.terms.is_empty()).then_some(memory)).collect()
    }
}

enum NeededText<'t> {
    Is(&'t str),
    IsNot(&'t str),
    AboveZero,
}

impl NeededText<'_> {
    fn holds(&self, value: &str) -> bool {
        match self {
            NeededText::Is(word) => same_value(word, value),
            NeededText::IsNot(word) => !same_value(word, value),
            NeededText::AboveZero => number(value).is_some_and(|number| number > 0.0),
        }
    }
}

/// What is worth trying.
#[derive(Debug, PartialEq)]
struct Worth {
    words: Vec<String>,
    range: Option<ValueRange>,
}

/// Cut to a sixteenth of the power of two below, as numbers of a logarithmic range are.
fn sixteenths(number: f64) -> f64 {
    let step = (number.max(16.0).log2().floor().exp2() / 16.0).max(1.0);
    (number / step).floor() * step
}

/// Reads the values that are worth trying. Numbers that mean something of their own are words.
fn worth(text: &str, facts: &SettingFacts, machine: SpaceHost) -> Result<Worth, String> {
    let mut found = Worth { words: Vec::new(), range: None };
    let (mut is_log, mut step) = (false, None);
    for part in text.split(", ") {
        match (part, part.strip_prefix("step "), part.split_once("..")) {
            ("log", _, _) => is_log = true,
            (_, Some(text), _) => step = number(text),
            (_, _, Some(ends)) => found.range = Some(range(part, ends.0, ends.1, machine)?),
            _ => found.words.push(part.to_owned()),
        }
    }
    if let Some(range) = &mut found.range {
        // A range from 0 has no logarithm: its 0 is a word, and the rest begins at 1.
        if is_log && range.low == 0.0 {
            range.low = 1.0;
            found.words.push("0".to_owned());
        }
        range.is_log = is_log;
        // What a server would round has no place in it.
        range.high -= range.high % step.unwrap_or(1.0);
        range.step =
            step.unwrap_or_else(|| if is_log { 1.0 } else { ((range.high - range.low) / STEPS).round().max(1.0) });
        if range.high <= range.low {
            let why = format!("no value from {} on fits this machine", range.low);
            found.range = None;
            return if found.words.is_empty() { Err(why) } else { Ok(found) };
        }
        let is_inside = |word: &&String| number(word).is_some_and(|number| range.share(number).is_some());
        let special: Vec<String> = facts.special.keys().filter(|word| is_inside(word)).cloned().collect();
        found.words.extend(special.into_iter().filter(|word| !found.words.contains(word)).collect::<Vec<_>>());
    }
    Ok(found)
}

/// `128M..75% of memory`, `1..4 × CPUs`, `0..50`.
fn range(text: &str, low: &str, high: &str, machine: SpaceHost) -> Result<ValueRange, String> {
    let end = |text: &str| match (text.strip_suffix("% of memory"), text.strip_suffix(" × CPUs")) {
        (Some(share), _) => Some((number(share)? / 100.0 * machine.memory as f64).floor()),
        (_, Some(times)) => Some(number(times)? * machine.cpus as f64),
        _ => number(text),
    };
    let unread = || format!("its values cannot be read: {text}");
    let is_size = [low, high].iter().any(|end| end.ends_with(['K', 'M', 'G']) || end.ends_with("of memory"));
    let (low, high) = (end(low).ok_or_else(unread)?, end(high).ok_or_else(unread)?);
    Ok(ValueRange { low, high, is_log: false, step: 1.0, is_size })
}
