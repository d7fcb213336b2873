//! What the host and one local process have used so far, read from `/proc`. Only reads, never signals.

use plimsoll_model::samples::{HostSample, ServerSample};
use procfs::process::{Process, Status};
use procfs::{CurrentSI, KernelStats};
use rustix::fs::statvfs;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// One look at the host's counters since it was booted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Clock ticks of all CPUs together.
    user: u64,
    system: u64,
    iowait: u64,
    steal: u64,
    idle: u64,
    pub context_switches: u64,
    pub processes_running: u32,
    pub processes_blocked: u32,
    pub interrupts: u64,
}

impl HostCounters {
    /// What the host did since `before`: shares of all CPU time, 0 to 1, and context switches in between.
    /// All zero when no tick has passed.
    pub fn since(&self, before: &HostCounters, t_ns: u64) -> HostSample {
        let parts = |c: &HostCounters| [c.user, c.system, c.iowait, c.steal, c.idle];
        let mut ticks = parts(self);
        for (now, then) in ticks.iter_mut().zip(parts(before)) {
            // iowait and steal are known to run backwards now and then.
            *now = now.saturating_sub(then);
        }
        let total = ticks.iter().sum::<u64>().max(1) as f64;
        let [user, system, iowait, steal, idle] = ticks.map(|part| part as f64 / total);
        HostSample {
            t_ns,
            user,
            system,
            iowait,
            steal,
            idle,
            context_switches: self.context_switches.saturating_sub(before.context_switches),
            processes_running: self.processes_running,
            processes_blocked: self.processes_blocked,
            interrupts: self.interrupts.saturating_sub(before.interrupts),
        }
    }
}

/// Reads `/proc/stat`; none where it cannot be read.
pub fn host() -> Option<HostCounters> {
    let stat = KernelStats::current().ok()?;
    let cpu = &stat.total;
    Some(HostCounters {
        // Guest time is contained in user and nice.
        user: cpu.user + cpu.nice,
        system: cpu.system + cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0),
        iowait: cpu.iowait.unwrap_or(0),
        steal: cpu.steal.unwrap_or(0),
        idle: cpu.idle,
        context_switches: stat.ctxt,
        processes_running: stat.procs_running.unwrap_or(0),
        processes_blocked: stat.procs_blocked.unwrap_or(0),
        interrupts: interrupts().unwrap_or(0),
    })
}

/// Interrupts of all CPUs since boot: the first number of the line `intr` of `/proc/stat` (proc_stat(5)).
fn interrupts() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("intr "))?.split_whitespace().next()?.parse().ok()
}

/// What the process `pid` has used since it started; none when there is no such process. CPU time comes in
/// clock ticks (10 ms). `context_switches` stays empty: see [`context_switches`].
pub fn process(pid: u32, t_ns: u64) -> Option<ServerSample> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    let stat = process.stat().ok()?;
    let ticks_us = |ticks: u64| ticks * 1_000_000 / procfs::ticks_per_second().max(1);
    let io = process.io().ok();
    Some(ServerSample {
        t_ns,
        cpu_user_us: ticks_us(stat.utime),
        cpu_system_us: ticks_us(stat.stime),
        resident_bytes: stat.rss.saturating_mul(procfs::page_size()),
        read_bytes: io.map(|io| io.read_bytes),
        written_bytes: io.map(|io| io.write_bytes),
        context_switches: None,
    })
}

/// Context switches, voluntary or not, of the threads that `pid` has now. Threads that ended are forgotten,
/// so the sum can fall. Opens one file per thread: with thousands of connections not for every second.
pub fn context_switches(pid: u32) -> Option<u64> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    let switches = |status: Status| {
        Some(status.voluntary_ctxt_switches.unwrap_or(0) + status.nonvoluntary_ctxt_switches.unwrap_or(0))
    };
    let tasks = process.tasks().ok()?.filter_map(Result::ok);
    Some(tasks.filter_map(|task| task.status().ok().and_then(switches)).sum())
}

/// CPU time of this process so far, all threads, to the nanosecond.
pub fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// One line for each second: the host since the line before, the server since it started, ourselves.
#[derive(Debug)]
pub struct Sampler {
    server: Option<u32>,
    before: Option<HostCounters>,
}

/// What one look of a [`Sampler`] saw; none where `/proc` does not tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub host: Option<HostSample>,
    pub server: Option<ServerSample>,
    pub own_cpu: Duration,
}

impl Sampler {
    /// Begins now; `server` is the pid of a local server.
    pub fn new(server: Option<u32>) -> Sampler {
        Sampler { server, before: host() }
    }

    /// `t_ns` is the time since the trial's start, which is written into the lines.
    pub fn sample(&mut self, t_ns: u64) -> Sample {
        let now = host();
        let before = std::mem::replace(&mut self.before, now);
        Sample {
            host: now.zip(before).map(|(now, before)| now.since(&before, t_ns)),
            server: self.server.and_then(|pid| process(pid, t_ns)),
            own_cpu: process_cpu(),
        }
    }
}

/// The pid of the server at the other end of a Unix socket: the process that listened on it. None when it is
/// in another pid namespace.
pub fn local_server_pid(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Bytes that an ordinary user may still write to the file system of `path`.
///
/// # Errors
/// What statvfs says: a path that does not exist, no permission.
pub fn disk_free(path: &Path) -> io::Result<u64> {
    let facts = statvfs(path)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn burn(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::black_box(begun.elapsed());
        }
    }

    #[test]
    fn shares_add_up_to_one() {
        let mut sampler = Sampler::new(Some(std::process::id()));
        burn(Duration::from_millis(60));
        let sample = sampler.sample(7);
        let host = sample.host.unwrap();
        let sum = host.user + host.system + host.iowait + host.steal + host.idle;
        assert!((sum - 1.0).abs() < 1e-9, "{host:?}");
        assert_eq!((host.t_ns, sample.server.unwrap().t_ns), (7, 7));
    }

    #[test]
    fn counters_that_run_backwards_count_nothing() {
        let before = HostCounters { iowait: 10, user: 5, ..HostCounters::default() };
        let now = HostCounters { iowait: 8, user: 6, ..HostCounters::default() };
        let sample = now.since(&before, 0);
        assert_eq!((sample.user, sample.iowait), (1.0, 0.0));
        assert_eq!(now.since(&now, 3), HostSample { t_ns: 3, ..HostSample::default() });
    }

    #[test]
    fn our_own_process_is_seen() {
        let before = process_cpu();
        burn(Duration::from_millis(30));
        assert!(process_cpu() > before);
        let sample = process(std::process::id(), 0).unwrap();
        assert!(sample.resident_bytes > 100_000 && sample.read_bytes.is_some(), "{sample:?}");
        assert!(context_switches(std::process::id()).is_some());
        assert_eq!(process(u32::MAX, 0), None);
        let (ours, _other) = UnixStream::pair().unwrap();
        assert_eq!(local_server_pid(&ours), Some(std::process::id()));
    }

    #[test]
    fn free_space_is_told() {
        assert!(disk_free(Path::new("/")).unwrap() > 0);
        assert!(disk_free(Path::new("/no/such/place")).is_err());
    }
}
