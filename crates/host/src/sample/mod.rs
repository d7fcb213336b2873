//! What the host and local processes have used so far, read from `/proc` and `/sys` once a second. It only reads and
//! never signals; what a kernel or a container does not show is none.

mod cpu;
pub(crate) mod devices;
pub(crate) mod group;
mod load_process;
mod memory;
mod neighbours;
mod network;
mod nfs;
mod pressure;
mod process;

use cpu::Stat;
use devices::Devices;
use group::Groups;
pub use load_process::LoadProcess;
use memory::Memory;
pub use neighbours::{Busy, Neighbours};
use plimsoll_model::samples::{ClientSample, HostSample, NetworkSample, Pressure, ServerSample, Stalls};
pub use process::{context_switches, cpu_wait, process, process_cpu};
use rustix::fs::statvfs;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// One line per second: the host since the previous line, the server since it started, ourselves.
#[derive(Debug)]
pub struct Sampler {
    server: Option<u32>,
    server_groups: Groups,
    own_groups: Groups,
    /// Read only if there are NFS mounts: the file has a line for every mount.
    has_nfs: bool,
    devices: Devices,
    before: Look,
}

/// One sample of a [`Sampler`]; none if `/proc` does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub host: Option<HostSample>,
    pub server: Option<ServerSample>,
    pub own_cpu: Duration,
}

impl Sampler {
    /// Begins now; `server` is the pid of a local server.
    pub fn new(server: Option<u32>) -> Sampler {
        let mut devices = Devices::default();
        devices.look(&read("/proc/diskstats"), 0, 0.0);
        let has_nfs = !nfs::parse(&read("/proc/self/mountstats")).is_empty();
        Sampler {
            server,
            server_groups: server.map(|pid| Groups::of(Some(pid))).unwrap_or_default(),
            own_groups: Groups::of(None),
            has_nfs,
            devices,
            before: Look::take(has_nfs),
        }
    }

    /// Shows the device that holds `path` even while it is idle.
    pub fn holding(mut self, path: &Path) -> Sampler {
        self.devices.hold(path);
        self
    }

    /// `t_ns` is the time since the trial's start, which is written into the lines. A second sample within one tick of
    /// the kernel's clock has no host part: that is in the next line.
    pub fn sample(&mut self, t_ns: u64) -> Sample {
        let now = Look::take(self.has_nfs);
        let host = match now.is_of_the_same_tick(&self.before) {
            true => None,
            false => {
                let before = std::mem::replace(&mut self.before, now);
                self.host(&before, t_ns)
            }
        };
        let server = self.server.and_then(|pid| process(pid, t_ns));
        Sample {
            host,
            server: server.map(|server| ServerSample { group: self.server_groups.sample(), ..server }),
            own_cpu: process_cpu(),
        }
    }

    fn host(&mut self, before: &Look, t_ns: u64) -> Option<HostSample> {
        let now = &self.before;
        let seconds = now.taken.duration_since(before.taken).as_secs_f64();
        let (stat, stat_before) = (now.stat.as_ref()?, before.stat.as_ref()?);
        let shares = stat.total.since(&stat_before.total);
        let moved = |of: fn(&Stat) -> u64| of(stat).saturating_sub(of(stat_before));
        Some(HostSample {
            t_ns,
            seconds,
            user: shares.user,
            system: shares.system,
            iowait: shares.iowait,
            steal: shares.steal,
            idle: shares.idle,
            cores: stat.cores_since(stat_before),
            context_switches: moved(|stat| stat.context_switches),
            processes_running: stat.processes_running,
            processes_blocked: stat.processes_blocked,
            interrupts: moved(|stat| stat.interrupts),
            softirqs: moved(|stat| stat.softirqs),
            load_1m: read("/proc/loadavg").split_ascii_whitespace().next().and_then(|load| load.parse().ok()),
            memory: now.memory.zip(before.memory).map(|(now, before)| now.since(&before)),
            pressure: now.pressure_since(before),
            devices: self.devices.look(&read("/proc/diskstats"), t_ns, seconds),
            networks: now.networks_since(before),
            tcp_retransmits: now.retransmits.zip(before.retransmits).map(|(now, before)| now.saturating_sub(before)),
            nfs: nfs::since(&now.nfs, &before.nfs),
            server_cpus: self.server.map(|pid| process::allowed_cpus(Some(pid))).unwrap_or_default(),
            client: process::own()
                .map(|own| load_process::add_to(ClientSample { group: self.own_groups.sample(), ..own })),
        })
    }
}

/// Counters of the host at one moment.
#[derive(Clone, Debug)]
struct Look {
    taken: Instant,
    stat: Option<Stat>,
    memory: Option<Memory>,
    /// CPU, memory, I/O.
    pressure: [Option<Stalls>; 3],
    networks: BTreeMap<String, NetworkSample>,
    retransmits: Option<u64>,
    nfs: nfs::Mounts,
}

impl Look {
    fn take(with_nfs: bool) -> Look {
        let mounts = if with_nfs { nfs::parse(&read("/proc/self/mountstats")) } else { nfs::Mounts::new() };
        Look {
            taken: Instant::now(),
            stat: Stat::parse(&read("/proc/stat")),
            memory: Memory::parse(&read("/proc/meminfo"), &read("/proc/vmstat"), procfs::page_size()),
            pressure: ["cpu", "memory", "io"].map(|name| pressure::parse(&read(&format!("/proc/pressure/{name}")))),
            networks: network::interfaces(&read("/proc/self/net/dev")),
            retransmits: network::retransmits(&read("/proc/self/net/snmp")),
            nfs: mounts,
        }
    }

    fn is_of_the_same_tick(&self, before: &Look) -> bool {
        matches!((&self.stat, &before.stat), (Some(now), Some(before)) if now.total == before.total)
    }

    fn pressure_since(&self, before: &Look) -> Pressure {
        let moved = |place: usize| Some(pressure::since(self.pressure[place]?, before.pressure[place]?));
        Pressure { cpu: moved(0), memory: moved(1), io: moved(2) }
    }

    /// For new interfaces, what they carried so far.
    fn networks_since(&self, before: &Look) -> BTreeMap<String, NetworkSample> {
        let earlier = |name: &String| before.networks.get(name).copied().unwrap_or_default();
        let moved = |(name, now): (&String, &NetworkSample)| (name.clone(), network::since(now, &earlier(name)));
        self.networks.iter().map(moved).collect()
    }
}

/// A file of the kernel; empty if it cannot be read.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The pid of the server at the other end of a Unix socket: the process that listened on it. None if it is in another
/// pid namespace.
pub fn local_server_pid(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Bytes that an ordinary user may still write to the file system of `path`.
///
/// # Errors
/// Those of statvfs: a path that does not exist, no permission.
pub fn disk_free(path: &Path) -> io::Result<u64> {
    let facts = statvfs(path)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::samples::CpuShares;
    use proptest::prelude::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    pub(in crate::sample) fn burn(time: Duration) {
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
        for (number, CpuShares { user, system, iowait, steal, idle }) in host.cores {
            let sum = user + system + iowait + steal + idle;
            // With no tick in between, a CPU has no shares.
            assert!(sum == 0.0 || (sum - 1.0).abs() < 0.001, "CPU {number}: {sum}");
        }
    }

    #[test]
    fn looks_that_follow_each_other_at_once_lose_no_time() {
        let begun = Instant::now();
        let mut sampler = Sampler::new(None);
        let mut seconds = 0.0;
        // When the kernel next counts the time of a CPU is its own affair.
        while seconds < 0.06 && begun.elapsed() < Duration::from_secs(60) {
            let Some(host) = sampler.sample(0).host else { continue };
            let sum = host.user + host.system + host.iowait + host.steal + host.idle;
            assert!((sum - 1.0).abs() < 1e-9, "{host:?}");
            seconds += host.seconds;
        }
        assert!(seconds > 0.0 && seconds <= begun.elapsed().as_secs_f64(), "{seconds}");
    }

    /// Every group of numbers that this machine has is told, and only that.
    #[test]
    fn all_that_this_machine_tells_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let mut sampler = Sampler::new(Some(std::process::id())).holding(directory.path());
        let mut file = fs::File::create(directory.path().join("written")).unwrap();
        file.write_all(&[7; 1 << 20]).and_then(|()| file.sync_all()).unwrap();
        burn(Duration::from_millis(60));
        let sample = sampler.sample(1);
        let host = sample.host.unwrap();
        let exists = |path: &str| !read(path).is_empty();
        assert_eq!(host.cores.len(), read("/proc/stat").lines().filter(|line| line.starts_with("cpu")).count() - 1);
        assert_eq!(host.memory.is_some(), exists("/proc/meminfo"));
        assert_eq!(host.pressure.cpu.is_some(), exists("/proc/pressure/cpu"));
        assert_eq!(host.pressure.io.is_some(), exists("/proc/pressure/io"));
        assert_eq!(host.load_1m.is_some(), exists("/proc/loadavg"));
        assert_eq!(host.tcp_retransmits.is_some(), exists("/proc/self/net/snmp"));
        assert!(host.seconds >= 0.06 && host.context_switches > 0 && host.processes_running > 0, "{host:?}");
        let client = host.client.as_ref().unwrap();
        assert!(client.cpu_user_us + client.cpu_system_us > 0, "{client:?}");
        let has_group = Groups::of(None).sample().is_some();
        assert_eq!((client.group.is_some(), sample.server.unwrap().group.is_some()), (has_group, has_group));
        let device = devices::whole_device(fs::metadata(directory.path()).unwrap().dev());
        if let Some(device) = device {
            assert!(host.devices[&device].writes > 0, "{host:?}");
        }
    }

    #[test]
    fn free_space_is_told() {
        assert!(disk_free(Path::new("/")).unwrap() > 0);
        assert!(disk_free(Path::new("/no/such/place")).is_err());
        let (ours, _other) = UnixStream::pair().unwrap();
        assert_eq!(local_server_pid(&ours), Some(std::process::id()));
    }

    /// Lines that look like those of the kernel, and anything at all.
    fn garbage() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            any::<u64>().prop_map(|number| number.to_string()),
            "cpu[0-9]{0,3}|Tcp:|some|full|total=9|avg10=[0-9a-z.]{1,6}|eth0:|device|READ:|sda|MemAvailable:|kB",
            "- cgroup2?|0::/[a-z]{0,3}|4:cpu,memory:/",
            "\\PC{0,8}",
        ];
        let line = proptest::collection::vec(word, 0..24).prop_map(|words| words.join(" "));
        proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn no_text_is_a_reason_to_stop((first, second) in (garbage(), garbage())) {
            if let (Some(now), Some(before)) = (Stat::parse(&first), Stat::parse(&second)) {
                let shares = now.total.since(&before.total);
                prop_assert!((0.0..=1.0).contains(&shares.user));
                now.cores_since(&before);
            }
            let looks = [(&first, &second), (&second, &first)];
            if let [Some(now), Some(before)] = looks.map(|(one, other)| Memory::parse(one, other, 4096)) {
                now.since(&before);
            }
            if let (Some(now), Some(before)) = (pressure::parse(&first), pressure::parse(&second)) {
                prop_assert!(pressure::since(now, before).some.avg10.is_finite());
            }
            let (now, before) = (network::interfaces(&first), network::interfaces(&second));
            for (name, now) in &now {
                prop_assert!(network::since(now, before.get(name).unwrap_or(now)).errors <= now.errors);
            }
            network::retransmits(&first);
            nfs::since(&nfs::parse(&first), &nfs::parse(&second));
            let mut devices = Devices::default();
            devices.look(&first, 0, 0.0);
            for sample in devices.look(&second, 1, 1.0).values() {
                prop_assert!((0.0..=1.0).contains(&sample.busy));
            }
            group::fuzz(&first, &second);
        }
    }
}
