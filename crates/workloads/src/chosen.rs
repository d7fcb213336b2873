//! A chosen workload: which one, with which parameters. Everything that differs between families is decided here, so
//! that whoever loads, runs or checks needs to know none of them.

use crate::check::{Check, Ledger, Moment};
use crate::dataset::{Dataset, DatasetNames, Loaded};
use crate::error::Error;
use crate::ledger::load::LedgerData;
use crate::oltp::load::OltpData;
use crate::smack::load::SmackData;
use crate::tpcc::load::OrderEntryData;
use crate::{ledger, oltp, smack, summaries, tpcc, unknown_workload};
use plimsoll_load::window::Limit;
use plimsoll_model::NamedScalars;

/// (name, text) pairs as typed.
pub type Typed = [(String, String)];

#[derive(Clone, Debug, PartialEq)]
pub enum ChosenWorkload {
    Oltp(oltp::OltpKind, oltp::OltpParameters),
    OrderEntry(tpcc::TpccParameters),
    Smack(smack::SmackKind, smack::SmackParameters),
    Ledger(ledger::LedgerParameters),
}

fn pairs(typed: &Typed) -> impl Iterator<Item = (&str, &str)> {
    typed.iter().map(|(name, text)| (name.as_str(), text.as_str()))
}

impl ChosenWorkload {
    /// The workload `name` with its parameters as typed, on top of those that its data were loaded with.
    ///
    /// # Errors
    /// There is no such workload or parameter, a value is not accepted, or the data do not match.
    pub fn new(name: &str, typed: &Typed, loaded: Option<Loaded<'_>>) -> Result<ChosenWorkload, Error> {
        if let Some(kind) = oltp::OltpKind::from_name(name) {
            return Ok(ChosenWorkload::Oltp(kind, oltp::OltpParameters::on(kind, pairs(typed), loaded)?));
        }
        if let Some(kind) = smack::SmackKind::from_name(name) {
            return Ok(ChosenWorkload::Smack(kind, smack::SmackParameters::on(kind, pairs(typed), loaded)?));
        }
        match name {
            tpcc::NAME => Ok(ChosenWorkload::OrderEntry(tpcc::TpccParameters::on(pairs(typed), loaded)?)),
            ledger::NAME => Ok(ChosenWorkload::Ledger(ledger::LedgerParameters::on(pairs(typed), loaded)?)),
            _ => Err(unknown_workload(name)),
        }
    }

    /// The same before the data are known: what some data would allow is not refused yet.
    ///
    /// # Errors
    /// As [`ChosenWorkload::new`], if no data would make it right.
    pub fn before_data(name: &str, typed: &Typed) -> Result<ChosenWorkload, Error> {
        let alone = ChosenWorkload::new(name, typed, None);
        if !matches!(alone, Err(Error::Combination { .. })) {
            return alone;
        }
        // The profile may be inherited from the data.
        let inherited = |profile: tpcc::choices::Profile| {
            let profile = ("profile".to_owned(), profile.name().to_owned());
            ChosenWorkload::new(name, &[&[profile], typed].concat(), None).ok()
        };
        tpcc::choices::Profile::ALL.into_iter().find_map(inherited).map_or(alone, Ok)
    }

    pub fn name(&self) -> &'static str {
        match self {
            ChosenWorkload::Oltp(kind, _) => kind.name(),
            ChosenWorkload::OrderEntry(_) => tpcc::NAME,
            ChosenWorkload::Smack(kind, _) => kind.name(),
            ChosenWorkload::Ledger(_) => ledger::NAME,
        }
    }

    /// The family of data that it loads and drives.
    pub fn family(&self) -> &'static str {
        match self {
            ChosenWorkload::Oltp(kind, _) => kind.dataset_family(),
            ChosenWorkload::OrderEntry(_) => tpcc::load::FAMILY,
            ChosenWorkload::Smack(kind, _) => kind.dataset_family(),
            ChosenWorkload::Ledger(_) => ledger::NAME,
        }
    }

    /// Every parameter with its value, by snake_case name.
    pub fn printable(&self) -> NamedScalars {
        match self {
            ChosenWorkload::Oltp(kind, parameters) => parameters.printable(*kind),
            ChosenWorkload::OrderEntry(parameters) => parameters.printable(),
            ChosenWorkload::Smack(kind, parameters) => parameters.printable(*kind),
            ChosenWorkload::Ledger(parameters) => parameters.printable(),
        }
    }

    pub fn dataset(&self, seed: u64) -> Box<dyn Dataset> {
        match self {
            ChosenWorkload::Oltp(kind, parameters) => Box::new(OltpData::new(*kind, parameters, seed)),
            ChosenWorkload::OrderEntry(parameters) => Box::new(OrderEntryData::new(parameters, seed)),
            ChosenWorkload::Smack(kind, parameters) => Box::new(SmackData::new(*kind, parameters, seed)),
            ChosenWorkload::Ledger(parameters) => Box::new(LedgerData::new(parameters, seed)),
        }
    }

    /// The names of its tables and procedures: those of [`ChosenWorkload::dataset`], without their texts.
    pub fn names(&self) -> DatasetNames {
        match self {
            ChosenWorkload::Oltp(kind, parameters) => oltp::schema::names(*kind, parameters),
            ChosenWorkload::OrderEntry(parameters) => tpcc::names::names(parameters),
            ChosenWorkload::Smack(..) => smack::schema::names(),
            ChosenWorkload::Ledger(_) => ledger::schema::names(),
        }
    }

    /// Checks that the tables exist and have the columns that it needs.
    pub fn layout(&self) -> Vec<Check> {
        match self {
            ChosenWorkload::Oltp(kind, parameters) => oltp::check::layout(*kind, parameters),
            ChosenWorkload::OrderEntry(parameters) => tpcc::check::layout(parameters),
            ChosenWorkload::Smack(_, parameters) => smack::check::layout(parameters),
            ChosenWorkload::Ledger(_) => ledger::check::layout(),
        }
    }

    /// Refuses tables that were loaded empty, if it needs rows.
    ///
    /// # Errors
    /// [`Error::Combination`].
    pub fn must_find_rows(&self) -> Result<(), Error> {
        match self {
            ChosenWorkload::Oltp(kind, parameters) => parameters.must_find_rows(*kind),
            _ => Ok(()),
        }
    }

    /// The same over everything that was loaded, whatever a run was narrowed to.
    ///
    /// # Errors
    /// What the data were loaded with is not accepted.
    pub fn over_all(&self, loaded: Loaded<'_>) -> Result<ChosenWorkload, Error> {
        match self {
            ChosenWorkload::OrderEntry(parameters) => parameters.over_all(loaded).map(ChosenWorkload::OrderEntry),
            ChosenWorkload::Oltp(kind, parameters) => {
                let whole = oltp::OltpParameters::on(*kind, pairs(&[]), Some(loaded))?;
                let oltp::OltpParameters { tables, table_size, filled, .. } = whole;
                let parameters = oltp::OltpParameters { tables, table_size, filled, ..parameters.clone() };
                Ok(ChosenWorkload::Oltp(*kind, parameters))
            }
            // What must hold for these holds for each of their tables.
            ChosenWorkload::Smack(..) | ChosenWorkload::Ledger(_) => Ok(self.clone()),
        }
    }

    /// Everything that must hold for the data, the layout first. `seed` is that of the load; the ledger has what
    /// clients committed since.
    pub fn checks(&self, moment: Moment, seed: Option<u64>, ledger: Option<&Ledger>) -> Vec<Check> {
        match self {
            ChosenWorkload::Oltp(kind, parameters) => oltp::check::checks(*kind, parameters, moment),
            ChosenWorkload::OrderEntry(parameters) => tpcc::check::checks(parameters, moment, ledger),
            ChosenWorkload::Smack(_, parameters) => smack::check::checks(parameters, moment, seed),
            ChosenWorkload::Ledger(parameters) => ledger::check::checks(parameters, moment),
        }
    }

    /// `prepared` or `text`: how statements are sent by default.
    pub fn default_protocol(&self) -> &'static str {
        match self {
            ChosenWorkload::OrderEntry(parameters) => parameters.default_protocol(),
            // As super-smack sends them.
            ChosenWorkload::Smack(..) => "text",
            ChosenWorkload::Oltp(..) | ChosenWorkload::Ledger(_) => "prepared",
        }
    }

    /// Refuses what does not fit the parameters: the protocol, or an arrival rate.
    pub fn goes_with(&self, protocol: &str, rate: bool) -> Result<(), Error> {
        let ChosenWorkload::OrderEntry(parameters) = self else { return Ok(()) };
        let refuse = |found: &str, remedy: &str| {
            Err(Error::Combination { workload: tpcc::NAME, found: found.to_owned(), remedy: remedy.to_owned() })
        };
        if parameters.requires_text() && protocol != "text" {
            return refuse("protocol prepared with fidelity compat", "the original sends text: leave --protocol out");
        }
        if parameters.pacing == tpcc::choices::Pacing::Spec && rate {
            return refuse("a --rate with pacing spec", "terminals pace themselves: use one or the other");
        }
        Ok(())
    }

    /// Refuses what cannot end a run with these parameters; `warm` if it has a warm-up.
    ///
    /// # Errors
    /// [`Error::Combination`].
    pub fn ends_with(&self, limit: Limit, warm: bool) -> Result<(), Error> {
        let ChosenWorkload::OrderEntry(parameters) = self else { return Ok(()) };
        let (found, remedy) = match limit {
            _ if parameters.pacing != tpcc::choices::Pacing::Spec => return Ok(()),
            Limit::EventsPerConnection(_) => {
                ("events per connection with pacing spec", "terminals belong to no connection: measure for a time")
            }
            Limit::Events(_) if warm => (
                "events and a warm-up with pacing spec",
                "terminals' events are counted from the start: measure for a time, or leave the warm-up out",
            ),
            Limit::Events(_) | Limit::Time(_) => return Ok(()),
        };
        Err(Error::Combination { workload: tpcc::NAME, found: found.to_owned(), remedy: remedy.to_owned() })
    }
}

/// Name and help of every parameter of any workload, as the command line shows them.
pub fn options() -> Vec<(&'static str, String)> {
    let of_oltp = oltp::OltpKind::ALL.into_iter().flat_map(oltp::parameters::parameters).map(|spec| spec.shown());
    let of_smack = smack::SmackKind::ALL.into_iter().flat_map(smack::parameters::parameters).map(|spec| spec.shown());
    let of_tpcc = tpcc::parameters::TABLE.iter().map(|spec| spec.shown());
    let aliases = tpcc::aliases::aliases().iter().map(|(name, help)| (*name, (*help).to_owned()));
    let mut all: Vec<(&'static str, String)> = Vec::new();
    let of_ledger = ledger::parameters::TABLE.iter().map(|spec| spec.shown());
    for (name, help) in of_oltp.chain(of_tpcc).chain(aliases).chain(of_smack).chain(of_ledger) {
        if all.iter().all(|(known, _)| *known != name) {
            all.push((name, help));
        }
    }
    all
}

/// The family of data of the workload `name`.
///
/// # Errors
/// There is no such workload.
pub fn family(name: &str) -> Result<&'static str, Error> {
    ChosenWorkload::new(name, &[], None).map(|chosen| chosen.family())
}

/// The first workload whose data are of this family, if there is one.
pub fn of_family(wanted: &str) -> Option<&'static str> {
    summaries().map(|(name, _)| name).find(|name| family(name).is_ok_and(|family| family == wanted))
}

/// What data of a family that were loaded with these parameters consist of; `None` if no workload has such data.
///
/// # Errors
/// The parameters are not accepted.
pub fn names_of(family: &str, loaded: Loaded<'_>) -> Result<Option<DatasetNames>, Error> {
    of_family(family)
        .map(|name| Ok(ChosenWorkload::new(name, &[], Some(loaded))?.over_all(loaded)?.names()))
        .transpose()
}

/// The parameters of the workload `name`, and other spellings of them.
///
/// # Errors
/// There is no such workload.
pub fn parameters_of(name: &str) -> Result<Vec<&'static str>, Error> {
    if let Some(kind) = oltp::OltpKind::from_name(name) {
        return Ok(oltp::parameters::parameters(kind).map(|spec| spec.name).collect());
    }
    if let Some(kind) = smack::SmackKind::from_name(name) {
        return Ok(smack::parameters::parameters(kind).map(|spec| spec.name).collect());
    }
    match name {
        tpcc::NAME => {
            let aliases = tpcc::aliases::aliases().iter().map(|(name, _)| *name);
            Ok(tpcc::parameters::TABLE.iter().map(|spec| spec.name).chain(aliases).collect())
        }
        ledger::NAME => Ok(ledger::parameters::TABLE.iter().map(|spec| spec.name).collect()),
        _ => Err(unknown_workload(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn what_the_data_may_allow_is_not_refused_before_they_are_known() {
        let compat = typed(&[("fidelity", "compat"), ("scale", "3")]);
        assert!(ChosenWorkload::new("tpcc", &compat, None).is_err());
        assert_eq!(ChosenWorkload::before_data("tpcc", &compat).map(|chosen| chosen.family()), Ok("tpcc"));
        for never in [&[("fidelity", "compat"), ("profile", "spec")][..], &[("mix", "0/0/0/0/0")], &[("tables", "0")]] {
            assert!(ChosenWorkload::before_data("tpcc", &typed(never)).is_err(), "{never:?}");
        }
    }

    #[test]
    fn every_workload_is_chosen_by_its_name_and_has_data_a_layout_and_checks() {
        for (name, _) in crate::summaries() {
            let chosen = ChosenWorkload::new(name, &[], None).expect("its defaults are accepted");
            assert_eq!((chosen.name(), family(name)), (name, Ok(chosen.family())));
            assert_eq!(chosen.dataset(1).family(), chosen.family());
            assert!(!chosen.layout().is_empty());
            // A backslash is no escape where the SQL mode has NO_BACKSLASH_ESCAPES.
            assert!(chosen.dataset(1).tables().iter().all(|table| !table.load_data.contains('\\')), "{name}");
            assert!(chosen.checks(Moment::Loaded, Some(1), None).len() >= chosen.layout().len());
        }
    }

    #[test]
    fn names_are_those_of_the_data_whatever_they_were_loaded_with() {
        let cases: [(&str, &[(&str, &str)]); 9] = [
            ("ledger", &[("rows", "12")]),
            ("oltp_read_write", &[("tables", "12")]),
            ("oltp_read_write", &[("layout", "sysbench-0.4")]),
            ("oltp_insert", &[("auto_inc", "off"), ("tables", "3")]),
            ("bulk_insert", &[("tables", "2")]),
            ("tpcc", &[("warehouses", "2")]),
            ("tpcc", &[("profile", "sysbench"), ("tables", "11")]),
            ("tpcc", &[("profile", "dbt2")]),
            ("smack_update_select", &[]),
        ];
        for (name, pairs) in cases {
            let dataset = ChosenWorkload::new(name, &typed(pairs), None).expect("accepted").dataset(1);
            let (parameters, made) = (dataset.parameters(), DatasetNames::of(dataset.as_ref()));
            let loaded = Loaded { parameters: &parameters, seed: 1 };
            assert_eq!(names_of(dataset.family(), loaded), Ok(Some(made)), "{name} {pairs:?}");
        }
        let none = NamedScalars::new();
        assert_eq!(names_of("others", Loaded { parameters: &none, seed: 1 }), Ok(None));
        assert!(
            names_of("sbtest", Loaded { parameters: &[("tables".to_owned(), 0_u64.into())].into(), seed: 1 }).is_err()
        );
    }

    #[test]
    fn what_was_narrowed_is_checked_over_all_that_was_loaded() {
        let whole = typed(&[("tables", "3"), ("table_size", "1000")]);
        let data = ChosenWorkload::new("oltp_read_write", &whole, None).expect("accepted").dataset(1).parameters();
        let loaded = Loaded { parameters: &data, seed: 1 };
        let narrowed = typed(&[("tables", "1"), ("table_size", "500"), ("point_selects", "3")]);
        let run = ChosenWorkload::new("oltp_read_write", &narrowed, Some(loaded)).expect("accepted");
        let ChosenWorkload::Oltp(_, over_all) = run.over_all(loaded).expect("accepted") else { panic!("oltp") };
        assert_eq!((over_all.tables, over_all.table_size, over_all.point_selects), (3, 1000, 3));
    }

    #[test]
    fn a_workload_accepts_what_it_says() {
        for (name, _) in crate::summaries() {
            let all = parameters_of(name).expect("a workload");
            let shown = ChosenWorkload::new(name, &[], None).expect("its defaults are accepted").printable();
            assert!(shown.keys().all(|key| all.contains(&key.replace('_', "-").as_str())), "{name}: {all:?}");
        }
        assert!(parameters_of("tpcc").unwrap().contains(&"scale") && parameters_of("$(id)").is_err());
    }

    #[test]
    fn options_are_named_once() {
        let all = options();
        let names: std::collections::HashSet<_> = all.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), all.len());
        assert!(["table-size", "warehouses", "scale", "keys"].iter().all(|name| names.contains(name)));
    }

    #[test]
    fn a_rate_or_a_protocol_that_does_not_go_with_the_parameters_is_refused() {
        let of = |pairs| ChosenWorkload::new("tpcc", &typed(pairs), None).expect("accepted");
        let compat = of(&[("profile", "sysbench"), ("fidelity", "compat")]);
        assert!(compat.goes_with("text", true).is_ok() && compat.goes_with("prepared", false).is_err());
        let paced = of(&[("pacing", "spec")]);
        assert!(paced.goes_with("prepared", false).is_ok() && paced.goes_with("prepared", true).is_err());
    }

    #[test]
    fn events_of_terminals_end_a_run_only_as_they_are_counted() {
        let ends = |pairs: &[(&str, &str)], limit, warm| {
            ChosenWorkload::new("tpcc", &typed(pairs), None).expect("accepted").ends_with(limit, warm).is_ok()
        };
        let (all, each, time) = (Limit::Events(9), Limit::EventsPerConnection(9), Limit::Time(9));
        let paced = [("pacing", "spec")];
        assert!(ends(&paced, all, false) && ends(&paced, time, true));
        assert!(!ends(&paced, all, true) && !ends(&paced, each, false) && !ends(&paced, each, true));
        assert!(ends(&[], all, true) && ends(&[], each, true));
    }
}
