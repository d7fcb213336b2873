//! One local process: `/proc/PID` (proc_pid_stat(5), proc_pid_io(5)).

use plimsoll_model::samples::{ClientSample, ServerSample};
use procfs::process::{Process, Stat, Status};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::time::Duration;

/// What the process `pid` has used since it started; none if there is no such process. CPU time is in clock ticks (10
/// ms). `context_switches` stays empty (see [`context_switches`]), and so does `group`.
pub fn process(pid: u32, t_ns: u64) -> Option<ServerSample> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    let stat = process.stat().ok()?;
    let io = process.io().ok();
    Some(ServerSample {
        t_ns,
        cpu_user_us: microseconds(stat.utime),
        cpu_system_us: microseconds(stat.stime),
        resident_bytes: resident_bytes(&stat),
        read_bytes: io.map(|io| io.read_bytes),
        written_bytes: io.map(|io| io.write_bytes),
        context_switches: None,
        threads: u64::try_from(stat.num_threads).ok(),
        major_faults: Some(stat.majflt),
        open_files: open_files(pid),
        group: None,
    })
}

fn microseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000) / procfs::ticks_per_second().max(1)
}

fn resident_bytes(stat: &Stat) -> u64 {
    stat.rss.saturating_mul(procfs::page_size())
}

/// Since Linux 6.2 the directory's size says how many there are (proc_pid_fd(5)); before that, they have to be counted.
fn open_files(pid: u32) -> Option<u64> {
    let directory = format!("/proc/{pid}/fd");
    let told = fs::metadata(&directory).ok()?.len();
    if told > 0 { Some(told) } else { Some(fs::read_dir(&directory).ok()?.count() as u64) }
}

/// Context switches, voluntary or not, of the threads that `pid` has now. Threads that ended are forgotten, so the sum
/// can fall. Opens one file per thread, so it is not for every second with thousands of connections.
pub fn context_switches(pid: u32) -> Option<u64> {
    let (voluntary, involuntary) = switches(&Process::new(i32::try_from(pid).ok()?).ok()?)?;
    Some(voluntary + involuntary)
}

fn switches(process: &Process) -> Option<(u64, u64)> {
    let of_thread = |status: Status| {
        let count = |switches: Option<u64>| switches.unwrap_or(0);
        (count(status.voluntary_ctxt_switches), count(status.nonvoluntary_ctxt_switches))
    };
    let statuses = process.tasks().ok()?.filter_map(|task| task.ok()?.status().ok());
    Some(statuses.map(of_thread).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
}

/// How long the current threads of `pid` were ready to run and waited for a CPU, added up (Linux,
/// `Documentation/scheduler/sched-stats.rst`). Threads that ended are forgotten, so the sum can fall. Opens one file
/// per thread.
pub fn cpu_wait(pid: u32) -> Option<Duration> {
    let tasks = Process::new(i32::try_from(pid).ok()?).ok()?.tasks().ok()?;
    let waits = tasks.filter_map(|task| Some(task.ok()?.schedstat().ok()?.run_delay));
    waits.reduce(u64::saturating_add).map(Duration::from_nanos)
}

/// CPU time of this process so far, all threads, to the nanosecond.
pub fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// This process, which has few threads, so each can be read.
pub(super) fn own() -> Option<ClientSample> {
    let process = Process::myself().ok()?;
    let stat = process.stat().ok()?;
    let (voluntary_switches, involuntary_switches) = switches(&process)?;
    Some(ClientSample {
        cpu_user_us: microseconds(stat.utime),
        cpu_system_us: microseconds(stat.stime),
        resident_bytes: Some(resident_bytes(&stat)),
        threads: u64::try_from(stat.num_threads).ok(),
        voluntary_switches,
        involuntary_switches,
        major_faults: stat.majflt,
        allowed_cpus: allowed_cpus(None),
        group: None,
    })
}

/// CPUs that the process `pid` may run on, or the calling thread, whose threads inherit them; none if there is no such
/// process (sched_getaffinity(2)).
pub(super) fn allowed_cpus(pid: Option<u32>) -> Vec<u32> {
    let pid = match pid.map(|pid| i32::try_from(pid).ok().and_then(Pid::from_raw)) {
        None => None,
        Some(Some(pid)) => Some(pid),
        Some(None) => return Vec::new(),
    };
    let Ok(set) = sched_getaffinity(pid) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::tests::burn;

    #[test]
    fn our_own_process_is_seen() {
        let before = process_cpu();
        burn(Duration::from_millis(30));
        assert!(process_cpu() > before);
        let sample = process(std::process::id(), 0).unwrap();
        assert!(sample.resident_bytes > 100_000 && sample.read_bytes.is_some(), "{sample:?}");
        assert!(sample.threads.unwrap() > 1 && sample.open_files.unwrap() > 2, "{sample:?}");
        assert!(context_switches(std::process::id()).is_some());
        let is_told = std::path::Path::new("/proc/self/schedstat").exists();
        assert_eq!((cpu_wait(std::process::id()).is_some(), cpu_wait(u32::MAX)), (is_told, None));
        assert_eq!(process(u32::MAX, 0), None);
        let own = own().unwrap();
        assert!(own.resident_bytes.unwrap() > 100_000 && own.voluntary_switches > 0, "{own:?}");
        assert!(!own.allowed_cpus.is_empty(), "{own:?}");
        assert_eq!(allowed_cpus(Some(u32::MAX)), Vec::<u32>::new());
    }
}
