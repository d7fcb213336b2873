//! What a tuner may try: of each setting the values, and what must hold between them.
//!
//! [`build`] makes a space from the knowledge of settings, for one release on one machine. A value that costs safety which is
//! not allowed never enters it, so that nothing which chooses within it can propose one.

pub mod build;
mod range;

use crate::knowledge::value::{number, same_value};
use crate::setting::Setting;
use plimsoll_model::Flavour;
use plimsoll_model::tune::SettingLeftOut;
pub use range::ValueRange;
use serde::{Deserialize, Serialize};

/// What a setting is in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingLevel {
    /// A number, as a share of its range on its scale.
    At(f64),
    /// One of its words, by its place.
    Word(usize),
    /// It does nothing, since another setting is not what it needs.
    Idle,
}

/// A server's settings: the level of each dimension, in their order.
pub type Levels = Vec<SettingLevel>;

/// The settings that are tried, and what must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchSpace {
    pub dimensions: Vec<Dimension>,
    /// Whose settings they are: what a value costs in safety depends on it.
    #[serde(default)]
    pub flavour: Option<Flavour>,
    pub limits: Vec<SpaceLimit>,
    /// Settings that are not tried, and why.
    pub left_out: Vec<SettingLeftOut>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dimension {
    pub name: String,
    /// As servers take them: words, and numbers that mean something of their own.
    pub words: Vec<String>,
    pub range: Option<ValueRange>,
    /// What it is where nothing is changed, and how that was written; none if it is not set.
    pub today: SettingLevel,
    pub written: Option<String>,
    pub needs: Option<Need>,
    /// Whether it takes effect at once, so that sides may take turns on one running server.
    pub flips: bool,
    /// What bounds its range on this machine.
    pub cap: Option<String>,
}

/// What a setting needs of another one to do anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// The other's place.
    pub of: usize,
    pub is: NeededLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeededLevel {
    Word(usize),
    /// Any but this.
    NotWord(usize),
    AboveZero,
}

/// A sum of values that must not exceed something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpaceLimit {
    /// (place, factor). Where one of them is no number, nothing is limited.
    pub terms: Vec<(usize, f64)>,
    pub most: f64,
    /// What it is for.
    pub why: String,
}

impl Dimension {
    /// The number that a level stands for; none of a word that is no number.
    pub fn number(&self, level: SettingLevel) -> Option<f64> {
        match level {
            SettingLevel::At(share) => Some(self.range.as_ref()?.number(share)),
            SettingLevel::Word(place) => number(self.words.get(place)?),
            SettingLevel::Idle => None,
        }
    }

    /// What it is today, set or not.
    pub fn todays(&self) -> Option<String> {
        self.written.clone().or_else(|| self.shown(self.today))
    }

    /// As a server takes it; none where nothing is set.
    pub fn text(&self, level: SettingLevel) -> Option<String> {
        if level == self.today { self.written.clone() } else { self.shown(level) }
    }

    fn shown(&self, level: SettingLevel) -> Option<String> {
        match level {
            SettingLevel::At(share) => Some(self.range.as_ref()?.text(share)),
            SettingLevel::Word(place) => self.words.get(place).cloned(),
            SettingLevel::Idle => None,
        }
    }

    /// The values that may be tried: `128M to 6G`, `OFF, ON`.
    pub fn in_words(&self) -> String {
        let ends = self.range.as_ref().map(|range| format!("{} to {}", range.text(0.0), range.text(1.0)));
        self.words.iter().cloned().chain(ends).collect::<Vec<_>>().join(", ")
    }

    /// The level that a value stands for; `None` if it is outside of what may be tried.
    pub fn level(&self, text: &str) -> Option<SettingLevel> {
        if self.written.as_deref() == Some(text) {
            return Some(self.today);
        }
        let word = self.words.iter().position(|word| same_value(word, text)).map(SettingLevel::Word);
        word.or_else(|| Some(SettingLevel::At(self.range.as_ref()?.share(number(text)?)?)))
    }

    /// The nearest level that has a value of its own.
    pub fn snapped(&self, level: SettingLevel) -> SettingLevel {
        match (level, &self.range) {
            (SettingLevel::At(_), _) if level == self.today => level,
            (SettingLevel::At(share), Some(range)) => {
                let exact = range.number(share);
                let word = self.words.iter().position(|word| number(word) == Some(exact));
                word.map_or_else(|| SettingLevel::At(range.snapped(share)), SettingLevel::Word)
            }
            _ => level,
        }
    }
}

impl SearchSpace {
    /// The levels of a server on which nothing is changed.
    pub fn today(&self) -> Levels {
        self.tidy(self.dimensions.iter().map(|dimension| dimension.today).collect())
    }

    /// With values as servers round them, and idle what does nothing.
    pub fn tidy(&self, levels: Levels) -> Levels {
        let snapped: Levels =
            self.dimensions.iter().zip(levels).map(|(dimension, level)| dimension.snapped(level)).collect();
        let settled = |(dimension, level): (&Dimension, &SettingLevel)| match &dimension.needs {
            Some(need) if !self.is_met(need, snapped[need.of]) => SettingLevel::Idle,
            Some(_) if *level == SettingLevel::Idle => dimension.today,
            _ => *level,
        };
        self.dimensions.iter().zip(&snapped).map(settled).collect()
    }

    fn is_met(&self, need: &Need, level: SettingLevel) -> bool {
        match need.is {
            NeededLevel::Word(place) => level == SettingLevel::Word(place),
            NeededLevel::NotWord(place) => level != SettingLevel::Word(place),
            NeededLevel::AboveZero => self.dimensions[need.of].number(level).is_some_and(|number| number > 0.0),
        }
    }

    /// The first limit that levels exceed. What today's server exceeds already may not be exceeded further.
    pub fn exceeded(&self, levels: &[SettingLevel]) -> Option<&SpaceLimit> {
        let today = self.today();
        let sum = |limit: &SpaceLimit, levels: &[SettingLevel]| {
            let term = |(place, factor): &(usize, f64)| Some(factor * self.dimensions[*place].number(levels[*place])?);
            limit.terms.iter().map(term).sum::<Option<f64>>()
        };
        self.limits.iter().find(|limit| {
            let most = sum(limit, &today).map_or(limit.most, |today| today.max(limit.most));
            sum(limit, levels).is_some_and(|sum| sum > most)
        })
    }

    /// The levels of a server that has these values, by the names of settings, and today's of the others; `None` if one of them
    /// is outside of what may be tried.
    pub fn levels_of<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> Option<Levels> {
        let level = |dimension: &Dimension| match value(&dimension.name) {
            None => Some(dimension.today),
            Some(text) => dimension.level(text),
        };
        Some(self.tidy(self.dimensions.iter().map(level).collect::<Option<_>>()?))
    }

    /// The same, where a number outside of its range counts as the end that is nearest, and a word that may not be tried as
    /// today's.
    pub fn nearest<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> Levels {
        let level = |dimension: &Dimension| {
            let text = value(&dimension.name)?;
            dimension.level(text).or_else(|| Some(SettingLevel::At(dimension.range.as_ref()?.end_near(number(text)?))))
        };
        self.tidy(self.dimensions.iter().map(|of| level(of).unwrap_or(of.today)).collect())
    }

    /// The same of a server with this configuration.
    pub fn levels_in(&self, config: &[Setting]) -> Option<Levels> {
        self.levels_of(|name| config.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str()))
    }

    /// With one setting as it is today.
    pub fn without(&self, levels: &[SettingLevel], place: usize) -> Levels {
        let mut without = levels.to_vec();
        without[place] = self.dimensions[place].today;
        self.tidy(without)
    }

    /// The places of settings that differ from today's.
    pub fn changed_places(&self, levels: &[SettingLevel]) -> Vec<usize> {
        let today = self.today();
        // What another setting has woken up is unchanged as long as it has its own value of today.
        let is_changed = |place: &usize| {
            ![today[*place], self.dimensions[*place].today, SettingLevel::Idle].contains(&levels[*place])
        };
        (0..levels.len()).filter(is_changed).collect()
    }

    /// The settings that differ from today's, as servers take them.
    pub fn changed(&self, levels: &[SettingLevel]) -> Vec<(&str, String)> {
        let all = self.dimensions.iter().zip(levels);
        let changed = all.filter(|(dimension, level)| **level != dimension.today);
        changed.filter_map(|(dimension, level)| Some((dimension.name.as_str(), dimension.text(*level)?))).collect()
    }
}

#[cfg(test)]
mod tests;
