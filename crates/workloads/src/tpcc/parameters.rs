//! Everything that can be set about order entry, and the profiles, which are simply other defaults.

use super::choices::refuse;
use super::choices::{
    Affinity, CallStyle, DeliveryMode, Fidelity, ForeignKeys, HistoryPk, Isolation, NAME, Pacing, Profile,
};
use super::{aliases, dates};
use crate::dataset::Loaded;
use crate::error::Error;
use crate::parameter::{self, ParameterSlot, ParameterSpec};
use plimsoll_model::NamedScalars;
use plimsoll_model::text::escaped;

/// The column of profile `sysbench` is a SMALLINT.
const WAREHOUSES_OF_SYSBENCH: u64 = 32_767;
const WAREHOUSES_MAX: u64 = 1_000_000;
/// Far below what servers allow (8192), far above what helps.
const PARTITIONS_MAX: u64 = 1_024;
const WEIGHT_MAX: u64 = 1_000_000;

/// Weights of new-order, payment, order-status, delivery and stock-level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionMix(pub [u64; 5]);

/// The values of all parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct TpccParameters {
    pub profile: Profile,
    pub fidelity: Fidelity,
    /// Of each table set.
    pub warehouses: u64,
    /// Table sets; more than 1 with profile `sysbench` only, whose tables carry the set's number.
    pub tables: u64,
    pub mix: TransactionMix,
    pub pacing: Pacing,
    pub affinity: Affinity,
    pub call_style: CallStyle,
    pub isolation: Isolation,
    pub fk: ForeignKeys,
    pub history_pk: HistoryPk,
    /// Partitions by warehouse of all tables except item; 0 for none.
    pub partitions: u64,
    /// Locks the stock of an order by warehouse and item, which avoids most deadlocks.
    pub sort_lines: bool,
    pub delivery: DeliveryMode,
    /// sysbench-tpcc's sixth transaction, which deletes old orders: weight 1 beside the mix.
    pub purge: bool,
    /// Stands in the dates of loaded rows: YYYY-MM-DD.
    pub load_date: String,
}

impl TransactionMix {
    /// `45/43/4/4/4`: five weights, not all of them 0.
    pub fn parse(text: &str) -> Option<TransactionMix> {
        let weights: Vec<u64> = text.split('/').map(|weight| weight.trim().parse().ok()).collect::<Option<_>>()?;
        let weights: [u64; 5] = weights.try_into().ok()?;
        let usable = weights.iter().all(|weight| *weight <= WEIGHT_MAX) && weights.iter().any(|weight| *weight > 0);
        usable.then_some(TransactionMix(weights))
    }
}

impl std::fmt::Display for TransactionMix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [new_order, payment, order_status, delivery, stock_level] = self.0;
        write!(f, "{new_order}/{payment}/{order_status}/{delivery}/{stock_level}")
    }
}

impl Default for TpccParameters {
    fn default() -> TpccParameters {
        TpccParameters::of(Profile::Spec)
    }
}

impl TpccParameters {
    /// The defaults of a profile.
    pub fn of(profile: Profile) -> TpccParameters {
        let spec = TpccParameters {
            profile,
            fidelity: Fidelity::Strict,
            warehouses: 1,
            tables: 1,
            mix: TransactionMix([45, 43, 4, 4, 4]),
            pacing: Pacing::None,
            affinity: Affinity::Home,
            call_style: CallStyle::Batched,
            isolation: Isolation::RepeatableRead,
            fk: ForeignKeys::None,
            history_pk: HistoryPk::None,
            partitions: 0,
            sort_lines: true,
            delivery: DeliveryMode::Immediate,
            purge: false,
            load_date: "2026-01-01".to_owned(),
        };
        match profile {
            Profile::Spec => spec,
            Profile::Dbt2 => TpccParameters { call_style: CallStyle::Procedure, sort_lines: false, ..spec },
            Profile::Sysbench => TpccParameters {
                mix: TransactionMix([10, 10, 1, 1, 1]),
                affinity: Affinity::Random,
                call_style: CallStyle::PerRow,
                fk: ForeignKeys::Declared,
                sort_lines: false,
                ..spec
            },
        }
    }

    /// Reads (name, text) pairs on top of the defaults of the profile among them.
    ///
    /// # Errors
    /// An unknown name, a value that is not accepted, values that do not go together.
    pub fn parse(pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>) -> Result<TpccParameters, Error> {
        TpccParameters::on(pairs, None)
    }

    /// Reads (name, text) pairs on top of what the data were loaded with: what was not typed is inherited, the profile
    /// too. Warehouses and table sets can be narrowed.
    ///
    /// # Errors
    /// As [`TpccParameters::parse`]; what was typed contradicts the data.
    pub fn on(
        pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
        loaded: Option<Loaded<'_>>,
    ) -> Result<TpccParameters, Error> {
        let pairs: Vec<(String, String)> =
            pairs.into_iter().map(|(name, text)| (name.as_ref().to_owned(), text.as_ref().to_owned())).collect();
        let data = loaded.map(TpccParameters::of_data).transpose()?;
        let profile = match typed_profile(&pairs)? {
            Some(typed) => typed,
            None => data.as_ref().map_or(Profile::default(), |data| data.profile),
        };
        let mut parameters = TpccParameters::of(profile);
        if let Some(data) = data.as_ref() {
            parameters.must_have_tables_of(data)?;
            parameters.inherit(data);
        }
        parameter::apply(&TABLE, NAME, aliases::spelled_out(pairs, profile)?, &mut parameters)?;
        parameters.validate()?;
        if let Some(data) = data.as_ref() {
            parameters.must_fit(data)?;
        }
        Ok(parameters)
    }

    /// Every parameter, defaults included, by snake_case name.
    pub fn printable(&self) -> NamedScalars {
        parameter::printable(&TABLE, NAME, self)
    }

    /// The same for those that decide what `load` creates.
    pub fn printable_data(&self) -> NamedScalars {
        let shapes_data = TABLE.iter().filter(|spec| spec.shapes_data);
        shapes_data.map(|spec| (spec.snake_name(), spec.value(self))).collect()
    }

    /// The protocol that the profile's original speaks.
    pub fn default_protocol(&self) -> &'static str {
        if self.profile == Profile::Sysbench { "text" } else { "prepared" }
    }

    /// Whether prepared statements are refused: what is compared with old numbers must cost what the original cost.
    pub fn requires_text(&self) -> bool {
        self.fidelity == Fidelity::Compat
    }

    /// Whether the tables have foreign keys, enforced or not.
    pub fn has_foreign_keys(&self) -> bool {
        self.fk != ForeignKeys::None
    }

    fn validate(&self) -> Result<(), Error> {
        if self.profile != Profile::Sysbench {
            self.validate_single_set()?;
        } else if self.warehouses > WAREHOUSES_OF_SYSBENCH {
            return refuse(
                &format!("{} warehouses with profile sysbench", self.warehouses),
                "its warehouse column is a SMALLINT: ask for at most 32767, use more table sets, or profile spec",
            );
        }
        if self.fidelity == Fidelity::Compat {
            self.validate_compat()?;
        }
        if self.partitions > 0 && self.has_foreign_keys() {
            return refuse(
                &format!("{} partitions with fk {}", self.partitions, self.fk.name()),
                "servers have no foreign keys on partitioned tables: use fk none, or no partitions",
            );
        }
        if self.pacing == Pacing::Spec && self.affinity != Affinity::Home {
            return refuse(
                &format!("pacing spec with affinity {}", self.affinity.name()),
                "only a terminal with a home keeps keying and think times: use affinity home, or pacing none",
            );
        }
        Ok(())
    }

    /// What only the tables and the mix of sysbench-tpcc have.
    fn validate_single_set(&self) -> Result<(), Error> {
        let profile = self.profile.name();
        if self.tables > 1 {
            return refuse(
                &format!("{} table sets with profile {profile}", self.tables),
                "only the tables of profile sysbench are numbered: leave tables at 1, or use that profile",
            );
        }
        if self.fidelity == Fidelity::Compat {
            return refuse(
                &format!("fidelity compat with profile {profile}"),
                "it keeps defects of sysbench-tpcc: use profile sysbench, or fidelity strict",
            );
        }
        if self.purge {
            return refuse(
                &format!("purge with profile {profile}"),
                "it is a transaction of sysbench-tpcc: use profile sysbench, or leave it off",
            );
        }
        Ok(())
    }

    /// Compat is for comparison with old numbers, so it accepts nothing that the original does not do.
    fn validate_compat(&self) -> Result<(), Error> {
        let differs = |name: &str, found: &str, original: &str| {
            refuse(
                &format!("fidelity compat with {name} {found}"),
                &format!("the original has {name} {original}: use that, or fidelity strict"),
            )
        };
        if self.call_style != CallStyle::PerRow {
            return differs("call-style", self.call_style.name(), "per-row");
        }
        if self.fk == ForeignKeys::Enforced {
            return differs("fk", "enforced", "none or declared");
        }
        // The original has no queue, and its delivery ends if a district has no order.
        if self.delivery == DeliveryMode::Deferred {
            return differs("delivery", "deferred", "immediate");
        }
        if self.sort_lines {
            return differs("sort-lines", "on", "off");
        }
        Ok(())
    }
}

/// The profile that was typed: the last one wins, as with every parameter.
fn typed_profile(pairs: &[(String, String)]) -> Result<Option<Profile>, Error> {
    let Some((_, text)) = pairs.iter().rev().find(|(name, _)| name == "profile") else { return Ok(None) };
    match Profile::from_name(text.trim()) {
        Some(profile) => Ok(Some(profile)),
        None => Err(Error::BadValue {
            workload: NAME,
            name: "profile",
            found: escaped(text),
            accepted: format!("one of {}", Profile::NAMES.join(", ")),
        }),
    }
}

type Spec = ParameterSpec<TpccParameters>;

const fn data(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    slot: ParameterSlot<TpccParameters>,
) -> Spec {
    ParameterSpec { name, default, help, workloads: &[NAME], shapes_data: true, slot }
}

const fn traffic(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    slot: ParameterSlot<TpccParameters>,
) -> Spec {
    ParameterSpec { name, default, help, workloads: &[NAME], shapes_data: false, slot }
}

macro_rules! choice {
    ($type:ident, $field:ident) => {
        ParameterSlot::Choice {
            accepted: $type::NAMES,
            get: |p| p.$field.name(),
            set: |p, name| p.$field = $type::from_name(name).unwrap_or(p.$field),
        }
    };
}

/// One row per parameter; the defaults are those of profile `spec`.
#[rustfmt::skip]
pub static TABLE: [Spec; 16] = [
    data("profile", "spec", "a named set of defaults: the specification, DBT-2, or sysbench-tpcc and its table sets", choice!(Profile, profile)),
    traffic("fidelity", "strict", "compat keeps the known defects of sysbench-tpcc (profile sysbench, per-row, text only)", choice!(Fidelity, fidelity)),
    data("warehouses", "1", "warehouses of each table set", ParameterSlot::Count { field: |p| &mut p.warehouses, low: 1, high: WAREHOUSES_MAX }),
    data("tables", "1", "table sets (profile sysbench)", ParameterSlot::Count { field: |p| &mut p.tables, low: 1, high: 1_000 }),
    traffic("mix", "45/43/4/4/4", "weights of new-order/payment/order-status/delivery/stock-level (sysbench: 10/10/1/1/1)",
        ParameterSlot::Parsed { accepted: "five weights such as 45/43/4/4/4, not all 0", get: |p| p.mix.to_string(),
            set: |p, text| TransactionMix::parse(text).map(|mix| p.mix = mix).is_some() }),
    traffic("pacing", "none", "whether terminals keep the keying and think times of clause 5.2.5", choice!(Pacing, pacing)),
    traffic("affinity", "home", "warehouse: of the terminal (its district too for stock-level), of a slice, or random (sysbench: random)", choice!(Affinity, affinity)),
    traffic("call-style", "batched", "a statement for each row, for the rows of a table, or one CALL (dbt2: procedure; sysbench: per-row)", choice!(CallStyle, call_style)),
    traffic("isolation", "repeatable-read", "isolation level of the sessions", choice!(Isolation, isolation)),
    data("fk", "none", "foreign keys; declared ones are not checked in a run (sysbench: declared)", choice!(ForeignKeys, fk)),
    data("history-pk", "none", "auto gives history a primary key, as clusters require", choice!(HistoryPk, history_pk)),
    data("partitions", "0", "partitions by warehouse of all tables except item; 0 for none", ParameterSlot::Count { field: |p| &mut p.partitions, low: 0, high: PARTITIONS_MAX }),
    traffic("sort-lines", "on", "lock the stock of an order by warehouse and item, which avoids most deadlocks (dbt2, sysbench: off)", ParameterSlot::Switch { field: |p| &mut p.sort_lines }),
    traffic("delivery", "immediate", "deferred queues deliveries, as in clause 2.7.2", choice!(DeliveryMode, delivery)),
    traffic("purge", "off", "a sixth transaction that deletes old orders (profile sysbench)", ParameterSlot::Switch { field: |p| &mut p.purge }),
    data("load-date", "2026-01-01", "the date in loaded rows",
        ParameterSlot::Parsed { accepted: "a date as YYYY-MM-DD, from the year 1000 on", get: |p| p.load_date.clone(),
            set: |p, text| dates::is_date(text) && { p.load_date = text.to_owned(); true } }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Scalar;

    fn parse(pairs: &[(&str, &str)]) -> Result<TpccParameters, String> {
        TpccParameters::parse(pairs.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn default_texts_are_the_defaults_of_the_specification() {
        let mut from_texts = TpccParameters { warehouses: 99, partitions: 7, ..TpccParameters::of(Profile::Sysbench) };
        for spec in &TABLE {
            assert!(spec.set(&mut from_texts, spec.default), "{}", spec.name);
        }
        assert_eq!(from_texts, TpccParameters::of(Profile::Spec));
        assert_eq!(parse(&[]).expect("accepted"), TpccParameters::default());
    }

    #[test]
    fn a_profile_is_nothing_but_other_defaults() {
        for profile in Profile::ALL {
            assert_eq!(parse(&[("profile", profile.name())]).expect("accepted"), TpccParameters::of(profile));
        }
        let typed_first = parse(&[("call_style", "batched"), ("sort-lines", "on"), ("profile", "dbt2")]);
        assert_eq!(
            typed_first.expect("accepted"),
            TpccParameters { call_style: CallStyle::Batched, sort_lines: true, ..TpccParameters::of(Profile::Dbt2) }
        );
        let message = parse(&[("profile", "hammerdb")]).expect_err("refused");
        assert_eq!(message, "parameter 'profile' of tpcc is 'hammerdb', but it must be one of spec, dbt2, sysbench");
    }

    #[test]
    fn names_and_values_lead_to_each_other() {
        assert_eq!(Profile::NAMES, Profile::ALL.map(Profile::name));
        for name in Isolation::NAMES {
            assert_eq!(Isolation::from_name(name).map(Isolation::name), Some(*name));
        }
        assert_eq!(CallStyle::from_name("perrow"), None);
    }

    #[test]
    fn a_mix_is_five_weights() {
        assert_eq!(TransactionMix::parse("10/10/1/1/1"), Some(TransactionMix([10, 10, 1, 1, 1])));
        assert_eq!(TransactionMix::parse(" 0/ 0/0/1/0").map(|mix| mix.to_string()).as_deref(), Some("0/0/0/1/0"));
        for text in ["", "45/43/4/4", "45/43/4/4/4/1", "0/0/0/0/0", "45/43/4/4/-4", "45/43/4/4/4.5", "1/1/1/1/1000001"]
        {
            assert_eq!(TransactionMix::parse(text), None, "{text}");
        }
        let message = parse(&[("mix", "all")]).expect_err("refused");
        assert!(message.ends_with("it must be five weights such as 45/43/4/4/4, not all 0"), "{message}");
    }

    #[test]
    fn combinations_that_cannot_be_are_refused() {
        const SYSBENCH: (&str, &str) = ("profile", "sysbench");
        const COMPAT: (&str, &str) = ("fidelity", "compat");
        for (pairs, found) in [
            (&[("tables", "2")][..], "2 table sets with profile spec"),
            (&[COMPAT, ("profile", "dbt2")], "fidelity compat with profile dbt2"),
            (&[("purge", "on")], "purge with profile spec"),
            (&[SYSBENCH, ("warehouses", "32768")], "32768 warehouses with profile sysbench"),
            (&[SYSBENCH, COMPAT, ("call-style", "batched")], "fidelity compat with call-style batched"),
            (&[SYSBENCH, COMPAT, ("fk", "enforced")], "fidelity compat with fk enforced"),
            (&[SYSBENCH, COMPAT, ("delivery", "deferred")], "fidelity compat with delivery deferred"),
            (&[SYSBENCH, COMPAT, ("sort-lines", "1")], "fidelity compat with sort-lines on"),
            (&[SYSBENCH, ("partitions", "4")], "4 partitions with fk declared"),
            (&[("pacing", "spec"), ("affinity", "slice")], "pacing spec with affinity slice"),
            (&[SYSBENCH, ("pacing", "spec")], "pacing spec with affinity random"),
        ] {
            let message = parse(pairs).expect_err("refused");
            assert!(message.starts_with(&format!("tpcc cannot have {found}; ")), "{message}");
        }
        assert!(parse(&[SYSBENCH, COMPAT, ("tables", "10"), ("purge", "on")]).is_ok());
        assert!(parse(&[SYSBENCH, ("fk", "none"), ("partitions", "4"), ("delivery", "deferred")]).is_ok());
        assert!(parse(&[("load-date", "2026-02-30")]).is_err());
    }

    #[test]
    fn the_protocol_follows_from_profile_and_fidelity() {
        assert_eq!(
            (TpccParameters::default().default_protocol(), TpccParameters::default().requires_text()),
            ("prepared", false)
        );
        let sysbench = TpccParameters::of(Profile::Sysbench);
        assert_eq!((sysbench.default_protocol(), sysbench.requires_text()), ("text", false));
        assert!(TpccParameters { fidelity: Fidelity::Compat, ..sysbench }.requires_text());
    }

    #[test]
    fn printed_forms_can_be_read_again() {
        let parameters = parse(&[("profile", "sysbench"), ("tables", "2"), ("mix", "1/2/3/4/5")]).expect("accepted");
        let printed = parameters.printable();
        assert_eq!((printed.len(), &printed["mix"]), (TABLE.len(), &Scalar::from("1/2/3/4/5")));
        let again = TpccParameters::parse(printed.iter().map(|(name, value)| (name, value.to_string())));
        assert_eq!(again.expect("accepted"), parameters);
        let data: Vec<String> = parameters.printable_data().into_keys().collect();
        assert_eq!(data, ["fk", "history_pk", "load_date", "partitions", "profile", "tables", "warehouses"]);
    }
}
