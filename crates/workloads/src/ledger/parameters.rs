//! Everything that can be set about it.

use super::NAME;
use crate::dataset::Loaded;
use crate::error::Error;
use crate::parameter::{self, ParameterSlot, ParameterSpec};
use plimsoll_model::NamedScalars;

const ROWS_MAX: u64 = 100_000_000;

/// The values of all parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerParameters {
    /// Of the table whose rows are drawn.
    pub rows: u64,
}

impl Default for LedgerParameters {
    fn default() -> LedgerParameters {
        LedgerParameters { rows: 100_000 }
    }
}

impl LedgerParameters {
    /// Reads (name, text) pairs on top of what the data were loaded with, or of the defaults.
    ///
    /// # Errors
    /// A name that does not exist, a value that is not accepted, or one that contradicts the data.
    pub fn on(
        typed: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
        loaded: Option<Loaded<'_>>,
    ) -> Result<LedgerParameters, Error> {
        let mut data = LedgerParameters::default();
        if let Some(loaded) = loaded {
            parameter::apply(&TABLE, NAME, parameter::of_data(&TABLE, NAME, loaded.parameters), &mut data)?;
        }
        let mut wanted = data.clone();
        parameter::apply(&TABLE, NAME, typed, &mut wanted)?;
        if loaded.is_some() && wanted != data {
            return Err(Error::Combination {
                workload: NAME,
                found: format!("rows {} on data that were loaded with {}", wanted.rows, data.rows),
                remedy: "leave it out, or drop the data and load them again".to_owned(),
            });
        }
        Ok(wanted)
    }

    /// Every parameter, defaults included, by snake_case name; all of them decide what `load` creates.
    pub fn printable(&self) -> NamedScalars {
        parameter::printable(&TABLE, NAME, self)
    }
}

/// One row per parameter.
#[rustfmt::skip]
pub static TABLE: [ParameterSpec<LedgerParameters>; 1] = [
    ParameterSpec { name: "rows", default: "100000", help: "rows that entries are written beside, each 250 bytes", workloads: &[NAME], shapes_data: true,
        slot: ParameterSlot::Count { field: |p| &mut p.rows, low: 1, high: ROWS_MAX } },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_texts_are_the_default_values() {
        let mut from_texts = LedgerParameters { rows: 1 };
        assert!(TABLE.iter().all(|spec| spec.set(&mut from_texts, spec.default)));
        assert_eq!(from_texts, LedgerParameters::default());
    }

    #[test]
    fn what_was_loaded_cannot_be_changed() {
        let parameters = LedgerParameters { rows: 500 }.printable();
        let loaded = Some(Loaded { parameters: &parameters, seed: 1 });
        assert_eq!(LedgerParameters::on([("rows", "500")], loaded), Ok(LedgerParameters { rows: 500 }));
        assert_eq!(LedgerParameters::on([("", ""); 0], loaded), Ok(LedgerParameters { rows: 500 }));
        let refused = LedgerParameters::on([("rows", "9")], loaded).expect_err("another size").to_string();
        assert!(refused.contains("rows 9") && refused.contains("500"), "{refused}");
    }
}
