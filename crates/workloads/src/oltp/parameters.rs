//! Everything that can be set about an OLTP workload: names and defaults as in sysbench 1.0.20 (`zipfian` is from 1.1).

use super::load::FILLED;
use super::values::{OltpParameters, SysbenchLayout};
use super::{OltpKind, statements};
use crate::dataset::Loaded;
use crate::distribution::{Distribution, DistributionName};
use crate::error::Error;
use crate::parameter::{self, ParameterSlot, ParameterSpec};
use plimsoll_model::{NamedScalars, Scalar};

/// Largest id: the column is a signed INTEGER.
const ID_MAX: u64 = 2_147_483_647;
/// A prepared statement holds at most 65,535 parameters.
const PLACEHOLDERS_MAX: u64 = 65_535;

impl OltpParameters {
    /// Reads (name, text) pairs on top of the defaults.
    ///
    /// # Errors
    /// A name that `kind` does not use, a value that is not accepted, or values that contradict each other.
    pub fn parse(
        kind: OltpKind,
        pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    ) -> Result<OltpParameters, Error> {
        let mut parameters = OltpParameters::default();
        parameter::apply(&TABLE, kind.name(), pairs, &mut parameters)?;
        parameters.validate(kind)?;
        Ok(parameters)
    }

    /// Reads (name, text) pairs on top of what the data were loaded with. Parameters that shape the data may be
    /// narrowed (fewer tables, fewer rows) but never widened.
    ///
    /// # Errors
    /// As [`OltpParameters::parse`]; what was typed contradicts the data.
    pub fn on(
        kind: OltpKind,
        typed: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
        loaded: Option<Loaded<'_>>,
    ) -> Result<OltpParameters, Error> {
        let Some(loaded) = loaded else { return OltpParameters::parse(kind, typed) };
        let mut data = OltpParameters::parse(kind, parameter::of_data(&TABLE, kind.name(), loaded.parameters))?;
        data.filled = loaded.parameters.get(FILLED) != Some(&Scalar::from(false));
        let mut wanted = data.clone();
        parameter::apply(&TABLE, kind.name(), typed, &mut wanted)?;
        wanted.validate(kind)?;
        let refuse = |found: String, remedy: &str| {
            Err(Error::Combination { workload: kind.name(), found, remedy: remedy.to_owned() })
        };
        for (name, asked, there) in
            [("tables", wanted.tables, data.tables), ("table-size", wanted.table_size, data.table_size)]
        {
            if asked > there {
                let found = format!("--{name} {asked}, since the data were loaded with {name} {there}");
                return refuse(found, "run with at most that, or drop the data and load them again");
            }
        }
        if wanted.layout != data.layout {
            let found = format!("--layout {}: the data have {}", wanted.layout.name(), data.layout.name());
            return refuse(found, "drop the data and load them again, or use another database");
        }
        for spec in parameters(kind).filter(|spec| MADE_SO.contains(&spec.name)) {
            let (asked, there) = (spec.text(&wanted), spec.text(&data));
            if !asked.eq_ignore_ascii_case(&there) {
                let found = format!("{} {asked} on data that were loaded with {there}", spec.name);
                return refuse(found, "leave it out, or drop the data and load them again");
            }
        }
        Ok(wanted)
    }

    /// Refuses tables that were loaded empty, if `kind` needs rows.
    ///
    /// # Errors
    /// [`Error::Combination`].
    pub fn must_find_rows(&self, kind: OltpKind) -> Result<(), Error> {
        if self.filled || matches!(kind, OltpKind::Insert | OltpKind::BulkInsert) {
            return Ok(());
        }
        let found = "tables that were loaded empty, for oltp_insert".to_owned();
        let remedy = format!("drop them, and load them with {}", kind.name());
        Err(Error::Combination { workload: kind.name(), found, remedy })
    }

    /// Every parameter that `kind` uses, defaults included, by snake_case name.
    pub fn printable(&self, kind: OltpKind) -> NamedScalars {
        parameter::printable(&TABLE, kind.name(), self)
    }

    /// The same for those that decide what `load` creates.
    pub fn printable_data(&self, kind: OltpKind) -> NamedScalars {
        let shapes_data = parameters(kind).filter(|spec| spec.shapes_data);
        shapes_data.map(|spec| (spec.snake_name(), spec.value(self))).collect()
    }

    /// The distribution that ids and `k` are drawn from.
    pub fn distribution(&self) -> Distribution {
        let iterations = self.rand_spec_iter as u32;
        match self.rand_type {
            DistributionName::Uniform => Distribution::Uniform,
            DistributionName::Gaussian => Distribution::Gaussian { iterations },
            DistributionName::Special => Distribution::Special {
                iterations,
                window_percent: self.rand_spec_pct,
                reserved_percent: self.rand_spec_res,
            },
            DistributionName::Pareto => Distribution::Pareto { h: self.rand_pareto_h },
            DistributionName::Zipfian => Distribution::Zipfian { exponent: self.rand_zipfian_exp },
        }
    }

    fn validate(&self, kind: OltpKind) -> Result<(), Error> {
        let refuse = |found: &str, remedy: &str| {
            Err(Error::Combination { workload: kind.name(), found: found.to_owned(), remedy: remedy.to_owned() })
        };
        if self.layout == SysbenchLayout::Sysbench04 && self.tables != 1 {
            return refuse(
                &format!("{} tables in the layout sysbench-0.4", self.tables),
                "that layout has the one table 'sbtest': leave tables at 1, or use the layout sysbench-1.0",
            );
        }
        if statements::steps(kind, self).is_empty() {
            return refuse("a transaction without any statement", "raise at least one of its statement counts");
        }
        Ok(())
    }
}

/// The parameters that `kind` uses.
pub fn parameters(kind: OltpKind) -> impl Iterator<Item = &'static ParameterSpec<OltpParameters>> {
    TABLE.iter().filter(move |spec| spec.is_used_by(kind.name()))
}

const READ_WRITE: &str = OltpKind::ReadWrite.name();
const READ_ONLY: &str = OltpKind::ReadOnly.name();
const WRITE_ONLY: &str = OltpKind::WriteOnly.name();
const UPDATE_INDEX: &str = OltpKind::UpdateIndex.name();
const UPDATE_NON_INDEX: &str = OltpKind::UpdateNonIndex.name();
const RANDOM_POINTS: &str = OltpKind::SelectRandomPoints.name();
const RANDOM_RANGES: &str = OltpKind::SelectRandomRanges.name();
const BULK_INSERT: &str = OltpKind::BulkInsert.name();

/// What tables are made with, which a run finds as it is.
const MADE_SO: [&str; 5] =
    ["auto-inc", "secondary", "create-secondary", "mysql-storage-engine", "create-table-options"];
const LAYOUTS: &[&str] = &[READ_WRITE, READ_ONLY, WRITE_ONLY, OltpKind::PointSelect.name()];
const EVERY: &[&str] = &[
    READ_WRITE,
    READ_ONLY,
    WRITE_ONLY,
    OltpKind::PointSelect.name(),
    OltpKind::Insert.name(),
    OltpKind::Delete.name(),
    UPDATE_INDEX,
    UPDATE_NON_INDEX,
    RANDOM_POINTS,
    RANDOM_RANGES,
    BULK_INSERT,
];
const READERS: &[&str] = &[READ_WRITE, READ_ONLY];
const WRITERS: &[&str] = &[READ_WRITE, WRITE_ONLY];
const TRANSACTIONS: &[&str] = &[READ_WRITE, READ_ONLY, WRITE_ONLY];

/// All that use the tables `sbtest…`.
const fn sbtest() -> &'static [&'static str] {
    EVERY.split_at(EVERY.len() - 1).0
}

type Spec = ParameterSpec<OltpParameters>;

const fn data(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    slot: ParameterSlot<OltpParameters>,
) -> Spec {
    ParameterSpec { name, default, help, workloads: sbtest(), shapes_data: true, slot }
}

const fn traffic(
    name: &'static str,
    default: &'static str,
    workloads: &'static [&'static str],
    help: &'static str,
    slot: ParameterSlot<OltpParameters>,
) -> Spec {
    ParameterSpec { name, default, help, workloads, shapes_data: false, slot }
}

const fn times(field: fn(&mut OltpParameters) -> &mut u64) -> ParameterSlot<OltpParameters> {
    ParameterSlot::Count { field, low: 0, high: 100_000 }
}

const RAND_TYPES: &[&str] = &["uniform", "gaussian", "special", "pareto", "zipfian"];

/// One row per parameter.
#[rustfmt::skip]
pub static TABLE: [Spec; 28] = [
    ParameterSpec { workloads: LAYOUTS, ..data("layout", "sysbench-1.0", "tables, rows and statements of sysbench 1.0, or of --test=oltp of sysbench 0.4",
        ParameterSlot::Choice { accepted: &["sysbench-1.0", "sysbench-0.4"], get: |p| p.layout.name(),
            set: |p, name| p.layout = if name == "sysbench-0.4" { SysbenchLayout::Sysbench04 } else { SysbenchLayout::Sysbench10 } }) },
    ParameterSpec { workloads: EVERY, ..data("tables", "1", "number of tables",
        ParameterSlot::Count { field: |p| &mut p.tables, low: 1, high: 100_000 }) },
    data("table-size", "10000", "rows per table", ParameterSlot::Count { field: |p| &mut p.table_size, low: 1, high: ID_MAX }),
    data("auto-inc", "on", "id is an AUTO_INCREMENT column", ParameterSlot::Switch { field: |p| &mut p.auto_inc }),
    data("secondary", "off", "a secondary index on id in place of the primary key", ParameterSlot::Switch { field: |p| &mut p.secondary }),
    data("create-secondary", "on", "an index on k", ParameterSlot::Switch { field: |p| &mut p.create_secondary }),
    data("mysql-storage-engine", "innodb", "storage engine of the tables", ParameterSlot::Word { field: |p| &mut p.mysql_storage_engine }),
    data("create-table-options", "", "text put after the engine in CREATE TABLE", ParameterSlot::Text { field: |p| &mut p.create_table_options }),
    traffic("point-selects", "10", READERS, "reads by primary key per transaction", times(|p| &mut p.point_selects)),
    traffic("range-selects", "on", READERS, "whether to read ranges at all", ParameterSlot::Switch { field: |p| &mut p.range_selects }),
    traffic("simple-ranges", "1", READERS, "range reads per transaction", times(|p| &mut p.simple_ranges)),
    traffic("sum-ranges", "1", READERS, "range sums per transaction", times(|p| &mut p.sum_ranges)),
    traffic("order-ranges", "1", READERS, "sorted range reads per transaction", times(|p| &mut p.order_ranges)),
    traffic("distinct-ranges", "1", READERS, "distinct range reads per transaction", times(|p| &mut p.distinct_ranges)),
    traffic("range-size", "100", READERS, "ids in a range", ParameterSlot::Count { field: |p| &mut p.range_size, low: 1, high: ID_MAX }),
    traffic("index-updates", "1", &[READ_WRITE, WRITE_ONLY, UPDATE_INDEX], "updates of k per transaction", times(|p| &mut p.index_updates)),
    traffic("non-index-updates", "1", &[READ_WRITE, WRITE_ONLY, UPDATE_NON_INDEX], "updates of c per transaction", times(|p| &mut p.non_index_updates)),
    traffic("delete-inserts", "1", WRITERS, "deletes, each with an insert of the same id, per transaction", times(|p| &mut p.delete_inserts)),
    traffic("skip-trx", "off", TRANSACTIONS, "leave BEGIN and COMMIT out", ParameterSlot::Switch { field: |p| &mut p.skip_trx }),
    traffic("random-points", "10", &[RANDOM_POINTS], "values of k in the IN list",
        ParameterSlot::Count { field: |p| &mut p.random_points, low: 1, high: PLACEHOLDERS_MAX }),
    traffic("number-of-ranges", "10", &[RANDOM_RANGES], "ranges of k in the WHERE clause",
        ParameterSlot::Count { field: |p| &mut p.number_of_ranges, low: 1, high: PLACEHOLDERS_MAX / 2 }),
    traffic("delta", "5", &[RANDOM_RANGES], "how far a range of k reaches beyond its start", ParameterSlot::Count { field: |p| &mut p.delta, low: 0, high: ID_MAX }),
    data("rand-type", "special", "distribution of ids and k",
        ParameterSlot::Choice { accepted: RAND_TYPES, get: |p| p.rand_type.name(),
            set: |p, name| p.rand_type = DistributionName::from_name(name).unwrap_or_default() }),
    data("rand-spec-iter", "12", "uniforms averaged by gaussian and special", ParameterSlot::Count { field: |p| &mut p.rand_spec_iter, low: 1, high: 1_000 }),
    data("rand-spec-pct", "1", "special: width of the window, percent of the range",
        ParameterSlot::Number { field: |p| &mut p.rand_spec_pct, low: 0.0, high: 100.0, open: false }),
    data("rand-spec-res", "75", "special: percent of the draws that fall into the window",
        ParameterSlot::Number { field: |p| &mut p.rand_spec_res, low: 0.0, high: 100.0, open: false }),
    data("rand-pareto-h", "0.2", "pareto: this share of the keys gets the rest of the draws",
        ParameterSlot::Number { field: |p| &mut p.rand_pareto_h, low: 0.0, high: 1.0, open: true }),
    data("rand-zipfian-exp", "0.8", "zipfian: exponent", ParameterSlot::Number { field: |p| &mut p.rand_zipfian_exp, low: 0.0, high: 100.0, open: false }),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(kind: OltpKind, pairs: &[(&str, &str)]) -> Result<OltpParameters, String> {
        OltpParameters::parse(kind, pairs.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn default_texts_are_the_default_values() {
        let mut from_texts = OltpParameters { tables: 99, rand_pareto_h: 0.9, ..OltpParameters::default() };
        for spec in &TABLE {
            assert!(spec.set(&mut from_texts, spec.default), "{}", spec.name);
        }
        assert_eq!(from_texts, OltpParameters::default());
    }

    #[test]
    fn names_are_those_of_the_workloads_and_distributions() {
        assert_eq!(EVERY, OltpKind::ALL.map(OltpKind::name));
        assert_eq!(LAYOUTS, OltpKind::OF_SYSBENCH_0_4.map(OltpKind::name));
        assert_eq!(RAND_TYPES, DistributionName::ALL.map(DistributionName::name));
    }

    #[test]
    fn values_are_read_in_all_their_forms() {
        let pairs = [
            ("table_size", " 500 "),
            ("auto-inc", "0"),
            ("skip-trx", "TRUE"),
            ("rand-pareto-h", "0.4"),
            ("tables", "2"),
            ("tables", "3"),
        ];
        let parameters = parse(OltpKind::ReadWrite, &pairs).expect("accepted");
        assert_eq!((parameters.table_size, parameters.auto_inc, parameters.skip_trx), (500, false, true));
        assert_eq!((parameters.rand_pareto_h, parameters.tables), (0.4, 3));
    }

    #[test]
    fn bad_values_are_answered_with_what_is_accepted() {
        for (name, text, accepted) in [
            ("tables", "0", "a whole number from 1 to 100000"),
            ("table-size", "2147483648", "a whole number from 1 to 2147483647"),
            ("auto-inc", "maybe", "on or off"),
            ("rand-type", "normal", "one of uniform, gaussian, special, pareto, zipfian"),
            ("rand-pareto-h", "1", "a number between 0 and 1"),
            ("rand-pareto-h", "NaN", "a number between 0 and 1"),
            ("rand-spec-pct", "101", "a number from 0 to 100"),
            ("mysql-storage-engine", "innodb */; DROP TABLE x", "letters, digits and underscores"),
        ] {
            let message = parse(OltpKind::ReadWrite, &[(name, text)]).expect_err("refused");
            let expected = format!("parameter '{name}' of oltp_read_write is '{text}', but it must be {accepted}");
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest_and_all() {
        let message = parse(OltpKind::BulkInsert, &[("table", "4")]).expect_err("refused");
        assert_eq!(message, "bulk_insert has no parameter 'table' (did you mean 'tables'?); it accepts: tables");
        let message = parse(OltpKind::PointSelect, &[("point-selects", "4")]).expect_err("refused");
        let start = "oltp_point_select does not use the parameter 'point-selects', which belongs to oltp_read_write, oltp_read_only; it accepts: layout, tables, ";
        assert!(message.starts_with(start), "{message}");
    }

    #[test]
    fn combinations_that_cannot_be_are_refused() {
        let message = parse(OltpKind::ReadWrite, &[("layout", "sysbench-0.4"), ("tables", "4")]).expect_err("refused");
        assert!(message.contains("4 tables in the layout sysbench-0.4"), "{message}");
        let nothing = [("point-selects", "0"), ("range-selects", "off"), ("skip-trx", "on")];
        let message = parse(OltpKind::ReadOnly, &nothing).expect_err("refused");
        assert!(message.contains("a transaction without any statement"), "{message}");
    }

    #[test]
    fn what_contradicts_the_data_is_refused() {
        let loaded = OltpParameters::default().printable_data(OltpKind::ReadWrite);
        let on = |pair: (&str, &str)| {
            let loaded = Loaded { parameters: &loaded, seed: 1 };
            OltpParameters::on(OltpKind::ReadOnly, [pair], Some(loaded)).map_err(|error| error.to_string())
        };
        let message = on(("mysql-storage-engine", "myisam")).expect_err("refused");
        assert!(message.contains("mysql-storage-engine myisam on data that were loaded with innodb"), "{message}");
        let others = [("auto-inc", "0"), ("secondary", "1"), ("create-secondary", "0"), ("create-table-options", "x")];
        for pair in others {
            assert!(on(pair).is_err(), "{pair:?}");
        }
        for pair in [("mysql-storage-engine", "InnoDB"), ("auto-inc", "1"), ("rand-type", "uniform")] {
            assert!(on(pair).is_ok(), "{pair:?}");
        }
    }

    #[test]
    fn tables_that_were_loaded_empty_are_known_by_their_marker() {
        use crate::dataset::Dataset;
        use crate::oltp::load::{OltpData, rows_per_table};
        let made = |kind, pairs: &[(&str, &str)]| {
            let parameters = OltpParameters::parse(kind, pairs.iter().copied()).expect("accepted");
            OltpData::new(kind, &parameters, 1).parameters()
        };
        let on = |kind, parameters: &NamedScalars| {
            let none: [(&str, &str); 0] = [];
            OltpParameters::on(kind, none, Some(Loaded { parameters, seed: 1 })).expect("accepted")
        };
        let empty = made(OltpKind::Insert, &[("auto-inc", "off")]);
        let reader = on(OltpKind::PointSelect, &empty);
        assert_eq!(rows_per_table(OltpKind::PointSelect, &reader), 0);
        let message = reader.must_find_rows(OltpKind::PointSelect).expect_err("refused").to_string();
        assert!(message.contains("load them with oltp_point_select"), "{message}");
        assert!(on(OltpKind::Insert, &empty).must_find_rows(OltpKind::Insert).is_ok());
        let full = made(OltpKind::ReadWrite, &[("auto-inc", "off")]);
        assert!(!full.contains_key(FILLED) && on(OltpKind::PointSelect, &full).filled);
    }

    #[test]
    fn printed_forms_hold_what_is_used() {
        let printed = OltpParameters::default().printable(OltpKind::SelectRandomRanges);
        assert_eq!(printed["number_of_ranges"], 10_u64.into());
        assert_eq!(printed["rand_type"], "special".into());
        assert_eq!(printed["create_secondary"], true.into());
        assert_eq!(printed["rand_zipfian_exp"], 0.8.into());
        assert!(!printed.contains_key("point_selects"));
        let data = OltpParameters::default().printable_data(OltpKind::SelectRandomRanges);
        assert!(data.contains_key("table_size") && !data.contains_key("number_of_ranges"));
    }
}
