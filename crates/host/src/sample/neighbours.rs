//! Who else keeps this machine busy: the CPU time of all processes except ours and those that we started (proc_stat(5),
//! proc_pid_stat(5)).

use super::cpu::Stat as HostStat;
use super::read;
use procfs::process::{Stat, all_processes};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The process that all threads of the kernel are below: `kthreadd`.
const KERNEL_THREADS: u32 = 2;

/// One reading of all processes.
#[derive(Clone, Debug)]
pub struct Neighbours {
    taken: Instant,
    host: Option<HostStat>,
    /// By pid and start, because pids are reused.
    processes: BTreeMap<(i32, u64), Process>,
}

#[derive(Clone, Debug)]
struct Process {
    name: String,
    parent: i32,
    ticks: u64,
    /// Of its children that have ended, and of theirs.
    of_children: u64,
}

/// What others used between two readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Busy {
    /// CPUs kept busy by others than this process and those that it started, including what a hypervisor took.
    pub cpus: f64,
    /// The part that a hypervisor took.
    pub stolen: f64,
    /// Who used most: name, pid, CPUs. Processes that began or ended in between are not named.
    pub most: Vec<(String, u32, f64)>,
}

impl Neighbours {
    pub fn look() -> Neighbours {
        let stats = all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok());
        Neighbours {
            taken: Instant::now(),
            host: HostStat::parse(&read("/proc/stat")),
            processes: stats.map(|stat| ((stat.pid, stat.starttime), Process::of(stat))).collect(),
        }
    }

    /// How long ago `before` was.
    pub fn after(&self, before: &Neighbours) -> Duration {
        self.taken.saturating_duration_since(before.taken)
    }

    /// What others than process `own` and those below it used since `before`; none if `/proc` does not tell.
    pub fn since(&self, before: &Neighbours, own: u32) -> Option<Busy> {
        let (now, then) = (self.host.as_ref()?, before.host.as_ref()?);
        let shares = now.total.since(&then.total);
        let cpus = now.cores.len().max(1) as f64;
        let seconds = self.after(before).as_secs_f64();
        let (mut own_cpus, mut most) = (0.0, Vec::new());
        for (key @ (pid, _), process) in &self.processes {
            let Some(earlier) = before.processes.get(key) else { continue };
            let ticks = process.ticks.saturating_sub(earlier.ticks) as f64;
            let used = ticks / procfs::ticks_per_second().max(1) as f64 / seconds;
            match u32::try_from(*pid) {
                _ if self.is_below(*pid, own) => own_cpus += used,
                Ok(pid) if used > 0.0 => most.push((process.name.clone(), pid, used)),
                _ => {}
            }
        }
        most.sort_by(|(.., one), (.., other)| other.total_cmp(one));
        let busy = cpus * (shares.user + shares.system + shares.steal) - own_cpus;
        Some(Busy { cpus: busy.max(0.0), stolen: cpus * shares.steal, most })
    }

    /// CPUs that programs kept busy since `before`, except processes `own` and those below them. Threads of the kernel are
    /// no programs, because they work for whoever asks them. What a process has used is its parent's when it ends, so that
    /// those are counted, too, which came and went in between.
    pub fn programs_since(&self, before: &Neighbours, own: &[u32]) -> f64 {
        let ticks = self.ticks_of_programs(own).saturating_sub(before.ticks_of_programs(own));
        ticks as f64 / procfs::ticks_per_second().max(1) as f64 / self.after(before).as_secs_f64()
    }

    fn ticks_of_programs(&self, own: &[u32]) -> u64 {
        let is_below = |pid, of: &u32| self.is_below(pid, *of);
        let is_program = |pid: i32| !own.iter().chain([&KERNEL_THREADS]).any(|of| is_below(pid, of));
        let programs = self.processes.iter().filter(|((pid, _), _)| is_program(*pid));
        programs.map(|(_, process)| process.ticks + process.of_children).sum()
    }

    /// Whether `pid` is `own` or was started by it, or by what it has started.
    fn is_below(&self, pid: i32, own: u32) -> bool {
        let parent = |pid: i32| {
            let mut same = self.processes.range((pid, 0)..=(pid, u64::MAX));
            same.next().map(|(_, process)| process.parent).filter(|parent| *parent > 0)
        };
        // Each step is a process of its own; more steps than processes would be a cycle of reused pids.
        let line = std::iter::successors(Some(pid), |pid| parent(*pid)).take(self.processes.len() + 1);
        line.into_iter().any(|pid| u32::try_from(pid) == Ok(own))
    }
}

impl Process {
    fn of(stat: Stat) -> Process {
        Process {
            name: stat.comm,
            parent: stat.ppid,
            ticks: stat.utime.saturating_add(stat.stime),
            of_children: stat.cutime.saturating_add(stat.cstime).max(0) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n";

    fn look(host: &str, at: Instant, processes: &[(i32, i32, &str, u64)]) -> Neighbours {
        let one = |(pid, parent, name, ticks): &(i32, i32, &str, u64)| {
            ((*pid, 1), Process { name: (*name).to_owned(), parent: *parent, ticks: *ticks, of_children: 0 })
        };
        Neighbours { taken: at, host: HostStat::parse(host), processes: processes.iter().map(one).collect() }
    }

    #[test]
    fn what_is_ours_or_below_us_is_no_neighbour() {
        let begun = Instant::now();
        let then =
            [(1, 0, "init", 0), (10, 1, "plimsoll", 0), (11, 10, "sh", 0), (12, 11, "mariadbd", 0), (20, 1, "make", 0)];
        let before = look(BEFORE, begun, &then);
        let ticks = procfs::ticks_per_second();
        let now = [
            (1, 0, "init", 0),
            (10, 1, "plimsoll", 2 * ticks),
            (11, 10, "sh", 0),
            (12, 11, "mariadbd", 3 * ticks),
            (20, 1, "make", 6 * ticks),
        ];
        // Of 20 s of two CPUs: 12 s at work, 2 s stolen.
        let host = "cpu  1000 0 200 600 0 0 0 200\ncpu0 500 0 100 300 0 0 0 100\ncpu1 500 0 100 300 0 0 0 100\n";
        let busy = look(host, begun + Duration::from_secs(10), &now).since(&before, 10).unwrap();
        assert!((busy.cpus - 0.9).abs() < 1e-9, "{busy:?}");
        assert!((busy.stolen - 0.2).abs() < 1e-9, "{busy:?}");
        assert_eq!(busy.most[0].0, "make");
        assert!((busy.most[0].2 - 0.6).abs() < 1e-9 && busy.most.iter().all(|(name, ..)| name != "mariadbd"));
    }

    #[test]
    fn programs_are_neither_ours_nor_the_kernels() {
        let begun = Instant::now();
        let ticks = procfs::ticks_per_second();
        let then = [
            (2, 0, "kthreadd", 0),
            (10, 1, "plimsoll", 0),
            (20, 1, "mysqld", 0),
            (30, 1, "make", 0),
            (32, 30, "cc1", 7 * ticks),
        ];
        let before = look(BEFORE, begun, &then);
        let now = [
            (2, 0, "kthreadd", ticks),
            (3, 2, "kworker", ticks),
            (10, 1, "plimsoll", 2 * ticks),
            (11, 10, "mariadbd", 3 * ticks),
            (20, 1, "mysqld", 4 * ticks),
            (30, 1, "make", 5 * ticks),
            (31, 30, "cc1", ticks),
        ];
        let mut after = look(BEFORE, begun + Duration::from_secs(10), &now);
        // One compiler had used 7 s before and has ended, as has another one that came in between: 9 s in all.
        after.processes.get_mut(&(30, 1)).expect("make is there").of_children = 9 * ticks;
        let programs = after.programs_since(&before, &[10, 20]);
        assert!((programs - 0.8).abs() < 1e-9, "{programs}");
    }

    #[test]
    fn pids_that_came_again_are_no_circle() {
        let circle = look(BEFORE, Instant::now(), &[(5, 6, "a", 0), (6, 5, "b", 0)]);
        assert!(!circle.is_below(5, 10) && circle.is_below(5, 6));
    }

    #[test]
    fn this_machine_tells() {
        let before = Neighbours::look();
        super::super::tests::burn(Duration::from_millis(60));
        let now = Neighbours::look();
        let busy = now.since(&before, std::process::id()).unwrap();
        assert!(busy.cpus.is_finite() && busy.most.iter().all(|(_, pid, _)| *pid != std::process::id()));
    }
}
