//! What is sent: every statement by its role, and the sequence of roles in each transaction, by call style.
//!
//! A [`Role`] is what a statement is for, a [`TpccStep`] is how often a transaction sends it, and a [`TpccStatements`] is the
//! list of texts to prepare: for each role in use, those of every table set and variant. `texts` has the texts.

use super::choices::{CallStyle, DeliveryMode};
use super::parameters::TpccParameters;
use super::roles::{Pick, Role};
use super::texts::Texts;
use plimsoll_engine::Statement;

/// The transactions, in the order of their numbers in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionKind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
    /// The work of a queued delivery.
    DeferredDelivery,
    Purge,
}

impl TransactionKind {
    pub const ALL: [TransactionKind; 7] = [
        TransactionKind::NewOrder,
        TransactionKind::Payment,
        TransactionKind::OrderStatus,
        TransactionKind::Delivery,
        TransactionKind::StockLevel,
        TransactionKind::DeferredDelivery,
        TransactionKind::Purge,
    ];

    /// The names of all, by number.
    pub const NAMES: [&'static str; 7] =
        ["new_order", "payment", "order_status", "delivery", "stock_level", "deferred_delivery", "purge"];

    pub const fn name(self) -> &'static str {
        TransactionKind::NAMES[self as usize]
    }
}

/// How often a transaction sends a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once,
    /// For each line of the order.
    Lines,
    /// For each line that another warehouse supplies: 1 % of them.
    RemoteLines,
    /// Where the customer is given by last name: 60 %.
    ByName,
    /// Where the customer is given by number: 40 %.
    ByNumber,
    /// Where the customer's credit is bad, or is not: a tenth of them.
    BadCredit,
    GoodCredit,
    /// For each district.
    Districts,
    /// sysbench-tpcc's purge makes ten rounds.
    Ten,
}

impl Times {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Times::Once => "once",
            Times::Lines => "each line",
            Times::RemoteLines => "remote line",
            Times::ByName => "by name",
            Times::ByNumber => "by number",
            Times::BadCredit => "bad credit",
            Times::GoodCredit => "good credit",
            Times::Districts => "10 districts",
            Times::Ten => "10 times",
        }
    }
}

/// One statement of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TpccStep {
    pub role: Role,
    pub times: Times,
}

/// What a transaction sends between BEGIN and COMMIT, in order.
#[rustfmt::skip]
const fn body(kind: TransactionKind, style: CallStyle) -> &'static [(Role, Times)] {
    use CallStyle::{Batched, PerRow, Procedure};
    use Role::*;
    use Times::{BadCredit, ByName, ByNumber, Districts, GoodCredit, Lines, Once, RemoteLines, Ten};
    match (kind, style) {
        (TransactionKind::NewOrder, PerRow) => &[
            (Rates, Once), (NextOrder, Once), (AdvanceOrder, Once), (InsertOrder, Once), (InsertNewOrder, Once),
            (Item, Lines), (Stock, Lines), (UpdateStock, Lines), (InsertLine, Lines),
        ],
        (TransactionKind::NewOrder, Batched) => &[
            (Rates, Once), (Items, Once), (Stocks, Once), (UpdateStocks, Once), (Stock, RemoteLines), (UpdateStock, RemoteLines),
            (NextOrder, Once), (AdvanceOrder, Once), (InsertOrder, Once), (InsertNewOrder, Once), (InsertLines, Once),
        ],
        (TransactionKind::Payment, PerRow) => &[
            (PayWarehouse, Once), (Warehouse, Once), (PayDistrict, Once), (District, Once),
            (CountNamesakes, ByName), (Namesakes, ByName), (Customer, Once),
            (CustomerData, BadCredit), (PayBadCustomer, BadCredit), (PayCustomer, GoodCredit), (InsertHistory, Once),
        ],
        (TransactionKind::Payment, Batched) => &[
            (CustomersOfName, ByName), (Customer, ByNumber), (PayBadCustomer, BadCredit), (PayCustomer, GoodCredit),
            (PayDistrict, Once), (PayWarehouse, Once), (Addresses, Once), (InsertHistory, Once),
        ],
        (TransactionKind::OrderStatus, PerRow) => &[
            (CountNamesakes, ByName), (BalancesOfName, ByName), (Balance, ByNumber), (LastOrder, Once), (LinesOfOrder, Once),
        ],
        (TransactionKind::OrderStatus, Batched) => &[
            (BalancesOfName, ByName), (Balance, ByNumber), (LastOrder, Once), (LinesOfOrder, Once),
        ],
        (TransactionKind::Delivery | TransactionKind::DeferredDelivery, PerRow) => &[
            (OldestOrder, Districts), (DeleteNewOrder, Districts), (CustomerOfOrder, Districts), (CarryOrder, Districts),
            (DeliverLines, Districts), (AmountOfOrder, Districts), (CreditCustomer, Districts),
        ],
        (TransactionKind::Delivery | TransactionKind::DeferredDelivery, Batched) => &[
            (OldestOrders, Once), (DeleteNewOrders, Once), (CustomersOfOrders, Once), (CarryOrders, Once),
            (DeliverLinesOfOrders, Once), (AmountsOfOrders, Once), (CreditCustomers, Once),
        ],
        (TransactionKind::StockLevel, PerRow | Batched) => &[(OrdersSoFar, Once), (LowStock, Once)],
        (TransactionKind::NewOrder, Procedure) => &[(CallNewOrder, Once)],
        (TransactionKind::Payment, Procedure) => &[(CallPayment, Once)],
        (TransactionKind::OrderStatus, Procedure) => &[(CallOrderStatus, Once)],
        (TransactionKind::Delivery | TransactionKind::DeferredDelivery, Procedure) => &[(CallDelivery, Once)],
        (TransactionKind::StockLevel, Procedure) => &[(CallStockLevel, Once)],
        (TransactionKind::Purge, _) => &[
            (OldestUndelivered, Ten), (DeliveredOrder, Ten), (PurgeLines, Ten), (PurgeOrder, Ten), (PurgeHistory, Ten),
        ],
    }
}

/// One transaction that commits, in order. The groups of a line, a district or a round go together.
pub fn steps(kind: TransactionKind, style: CallStyle) -> impl Iterator<Item = TpccStep> {
    let once = |role| TpccStep { role, times: Times::Once };
    let body = body(kind, style).iter().map(|(role, times)| TpccStep { role: *role, times: *times });
    std::iter::once(once(Role::Begin)).chain(body).chain(std::iter::once(once(Role::Commit)))
}

/// The kinds that a run with these parameters can have.
pub fn kinds(parameters: &TpccParameters) -> impl Iterator<Item = TransactionKind> {
    let (deferred, purge) = (parameters.delivery == DeliveryMode::Deferred, parameters.purge);
    TransactionKind::ALL.into_iter().filter(move |kind| match kind {
        TransactionKind::DeferredDelivery => deferred,
        TransactionKind::Purge => purge,
        _ => true,
    })
}

/// All texts of a run: for each role in use those of every table set, and for each set those of every variant.
#[derive(Clone, Debug)]
pub struct TpccStatements {
    statements: Vec<Statement>,
    first: [Option<usize>; Role::COUNT],
}

impl TpccStatements {
    pub fn new(parameters: &TpccParameters) -> TpccStatements {
        let texts = Texts::new(parameters);
        let mut catalogue = TpccStatements { statements: Vec::new(), first: [None; Role::COUNT] };
        let roles = kinds(parameters).flat_map(|kind| steps(kind, parameters.call_style)).map(|step| step.role);
        for role in roles {
            if catalogue.first[role as usize].is_some() {
                continue;
            }
            catalogue.first[role as usize] = Some(catalogue.statements.len());
            let sets = if role.names_a_table() { parameters.tables } else { 1 };
            for set in 1..=sets {
                catalogue.statements.extend((1..=role.variants()).map(|variant| Statement {
                    name: role.name(),
                    kind: role.kind(),
                    sql: texts.of(role.variant(variant), set),
                    prepared: role.names_a_table(),
                }));
            }
        }
        catalogue
    }

    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Where the statement stands in [`TpccStatements::statements`], for a table set from 1; `None` if no transaction has
    /// it.
    #[inline]
    pub fn position(&self, pick: Pick, set: u64) -> Option<usize> {
        let variants = pick.role.variants();
        debug_assert!((1..=variants).contains(&pick.variant), "{pick:?}");
        let of_set = if pick.role.names_a_table() { (set as usize - 1) * variants } else { 0 };
        self.first[pick.role as usize].map(|first| first + of_set + pick.variant - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> TpccParameters {
        TpccParameters::parse(pairs.iter().copied()).expect("accepted")
    }

    /// How many statements a committed transaction has at least, and how many more for each line, district and round.
    fn count(kind: TransactionKind, style: CallStyle) -> (usize, usize) {
        let is_of = |times: &[Times]| steps(kind, style).filter(|step| times.contains(&step.times)).count();
        // By number and with good credit: of each pair one is sent.
        let once = is_of(&[Times::Once, Times::ByNumber, Times::GoodCredit]);
        (once, is_of(&[Times::Lines, Times::Districts, Times::Ten]))
    }

    #[test]
    fn per_row_is_the_sequence_of_sysbench_tpcc() {
        for (kind, expected) in [
            (TransactionKind::NewOrder, (7, 4)),
            (TransactionKind::Payment, (9, 0)),
            (TransactionKind::OrderStatus, (5, 0)),
            (TransactionKind::Delivery, (2, 7)),
            (TransactionKind::StockLevel, (4, 0)),
            (TransactionKind::Purge, (2, 5)),
        ] {
            assert_eq!(count(kind, CallStyle::PerRow), expected, "{kind:?}");
        }
    }

    #[test]
    fn batches_and_procedures_take_few_round_trips() {
        for (kind, batched) in [
            (TransactionKind::NewOrder, 11),
            (TransactionKind::Payment, 8),
            (TransactionKind::OrderStatus, 5),
            (TransactionKind::Delivery, 9),
        ] {
            assert_eq!(count(kind, CallStyle::Batched), (batched, 0), "{kind:?}");
            assert_eq!(count(kind, CallStyle::Procedure), (3, 0), "{kind:?}");
        }
    }

    #[test]
    fn roles_have_names_of_their_own() {
        let names: std::collections::HashSet<_> = Role::ALL.iter().map(|role| role.name()).collect();
        assert_eq!(names.len(), Role::ALL.len());
        assert!(Role::ALL.iter().enumerate().all(|(place, role)| *role as usize == place));
        assert!(TransactionKind::ALL.iter().enumerate().all(|(place, kind)| *kind as usize == place));
    }

    #[test]
    fn positions_lead_to_the_text_of_role_set_and_variant() {
        for pairs in [
            &[("profile", "sysbench"), ("tables", "3"), ("purge", "on")][..],
            &[("profile", "sysbench"), ("tables", "3"), ("call-style", "batched"), ("delivery", "deferred")],
            &[("profile", "sysbench"), ("tables", "2"), ("call-style", "procedure")],
            &[("profile", "sysbench"), ("tables", "2"), ("fidelity", "compat")],
            &[],
        ] {
            let parameters = parameters(pairs);
            let (catalogue, texts) = (TpccStatements::new(&parameters), Texts::new(&parameters));
            let mut seen = std::collections::HashSet::new();
            for role in kinds(&parameters).flat_map(|kind| steps(kind, parameters.call_style)).map(|step| step.role) {
                for (set, variant) in
                    (1..=parameters.tables).flat_map(|set| (1..=role.variants()).map(move |v| (set, v)))
                {
                    let pick = role.variant(variant);
                    let position = catalogue.position(pick, set).expect("used");
                    let statement = &catalogue.statements()[position];
                    assert_eq!((statement.name, &statement.sql), (role.name(), &texts.of(pick, set)));
                    seen.insert(position);
                }
            }
            assert_eq!(seen.len(), catalogue.statements().len(), "{pairs:?}: none is prepared in vain");
            assert_eq!(
                catalogue.position(Role::CallPayment.into(), 1).is_some(),
                pairs.contains(&("call-style", "procedure"))
            );
        }
    }

    #[test]
    fn only_begin_and_commit_are_not_prepared() {
        let catalogue = TpccStatements::new(&TpccParameters::default());
        let unprepared = catalogue.statements().iter().filter(|statement| !statement.prepared);
        assert_eq!(unprepared.map(|statement| statement.name).collect::<Vec<_>>(), ["begin", "commit"]);
    }
}
