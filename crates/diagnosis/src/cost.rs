//! What a transaction cost, and whether that supports a claimed change of throughput.
//!
//! Costs per transaction are far steadier than throughput: a real change moves at least one of them, and a change that
//! moves none comes from elsewhere, such as the clock rate of the CPUs or a neighbour (after M. Callaghan's `cpu/o`,
//! `r/o` and `wKB/o`, smalldatum.blogspot.com).

use crate::Observed;
use crate::signals::{Signals, rate};
use crate::storage::storage_use;
use plimsoll_model::diagnosis::Cost;
use plimsoll_model::samples::DeviceSample;

/// What one transaction of the measured window cost.
pub fn cost(observed: &Observed<'_>) -> Cost {
    let point = observed.point;
    let Some(transactions) = positive(point.transactions.saturating_add(point.rollbacks) as f64 / point.seconds) else {
        return Cost::default();
    };
    let each = |per_second: f64| finite(per_second / transactions);
    let device = Devices::of(observed);
    let storage = storage_use(observed);
    let of_device = |number: fn(&Devices) -> f64| each(number(device.as_ref()?));
    let requests = device.as_ref().and_then(|device| positive(device.reads + device.writes));
    let syncs = rate(&observed.status(), |line| line.data_fsyncs);
    Cost {
        client_cpu_us: point.client.cpu_us_per_transaction.and_then(finite),
        server_cpu_us: server_cpu(observed, transactions),
        reads: of_device(|device| device.reads),
        writes: of_device(|device| device.writes),
        read_kb: of_device(|device| device.read_kb),
        written_kb: of_device(|device| device.written_kb),
        read_share: requests.and_then(|requests| finite(device.as_ref()?.reads / requests)),
        request_kb: requests.and_then(|requests| {
            let device = device.as_ref()?;
            finite((device.read_kb + device.written_kb) / requests)
        }),
        fsyncs: syncs.or(device.as_ref().and_then(|device| device.flushes)).and_then(each),
        context_switches: switches(observed).and_then(each),
        host_cpu_us: host_cpus(observed).and_then(|cpus| each(1e6 * cpus)),
        storage_cpu_us: storage.as_ref().and_then(|storage| each(1e6 * storage.server_cpus?)),
        storage_round_trips: storage.and_then(|storage| each(storage.requests?)),
    }
}

/// CPUs that everything on the host kept busy.
fn host_cpus(observed: &Observed<'_>) -> Option<f64> {
    // What a hypervisor took was busy with nothing here.
    let summed_up = observed.point.host.map(|host| (host.busy - host.steal).max(0.0) * host.cpus as f64);
    summed_up.or_else(|| Signals::of(observed).host.cpus_busy)
}

/// As summed up, otherwise from the samples.
fn server_cpu(observed: &Observed<'_>, transactions_per_second: f64) -> Option<f64> {
    let summed_up = observed.point.server.as_ref().and_then(|server| server.cpu_us_per_transaction);
    let sampled = || {
        let (before, after) = observed.server()?;
        let seconds = positive(after.t_ns.saturating_sub(before.t_ns) as f64 / 1e9)?;
        Some(after.cpu_us().checked_sub(before.cpu_us())? as f64 / seconds / transactions_per_second)
    };
    summed_up.or_else(sampled).and_then(finite)
}

/// Per second; sampled only around the window.
fn switches(observed: &Observed<'_>) -> Option<f64> {
    let (server, point) = (observed.point.server.as_ref()?, observed.point);
    Some(server.context_switches_per_query? * point.queries as f64 / point.seconds)
}

/// What the devices that hold the data did per second: the storage server's disk for files on a network lane, and all
/// devices of the server's machine if it is not known which hold them.
#[derive(Clone, Copy, Debug, Default)]
struct Devices {
    reads: f64,
    writes: f64,
    read_kb: f64,
    written_kb: f64,
    /// `None` if one of them does not count them.
    flushes: Option<f64>,
}

impl Devices {
    /// `None` where the server's process was not seen: the devices are the load generator's then.
    fn of(observed: &Observed<'_>) -> Option<Devices> {
        if observed.server.is_empty() {
            return None;
        }
        let lines = observed.host();
        let all: Vec<&DeviceSample> = lines.iter().flat_map(|line| line.devices.values()).collect();
        let is_known = all.iter().any(|device| device.holds_data);
        let served: Vec<(&DeviceSample, f64)> = match is_known {
            true => Vec::new(),
            false => observed
                .storage()
                .iter()
                .filter_map(|line| Some((line.server_device.as_ref()?, line.seconds)))
                .collect(),
        };
        if !served.is_empty() {
            let seconds = served.iter().map(|(_, seconds)| seconds).sum();
            return Devices::over(&served.iter().map(|(device, _)| *device).collect::<Vec<_>>(), seconds);
        }
        let counted: Vec<&DeviceSample> = all.into_iter().filter(|device| device.holds_data || !is_known).collect();
        Devices::over(&counted, lines.iter().map(|line| line.seconds).sum())
    }

    fn over(counted: &[&DeviceSample], seconds: f64) -> Option<Devices> {
        let seconds = positive(seconds)?;
        let rate = |number: fn(&DeviceSample) -> u64| counted.iter().map(|it| number(it) as f64).sum::<f64>() / seconds;
        let flushes: Option<f64> = counted.iter().map(|device| Some(device.flushes? as f64)).sum();
        (!counted.is_empty()).then(|| Devices {
            reads: rate(|device| device.reads),
            writes: rate(|device| device.writes),
            read_kb: rate(|device| device.read_bytes) / 1e3,
            written_kb: rate(|device| device.written_bytes) / 1e3,
            flushes: flushes.map(|flushes| flushes / seconds),
        })
    }
}

fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

fn positive(number: f64) -> Option<f64> {
    finite(number).filter(|number| *number > 0.0)
}

/// A cost that changed by less is called the same.
const MOVED: f64 = 0.05;
/// A smaller change of throughput needs no explanation.
const CLAIMED: f64 = 0.02;

/// Whether the costs of a transaction support a claimed change of throughput.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corroboration {
    pub corroborated: bool,
    /// The claim with the costs that do or do not support it, a sentence.
    pub sentence: String,
}

/// Something that a transaction costs.
struct Kind {
    of: fn(&Cost) -> Option<f64>,
    /// Costs below this on both sides are next to nothing, so their ratio says nothing.
    at_least: f64,
    /// As in `half the reads`.
    name: &'static str,
    /// Countable costs are fewer, others are less.
    countable: bool,
    /// As in `what was saved is reading`.
    saved: &'static str,
}

const fn kind(of: fn(&Cost) -> Option<f64>, at_least: f64, name: &'static str, saved: &'static str) -> Kind {
    Kind { of, at_least, name, countable: true, saved }
}

/// What a server spends; the load generator's own CPU explains nothing of what the server carries.
const KINDS: [Kind; 7] = [
    Kind { countable: false, ..kind(|cost| cost.server_cpu_us, 1.0, "CPU", "CPU time") },
    kind(|cost| cost.reads, 0.02, "reads", "reading"),
    kind(|cost| cost.writes, 0.02, "writes", "writing"),
    kind(|cost| cost.read_kb, 0.5, "KB read", "reading"),
    kind(|cost| cost.written_kb, 0.5, "KB written", "writing"),
    kind(|cost| cost.fsyncs, 0.005, "syncs", "syncing"),
    kind(|cost| cost.context_switches, 0.1, "context switches", "switching between threads"),
];

/// How one cost changed.
struct Moved {
    kind: &'static Kind,
    /// Natural logarithm of after over before.
    log_ratio: f64,
}

impl Moved {
    fn of(kind: &'static Kind, before: &Cost, after: &Cost) -> Option<Moved> {
        let (before, after) = ((kind.of)(before)?, (kind.of)(after)?);
        let counts = before.is_finite() && after.is_finite() && before.max(after) >= kind.at_least;
        // Zero would be infinitely less.
        let log_ratio = (after.max(kind.at_least / 10.0) / before.max(kind.at_least / 10.0)).ln();
        counts.then_some(Moved { kind, log_ratio })
    }

    fn words(&self) -> String {
        let (share, name) = (self.log_ratio.exp_m1(), self.kind.name);
        let (more, less) = if self.kind.countable { ("more", "fewer") } else { ("more", "less") };
        match share {
            _ if share.abs() < MOVED => format!("the same {name}"),
            _ if share >= 1.0 => format!("{:.1} times the {name}", 1.0 + share),
            _ if (-0.53..=-0.47).contains(&share) => format!("half the {name}"),
            _ if share > 0.0 => format!("{:.0} % {more} {name}", 100.0 * share),
            _ => format!("{:.0} % {less} {name}", -100.0 * share),
        }
    }
}

/// Whether the costs corroborate that throughput changed by `change`, a share: 0.4 for 40 % more transactions per
/// second. `None` if throughput hardly changed, or if no cost is known on both sides.
pub fn corroborate(change: f64, before: &Cost, after: &Cost) -> Option<Corroboration> {
    if !change.is_finite() || change.abs() < CLAIMED || change <= -1.0 {
        return None;
    }
    let moved: Vec<Moved> = KINDS.iter().filter_map(|kind| Moved::of(kind, before, after)).collect();
    // A gain is supported by costs that fell, a loss by costs that rose.
    let towards = |moved: &Moved| -moved.log_ratio * change.signum();
    let most = moved.iter().max_by(|a, b| towards(a).total_cmp(&towards(b)))?;
    let corroborated = most.log_ratio.exp_m1().abs() >= MOVED && towards(most) > 0.0;
    let claim = if change > 0.0 {
        format!("{:.0} % more transactions per second", 100.0 * change)
    } else {
        format!("{:.0} % fewer transactions per second", -100.0 * change)
    };
    let each = listed(&moved, most, corroborated);
    let sentence = match (corroborated, change > 0.0) {
        (true, true) => format!("{claim}, each with {each}: what was saved is {}.", most.kind.saved),
        (true, false) => format!("{claim}, each with {each}: what is lost goes to {}.", most.kind.saved),
        (false, true) => format!(
            "{claim}, each with {each}: the gain is not explained by what a transaction costs, since nothing became \
             cheaper; check the clock rate of the CPUs, neighbours, throttling, and more CPUs or connections."
        ),
        (false, false) => format!(
            "{claim}, each with {each}: the loss is not explained by what a transaction costs, since nothing became \
             dearer; check waiting (locks, slower storage), neighbours and throttling."
        ),
    };
    Some(Corroboration { corroborated, sentence })
}

/// The costs worth naming: those that support the change, with the CPU beside them; if none does, the first three.
fn listed(moved: &[Moved], most: &Moved, corroborated: bool) -> String {
    let is_named = |place: usize, it: &Moved| {
        place == 0 || if corroborated { std::ptr::eq(it.kind, most.kind) } else { place < 3 }
    };
    let named = moved.iter().enumerate().filter(|(place, it)| is_named(*place, it));
    let words: Vec<String> = named.map(|(_, it)| it.words()).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed;
    use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample, StatusSample};
    use plimsoll_model::summary::{HostShares, Point, ServerCost};
    use std::collections::BTreeMap;

    /// Two measured seconds after one of warm-up.
    fn seconds() -> Vec<Interval> {
        let second = |number: u64| {
            let phase = if number == 0 { Phase::WarmUp } else { Phase::Measure };
            Interval { transactions: 100, queries: 100, ..observed::tests::interval(number, phase, 1.0) }
        };
        (0..3).map(second).collect()
    }

    fn point() -> Point {
        Point { transactions: 190, rollbacks: 10, queries: 400, seconds: 2.0, ..Point::default() }
    }

    /// The line at the end of a second in which a device read and wrote.
    fn host(second: u64, reads: u64, holds_data: bool) -> HostSample {
        let device = DeviceSample {
            reads,
            writes: 50,
            read_bytes: reads * 16_000,
            written_bytes: 50 * 4000,
            flushes: Some(25),
            holds_data,
            ..DeviceSample::default()
        };
        let beneath = DeviceSample { reads: 7, ..DeviceSample::default() };
        let devices = [("loop0".to_owned(), device), ("vda".to_owned(), beneath)].into();
        HostSample { t_ns: second * 1_000_000_000, seconds: 1.0, devices, ..HostSample::default() }
    }

    fn server(second: u64, cpu_user_us: u64) -> ServerSample {
        ServerSample { t_ns: second * 1_000_000_000, cpu_user_us, ..ServerSample::default() }
    }

    fn observed<'a>(
        point: &'a Point,
        intervals: &'a [Interval],
        settings: &'a BTreeMap<String, String>,
    ) -> Observed<'a> {
        Observed { point, intervals, host: &[], server: &[], status: &[], storage: &[], settings }
    }

    #[test]
    fn a_transaction_costs_what_the_window_did_by_their_number() {
        let (mut point, seconds, settings) = (point(), seconds(), BTreeMap::new());
        point.server = Some(ServerCost { context_switches_per_query: Some(2.0), ..ServerCost::default() });
        let host = [host(1, 9999, true), host(2, 150, true), host(3, 50, true)];
        let server = [server(1, 1000), server(3, 61_000)];
        let syncs = |second: u64| StatusSample {
            t_ns: second * 1_000_000_000,
            seconds: 1.0,
            data_fsyncs: Some(30),
            ..StatusSample::default()
        };
        let status = [syncs(2), syncs(3)];
        let observed = Observed { host: &host, server: &server, ..observed(&point, &seconds, &settings) };
        let cost = cost(&Observed { status: &status, ..observed });
        assert_eq!((cost.reads, cost.writes), (Some(1.0), Some(0.5)), "warm-up and the device beneath are left out");
        assert_eq!((cost.read_kb, cost.written_kb), (Some(16.0), Some(2.0)));
        assert_eq!(cost.read_share, Some(200.0 / 300.0));
        assert_eq!(cost.request_kb, Some(12.0));
        assert_eq!((cost.server_cpu_us, cost.context_switches), (Some(300.0), Some(4.0)));
        assert_eq!(cost.fsyncs, Some(0.3));
        assert_eq!(super::cost(&observed).fsyncs, Some(0.25), "the device counts flushes");
    }

    #[test]
    fn where_it_is_not_known_who_holds_the_data_all_devices_count() {
        let (point, seconds, settings) = (point(), seconds(), BTreeMap::new());
        let (host, server) = ([host(2, 150, false), host(3, 50, false)], [server(2, 0)]);
        let seen = Observed { host: &host, ..observed(&point, &seconds, &settings) };
        let local = cost(&Observed { server: &server, ..seen });
        assert_eq!((local.reads, local.fsyncs), (Some(1.07), None), "one device counts no flushes");
        let remote = cost(&seen);
        assert_eq!((remote.reads, remote.writes, remote.request_kb), (None, None, None), "the load generator's own");
    }

    #[test]
    fn what_a_hypervisor_took_is_no_cost_of_a_transaction() {
        let (seconds, settings) = (seconds(), BTreeMap::new());
        let host = HostShares { cpus: 4, busy: 0.75, steal: 0.25, ..HostShares::default() };
        let point = Point { host: Some(host), ..point() };
        let cost = cost(&observed(&point, &seconds, &settings));
        assert_eq!(cost.host_cpu_us, Some(20_000.0), "2 of 4 CPUs for 100 transactions per second");
    }

    #[test]
    fn what_was_not_recorded_is_none_and_nothing_is_infinite() {
        let (seconds, settings) = (seconds(), BTreeMap::new());
        for point in [Point::default(), Point { seconds: f64::NAN, ..point() }, point()] {
            assert_eq!(cost(&observed(&point, &seconds, &settings)), Cost::default());
            assert_eq!(cost(&observed(&point, &[], &settings)), Cost::default());
        }
        let told = ServerCost { cpu_us_per_transaction: Some(f64::NAN), ..ServerCost::default() };
        let point = Point { server: Some(told), ..point() };
        assert_eq!(cost(&observed(&point, &seconds, &settings)), Cost::default());
    }

    const BEFORE: Cost = Cost {
        client_cpu_us: Some(50.0),
        server_cpu_us: Some(400.0),
        reads: Some(4.0),
        writes: Some(1.0),
        read_kb: Some(64.0),
        written_kb: Some(20.0),
        read_share: Some(0.8),
        request_kb: Some(16.8),
        fsyncs: Some(0.5),
        context_switches: Some(9.0),
        host_cpu_us: None,
        storage_cpu_us: None,
        storage_round_trips: None,
    };

    #[track_caller]
    fn judged(change: f64, after: Cost) -> (bool, String) {
        let found = corroborate(change, &BEFORE, &after).unwrap();
        (found.corroborated, found.sentence)
    }

    #[test]
    fn a_gain_that_costs_less_is_corroborated_and_says_by_what() {
        let fewer_reads = Cost { reads: Some(2.0), read_kb: Some(33.0), server_cpu_us: Some(405.0), ..BEFORE };
        let words = "40 % more transactions per second, each with the same CPU and half the reads: what was saved is \
                     reading.";
        assert_eq!(judged(0.4, fewer_reads), (true, words.to_owned()));
        let less_cpu = Cost { server_cpu_us: Some(300.0), ..BEFORE };
        let words = "30 % more transactions per second, each with 25 % less CPU: what was saved is CPU time.";
        assert_eq!(judged(0.3, less_cpu), (true, words.to_owned()));
        let no_syncs = Cost { fsyncs: Some(0.0), ..BEFORE };
        assert!(judged(2.0, no_syncs).1.ends_with("what was saved is syncing."));
    }

    #[test]
    fn a_gain_that_costs_the_same_or_more_is_contradicted() {
        let (corroborated, sentence) = judged(0.1, BEFORE);
        assert!(!corroborated, "{sentence}");
        assert!(sentence.contains("each with the same CPU, the same reads and the same writes"), "{sentence}");
        assert!(sentence.contains("the gain is not explained"), "{sentence}");
        assert!(!judged(0.1, Cost { server_cpu_us: Some(480.0), ..BEFORE }).0);
        assert!(!judged(0.1, Cost { client_cpu_us: Some(25.0), ..BEFORE }).0, "the load generator explains nothing");
    }

    #[test]
    fn a_loss_is_borne_out_by_what_became_dearer() {
        let dearer = Cost { writes: Some(2.5), ..BEFORE };
        let words = "30 % fewer transactions per second, each with the same CPU and 2.5 times the writes: what is lost \
                     goes to writing.";
        assert_eq!(judged(-0.3, dearer), (true, words.to_owned()));
        let (corroborated, sentence) = judged(-0.3, Cost { server_cpu_us: Some(300.0), ..BEFORE });
        assert!(!corroborated && sentence.contains("the loss is not explained"), "{sentence}");
    }

    #[test]
    fn next_to_nothing_proves_nothing() {
        let rare = |reads| Cost { reads: Some(reads), ..Cost::default() };
        assert_eq!(corroborate(0.5, &rare(0.001), &rare(0.0001)), None);
        assert_eq!(corroborate(0.5, &Cost::default(), &BEFORE), None, "nothing is known on both sides");
        for change in [0.01, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(corroborate(change, &BEFORE, &BEFORE), None, "{change}");
        }
        let odd = Cost { server_cpu_us: Some(f64::NAN), reads: Some(f64::INFINITY), ..Cost::default() };
        assert_eq!(corroborate(0.5, &odd, &BEFORE), None);
    }
}
