//! Everything that can be set about a workload of super-smack.

use super::Kind;
use crate::dataset::Loaded;
use crate::error::Error;
use crate::parameter::{self, ParameterSpec, Slot};
use serde_json::Value;
use std::collections::BTreeMap;

/// Keeps the time to compute the dictionary below a second or two.
const ROWS_MAX: u64 = 100_000_000;

/// Which rows are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// Those of the original's dictionary: every N-th row, some 750 however many there are.
    #[default]
    Exact,
    /// Every row.
    Full,
}

impl Keys {
    pub const fn name(self) -> &'static str {
        match self {
            Keys::Exact => "exact",
            Keys::Full => "full",
        }
    }
}

/// The storage engine of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    #[default]
    InnoDb,
    MyIsam,
    /// Of MariaDB only.
    Aria,
}

impl Engine {
    /// In lower case; servers accept and compare it in any.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::InnoDb => "innodb",
            Engine::MyIsam => "myisam",
            Engine::Aria => "aria",
        }
    }

    /// Whether what a killed load has written of a chunk is taken back.
    pub const fn rolls_back(self) -> bool {
        matches!(self, Engine::InnoDb)
    }
}

/// The values of all parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    pub rows: u64,
    pub keys: Keys,
    pub engine: Engine,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { rows: 90_000, keys: Keys::Exact, engine: Engine::InnoDb }
    }
}

impl Parameters {
    /// Reads (name, text) pairs on top of the defaults.
    ///
    /// # Errors
    /// A name that does not exist, a value that is not accepted.
    pub fn parse(
        kind: Kind,
        pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    ) -> Result<Parameters, Error> {
        let mut parameters = Parameters::default();
        parameter::apply(&TABLE, kind.name(), pairs, &mut parameters)?;
        Ok(parameters)
    }

    /// Reads (name, text) pairs on top of what the data were loaded with.
    ///
    /// # Errors
    /// As [`Parameters::parse`]; what was typed contradicts the data.
    pub fn on(
        kind: Kind,
        typed: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
        loaded: Option<Loaded<'_>>,
    ) -> Result<Parameters, Error> {
        let Some(loaded) = loaded else { return Parameters::parse(kind, typed) };
        let data = Parameters::parse(kind, parameter::of_data(&TABLE, kind.name(), loaded.parameters))?;
        let mut wanted = data.clone();
        parameter::apply(&TABLE, kind.name(), typed, &mut wanted)?;
        for spec in parameters(kind).filter(|spec| spec.shapes_data) {
            let (asked, there) = (spec.text(&wanted), spec.text(&data));
            if asked != there {
                return Err(Error::Combination {
                    workload: kind.name(),
                    found: format!("{} {asked} on data that were loaded with {there}", spec.name),
                    remedy: "leave it out, or drop the data and load them anew".to_owned(),
                });
            }
        }
        Ok(wanted)
    }

    /// Every parameter, defaults included, by snake_case name.
    pub fn printable(&self, kind: Kind) -> BTreeMap<String, Value> {
        parameter::printable(&TABLE, kind.name(), self)
    }

    /// The same for those that decide what `load` creates.
    pub fn printable_data(&self, kind: Kind) -> BTreeMap<String, Value> {
        let shapes_data = parameters(kind).filter(|spec| spec.shapes_data);
        shapes_data.map(|spec| (spec.snake_name(), spec.value(self))).collect()
    }
}

/// The parameters that `kind` uses.
pub fn parameters(kind: Kind) -> impl Iterator<Item = &'static ParameterSpec<Parameters>> {
    TABLE.iter().filter(move |spec| spec.is_used_by(kind.name()))
}

const EVERY: &[&str] = &[Kind::SelectKey.name(), Kind::UpdateSelect.name()];

/// One row per parameter.
#[rustfmt::skip]
pub static TABLE: [ParameterSpec<Parameters>; 3] = [
    ParameterSpec { name: "rows", default: "90000", help: "rows of the table", workloads: EVERY, shapes_data: true,
        slot: Slot::Count { field: |p| &mut p.rows, low: 1, high: ROWS_MAX } },
    ParameterSpec { name: "engine", default: "innodb", help: "storage engine of the table; aria is of MariaDB only", workloads: EVERY, shapes_data: true,
        slot: Slot::Choice { accepted: &["innodb", "myisam", "aria"], get: |p| p.engine.name(),
            set: |p, name| p.engine = match name { "myisam" => Engine::MyIsam, "aria" => Engine::Aria, _ => Engine::InnoDb } } },
    ParameterSpec { name: "keys", default: "exact", workloads: EVERY, shapes_data: false,
        help: "which rows are asked for: exact, those of the original's dictionary, some 750; or full, every row",
        slot: Slot::Choice { accepted: &["exact", "full"], get: |p| p.keys.name(),
            set: |p, name| p.keys = if name == "full" { Keys::Full } else { Keys::Exact } } },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Parameters, String> {
        Parameters::parse(Kind::SelectKey, pairs.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn default_texts_are_the_default_values() {
        let mut from_texts = Parameters { rows: 1, keys: Keys::Full, engine: Engine::Aria };
        for spec in &TABLE {
            assert!(spec.set(&mut from_texts, spec.default), "{}", spec.name);
        }
        assert_eq!(from_texts, Parameters::default());
    }

    #[test]
    fn both_workloads_use_every_parameter() {
        assert_eq!(EVERY, Kind::ALL.map(Kind::name));
        assert!(Kind::ALL.into_iter().all(|kind| parameters(kind).count() == TABLE.len()));
    }

    #[test]
    fn choices_are_kept_and_printed_under_their_names() {
        for engine in [Engine::InnoDb, Engine::MyIsam, Engine::Aria] {
            for keys in [Keys::Exact, Keys::Full] {
                let pairs = [("rows", "500"), ("engine", engine.name()), ("keys", keys.name())];
                let parameters = parse(&pairs).expect("accepted");
                assert_eq!(parameters, Parameters { rows: 500, keys, engine });
                let printed = parameters.printable(Kind::UpdateSelect);
                assert_eq!((&printed["engine"], &printed["keys"]), (&engine.name().into(), &keys.name().into()));
                assert!(!parameters.printable_data(Kind::UpdateSelect).contains_key("keys"));
            }
        }
    }

    #[test]
    fn bad_values_are_answered_with_what_is_accepted() {
        let message = |name, text| parse(&[(name, text)]).expect_err("refused");
        assert!(message("engine", "memory").ends_with("it must be one of innodb, myisam, aria"));
        assert!(message("keys", "all").ends_with("it must be one of exact, full"));
        assert!(message("rows", "0").ends_with("it must be a whole number from 1 to 100000000"));
        assert!(message("row", "5").contains("did you mean 'rows'?"));
    }
}
