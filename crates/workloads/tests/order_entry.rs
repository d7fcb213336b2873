//! The transactions of order entry on real servers: in every call style they do the same to the database, which is consistent
//! after any number of connections, and they send what they are known to send.

mod private;

use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, LoopEvent, Protocol, Run, RunSpec, Workload};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::tally::Tally;
use plimsoll_load::window::Limit;
use plimsoll_model::StatementCounts;
use plimsoll_testkit::servers;
use plimsoll_workloads::check::{Judgement, Ledger, Moment};
use plimsoll_workloads::dataset::Dataset;
use plimsoll_workloads::tpcc::counters::Counter;
use plimsoll_workloads::tpcc::load::OrderEntryData;
use plimsoll_workloads::tpcc::procedures::routines;
use plimsoll_workloads::tpcc::statements::TransactionKind;
use plimsoll_workloads::tpcc::{Tpcc, TpccParameters, check};
use private::with_server;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SEED: u64 = 11;
/// What takes longer hangs.
const WATCHDOG: Duration = Duration::from_secs(240);

/// A private server with one database of order entry.
struct Shop {
    endpoint: Endpoint,
    control: Control,
    /// What clients have been told, over all runs.
    ledger: Ledger,
    runs: u64,
}

/// Calls `test` with data of these parameters on a private server of each.
#[track_caller]
fn on(binaries: Vec<PathBuf>, pairs: &[(&str, &str)], test: impl Fn(&mut Shop)) {
    for binary in binaries {
        with_server(&binary, "512M", |endpoint| test(&mut Shop::load(endpoint, pairs)));
    }
}

fn parameters(pairs: &[(&str, &str)]) -> TpccParameters {
    TpccParameters::parse(pairs.iter().copied()).unwrap_or_else(|error| panic!("{error}"))
}

impl Shop {
    fn load(endpoint: Endpoint, pairs: &[(&str, &str)]) -> Shop {
        let control = Control::open(&endpoint).unwrap_or_else(|failure| panic!("{failure}"));
        let endpoint = Endpoint { database: Some("order_entry".to_owned()), ..endpoint };
        let mut shop = Shop { endpoint, control, ledger: Ledger::default(), runs: 0 };
        shop.control.set_limit(WATCHDOG);
        let parameters = parameters(pairs);
        let data = OrderEntryData::new(&parameters, SEED);
        for sql in ["CREATE DATABASE order_entry", "USE order_entry", "SET unique_checks = 0, foreign_key_checks = 0"] {
            shop.run(sql);
        }
        routines(&parameters).iter().for_each(|routine| shop.run(&routine.create));
        for (number, table) in data.tables().iter().enumerate() {
            shop.run(&table.create);
            let mut next = 1;
            let loading = shop.control.load_data(&table.load_data, |out| {
                while next <= table.ids && out.len() < 1 << 18 {
                    data.append_tsv(number, next, out);
                    next += 1;
                }
                next <= table.ids
            });
            loading.unwrap_or_else(|failure| panic!("{}: {failure}", table.load_data));
            table.after.iter().for_each(|sql| shop.run(sql));
        }
        data.after_all().iter().for_each(|sql| shop.run(sql));
        shop
    }

    #[track_caller]
    fn run(&mut self, sql: &str) {
        self.control.run(sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    }

    /// Such orders that wait to be delivered.
    fn undelivered(&mut self, which: &str) -> u64 {
        let counted = self.control.rows(&format!("SELECT COUNT(*) FROM new_order WHERE {which}")).expect("counted");
        counted.rows[0][0].as_deref().expect("a count").parse().expect("a number")
    }

    /// Runs `events` transactions with these parameters on so many connections; the sum of all that was counted.
    fn drive(&mut self, pairs: &[(&str, &str)], connections: usize, events: u64) -> Driven {
        let parameters = parameters(pairs);
        self.runs += 1;
        let protocol = match parameters.default_protocol() {
            "text" => Protocol::Text,
            _ => Protocol::Prepared,
        };
        let spec = RunSpec {
            endpoint: self.endpoint.clone(),
            connections,
            loops: 2,
            arrivals: Arrivals::Closed,
            limit: Limit::Events(events),
            warmup_ns: 0,
            seed: self.runs,
            protocol,
            outage_limit_ns: 10_000_000_000,
            ignore_errors: Vec::new(),
            private: true,
            ask: None,
            part: None,
            commits: None,
        };
        let driven = drive(spec, Tpcc::new(&parameters, Some(SEED), self.runs));
        for (kind, committed) in TransactionKind::NAMES.iter().zip(&driven.totals.committed) {
            *self.ledger.committed.entry((*kind).to_owned()).or_default() += committed;
        }
        let delivered = self.ledger.committed.entry("delivered_orders".to_owned()).or_default();
        *delivered += driven.counted(Counter::OrdersDelivered);
        self.ledger.runs += 1;
        driven
    }

    /// Every condition and every sum.
    #[track_caller]
    fn must_be_consistent(&mut self, pairs: &[(&str, &str)]) {
        let checks = check::checks(&parameters(pairs), Moment::Driven, Some(&self.ledger));
        let mut judged = BTreeMap::new();
        for check in checks.iter().filter(|check| !check.sql.is_empty()) {
            let answer = self.control.rows(&check.sql).unwrap_or_else(|failure| panic!("{}: {failure}", check.sql));
            let (_, judgement) = judged.entry(&check.name).or_insert_with(|| (check, Judgement::default()));
            judgement.add(check, &answer.rows);
        }
        assert!(judged.len() > 20, "{judged:?}");
        let broken: Vec<String> = judged
            .into_iter()
            .filter_map(|(name, (check, judgement))| judgement.end(check).err().map(|found| format!("{name}: {found}")))
            .collect();
        assert!(broken.is_empty(), "{pairs:?}: {broken:#?}");
    }
}

/// What came of a run.
struct Driven {
    totals: LoopTotals,
    tally: Tally,
}

impl Driven {
    fn counted(&self, counter: Counter) -> u64 {
        self.totals.counted[counter as usize]
    }

    fn committed(&self, kind: TransactionKind) -> u64 {
        self.totals.committed[kind as usize]
    }
}

fn drive<W: Workload>(spec: RunSpec, workload: W) -> Driven {
    let give_up_at = Instant::now() + WATCHDOG;
    let run = Run::begin(spec, Arc::new(workload));
    let (mut ready, mut drained) = (0, Vec::new());
    let mut tally = Tally::new(run.facts.names.shape());
    while drained.len() < run.facts.loops {
        assert!(Instant::now() < give_up_at, "hung");
        match run.next(Duration::from_millis(20)) {
            Some(LoopEvent::Ready(_)) => {
                ready += 1;
                if ready == run.facts.loops {
                    run.start();
                }
            }
            Some(LoopEvent::Interval(interval)) => tally.add(&interval),
            Some(LoopEvent::Drained(totals)) => drained.push(totals),
            Some(LoopEvent::Failed(reason)) => panic!("{reason}"),
            None => {}
        }
    }
    // A reason comes after the loop's last word.
    if let Some(LoopEvent::Failed(reason)) = run.next(Duration::from_millis(50)) {
        panic!("{reason}");
    }
    run.finish();
    let mut totals = drained.pop().expect("a loop");
    for other in drained {
        plimsoll_load::tally::add_counts(&mut totals.counts, &other.counts);
        totals.sent += other.sent;
        totals.unknown += other.unknown;
        totals.committed.iter_mut().zip(other.committed).for_each(|(sum, more)| *sum += more);
        totals.counted.iter_mut().zip(other.counted).for_each(|(sum, more)| *sum += more);
    }
    Driven { totals, tally }
}

const STYLES: [&str; 3] = ["per-row", "batched", "procedure"];
const LEVELS: [&str; 3] = ["repeatable-read", "read-committed", "serializable"];

/// Each style with each level on each server where all tests run; else each once, on one server or the other.
fn styles_and_levels(shop: &mut Shop) -> Vec<(&'static str, &'static str)> {
    if servers::all() {
        return STYLES.iter().flat_map(|style| LEVELS.map(|level| (*style, level))).collect();
    }
    let version = shop.control.rows("SELECT VERSION()").expect("asked");
    let of_this_server = if version.single().is_some_and(|version| version.contains("MariaDB")) { 0..2 } else { 2..3 };
    STYLES.into_iter().zip(LEVELS).collect::<Vec<_>>()[of_this_server].to_vec()
}

/// Sixteen connections on ten terminals wait for each other all the time, and deadlock; lines that are not sorted see to that.
#[test]
fn the_database_is_consistent_after_every_call_style_and_isolation_level() {
    let data = [("warehouses", "2")];
    on(servers::of_each_flavour(), &data, |shop| {
        for (style, level) in styles_and_levels(shop) {
            let run = [
                ("warehouses", "2"),
                ("call-style", style),
                ("isolation", level),
                ("sort-lines", "off"),
                ("affinity", "random"),
            ];
            let driven = shop.drive(&run, 16, 1_500);
            assert_eq!(driven.totals.counts.finished + driven.totals.counts.failed, 1_500, "{run:?}");
            assert!(driven.totals.counts.failed <= 15, "{run:?}: {:?}", driven.tally.counters.errors);
            for kind in &TransactionKind::ALL[..5] {
                assert!(driven.committed(*kind) > 0, "{run:?}: {}", kind.name());
            }
            assert!(driven.counted(Counter::OrdersRolledBack) > 0 && driven.counted(Counter::RemoteLines) > 0);
            assert!(driven.counted(Counter::RemotePayments) > 0 && driven.counted(Counter::BrandLines) > 0);
            assert_eq!(driven.counted(Counter::NamesNotFound), 0);
            if servers::all() {
                shop.must_be_consistent(&data);
            }
        }
        shop.must_be_consistent(&data);
    });
}

/// Statements of transactions of one kind, on one connection, by kind of statement; and what was counted.
fn sent(shop: &mut Shop, pairs: &[(&str, &str)], mix: &str, events: u64) -> (StatementCounts, Driven) {
    let driven = shop.drive(&[pairs, &[("mix", mix)]].concat(), 1, events);
    assert_eq!(driven.tally.counters.retries(), 0);
    (driven.totals.sent, driven)
}

/// What sysbench-tpcc sends (7 + 4 × lines for a new-order, and so on), in strict and in compat, transaction by transaction.
#[test]
#[ignore = "thousands of transactions, one after the other; make test-all"]
fn per_row_sends_as_many_statements_as_the_original() {
    let data = [("profile", "sysbench"), ("fk", "none")];
    on(servers::of_one_flavour(), &data, |shop| {
        for fidelity in ["strict", "compat"] {
            let run = [&data[..], &[("fidelity", fidelity)]].concat();
            let (s, driven) = sent(shop, &run, "1/0/0/0/0", 1_000);
            let (orders, lines) = (driven.committed(TransactionKind::NewOrder), driven.counted(Counter::LinesEntered));
            let rolled_back = driven.counted(Counter::OrdersRolledBack);
            assert_eq!((orders + rolled_back, rolled_back > 0), (1_000, true));
            // The unused item ends an order at its line: the last one, in compat the one before.
            let missed = if fidelity == "compat" { 2 } else { 1 };
            assert_eq!((s.begin, s.commit, s.rollback), (1_000, orders, rolled_back));
            let taken = lines - missed * rolled_back;
            assert_eq!((s.select, s.update), (2 * 1_000 + 2 * taken + rolled_back, 1_000 + taken), "{fidelity}");
            assert_eq!((s.insert, s.delete), (2 * 1_000 + taken, 0), "{fidelity}");

            let (s, driven) = sent(shop, &run, "0/1/0/0/0", 300);
            let by_name = driven.counted(Counter::PaymentsByName);
            assert_eq!((s.begin, s.update, s.insert, s.commit), (300, 900, 300, 300));
            let bad = s.select - 900 - 2 * by_name;
            assert!((10..60).contains(&bad) && (140..220).contains(&by_name), "{bad} {by_name}");

            let (s, driven) = sent(shop, &run, "0/0/1/0/0", 100);
            let by_name = driven.counted(Counter::OrderStatusesByName);
            assert_eq!((s.begin, s.select, s.commit), (100, 300 + by_name, 100));

            let (s, driven) = sent(shop, &run, "0/0/0/1/0", 20);
            assert_eq!(driven.counted(Counter::OrdersDelivered), 200);
            assert_eq!((s.begin, s.select, s.update, s.delete, s.commit), (20, 600, 600, 200, 20));

            let (s, _) = sent(shop, &run, "0/0/0/0/1", 20);
            assert_eq!((s.begin, s.select, s.commit), (20, 40, 20));
            shop.must_be_consistent(&run);
            shop.ledger.compat |= fidelity == "compat";
        }
        let run = [&data[..], &[("fidelity", "compat"), ("affinity", "home")]].concat();
        let driven = shop.drive(&run, 16, 1_000);
        assert!(driven.totals.counts.failed <= 10, "{:?}", driven.tally.counters.errors);
        shop.must_be_consistent(&run);
        // Its sixth transaction needs customers with several delivered orders.
        shop.run("DELETE FROM new_orders1 WHERE no_o_id <= 3050");
        let (s, driven) = sent(shop, &[&data[..], &[("purge", "on")]].concat(), "0/0/0/0/1", 20);
        let purged = driven.counted(Counter::OrdersPurged);
        assert!(purged > 0 && s.delete == 3 * purged, "{purged} {s:?}");
    });
}

/// Both leave much of the data as they were, so that one load is enough for them.
#[test]
fn deliveries_are_done_later_if_deferred_and_empty_districts_are_skipped() {
    let data = [("fk", "none")];
    on(servers::of_one_flavour(), &data, |shop| {
        deferred_deliveries_are_done(shop);
        shop.must_be_consistent(&data);
        empty_districts_are_skipped_and_counted(shop);
    });
}

/// Deliveries are accepted at once and done later; every one of them is.
#[track_caller]
fn deferred_deliveries_are_done(shop: &mut Shop) {
    for style in STYLES {
        let run = [("delivery", "deferred"), ("call-style", style), ("mix", "4/4/1/4/1")];
        let driven = shop.drive(&run, 4, 300);
        let done = driven.committed(TransactionKind::DeferredDelivery);
        assert!(
            done > 0 && driven.tally.transactions[TransactionKind::Delivery as usize].committed == 0,
            "{style}: {done}"
        );
        assert_eq!(driven.counted(Counter::OrdersDelivered) + driven.counted(Counter::DistrictsSkipped), 10 * done);
    }
}

/// Ten of the loaded orders of each district are left, and more deliveries come than that and what was ordered since: what is
/// missing is skipped, at any level.
#[track_caller]
fn empty_districts_are_skipped_and_counted(shop: &mut Shop) {
    shop.run("UPDATE orders SET o_carrier_id = 1 WHERE o_id BETWEEN 2101 AND 2990");
    shop.run("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_o_id BETWEEN 2101 AND 2990");
    shop.run("DELETE FROM new_order WHERE no_o_id <= 2990");
    assert_eq!(shop.undelivered("no_o_id <= 3000"), 100);
    let mut undelivered = shop.undelivered("TRUE");
    for (style, level) in STYLES.into_iter().zip(LEVELS) {
        let run = [("mix", "1/1/1/6/1"), ("call-style", style), ("isolation", level)];
        let driven = shop.drive(&run, 8, 200);
        undelivered += driven.committed(TransactionKind::NewOrder);
        let delivered = driven.counted(Counter::OrdersDelivered);
        let skipped = driven.counted(Counter::DistrictsSkipped);
        assert_eq!(delivered + skipped, 10 * driven.committed(TransactionKind::Delivery), "{style}");
        assert!(skipped > 0 && delivered > 0, "{style}");
        assert_eq!(driven.counted(Counter::SnapshotsBehind), 0);
        undelivered -= delivered;
        assert_eq!(shop.undelivered("TRUE"), undelivered, "{style}");
        for query in [
            "SELECT o_id FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
             WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
            "SELECT o_id FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
             WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL)",
        ] {
            assert!(shop.control.rows(query).expect("asked").rows.is_empty(), "{style}: {query}");
        }
    }
}
