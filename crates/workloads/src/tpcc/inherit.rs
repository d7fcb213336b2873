//! How a run inherits the parameters that its data were loaded with.

use super::choices::NAME;
use super::choices::refuse;
use super::parameters::{self, TpccParameters};
use crate::dataset::Loaded;
use crate::error::Error;
use crate::parameter;

impl TpccParameters {
    /// What the marker of loaded data says.
    pub(super) fn of_data(loaded: Loaded<'_>) -> Result<TpccParameters, Error> {
        let pairs = loaded.parameters.iter().map(|(name, value)| (name, value.to_string()));
        let mut data = TpccParameters::default();
        parameter::apply(&parameters::TABLE, NAME, pairs, &mut data)?;
        Ok(data)
    }

    /// The same over all that was loaded. A narrowed run leaves the data consistent as a whole: an order of one
    /// warehouse takes from the stock of others, and what clients committed is counted over all of them.
    ///
    /// # Errors
    /// What the data were loaded with is not accepted.
    pub fn over_all(&self, loaded: Loaded<'_>) -> Result<TpccParameters, Error> {
        let data = TpccParameters::of_data(loaded)?;
        Ok(TpccParameters { warehouses: data.warehouses, tables: data.tables, ..self.clone() })
    }

    pub(super) fn inherit(&mut self, data: &TpccParameters) {
        self.warehouses = data.warehouses;
        self.tables = data.tables;
        self.fk = data.fk;
        self.history_pk = data.history_pk;
        self.partitions = data.partitions;
        self.load_date.clone_from(&data.load_date);
    }

    pub(super) fn must_have_tables_of(&self, data: &TpccParameters) -> Result<(), Error> {
        let (asked, there) = (self.profile.name(), data.profile.name());
        if self.profile.shares_tables_with(data.profile) {
            return Ok(());
        }
        refuse(
            &format!("profile {asked} on data that were loaded with profile {there}"),
            &format!("leave the profile out, or drop the data and load them with profile {asked}"),
        )
    }

    /// What a run can use of these data.
    pub(super) fn must_fit(&self, data: &TpccParameters) -> Result<(), Error> {
        let widened = |name: &str, asked: u64, there: u64| {
            refuse(
                &format!("{asked} {name}, since only {there} are loaded"),
                &format!("ask for at most {there}, or drop the data and load more"),
            )
        };
        if self.warehouses > data.warehouses {
            return widened("warehouses", self.warehouses, data.warehouses);
        }
        if self.tables > data.tables {
            return widened("table sets", self.tables, data.tables);
        }
        if self.has_foreign_keys() && !data.has_foreign_keys() {
            return refuse(
                &format!("fk {} on data that were loaded without foreign keys", self.fk.name()),
                "leave fk out, or drop the data and load them with it",
            );
        }
        if data.has_foreign_keys() && !self.has_foreign_keys() {
            return refuse(
                "fk none on data that were loaded with foreign keys",
                "use fk declared, which does not check them, or drop the data and load them with fk none",
            );
        }
        for name in ["history-pk", "partitions", "load-date"] {
            let Some(spec) = parameters::TABLE.iter().find(|spec| spec.name == name) else { continue };
            let (asked, there) = (spec.text(self), spec.text(data));
            if asked != there {
                return refuse(
                    &format!("{name} {asked} on data that were loaded with {there}"),
                    "leave it out, or drop the data and load them again",
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::choices::{Fidelity, ForeignKeys, HistoryPk, Profile};
    use super::*;
    use plimsoll_model::Scalar;

    /// Parameters of a run with `typed` on data that were loaded with `loaded`.
    fn on(typed: &[(&str, &str)], loaded: &[(&str, &str)]) -> Result<TpccParameters, String> {
        let loaded = TpccParameters::parse(loaded.iter().copied()).expect("accepted").printable_data();
        let loaded = Loaded { parameters: &loaded, seed: 1 };
        TpccParameters::on(typed.iter().copied(), Some(loaded)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_not_typed_is_inherited() {
        let loaded = [("profile", "dbt2"), ("warehouses", "8"), ("history-pk", "auto"), ("load-date", "2025-03-04")];
        let parameters = on(&[("sort-lines", "on")], &loaded).expect("accepted");
        let expected = TpccParameters {
            warehouses: 8,
            history_pk: HistoryPk::Auto,
            load_date: "2025-03-04".to_owned(),
            sort_lines: true,
            ..TpccParameters::of(Profile::Dbt2)
        };
        assert_eq!(parameters, expected);
        let bare = on(&[], &[("profile", "sysbench"), ("fk", "none")]).expect("accepted");
        assert_eq!((bare.profile, bare.fk), (Profile::Sysbench, ForeignKeys::None));
    }

    #[test]
    fn profiles_that_share_tables_drive_each_others_data() {
        let parameters = on(&[("profile", "dbt2")], &[("warehouses", "3")]).expect("accepted");
        assert_eq!(parameters, TpccParameters { warehouses: 3, ..TpccParameters::of(Profile::Dbt2) });
        let message = on(&[("profile", "sysbench")], &[]).expect_err("refused");
        assert!(message.contains("profile sysbench on data that were loaded with profile spec"), "{message}");
    }

    #[test]
    fn warehouses_and_sets_are_narrowed_but_never_widened() {
        let loaded = [("profile", "sysbench"), ("warehouses", "4"), ("tables", "3")];
        let parameters = on(&[("scale", "2"), ("tables", "1")], &loaded).expect("accepted");
        assert_eq!((parameters.warehouses, parameters.tables), (2, 1));
        for (name, text, found) in [
            ("warehouses", "5", "5 warehouses, since only 4 are loaded"),
            ("tables", "4", "4 table sets, since only 3 are loaded"),
        ] {
            let message = on(&[(name, text)], &loaded).expect_err("refused");
            assert!(message.contains(found), "{message}");
        }
    }

    #[test]
    fn what_was_narrowed_is_checked_over_all_that_was_loaded() {
        let data =
            TpccParameters::parse([("profile", "sysbench"), ("warehouses", "4"), ("tables", "3")]).expect("accepted");
        let run = TpccParameters { warehouses: 2, tables: 1, fidelity: Fidelity::Compat, ..data.clone() };
        let whole = run.over_all(Loaded { parameters: &data.printable_data(), seed: 1 }).expect("accepted");
        assert_eq!(whole, TpccParameters { fidelity: Fidelity::Compat, ..data });
    }

    #[test]
    fn foreign_keys_must_be_in_the_data_and_checking_them_is_free() {
        let keys = [("fk", "declared")];
        assert_eq!(on(&[], &keys).expect("accepted").fk, ForeignKeys::Declared);
        assert_eq!(on(&[("fk", "enforced")], &keys).expect("accepted").fk, ForeignKeys::Enforced);
        assert_eq!(on(&[("fk", "declared")], &[("fk", "enforced")]).expect("accepted").fk, ForeignKeys::Declared);
        let message = on(&[("fk", "enforced")], &[]).expect_err("refused");
        assert!(message.contains("without foreign keys"), "{message}");
        let message = on(&[("fk", "none")], &keys).expect_err("refused");
        assert!(message.contains("use fk declared, which does not check them"), "{message}");
    }

    #[test]
    fn what_shapes_the_rows_cannot_be_changed_afterwards() {
        for (name, text) in [("history-pk", "auto"), ("partitions", "4"), ("load-date", "2026-01-02")] {
            let message = on(&[(name, text)], &[]).expect_err("refused");
            assert!(message.contains("on data that were loaded with"), "{message}");
        }
        assert_eq!(on(&[("partitions", "4")], &[("partitions", "4")]).expect("accepted").partitions, 4);
    }

    #[test]
    fn a_marker_of_another_version_is_an_error() {
        let strange = [("districts".to_owned(), Scalar::from(10_u64))].into();
        let loaded = Loaded { parameters: &strange, seed: 1 };
        assert!(TpccParameters::on([("warehouses", "1")], Some(loaded)).is_err());
    }
}
