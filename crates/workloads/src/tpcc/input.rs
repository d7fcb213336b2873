//! The input of a transaction: drawn before its first statement, from its generator alone, so that a retry repeats
//! it. Clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1.

use super::choices::{Affinity, Fidelity};
use super::parameters::{TpccParameters, TransactionMix};
use super::random::{Constants, ITEMS, NuRand};
use super::roles::{DISTRICTS, LINES_MAX};
use super::statements::TransactionKind;
use plimsoll_engine::workload::Input;
use plimsoll_load::seed::Rng;

/// Terminals of a warehouse, one in each district.
pub const TERMINALS: u64 = DISTRICTS as u64;
const LINES_MIN: usize = 5;
/// An item that does not exist (clause 2.4.1.5).
pub const UNUSED_ITEM: i64 = ITEMS as i64 + 1;
/// Largest C of last names, customers and items, which sysbench-tpcc draws anew for each number (clause 2.1.6 has one
/// for a run).
const LARGEST_C: [u64; 3] = [255, 1_023, 8_191];

/// Where a transaction is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeDistrict {
    /// The table set, from 1.
    pub set: u64,
    pub w: i64,
    pub d: i64,
}

/// How a customer is identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Customer {
    Number(i64),
    /// By last name, given by its number.
    Name(u64),
}

impl Customer {
    /// The number; 0 if the name is known instead.
    pub const fn number(self) -> i64 {
        match self {
            Customer::Number(number) => number,
            Customer::Name(_) => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderLine {
    pub item: i64,
    /// The warehouse that supplies it.
    pub supply: i64,
    pub quantity: i64,
}

/// Clause 2.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    pub home: HomeDistrict,
    pub customer: i64,
    lines: [OrderLine; LINES_MAX],
    count: usize,
    /// Ends in a rollback, since one of its items does not exist.
    pub is_rolled_back: bool,
    /// No line is entered as supplied by another warehouse.
    pub all_local: bool,
}

impl NewOrder {
    pub fn lines(&self) -> &[OrderLine] {
        &self.lines[..self.count]
    }
}

/// Clause 2.5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    pub home: HomeDistrict,
    /// Warehouse and district of the customer.
    pub c_w: i64,
    pub c_d: i64,
    pub customer: Customer,
    /// In cents.
    pub amount: i64,
}

/// Clause 2.6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    pub home: HomeDistrict,
    pub customer: Customer,
}

/// Clause 2.7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub home: HomeDistrict,
    pub carrier: i64,
}

/// Clause 2.8.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    pub home: HomeDistrict,
    pub threshold: i64,
}

/// Draws inputs.
#[derive(Clone, Debug)]
pub struct Inputs {
    sets: u64,
    warehouses: u64,
    affinity: Affinity,
    mix: TransactionMix,
    purge: bool,
    sort_lines: bool,
    compat: bool,
    last_names: NuRand,
    customers: NuRand,
    items: NuRand,
}

/// True in this many of a hundred cases.
fn percent(share: u64, rng: &mut Rng) -> bool {
    rng.between(1, 100) <= share
}

fn between(low: u64, high: u64, rng: &mut Rng) -> i64 {
    rng.between(low, high) as i64
}

impl Inputs {
    pub fn new(parameters: &TpccParameters, constants: &Constants) -> Inputs {
        Inputs {
            sets: parameters.tables,
            warehouses: parameters.warehouses,
            affinity: parameters.affinity,
            mix: parameters.mix,
            purge: parameters.purge,
            sort_lines: parameters.sort_lines,
            compat: parameters.fidelity == Fidelity::Compat,
            last_names: constants.last_names(),
            customers: constants.customers(),
            items: constants.items(),
        }
    }

    /// Which transaction it is: always the first draw, by weight (clause 5.2.3).
    pub fn kind(&self, rng: &mut Rng) -> TransactionKind {
        let weights = self.mix.0;
        let total = weights.iter().sum::<u64>() + u64::from(self.purge);
        let mut drawn = rng.between(1, total);
        for (kind, weight) in TransactionKind::ALL.into_iter().zip(weights) {
            if drawn <= weight {
                return kind;
            }
            drawn -= weight;
        }
        TransactionKind::Purge
    }

    /// Table set, warehouse and district: of the terminal, of the connection's slice, or any. A terminal has a warehouse,
    /// but a district for stock-levels alone (clause 2.8.1.1): the others draw it (clauses 2.4.1.2, 2.5.1.2, 2.6.1.2).
    pub fn home(&self, kind: TransactionKind, input: &mut Input) -> HomeDistrict {
        let all = self.sets * self.warehouses;
        let (warehouse, d) = match self.affinity {
            Affinity::Home => {
                let terminal = input.stream % (all * TERMINALS);
                let d = match kind {
                    TransactionKind::StockLevel => terminal / all % TERMINALS + 1,
                    _ => input.rng.between(1, TERMINALS),
                };
                (terminal % all, d)
            }
            Affinity::Slice => {
                let slices = all.min(input.connections.max(1) as u64);
                let first = input.connection as u64 % slices;
                let count = (all - first).div_ceil(slices);
                (first + slices * input.rng.between(0, count - 1), input.rng.between(1, TERMINALS))
            }
            Affinity::Random => (input.rng.between(0, all - 1), input.rng.between(1, TERMINALS)),
        };
        HomeDistrict { set: warehouse / self.warehouses + 1, w: (warehouse % self.warehouses + 1) as i64, d: d as i64 }
    }

    pub fn new_order(&self, home: HomeDistrict, rng: &mut Rng) -> NewOrder {
        let customer = self.customer_number(rng);
        let count = rng.between(LINES_MIN as u64, LINES_MAX as u64) as usize;
        let is_rolled_back = percent(1, rng);
        let mut order = NewOrder {
            home,
            customer,
            lines: [OrderLine::default(); LINES_MAX],
            count,
            is_rolled_back,
            all_local: true,
        };
        for line in &mut order.lines[..count] {
            let item = self.item(rng);
            let is_remote = percent(1, rng) && (self.warehouses > 1 || self.compat);
            let supply = if is_remote { self.other_warehouse(home.w, rng) } else { home.w };
            order.all_local &= !is_remote;
            *line = OrderLine { item, supply, quantity: between(1, 10, rng) };
        }
        // The original asks for the unused item one line too early.
        let unused = if self.compat { count - 2 } else { count - 1 };
        if is_rolled_back {
            order.lines[unused].item = UNUSED_ITEM;
        }
        if self.sort_lines {
            let sortable = if is_rolled_back { unused } else { count };
            order.lines[..sortable].sort_unstable_by_key(|line| (line.supply, line.item));
        }
        order
    }

    pub fn payment(&self, home: HomeDistrict, rng: &mut Rng) -> Payment {
        let (c_w, c_d) = if percent(15, rng) {
            (self.other_warehouse(home.w, rng), between(1, TERMINALS, rng))
        } else {
            (home.w, home.d)
        };
        let customer = self.customer(rng);
        let amount = if self.compat { 100 * between(1, 5_000, rng) } else { between(100, 500_000, rng) };
        Payment { home, c_w, c_d, customer, amount }
    }

    pub fn order_status(&self, home: HomeDistrict, rng: &mut Rng) -> OrderStatus {
        OrderStatus { home, customer: self.customer(rng) }
    }

    pub fn delivery(&self, home: HomeDistrict, rng: &mut Rng) -> Delivery {
        Delivery { home, carrier: between(1, 10, rng) }
    }

    pub fn stock_level(&self, home: HomeDistrict, rng: &mut Rng) -> StockLevel {
        StockLevel { home, threshold: between(10, 20, rng) }
    }

    /// Another warehouse than this, if there is one. The original draws until it meets this one again.
    fn other_warehouse(&self, w: i64, rng: &mut Rng) -> i64 {
        if self.warehouses == 1 || self.compat {
            return w;
        }
        let other = between(1, self.warehouses - 1, rng);
        if other >= w { other + 1 } else { other }
    }

    fn customer(&self, rng: &mut Rng) -> Customer {
        if percent(60, rng) {
            Customer::Name(self.skewed(self.last_names, NuRand::last_names, LARGEST_C[0], rng))
        } else {
            Customer::Number(self.customer_number(rng))
        }
    }

    fn customer_number(&self, rng: &mut Rng) -> i64 {
        self.skewed(self.customers, NuRand::customers, LARGEST_C[1], rng) as i64
    }

    fn item(&self, rng: &mut Rng) -> i64 {
        self.skewed(self.items, NuRand::items, LARGEST_C[2], rng) as i64
    }

    /// A number with the constant of the run; in compat with one of its own.
    fn skewed(&self, of_run: NuRand, with: fn(u64) -> NuRand, largest_c: u64, rng: &mut Rng) -> u64 {
        if self.compat { with(rng.between(0, largest_c)).draw(rng) } else { of_run.draw(rng) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const DRAWS: u64 = 100_000;

    fn inputs(pairs: &[(&str, &str)]) -> Inputs {
        Inputs::new(&TpccParameters::parse(pairs.iter().copied()).expect("accepted"), &Constants::of_run(1, 2))
    }

    fn compat() -> Inputs {
        inputs(&[("profile", "sysbench"), ("fidelity", "compat"), ("warehouses", "4")])
    }

    fn input(stream: u64, number: u64, connections: usize) -> Input {
        let connection = stream as usize % connections;
        let rng = Rng::new(7, stream, number);
        Input { rng, connection, connections, stream, number, entry: number, queued: false, transaction: 0 }
    }

    const HOME: HomeDistrict = HomeDistrict { set: 1, w: 2, d: 3 };

    fn share(count: u64, of: u64) -> f64 {
        100.0 * count as f64 / of as f64
    }

    /// The ranges of clause 9.2.2.5 in 100,000 orders.
    #[test]
    fn orders_lie_inside_the_ranges_of_the_audit() {
        let inputs = inputs(&[("warehouses", "4")]);
        let (mut lines, mut remote, mut rolled_back) = (0, 0, 0);
        for number in 0..DRAWS {
            let order = inputs.new_order(HOME, &mut Rng::new(1, 1, number));
            lines += order.lines().len() as u64;
            let supplied = order.lines().iter().filter(|line| line.supply != HOME.w).count() as u64;
            remote += supplied;
            rolled_back += u64::from(order.is_rolled_back);
            assert_eq!(order.all_local, supplied == 0);
            assert!((5..=15).contains(&order.lines().len()) && (1..=3_000).contains(&order.customer));
            let unused = order.lines().iter().filter(|line| line.item == UNUSED_ITEM).count();
            assert_eq!(unused, usize::from(order.is_rolled_back));
            assert!(!order.is_rolled_back || order.lines().last().is_some_and(|line| line.item == UNUSED_ITEM));
            assert!(order.lines().iter().all(|l| (1..=4).contains(&l.supply) && (1..=10).contains(&l.quantity)));
        }
        assert!((0.9..=1.1).contains(&share(rolled_back, DRAWS)), "{rolled_back}");
        assert!((9.5..=10.5).contains(&(lines as f64 / DRAWS as f64)), "{lines}");
        assert!((0.95..=1.05).contains(&share(remote, lines)), "{remote}");
    }

    #[test]
    fn payments_lie_inside_the_ranges_of_the_audit() {
        let inputs = inputs(&[("warehouses", "4")]);
        let (mut remote, mut by_name) = (0, 0);
        for number in 0..DRAWS {
            let payment = inputs.payment(HOME, &mut Rng::new(1, 1, number));
            remote += u64::from(payment.c_w != HOME.w);
            by_name += u64::from(matches!(payment.customer, Customer::Name(_)));
            assert!(payment.c_w != HOME.w || payment.c_d == HOME.d);
            assert!((100..=500_000).contains(&payment.amount) && (1..=10).contains(&payment.c_d));
        }
        assert!((14.0..=16.0).contains(&share(remote, DRAWS)), "{remote}");
        assert!((57.0..=63.0).contains(&share(by_name, DRAWS)), "{by_name}");
        let named = (0..DRAWS).filter(|number| {
            matches!(inputs.order_status(HOME, &mut Rng::new(2, 1, *number)).customer, Customer::Name(_))
        });
        assert!((57.0..=63.0).contains(&share(named.count() as u64, DRAWS)));
    }

    #[test]
    fn the_mix_has_its_weights() {
        for (pairs, weights) in [
            (&[][..], [45, 43, 4, 4, 4, 0, 0]),
            (&[("profile", "sysbench")], [10, 10, 1, 1, 1, 0, 0]),
            (&[("profile", "sysbench"), ("purge", "on")], [10, 10, 1, 1, 1, 0, 1]),
            (&[("mix", "0/0/1/0/0")], [0, 0, 1, 0, 0, 0, 0]),
        ] {
            let inputs = inputs(pairs);
            let mut counts = [0u64; 7];
            (0..DRAWS).for_each(|number| counts[inputs.kind(&mut Rng::new(1, 1, number)) as usize] += 1);
            let total: u64 = weights.iter().sum();
            for (count, weight) in counts.into_iter().zip(weights) {
                let expected = DRAWS as f64 * weight as f64 / total as f64;
                assert!((count as f64 - expected).abs() <= 5.0 * expected.sqrt(), "{pairs:?} {counts:?}");
            }
        }
    }

    #[test]
    fn terminals_stand_in_all_districts_of_all_warehouses() {
        let inputs = inputs(&[("profile", "sysbench"), ("affinity", "home"), ("warehouses", "3"), ("tables", "2")]);
        let homes: std::collections::HashSet<_> = (0..60)
            .map(|stream| inputs.home(TransactionKind::StockLevel, &mut input(stream, 0, 8)))
            .map(|home| (home.set, home.w, home.d))
            .collect();
        assert_eq!(homes.len(), 60);
        assert!(homes.iter().all(|(s, w, d)| (1..=2).contains(s) && (1..=3).contains(w) && (1..=10).contains(d)));
        let of_stock = |stream, number, connections| {
            inputs.home(TransactionKind::StockLevel, &mut input(stream, number, connections))
        };
        assert_eq!(of_stock(61, 0, 8), of_stock(1, 9, 3));
    }

    #[test]
    fn a_terminal_has_a_district_of_its_own_for_stock_levels_alone() {
        let inputs = inputs(&[("warehouses", "4")]);
        let homes = |kind| {
            let all = (0..2_000).map(|number| inputs.home(kind, &mut input(3, number, 16)));
            all.map(|home| (home.w, home.d)).collect::<BTreeSet<_>>()
        };
        for kind in [TransactionKind::NewOrder, TransactionKind::Payment, TransactionKind::OrderStatus] {
            assert_eq!(homes(kind), BTreeSet::from_iter((1..=10).map(|d| (4, d))), "{kind:?}");
        }
        assert_eq!(homes(TransactionKind::StockLevel), BTreeSet::from([(4, 1)]));
    }

    #[test]
    fn slices_share_nothing_and_cover_everything() {
        let inputs = inputs(&[("warehouses", "7"), ("affinity", "slice")]);
        for connections in [1, 3, 7, 20] {
            let mut owners = vec![std::collections::HashSet::new(); 8];
            for stream in 0..connections {
                for number in 0..200 {
                    let home = inputs.home(TransactionKind::NewOrder, &mut input(stream, number, connections as usize));
                    owners[home.w as usize].insert(stream);
                }
            }
            assert!(owners[1..].iter().all(|owners| !owners.is_empty()), "{connections}");
            assert!(connections > 7 || owners.iter().all(|owners| owners.len() <= 1), "{connections}");
        }
    }

    #[test]
    fn one_warehouse_has_no_other() {
        let inputs = inputs(&[]);
        let home = HomeDistrict { set: 1, w: 1, d: 1 };
        for number in 0..2_000 {
            let order = inputs.new_order(home, &mut Rng::new(3, 1, number));
            assert!(order.all_local && order.lines().iter().all(|line| line.supply == 1));
            assert_eq!(inputs.payment(home, &mut Rng::new(3, 2, number)).c_w, 1);
        }
    }

    #[test]
    fn another_warehouse_is_any_but_this() {
        let inputs = inputs(&[("warehouses", "4")]);
        let mut counts = [0u32; 5];
        let mut rng = Rng::new(1, 2, 3);
        (0..30_000).for_each(|_| counts[inputs.other_warehouse(2, &mut rng) as usize] += 1);
        // 10,000 each with a standard deviation of 82.
        assert_eq!((counts[0], counts[2]), (0, 0));
        assert!([1, 3, 4].iter().all(|w| (9_500..10_500).contains(&counts[*w])), "{counts:?}");
    }

    #[test]
    fn sorted_lines_are_in_the_order_of_their_locks() {
        let (sorted, unsorted) =
            (inputs(&[("warehouses", "4")]), inputs(&[("warehouses", "4"), ("sort-lines", "off")]));
        let mut differ = 0;
        for number in 0..1_000 {
            let mut in_order = sorted.new_order(HOME, &mut Rng::new(3, 1, number));
            let mut entered = unsorted.new_order(HOME, &mut Rng::new(3, 1, number));
            let locked = in_order.count - usize::from(in_order.is_rolled_back);
            assert!(in_order.lines[..locked].is_sorted_by_key(|line| (line.supply, line.item)));
            differ += u32::from(in_order != entered);
            for order in [&mut in_order, &mut entered] {
                order.lines.sort_unstable_by_key(|line| (line.supply, line.item, line.quantity));
            }
            assert_eq!(in_order, entered);
        }
        assert!(differ > 900);
    }

    #[test]
    fn compat_keeps_the_defects_of_the_original() {
        let compat = compat();
        let (mut claimed, mut unused_place) = (0, 0);
        for number in 0..20_000 {
            let order = compat.new_order(HOME, &mut Rng::new(1, 1, number));
            assert!(order.lines().iter().all(|line| line.supply == HOME.w));
            claimed += u64::from(!order.all_local);
            if order.is_rolled_back {
                unused_place += 1;
                assert_eq!(order.lines()[order.count - 2].item, UNUSED_ITEM);
            }
            let payment = compat.payment(HOME, &mut Rng::new(1, 2, number));
            assert_eq!((payment.c_w, payment.amount % 100), (HOME.w, 0));
        }
        assert!(claimed > 1_000 && unused_place > 100, "{claimed} {unused_place}");
    }

    /// Share of the hottest tenth of the keys, percent.
    fn hottest_tenth(keys: impl Iterator<Item = u64>, count: usize) -> f64 {
        let mut counts = vec![0u64; count + 1];
        keys.for_each(|key| counts[key as usize] += 1);
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        share(counts[..count / 10].iter().sum(), counts.iter().sum())
    }

    #[test]
    fn customers_are_skewed_in_strict_and_even_in_compat() {
        let of = |inputs: &Inputs| {
            let draw = |number| inputs.customer_number(&mut Rng::new(1, 1, number)) as u64;
            hottest_tenth((0..600_000).map(draw), 3_000)
        };
        // 61.3 % and 10.8 % exactly; counting the hottest afterwards adds a little where all are alike.
        assert!((60.5..62.5).contains(&of(&inputs(&[]))));
        assert!((10.0..14.0).contains(&of(&compat())));
    }
}
