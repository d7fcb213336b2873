//! Everything that can be set about a workload of super-smack.

use super::SmackKind;
use crate::dataset::Loaded;
use crate::error::Error;
use crate::parameter::{self, ParameterSlot, ParameterSpec};
use plimsoll_model::NamedScalars;

/// Keeps the time to compute the dictionary below a second or two.
const ROWS_MAX: u64 = 100_000_000;

/// Which rows are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// Those of the original's dictionary: every N-th row, about 750 however many there are.
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
pub enum TableEngine {
    #[default]
    InnoDb,
    MyIsam,
    /// MariaDB only.
    Aria,
}

impl TableEngine {
    /// In lower case; servers accept and compare it in any.
    pub const fn name(self) -> &'static str {
        match self {
            TableEngine::InnoDb => "innodb",
            TableEngine::MyIsam => "myisam",
            TableEngine::Aria => "aria",
        }
    }

    /// Whether what a killed load wrote of a chunk is rolled back.
    pub const fn rolls_back(self) -> bool {
        matches!(self, TableEngine::InnoDb)
    }
}

/// The values of all parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmackParameters {
    pub rows: u64,
    pub keys: Keys,
    pub engine: TableEngine,
}

impl Default for SmackParameters {
    fn default() -> SmackParameters {
        SmackParameters { rows: 90_000, keys: Keys::Exact, engine: TableEngine::InnoDb }
    }
}

impl SmackParameters {
    /// Reads (name, text) pairs on top of the defaults.
    ///
    /// # Errors
    /// A name that does not exist, a value that is not accepted.
    pub fn parse(
        kind: SmackKind,
        pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    ) -> Result<SmackParameters, Error> {
        let mut parameters = SmackParameters::default();
        parameter::apply(&TABLE, kind.name(), pairs, &mut parameters)?;
        Ok(parameters)
    }

    /// Reads (name, text) pairs on top of what the data were loaded with.
    ///
    /// # Errors
    /// As [`SmackParameters::parse`]; what was typed contradicts the data.
    pub fn on(
        kind: SmackKind,
        typed: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
        loaded: Option<Loaded<'_>>,
    ) -> Result<SmackParameters, Error> {
        let Some(loaded) = loaded else { return SmackParameters::parse(kind, typed) };
        let data = SmackParameters::parse(kind, parameter::of_data(&TABLE, kind.name(), loaded.parameters))?;
        let mut wanted = data.clone();
        parameter::apply(&TABLE, kind.name(), typed, &mut wanted)?;
        for spec in parameters(kind).filter(|spec| spec.shapes_data) {
            let (asked, there) = (spec.text(&wanted), spec.text(&data));
            if asked != there {
                return Err(Error::Combination {
                    workload: kind.name(),
                    found: format!("{} {asked} on data that were loaded with {there}", spec.name),
                    remedy: "leave it out, or drop the data and load them again".to_owned(),
                });
            }
        }
        Ok(wanted)
    }

    /// Every parameter, defaults included, by snake_case name.
    pub fn printable(&self, kind: SmackKind) -> NamedScalars {
        parameter::printable(&TABLE, kind.name(), self)
    }

    /// The same for those that decide what `load` creates.
    pub fn printable_data(&self, kind: SmackKind) -> NamedScalars {
        let shapes_data = parameters(kind).filter(|spec| spec.shapes_data);
        shapes_data.map(|spec| (spec.snake_name(), spec.value(self))).collect()
    }
}

/// The parameters that `kind` uses.
pub fn parameters(kind: SmackKind) -> impl Iterator<Item = &'static ParameterSpec<SmackParameters>> {
    TABLE.iter().filter(move |spec| spec.is_used_by(kind.name()))
}

const EVERY: &[&str] = &[SmackKind::SelectKey.name(), SmackKind::UpdateSelect.name()];

/// One row per parameter.
#[rustfmt::skip]
pub static TABLE: [ParameterSpec<SmackParameters>; 3] = [
    ParameterSpec { name: "rows", default: "90000", help: "rows of the table", workloads: EVERY, shapes_data: true,
        slot: ParameterSlot::Count { field: |p| &mut p.rows, low: 1, high: ROWS_MAX } },
    ParameterSpec { name: "engine", default: "innodb", help: "storage engine of the table; aria exists only in MariaDB", workloads: EVERY, shapes_data: true,
        slot: ParameterSlot::Choice { accepted: &["innodb", "myisam", "aria"], get: |p| p.engine.name(),
            set: |p, name| p.engine = match name { "myisam" => TableEngine::MyIsam, "aria" => TableEngine::Aria, _ => TableEngine::InnoDb } } },
    ParameterSpec { name: "keys", default: "exact", workloads: EVERY, shapes_data: false,
        help: "which rows are requested: exact, about 750, those of the original's dictionary; or full, every row",
        slot: ParameterSlot::Choice { accepted: &["exact", "full"], get: |p| p.keys.name(),
            set: |p, name| p.keys = if name == "full" { Keys::Full } else { Keys::Exact } } },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<SmackParameters, String> {
        SmackParameters::parse(SmackKind::SelectKey, pairs.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn default_texts_are_the_default_values() {
        let mut from_texts = SmackParameters { rows: 1, keys: Keys::Full, engine: TableEngine::Aria };
        for spec in &TABLE {
            assert!(spec.set(&mut from_texts, spec.default), "{}", spec.name);
        }
        assert_eq!(from_texts, SmackParameters::default());
    }

    #[test]
    fn both_workloads_use_every_parameter() {
        assert_eq!(EVERY, SmackKind::ALL.map(SmackKind::name));
        assert!(SmackKind::ALL.into_iter().all(|kind| parameters(kind).count() == TABLE.len()));
    }

    #[test]
    fn choices_are_kept_and_printed_under_their_names() {
        for engine in [TableEngine::InnoDb, TableEngine::MyIsam, TableEngine::Aria] {
            for keys in [Keys::Exact, Keys::Full] {
                let pairs = [("rows", "500"), ("engine", engine.name()), ("keys", keys.name())];
                let parameters = parse(&pairs).expect("accepted");
                assert_eq!(parameters, SmackParameters { rows: 500, keys, engine });
                let printed = parameters.printable(SmackKind::UpdateSelect);
                assert_eq!((&printed["engine"], &printed["keys"]), (&engine.name().into(), &keys.name().into()));
                assert!(!parameters.printable_data(SmackKind::UpdateSelect).contains_key("keys"));
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
