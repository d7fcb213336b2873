//! What an order-entry run reports besides latency and throughput: NOPM, the limits on the 90th percentile, and whether
//! what was drawn is what the specification requires.

use super::choices::{Affinity, DeliveryMode, Fidelity, Pacing};
use super::counters::{CLASSES, Counter};
use super::parameters::TpccParameters;
use super::random::{Constants, HOTTEST, NuRand};
use super::statements::TransactionKind;
use plimsoll_model::summary::{
    AuditLine, Backlog, NewOrders, Operation, OperationKind, OrderEntry, Point, ResponseLimit, Skew,
};
use std::collections::BTreeMap;

const NEW_ORDER: &str = TransactionKind::NewOrder.name();
const DEFERRED_DELIVERY: &str = TransactionKind::DeferredDelivery.name();
/// In the order of the mix.
const KINDS: [&str; 5] = [
    NEW_ORDER,
    TransactionKind::Payment.name(),
    TransactionKind::OrderStatus.name(),
    TransactionKind::Delivery.name(),
    TransactionKind::StockLevel.name(),
];
/// Seconds that 90 % of each kind may take at most (clause 5.2.5.7).
const LIMITS: [f64; 5] = [5.0, 5.0, 5.0, 5.0, 20.0];
/// The same for a delivery's own work, from being queued to being done (clause 2.7.2.2).
const DEFERRED_LIMIT: f64 = 80.0;
/// Minimum share of each kind except new-order, which has the rest (clause 5.2.3).
const LEAST: [f64; 4] = [0.43, 0.04, 0.04, 0.04];
/// Standard deviation of a number of lines that is uniform in 5..=15: the root of (11² − 1) / 12.
const LINES_DEVIATION: f64 = 3.162_277_660_168_379_5;
/// Chance exceeds this many standard errors in one case of a hundred.
const STANDARD_ERRORS: f64 = 2.6;
/// A minimum share is judged when its sampling error is at most this part of it.
const RESOLVED: f64 = 0.25;
/// New orders committed per minute and warehouse if every terminal keeps its times and every answer comes at once: ten
/// terminals, a cycle of 20.99 s on average, 45 % of it new-orders, 99 % of these committed.
const PACED_MOST: f64 = 12.73;

/// Fills in what only order entry has: `nopm` and `order_entry` of a point whose operations and retries are known.
/// `counted` are the workload's own counters over the measured window, by name.
pub fn judge(
    parameters: &TpccParameters,
    point: &mut Point,
    counted: &[(&'static str, u64)],
    backlog: Option<Backlog>,
) {
    let counted = Counted(counted);
    let new_orders = new_orders(point);
    point.nopm = new_orders.and_then(|orders| per_minute(orders.committed, point.seconds));
    let mix = mix(point);
    let entry = OrderEntry {
        profile: parameters.profile.name().to_owned(),
        fidelity: parameters.fidelity.name().to_owned(),
        new_orders: new_orders.unwrap_or_default(),
        limits: limits(parameters, point),
        audit: audit(parameters, point, &counted),
        skew: skew(parameters, &counted),
        backlog,
        skipped_districts: counted.of(Counter::DistrictsSkipped),
        notes: notes(parameters, point, new_orders, &counted),
        mix,
    };
    point.order_entry = Some(entry);
}

/// The constants of the non-uniform distribution (clause 2.1.6.1), for the notes of a run.
pub fn note_of_constants(load_seed: u64, run_seed: u64) -> String {
    let (load, run) = (Constants::of_load(load_seed), Constants::of_run(load_seed, run_seed));
    format!(
        "NURand: C of last names {} at the load and {} in the run, of customers {}, of items {}",
        load.last, run.last, run.id, run.item
    )
}

/// What the workload counted, by name; what it did not count is 0.
struct Counted<'a>(&'a [(&'static str, u64)]);

impl Counted<'_> {
    fn of(&self, counter: Counter) -> u64 {
        self.named(name(counter))
    }

    /// Accesses by class, the hottest first.
    fn classes(&self, first: Counter) -> [u64; CLASSES] {
        std::array::from_fn(|class| Counter::NAMES.get(first as usize + class).map_or(0, |name| self.named(name)))
    }

    fn named(&self, name: &str) -> u64 {
        self.0.iter().filter(|(counter, _)| *counter == name).map(|(_, count)| count).sum()
    }
}

const fn name(counter: Counter) -> &'static str {
    Counter::NAMES[counter as usize]
}

fn transaction<'a>(point: &'a Point, name: &str) -> Option<&'a Operation> {
    point.operations.iter().find(|operation| operation.kind == OperationKind::Transaction && operation.name == name)
}

/// `None` if no new order ended in the window.
fn new_orders(point: &Point) -> Option<NewOrders> {
    let kind = transaction(point, NEW_ORDER)?;
    let (rolled_back, failed) = (kind.rollbacks, kind.errors);
    let committed = kind.count.saturating_sub(rolled_back);
    (kind.count + failed > 0).then_some(NewOrders { committed, rolled_back, failed })
}

fn per_minute(count: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| count as f64 * 60.0 / seconds)
}

/// The kinds that a terminal can choose, with how many of each ended; a delivery that was queued counts when it is
/// queued.
fn chosen(point: &Point) -> impl Iterator<Item = (&str, u64)> {
    let kinds = point.operations.iter().filter(|operation| operation.kind == OperationKind::Transaction);
    let kinds = kinds.filter(|kind| kind.name != DEFERRED_DELIVERY && kind.name != "transaction");
    kinds.map(|kind| (kind.name.as_str(), kind.count))
}

fn mix(point: &Point) -> BTreeMap<String, f64> {
    let all: u64 = chosen(point).map(|(_, count)| count).sum();
    chosen(point).filter(|_| all > 0).map(|(name, count)| (name.to_owned(), count as f64 / all as f64)).collect()
}

fn limits(parameters: &TpccParameters, point: &Point) -> Vec<ResponseLimit> {
    let weighed = parameters.mix.0.iter().zip(KINDS).zip(LIMITS).filter(|((weight, _), _)| **weight > 0);
    let mut limits: Vec<ResponseLimit> = weighed.map(|((_, name), seconds)| limit(point, name, seconds)).collect();
    if parameters.delivery == DeliveryMode::Deferred {
        limits.push(limit(point, DEFERRED_DELIVERY, DEFERRED_LIMIT));
    }
    limits
}

fn limit(point: &Point, name: &str, limit_seconds: f64) -> ResponseLimit {
    let judged = transaction(point, name).map(|kind| kind.response_ms.unwrap_or(kind.latency_ms));
    let p90_seconds = judged.and_then(|latency| latency.p90).map(|ms| ms / 1e3);
    let holds = p90_seconds.map(|seconds| seconds <= limit_seconds);
    ResponseLimit { transaction: name.to_owned(), limit_seconds, p90_seconds, holds }
}

/// The input audit of clause 9.2.2.5, then the minimum shares of the mix.
fn audit(parameters: &TpccParameters, point: &Point, counted: &Counted<'_>) -> Vec<AuditLine> {
    let orders = transaction(point, NEW_ORDER).map_or((0, 0), |kind| (kind.rollbacks, kind.count));
    let lines = counted.of(Counter::LinesEntered);
    let payments = counted.of(Counter::Payments);
    let mut audit = vec![
        share("new orders rolled back", orders.0, orders.1, 0.009, 0.011),
        mean("lines per order", lines, counted.of(Counter::OrdersEntered), LINES_DEVIATION, 9.5, 10.5),
    ];
    if has_remote(parameters) {
        audit.push(share("lines from a remote warehouse", counted.of(Counter::RemoteLines), lines, 0.0095, 0.0105));
        let remote = counted.of(Counter::RemotePayments);
        audit.push(share("payments of a remote customer", remote, payments, 0.14, 0.16));
    }
    let by_name = counted.of(Counter::PaymentsByName);
    audit.push(share("payments by last name", by_name, payments, 0.57, 0.63));
    let (statuses, by_name) = (counted.of(Counter::OrderStatuses), counted.of(Counter::OrderStatusesByName));
    audit.push(share("order statuses by last name", by_name, statuses, 0.57, 0.63));
    let all: u64 = chosen(point).map(|(_, count)| count).sum();
    for (name, least) in KINDS.into_iter().skip(1).zip(LEAST) {
        let count = transaction(point, name).map_or(0, |kind| kind.count);
        audit.push(least_share(&format!("{name} in the mix"), count, all, least));
    }
    audit
}

fn has_remote(parameters: &TpccParameters) -> bool {
    parameters.warehouses > 1 && parameters.fidelity == Fidelity::Strict
}

/// A share that has to lie in a range. It is judged by itself as soon as 2.6 standard errors, if the middle of the
/// range were true, are at most half of the range's width. Before, nothing is said unless the share lies outside by
/// more than 2.6 standard errors, if the nearer end were true, and one sample, since few samples are not spread
/// normally.
fn share(name: &str, hits: u64, samples: u64, low: f64, high: f64) -> AuditLine {
    let deviation = |truth: f64| (truth * (1.0 - truth)).sqrt();
    line(name, ratio(hits, samples), samples, low, high, deviation)
}

/// The same of a mean of samples with this standard deviation.
fn mean(name: &str, sum: u64, samples: u64, deviation: f64, low: f64, high: f64) -> AuditLine {
    line(name, ratio(sum, samples), samples, low, high, |_| deviation)
}

fn line(
    name: &str,
    value: Option<f64>,
    samples: u64,
    low: f64,
    high: f64,
    deviation: impl Fn(f64) -> f64,
) -> AuditLine {
    let error = |truth: f64| STANDARD_ERRORS * deviation(truth) / (samples as f64).sqrt();
    let holds = value.and_then(|value| {
        let outside = (low - value).max(value - high);
        let nearer = if value < low { low } else { high };
        if error((low + high) / 2.0) <= (high - low) / 2.0 {
            Some(outside <= 0.0)
        } else {
            (outside > error(nearer) + 1.0 / samples as f64).then_some(false)
        }
    });
    AuditLine { name: name.to_owned(), value, low, high, samples, holds }
}

/// A share with only a lower end. A mix drawn with exactly the minimum share falls short of it in every other run, so
/// it holds unless it lies below by more than 2.6 standard errors, and nothing is said before these are a quarter of
/// it.
fn least_share(name: &str, hits: u64, samples: u64, least: f64) -> AuditLine {
    let value = ratio(hits, samples);
    let error = STANDARD_ERRORS * (least * (1.0 - least) / samples as f64).sqrt();
    let holds = value.and_then(|value| match value + error >= least {
        true => (error <= RESOLVED * least).then_some(true),
        false => Some(false),
    });
    AuditLine { name: name.to_owned(), value, low: least, high: 1.0, samples, holds }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// How skewed accesses were; nothing in compat, which draws the constant anew for each key and so makes keys uniform.
fn skew(parameters: &TpccParameters, counted: &Counted<'_>) -> Vec<Skew> {
    if parameters.fidelity == Fidelity::Compat {
        return Vec::new();
    }
    let distributions = [
        ("items", Counter::ItemsHottest1, NuRand::items(0)),
        ("customers by number", Counter::CustomersHottest1, NuRand::customers(0)),
        ("last names", Counter::NamesHottest1, NuRand::last_names(0)),
    ];
    let skew = |(keys, hottest, distribution): (&str, Counter, NuRand)| {
        let counts = counted.classes(hottest);
        let samples = counts.iter().sum();
        Skew {
            keys: keys.to_owned(),
            samples,
            measured: (samples > 0).then(|| cumulated(&counts)),
            expected: expected(distribution),
        }
    };
    distributions.into_iter().map(skew).collect()
}

/// Shares of the first class, of the first two, and so on, without the last.
fn cumulated(counts: &[u64; CLASSES]) -> [f64; HOTTEST.len()] {
    let all = counts.iter().sum::<u64>() as f64;
    std::array::from_fn(|class| counts[..=class].iter().sum::<u64>() as f64 / all)
}

/// The exact shares. The constant only turns the keys around, so it makes no difference.
fn expected(distribution: NuRand) -> [f64; HOTTEST.len()] {
    let mut pairs = distribution.pairs();
    pairs.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    let all = pairs.iter().sum::<u64>() as f64;
    HOTTEST.map(|percent| pairs[..pairs.len() * percent / 100].iter().sum::<u64>() as f64 / all)
}

fn notes(
    parameters: &TpccParameters,
    point: &Point,
    new_orders: Option<NewOrders>,
    counted: &Counted<'_>,
) -> Vec<String> {
    let mut notes = vec!["TPC-C-like: derived from TPC-C, and not comparable with published TPC-C results".to_owned()];
    notes.extend(new_orders.and_then(|orders| {
        let per_minute = per_minute(orders.committed + orders.rolled_back, point.seconds)?;
        Some(format!(
            "NOPM counts committed new orders; DBT-2's NOTPM and NetApp's OET count rolled-back ones too: \
             {per_minute:.0} per minute that way"
        ))
    }));
    notes.extend(point.nopm.filter(|_| parameters.pacing == Pacing::Spec).map(|nopm| {
        let each = nopm / (parameters.warehouses * parameters.tables) as f64;
        format!(
            "terminals keep keying and think times: {each:.2} new orders per minute and warehouse of the {PACED_MOST} \
             that these allow"
        )
    }));
    notes.extend(few_homes(parameters, point));
    let is_compat = parameters.fidelity == Fidelity::Compat;
    if is_compat {
        notes.extend(COMPAT.map(str::to_owned));
    }
    let waits_unseen = parameters.delivery == DeliveryMode::Deferred && point.response_ms.is_none();
    let fixed = [
        (parameters.warehouses == 1 && !is_compat, ONE_WAREHOUSE),
        (waits_unseen, QUEUE_UNSEEN),
        (parameters.purge, PURGE),
    ];
    notes.extend(fixed.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note.to_owned()));
    let odd = ODD.into_iter().map(|(counter, what)| (counted.of(counter), what));
    notes.extend(odd.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what}: {count}")));
    notes
}

/// Says that much of the data is hardly touched: each connection of a closed loop is one terminal with one warehouse.
fn few_homes(parameters: &TpccParameters, point: &Point) -> Option<String> {
    let all = parameters.warehouses * parameters.tables;
    let homes = point.load.connections as u64;
    let is_tied = parameters.affinity == Affinity::Home && parameters.pacing == Pacing::None;
    (is_tied && point.load.rate.is_none() && (1..all).contains(&homes)).then(|| {
        format!(
            "connections have {homes} of {all} warehouses for home: the others are touched by remote lines and \
             payments alone; `--affinity random` or `slice` uses all"
        )
    })
}

const ONE_WAREHOUSE: &str = "with one warehouse nothing is remote: remote lines and payments are not audited";

const QUEUE_UNSEEN: &str = "the latency of a deferred delivery leaves out its wait in the queue; with a rate or with pacing, \
                            its response time includes it";

const PURGE: &str = "purge deletes delivered orders and history: conditions 8 to 12 and the sums over counters and payments \
                     can no longer hold, and `check` skips them";

/// What fidelity `compat` keeps of sysbench-tpcc, and what that does to the audit, the skew and the checks.
const COMPAT: [&str; 4] = [
    "compat keeps what sysbench-tpcc does differently from the specification: no line and no payment is remote, though orders \
     are marked so; keys are nearly uniform, since their constant is drawn anew for each; order-status reads the lines of \
     another order; of an order to be rolled back, the last line is not tried; amounts of lines include tax and discount, \
     without their cents; payments are of whole units; of customers of one name, the one past the middle is taken",
    "compat: remote lines and payments are not audited, since there are none; nor is key skew, since there is next to none",
    "compat does not maintain the counters s_ytd, s_order_cnt, s_remote_cnt and c_payment_cnt: `check` skips the four sums \
     over them",
    "compat does less work than strict, and on keys that are less hot: do not compare the two",
];

/// What should be rare or never.
const ODD: [(Counter, &str); 3] = [
    (Counter::SnapshotsBehind, "deliveries given up because their snapshot was behind what they had locked"),
    (Counter::NamesNotFound, "transactions for a last name that no customer of the district has"),
    (Counter::OrdersNotFound, "order-statuses of customers without any order"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::LatencyMs;

    fn parameters(pairs: &[(&str, &str)]) -> TpccParameters {
        TpccParameters::parse(pairs.iter().copied()).expect("accepted")
    }

    fn kind(name: &str, count: u64, rollbacks: u64, p90_ms: Option<f64>) -> Operation {
        Operation {
            kind: OperationKind::Transaction,
            name: name.to_owned(),
            count,
            errors: 0,
            latency_ms: LatencyMs { p90: p90_ms, ..LatencyMs::default() },
            latency_mean_ms: None,
            response_ms: None,
            response_mean_ms: None,
            rollbacks,
            retries: 0,
        }
    }

    /// A minute with so many thousand transactions in the mix of the specification.
    fn point(thousands: u64) -> Point {
        let counts = [450, 430, 40, 40, 40].map(|share| share * thousands);
        let mut operations = vec![kind("transaction", 1_000 * thousands, 0, Some(9.0))];
        let p90 = (thousands > 0).then_some(12.0);
        operations.extend(KINDS.iter().zip(counts).map(|(name, count)| kind(name, count, 0, p90)));
        operations[1].rollbacks = counts[0] / 100;
        Point { seconds: 60.0, operations, ..Point::default() }
    }

    /// What is counted when everything is drawn as often as it should be.
    fn counted(thousands: u64) -> Vec<(&'static str, u64)> {
        let (orders, payments, statuses) = (450 * thousands, 430 * thousands, 40 * thousands);
        let counted = vec![
            (Counter::OrdersEntered, orders),
            (Counter::LinesEntered, 10 * orders),
            (Counter::RemoteLines, orders / 10),
            (Counter::Payments, payments),
            (Counter::RemotePayments, payments * 15 / 100),
            (Counter::PaymentsByName, payments * 60 / 100),
            (Counter::OrderStatuses, statuses),
            (Counter::OrderStatusesByName, statuses * 60 / 100),
            (Counter::DistrictsSkipped, 7 * thousands),
        ];
        let mut named: Vec<(&str, u64)> = counted.into_iter().map(|(counter, count)| (name(counter), count)).collect();
        let items = Counter::NAMES.iter().skip(Counter::ItemsHottest1 as usize);
        named.extend(items.copied().zip([305, 405, 134, 130, 26].map(|share| share * thousands)));
        named
    }

    fn set(counted: &mut [(&'static str, u64)], counter: Counter, count: u64) {
        counted.iter_mut().find(|(known, _)| *known == name(counter)).expect("a counter").1 = count;
    }

    fn judged(
        parameters: &TpccParameters,
        mut point: Point,
        counted: &[(&'static str, u64)],
    ) -> (Option<f64>, OrderEntry) {
        judge(parameters, &mut point, counted, Some(Backlog { start: 9_000, end: 9_100 }));
        (point.nopm, point.order_entry.expect("judged"))
    }

    fn holds(entry: &OrderEntry, name: &str) -> Option<bool> {
        entry.audit.iter().find(|line| line.name.contains(name)).unwrap_or_else(|| panic!("no line {name}")).holds
    }

    #[test]
    fn what_is_drawn_as_it_should_be_holds() {
        let (nopm, entry) = judged(&parameters(&[("warehouses", "4")]), point(300), &counted(300));
        // 135,000 in a minute, of which 1,350 were rolled back.
        assert_eq!(nopm, Some(133_650.0));
        assert_eq!(entry.new_orders, NewOrders { committed: 133_650, rolled_back: 1_350, failed: 0 });
        assert_eq!((entry.audit.len(), entry.skipped_districts), (10, 2_100));
        for line in &entry.audit {
            assert_eq!(line.holds, Some(true), "{line:?}");
        }
        assert_eq!((entry.mix["new_order"], entry.mix["stock_level"], entry.mix.len()), (0.45, 0.04, 5));
        assert_eq!(entry.backlog, Some(Backlog { start: 9_000, end: 9_100 }));
        assert!(entry.notes.iter().any(|note| note.contains("135000 per minute that way")), "{:?}", entry.notes);
        assert!(entry.limits.iter().all(|limit| limit.holds == Some(true)) && entry.limits.len() == 5);
    }

    #[test]
    fn what_lies_outside_does_not_hold() {
        let mut counted = counted(300);
        set(&mut counted, Counter::RemoteLines, 0);
        set(&mut counted, Counter::RemotePayments, 129_000 * 17 / 100);
        set(&mut counted, Counter::LinesEntered, 135_000 * 11);
        set(&mut counted, Counter::PaymentsByName, 129_000 / 2);
        let mut point = point(300);
        point.operations[1].rollbacks = 0;
        point.operations[4].count /= 2;
        let (_, entry) = judged(&parameters(&[("warehouses", "4")]), point, &counted);
        for name in ["rolled back", "lines per", "lines from", "remote customer", "payments by", "delivery in"] {
            assert_eq!(holds(&entry, name), Some(false), "{name}");
        }
        for name in ["statuses by", "payment in", "stock_level in"] {
            assert_eq!(holds(&entry, name), Some(true), "{name}");
        }
    }

    #[test]
    fn too_few_samples_say_nothing_unless_they_are_far_off() {
        let mut counted = counted(1);
        let four = parameters(&[("warehouses", "4")]);
        let (_, entry) = judged(&four, point(1), &counted);
        for name in ["rolled back", "lines from", "remote customer", "payments by", "statuses by", "delivery in"] {
            assert_eq!(holds(&entry, name), None, "{name}");
            assert!(entry.audit.iter().any(|line| line.name.contains(name) && line.value.is_some()));
        }
        assert_eq!((holds(&entry, "lines per"), holds(&entry, "payment in")), (Some(true), Some(true)));
        set(&mut counted, Counter::PaymentsByName, 0);
        set(&mut counted, Counter::RemotePayments, 430);
        let mut point = point(1);
        point.operations[2].count = 100;
        let (_, entry) = judged(&four, point, &counted);
        for name in ["payments by", "remote customer", "payment in"] {
            assert_eq!(holds(&entry, name), Some(false), "{name}");
        }
    }

    /// However many samples there are, a true share inside the range is blamed in one case of a hundred at most.
    #[test]
    fn chance_is_rarely_blamed() {
        let mut rng = plimsoll_load::seed::Rng::new(1, 2, 3);
        for samples in [1, 5, 20, 100, 700, 5_000] {
            let mut blamed = 0;
            for _ in 0..1_000 {
                let hits = (0..samples).filter(|_| rng.between(1, 100) <= 15).count() as u64;
                blamed += u32::from(share("", hits, samples, 0.14, 0.16).holds == Some(false));
            }
            assert!(blamed <= 25, "{blamed} of 1000 with {samples} samples");
        }
    }

    #[test]
    fn a_least_share_that_is_just_missed_holds() {
        assert_eq!(least_share("", 42_900, 100_000, 0.43).holds, Some(true));
        assert_eq!(least_share("", 42_400, 100_000, 0.43).holds, Some(false));
        assert_eq!(least_share("", 4, 100, 0.04).holds, None);
        assert_eq!(least_share("", 0, 0, 0.04).holds, None);
    }

    #[test]
    fn without_samples_nothing_is_a_number() {
        let (nopm, entry) = judged(&parameters(&[("warehouses", "4")]), Point::default(), &[]);
        assert_eq!((nopm, entry.new_orders), (None, NewOrders::default()));
        assert!(entry.mix.is_empty());
        assert!(entry.audit.iter().all(|line| line.value.is_none() && line.holds.is_none()) && !entry.audit.is_empty());
        assert!(entry.limits.iter().all(|limit| limit.p90_seconds.is_none() && limit.holds.is_none()));
        assert!(entry.skew.iter().all(|skew| skew.measured.is_none()) && entry.skew.len() == 3);
        assert!(!entry.notes.iter().any(|note| note.contains("NOTPM")));
        // All were rolled back: that is a measurement.
        let mut point = point(1);
        point.operations[1].rollbacks = 450;
        assert_eq!(judged(&parameters(&[]), point, &[]).0, Some(0.0));
    }

    #[test]
    fn limits_are_on_the_response_time_if_there_is_one() {
        let mut point = point(1);
        point.operations[1].response_ms = Some(LatencyMs { p90: Some(5_001.0), ..LatencyMs::default() });
        point.operations[5].latency_ms.p90 = Some(19_000.0);
        point.operations.push(kind("deferred_delivery", 30, 0, Some(79_000.0)));
        let pairs = [("delivery", "deferred"), ("mix", "45/43/0/4/8")];
        let (_, entry) = judged(&parameters(&pairs), point, &counted(1));
        let verdicts: Vec<_> =
            entry.limits.iter().map(|l| (l.transaction.as_str(), l.limit_seconds, l.p90_seconds, l.holds)).collect();
        assert_eq!(
            verdicts,
            [
                ("new_order", 5.0, Some(5.001), Some(false)),
                ("payment", 5.0, Some(0.012), Some(true)),
                ("delivery", 5.0, Some(0.012), Some(true)),
                ("stock_level", 20.0, Some(19.0), Some(true)),
                ("deferred_delivery", 80.0, Some(79.0), Some(true)),
            ]
        );
        // The work of a delivery is not another choice of a terminal.
        assert!(!entry.mix.contains_key("deferred_delivery") && entry.mix["delivery"] == 0.04);
    }

    #[test]
    fn with_one_warehouse_nothing_remote_is_audited() {
        let (_, entry) = judged(&parameters(&[]), point(1), &counted(1));
        assert!(!entry.audit.iter().any(|line| line.name.contains("remote")));
        assert!(entry.notes.iter().any(|note| note.contains("one warehouse")));
    }

    #[test]
    fn compat_says_what_it_keeps_and_is_not_held_to_what_it_does_not() {
        let pairs = [("profile", "sysbench"), ("fidelity", "compat"), ("warehouses", "4"), ("purge", "on")];
        let mut counted = counted(1);
        counted.push((name(Counter::SnapshotsBehind), 3));
        let (_, entry) = judged(&parameters(&pairs), point(1), &counted);
        assert_eq!((entry.profile.as_str(), entry.fidelity.as_str()), ("sysbench", "compat"));
        assert!(!entry.audit.iter().any(|line| line.name.contains("remote")) && entry.skew.is_empty());
        for word in ["no line and no payment is remote", "s_ytd", "uniform", "purge deletes", "had locked: 3"] {
            assert!(entry.notes.iter().any(|note| note.contains(word)), "{word}");
        }
        assert!(!entry.notes.iter().any(|note| note.contains("one warehouse")));
    }

    #[test]
    fn skew_is_cumulated_and_expected_is_exact() {
        let (_, entry) = judged(&parameters(&[]), point(1), &counted(1));
        let items = &entry.skew[0];
        assert_eq!((items.keys.as_str(), items.samples), ("items", 1_000));
        assert_eq!(items.measured, Some([0.305, 0.71, 0.844, 0.974]));
        let tenths = |shares: [f64; 4]| shares.map(|share| (share * 1_000.0).round() / 10.0);
        assert_eq!(tenths(items.expected), [30.5, 71.0, 84.4, 97.4]);
        assert_eq!(tenths(entry.skew[1].expected), [22.2, 61.3, 79.0, 94.9]);
        assert_eq!(tenths(entry.skew[2].expected), [14.7, 54.2, 72.3, 92.6]);
        assert_eq!(entry.skew[2].measured, None);
    }

    #[test]
    fn paced_terminals_are_told_what_is_possible() {
        let (_, entry) = judged(&parameters(&[("pacing", "spec"), ("warehouses", "10000")]), point(300), &counted(300));
        assert!(entry.notes.iter().any(|note| note.contains("13.37 new orders per minute and warehouse of the 12.73")));
    }

    #[test]
    fn connections_that_leave_warehouses_alone_are_told_so() {
        use plimsoll_model::LoadPoint;
        let noted = |pairs: &[(&str, &str)], load: LoadPoint| {
            let (_, entry) = judged(&parameters(pairs), Point { load, ..point(1) }, &counted(1));
            entry.notes.iter().any(|note| note.contains("16 of 100 warehouses for home"))
        };
        let hundred = ("warehouses", "100");
        let few = LoadPoint::closed(16);
        assert!(noted(&[hundred], few));
        assert!(!noted(&[hundred], LoadPoint::closed(1_000)));
        assert!(!noted(&[hundred], LoadPoint { rate: Some(10.0), ..few }), "arrivals go to all terminals");
        assert!(!noted(&[hundred, ("affinity", "random")], few) && !noted(&[hundred, ("pacing", "spec")], few));
    }

    #[test]
    fn constants_are_those_of_the_seeds() {
        let (load, run) = (Constants::of_load(1), Constants::of_run(1, 2));
        let note = note_of_constants(1, 2);
        assert!(note.contains(&format!("names {} at the load and {} in", load.last, run.last)), "{note}");
    }
}
