//! `/proc/stat`: how the CPUs spent their time, context switches, interrupts (proc_stat(5)).

use plimsoll_model::samples::CpuShares;
use std::collections::BTreeMap;

/// The resolution of the shares of single CPUs: ticks give no more.
const PARTS: f64 = 1e4;

/// Clock ticks since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTimes {
    user: u64,
    system: u64,
    iowait: u64,
    steal: u64,
    idle: u64,
}

impl CpuTimes {
    /// Reads what follows the name of a CPU. User and nice include guest time.
    fn parse(numbers: &str) -> Option<CpuTimes> {
        let mut fields = numbers.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
        let (user, nice, system, idle) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let mut later = || fields.next().unwrap_or(0);
        let (iowait, irq, softirq, steal) = (later(), later(), later(), later());
        let system = system.saturating_add(irq).saturating_add(softirq);
        Some(CpuTimes { user: user.saturating_add(nice), system, iowait, steal, idle })
    }

    /// Shares of the time since `before`; all zero when no tick has passed.
    pub(super) fn since(&self, before: &CpuTimes) -> CpuShares {
        let parts = |times: &CpuTimes| [times.user, times.system, times.iowait, times.steal, times.idle];
        let mut ticks = parts(self);
        for (now, then) in ticks.iter_mut().zip(parts(before)) {
            // iowait and steal are known to run backwards occasionally.
            *now = now.saturating_sub(then);
        }
        let total = ticks.iter().fold(0u64, |sum, part| sum.saturating_add(*part)).max(1) as f64;
        let [user, system, iowait, steal, idle] = ticks.map(|part| part as f64 / total);
        CpuShares { user, system, iowait, steal, idle }
    }
}

/// One reading of `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stat {
    pub total: CpuTimes,
    pub cores: BTreeMap<u32, CpuTimes>,
    pub context_switches: u64,
    pub interrupts: u64,
    pub softirqs: u64,
    pub processes_running: u32,
    pub processes_blocked: u32,
}

impl Stat {
    /// None if there is no line for all CPUs together.
    pub(super) fn parse(text: &str) -> Option<Stat> {
        let mut stat = Stat::default();
        let mut total = None;
        for line in text.lines() {
            let Some((name, numbers)) = line.split_once(' ') else { continue };
            // The sum comes first, then a number for each source.
            let first =
                numbers.split_ascii_whitespace().next().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
            match name {
                "cpu" => total = CpuTimes::parse(numbers),
                "ctxt" => stat.context_switches = first,
                "intr" => stat.interrupts = first,
                "softirq" => stat.softirqs = first,
                "procs_running" => stat.processes_running = first as u32,
                "procs_blocked" => stat.processes_blocked = first as u32,
                _ => {
                    let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
                    stat.cores.extend(number.zip(CpuTimes::parse(numbers)));
                }
            }
        }
        Some(Stat { total: total?, ..stat })
    }

    /// Shares of each CPU that was online in both readings.
    pub(super) fn cores_since(&self, before: &Stat) -> BTreeMap<u32, CpuShares> {
        let both = |(number, now): (&u32, &CpuTimes)| Some((*number, rounded(now.since(before.cores.get(number)?))));
        self.cores.iter().filter_map(both).collect()
    }
}

fn rounded(shares: CpuShares) -> CpuShares {
    let round = |share: f64| (share * PARTS).round() / PARTS;
    CpuShares {
        user: round(shares.user),
        system: round(shares.system),
        iowait: round(shares.iowait),
        steal: round(shares.steal),
        idle: round(shares.idle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  10 5 20 100 4 1 2 3 0 0\ncpu0 5 5 10 50 2 1 1 3 0 0\ncpu12 5 0 10 50 2 0 1 0 0 0\n\
        intr 1000 4 5 6\nctxt 500\nbtime 1\nprocesses 9\nprocs_running 2\nprocs_blocked 1\nsoftirq 70 1 2 3\n";
    const AFTER: &str = "cpu  20 5 22 103 2 2 4 5 0 0\ncpu0 15 5 10 50 2 1 1 3 0 0\ncpu12 5 0 11 52 2 0 1 0 0 0\n\
        intr 1500 4 5 6\nctxt 620\nbtime 1\nprocesses 9\nprocs_running 3\nprocs_blocked 0\nsoftirq 75 1 2 3\n";

    #[test]
    fn shares_are_of_the_ticks_in_between() {
        let [before, after] = [BEFORE, AFTER].map(|text| Stat::parse(text).unwrap());
        let shares = after.total.since(&before.total);
        // 10 ticks of user, 2 + 1 + 2 of system, 2 of steal, 3 idle; iowait ran backwards.
        assert_eq!(shares, CpuShares { user: 0.5, system: 0.25, iowait: 0.0, steal: 0.1, idle: 0.15 });
        let cores = after.cores_since(&before);
        assert_eq!(cores[&0], CpuShares { user: 1.0, ..CpuShares::default() });
        assert_eq!((cores[&12].system, cores[&12].idle), (0.3333, 0.6667));
        assert_eq!((after.context_switches, after.interrupts, after.softirqs), (620, 1500, 75));
        assert_eq!((after.processes_running, after.processes_blocked), (3, 0));
        assert_eq!(after.total.since(&after.total), CpuShares::default(), "no tick has passed");
    }

    #[test]
    fn old_kernels_count_less_and_what_is_no_stat_is_refused() {
        let old = Stat::parse("cpu  1 2 3 4\n").unwrap();
        assert_eq!((old.total.user, old.total.steal, old.cores.len()), (3, 0, 0));
        assert_eq!(Stat::parse("cpu  1 2 x 4\n"), None);
        assert_eq!(Stat::parse(""), None);
    }
}
