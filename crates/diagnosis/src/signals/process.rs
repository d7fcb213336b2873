//! The processes of the load generator and of a local server.

use super::{gauge, number, per_second};
use crate::Observed;
use plimsoll_model::samples::{ClientSample, GroupSample, HostSample};
use plimsoll_model::summary::STOPPED_MS;

/// Two samples of one group, one right after the other, differ by no more periods than this.
const SAME_WITHIN: u64 = 3;

/// The load generator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Client {
    /// Threads that send the load.
    pub loops: f64,
    /// Share of the time of its loops that they were on a CPU, 0 to 1.
    pub loop_busy: Option<f64>,
    /// CPUs of this machine that the whole process kept busy, or its agents here.
    pub cpus_busy: Option<f64>,
    /// CPUs that its loops may run on.
    pub cpus_allowed: Option<f64>,
    /// CPUs among those that a local server may run on as well.
    pub cpus_shared: Option<f64>,
    /// Threads of it that waited for a CPU, on average; `None` if some waited for those of other machines.
    pub waiting_for_cpu: Option<f64>,
    pub group: ControlGroup,
    /// From a ping to its answer before the load began, seconds.
    pub round_trip_seconds: Option<f64>,
    /// For how long it did not run, seconds of the window.
    pub stopped_seconds: Option<f64>,
}

impl Client {
    pub(super) fn of(observed: &Observed<'_>) -> Client {
        let (point, cost) = (observed.point, &observed.point.client);
        let loop_busy = number(cost.cpu_fraction);
        let loop_cpu_us: f64 = observed.seconds().map(|second| second.loop_cpu_us).sum();
        let loops = loop_busy.map(|busy| loop_cpu_us / 1e6 / (busy * point.seconds)).and_then(|n| number(Some(n)));
        let allowed = own(observed).map(|(_, after)| &after.allowed_cpus[..]).filter(|cpus| !cpus.is_empty());
        let is_here = point.agents.iter().all(|agent| agent.is_here);
        Client {
            loops: loops.map_or(1.0, |loops| loops.round().max(1.0)),
            loop_busy,
            cpus_busy: number(point.cpus_of_client()),
            cpus_allowed: allowed.map(|cpus| cpus.len() as f64),
            cpus_shared: allowed.zip(cpus_of_server(observed)).map(|(own, of_server)| shared(own, of_server)),
            group: ControlGroup::between(
                own(observed).map(|(before, after)| (before.group, after.group)),
                host_seconds(observed),
            ),
            waiting_for_cpu: number(cost.threads_waiting_for_cpu).filter(|_| is_here),
            round_trip_seconds: number(cost.round_trip_us).map(|us| us / 1e6),
            stopped_seconds: stopped_seconds(observed),
        }
    }
}

/// The intervals have each stop, the load point only the longest.
fn stopped_seconds(observed: &Observed<'_>) -> Option<f64> {
    let longest = number(observed.point.generator_stopped())?;
    let late = observed.seconds().map(|second| second.scheduling_lag_ms_max).filter(|ms| *ms >= STOPPED_MS);
    number(Some(late.sum::<f64>() / 1e3)).map(|seconds| seconds.max(longest).min(observed.point.seconds))
}

/// The load generator's counters around the window.
fn own<'a>(observed: &Observed<'a>) -> Option<(&'a ClientSample, &'a ClientSample)> {
    let (before, after) = observed.host_edges()?;
    before.client.as_ref().zip(after.client.as_ref())
}

fn cpus_of_server<'a>(observed: &Observed<'a>) -> Option<&'a [u32]> {
    observed.host_edges().map(|(_, after)| &after.server_cpus[..]).filter(|cpus| !cpus.is_empty())
}

/// How many CPUs are on both lists.
fn shared(one: &[u32], other: &[u32]) -> f64 {
    one.iter().filter(|cpu| other.contains(cpu)).count() as f64
}

fn host_seconds(observed: &Observed<'_>) -> f64 {
    observed.host_edges().map_or(0.0, |(before, after)| (after.t_ns.saturating_sub(before.t_ns)) as f64 / 1e9)
}

/// A server on this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// CPUs that it kept busy.
    pub cpus_busy: Option<f64>,
    /// CPUs that it may run on.
    pub cpus_allowed: Option<f64>,
    /// Those among them that were busy with anything, or that a hypervisor took.
    pub cpus_taken: Option<f64>,
    /// Threads of it that waited for a CPU, on average.
    pub waiting_for_cpu: Option<f64>,
    pub group: ControlGroup,
    /// The load generator is in the same control group, whose limits and counters are those of both.
    pub shares_group: bool,
    /// Per second.
    pub major_faults: Option<f64>,
    /// Statements that it worked on, on average, without Plimsoll's own query; for private servers only.
    pub threads_running: Option<f64>,
    /// Threads that it lets work at a time, if it limits them, and the setting that does so.
    pub thread_limit: Option<ThreadLimit>,
}

/// The setting by which InnoDB limits its threads.
pub const TICKETS: &str = "innodb_thread_concurrency";

/// What limits how many statements are worked on at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadLimit {
    pub setting: &'static str,
    pub threads: f64,
}

impl Server {
    pub(super) fn of(observed: &Observed<'_>) -> Server {
        let (cost, edges) = (observed.point.server.as_ref(), observed.server());
        let seconds = edges.map_or(0.0, |(before, after)| (after.t_ns.saturating_sub(before.t_ns)) as f64 / 1e9);
        let counted = |before: Option<u64>, after: Option<u64>| per_second(before, after, seconds);
        let group = ControlGroup::between(edges.map(|(before, after)| (before.group, after.group)), seconds);
        let own_group = own(observed).and_then(|(_, after)| after.group);
        let cpus = cpus_of_server(observed);
        Server {
            cpus_busy: number(cost.and_then(|cost| cost.cpus_busy)),
            waiting_for_cpu: number(cost.and_then(|cost| cost.threads_waiting_for_cpu)),
            cpus_allowed: cpus.map(|cpus| cpus.len() as f64),
            cpus_taken: cpus.and_then(|cpus| taken(&observed.host(), cpus)),
            shares_group: edges.is_some_and(|(_, after)| is_same(after.group, own_group)),
            group,
            major_faults: edges.and_then(|(before, after)| counted(before.major_faults, after.major_faults)),
            threads_running: threads_running(observed),
            thread_limit: thread_limit(observed),
        }
    }
}

/// CPUs of a list that were not idle, on average.
fn taken(lines: &[&HostSample], cpus: &[u32]) -> Option<f64> {
    let of_line = |line: &&HostSample| -> Option<f64> {
        let busy = |cpu: &u32| line.cores.get(cpu).map(|core| 1.0 - core.idle - core.iowait);
        cpus.iter().map(busy).sum()
    };
    let found: Vec<f64> = lines.iter().filter_map(of_line).collect();
    number(Some(found.iter().sum::<f64>() / found.len() as f64))
}

fn threads_running(observed: &Observed<'_>) -> Option<f64> {
    gauge(observed.status().iter().filter_map(|line| line.threads_running.map(|running| running.saturating_sub(1))))
}

/// A thread pool serves one statement at a time for each of its groups, more if one of them waits (MariaDB, Thread Pool
/// in MariaDB; MySQL, Thread Pool Operation). InnoDB lets a limited number of threads in (MySQL,
/// `innodb_thread_concurrency`).
fn thread_limit(observed: &Observed<'_>) -> Option<ThreadLimit> {
    let setting = |name: &str| observed.settings.get(name).map(String::as_str);
    let threads = |setting: &str| setting.parse::<f64>().ok().filter(|threads| *threads > 0.0);
    let has_pool = matches!(setting("thread_handling"), Some("pool-of-threads" | "loaded-dynamically"));
    let pool = setting("thread_pool_size").filter(|_| has_pool).and_then(threads);
    let pool = pool.map(|threads| ThreadLimit { setting: "thread_pool_size", threads });
    let tickets = setting(TICKETS).and_then(threads);
    pool.or(tickets.map(|threads| ThreadLimit { setting: TICKETS, threads }))
}

/// What a control group allowed, and how it enforced it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControlGroup {
    /// CPUs that it may use.
    pub cpu_limit: Option<f64>,
    /// Seconds in each second that its tasks were stopped on a CPU, added up over the CPUs.
    pub stopped: Option<f64>,
    /// How often in a second it had used up its CPU time.
    pub stops: Option<f64>,
    pub memory_limit_bytes: Option<f64>,
    pub memory_bytes: Option<f64>,
    /// Pages that had been evicted from it and were read again, per second.
    pub refaults: Option<f64>,
    /// Share of the time in which a task of it waited for memory, 0 to 1; for version 2 only.
    pub memory_stalled: Option<f64>,
}

impl ControlGroup {
    fn between(edges: Option<(Option<GroupSample>, Option<GroupSample>)>, seconds: f64) -> ControlGroup {
        let Some((Some(before), Some(after))) = edges else { return ControlGroup::default() };
        ControlGroup {
            cpu_limit: number(after.cpu_limit),
            stopped: per_second(before.throttled_us, after.throttled_us, seconds).map(|us| us / 1e6),
            stops: per_second(before.throttled_periods, after.throttled_periods, seconds),
            memory_limit_bytes: after.memory_limit_bytes.map(|bytes| bytes as f64),
            memory_bytes: after.memory_bytes.map(|bytes| bytes as f64),
            refaults: per_second(before.refaults, after.refaults, seconds),
            memory_stalled: per_second(before.memory_stalled_us, after.memory_stalled_us, seconds)
                .map(|us| (us / 1e6).min(1.0)),
        }
    }
}

/// Whether two samples of about the same moment are of one group: both were stopped equally often.
fn is_same(one: Option<GroupSample>, other: Option<GroupSample>) -> bool {
    let stops = |group: GroupSample| group.throttled_periods.filter(|periods| *periods > 0);
    let (Some(one), Some(other)) = (one, other) else { return false };
    let apart = stops(one).zip(stops(other)).map(|(one, other)| one.abs_diff(other));
    one.cpu_limit == other.cpu_limit && apart.is_some_and(|periods| periods <= SAME_WITHIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::samples::CpuShares;
    use plimsoll_model::summary::{AgentPoint, ClientCost, Point};
    use std::collections::BTreeMap;

    #[test]
    fn what_is_busy_on_a_list_of_cpus() {
        let core = |idle| CpuShares { idle, iowait: 0.1, ..CpuShares::default() };
        let cores = BTreeMap::from([(0, core(0.9)), (1, core(0.0)), (2, core(0.4))]);
        let line = HostSample { cores, ..HostSample::default() };
        assert!((taken(&[&line], &[1, 2]).unwrap() - 1.4).abs() < 1e-9);
        assert_eq!(taken(&[&line], &[1, 7]), None, "one that is not there");
        assert_eq!(taken(&[], &[1]), None);
    }

    #[test]
    fn cpus_are_shared_that_are_on_both_lists() {
        assert_eq!([shared(&[0], &[1]), shared(&[0, 1], &[1, 2]), shared(&[], &[1])], [0.0, 1.0, 0.0]);
    }

    fn limit(settings: &[(&str, &str)]) -> Option<(&'static str, f64)> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let point = Point::default();
        thread_limit(&Observed::bare(&point, &settings)).map(|limit| (limit.setting, limit.threads))
    }

    /// 8 CPUs of all its processes, and what its agents used where.
    fn client(agents: &[(bool, Option<f64>)]) -> Client {
        let agent = |(is_here, cpus): &(bool, Option<f64>)| AgentPoint {
            is_here: *is_here,
            cpus: *cpus,
            ..AgentPoint::default()
        };
        let cost = ClientCost {
            process_cpu_us_per_query: Some(8e3),
            threads_waiting_for_cpu: Some(3.0),
            ..ClientCost::default()
        };
        let agents = agents.iter().map(agent).collect();
        let point = Point { seconds: 2.0, queries: 2000, client: cost, agents, ..Point::default() };
        let settings = BTreeMap::new();
        Client::of(&Observed::bare(&point, &settings))
    }

    #[test]
    fn what_agents_use_elsewhere_is_taken_from_nobody_here() {
        let used = |agents: &[(bool, Option<f64>)]| {
            let found = client(agents);
            (found.cpus_busy, found.waiting_for_cpu)
        };
        assert_eq!(used(&[]), (Some(8.0), Some(3.0)), "no fleet");
        assert_eq!(used(&[(true, Some(5.0)), (true, Some(3.0))]), (Some(8.0), Some(3.0)));
        assert_eq!(used(&[(true, Some(1.0)), (false, Some(7.0))]), (Some(1.0), None));
        assert_eq!(used(&[(false, Some(8.0))]), (Some(0.0), None));
        assert_eq!(used(&[(true, None), (false, Some(7.0))]), (None, None), "nobody looked");
    }

    #[test]
    fn threads_are_limited_by_a_pool_or_by_tickets() {
        let pool = ("thread_handling", "pool-of-threads");
        assert_eq!(limit(&[pool, ("thread_pool_size", "1")]), Some(("thread_pool_size", 1.0)));
        assert_eq!(limit(&[("thread_handling", "one-thread-per-connection"), ("thread_pool_size", "1")]), None);
        assert_eq!(limit(&[("innodb_thread_concurrency", "4")]), Some(("innodb_thread_concurrency", 4.0)));
        assert_eq!(limit(&[("innodb_thread_concurrency", "0")]), None);
        assert_eq!(limit(&[pool, ("thread_pool_size", "many")]), None);
    }

    #[test]
    fn a_group_is_recognised_by_its_counters() {
        let group = |periods| {
            Some(GroupSample { cpu_limit: Some(2.0), throttled_periods: Some(periods), ..GroupSample::default() })
        };
        assert!(is_same(group(70), group(71)));
        assert!(!is_same(group(70), group(90)) && !is_same(group(0), group(0)) && !is_same(group(7), None));
    }

    #[test]
    fn a_counter_that_began_anew_tells_nothing() {
        let at = |us| Some(GroupSample { throttled_us: Some(us), ..GroupSample::default() });
        assert_eq!(ControlGroup::between(Some((at(0), at(1_500_000))), 3.0).stopped, Some(0.5));
        assert_eq!(ControlGroup::between(Some((at(9), at(1))), 3.0).stopped, None);
        assert_eq!(ControlGroup::between(Some((at(0), at(9))), 0.0).stopped, None);
    }
}
