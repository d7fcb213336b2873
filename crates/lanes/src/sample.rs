//! The two sides of a network lane, second by second: CPU of their processes, the storage server's disk, and the
//! operations that the client counts. What the kernel does for them (loop devices, the network) is in no process.

use super::{Lane, LaneProcess, LaneSide};
use plimsoll_model::device::DeviceCounters;
use plimsoll_model::samples::StorageSample;
use plimsoll_storage::device::Device;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::param::clock_ticks_per_second;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the client may take to report its counts; a second that it misses is left out.
pub const ANSWERS_WITHIN: Duration = Duration::from_millis(250);
/// The counts of all kinds of a protocol are shorter.
const MOST_BYTES: u64 = 64 << 10;

/// Operations since the client began, by kind as spelled in the protocol's specification; none if it does not answer
/// within `patience`.
pub fn operations(socket: &Path, patience: Duration) -> Option<BTreeMap<String, u64>> {
    let stream = connect(socket)?;
    stream.set_read_timeout(Some(patience)).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(MOST_BYTES)).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Unlike the standard library's connect, it does not wait for room in the queue of a client that answers nobody
/// (unix(7), EAGAIN).
fn connect(path: &Path) -> Option<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path).ok()?).ok()?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false).ok()?;
    Some(stream)
}

/// Samples a network lane. It only reads, and never waits for long.
#[derive(Debug)]
pub struct StorageSampler {
    server: Vec<Watched>,
    client: Vec<Watched>,
    link: Vec<Watched>,
    device: Option<Device>,
    operations: Option<PathBuf>,
    patience: Duration,
    before: Look,
}

/// Counters of the lane at one moment.
#[derive(Debug)]
struct Look {
    taken: Instant,
    device: Option<DeviceCounters>,
    operations: Option<BTreeMap<String, u64>>,
}

impl StorageSampler {
    /// Begins now; none for a lane without a network.
    pub fn of(lane: &Lane) -> Option<StorageSampler> {
        StorageSampler::waiting(lane, ANSWERS_WITHIN)
    }

    /// One that gives the client this long to report its counts.
    fn waiting(lane: &Lane, patience: Duration) -> Option<StorageSampler> {
        if lane.parts.is_empty() {
            return None;
        }
        let side = |side| lane.parts.iter().filter(|part| part.side == side).map(Watched::new).collect();
        let mut sampler = StorageSampler {
            server: side(LaneSide::Server),
            client: side(LaneSide::Client),
            link: side(LaneSide::Link),
            device: lane.server_device.clone().map(|name| Device { name }),
            operations: lane.operations.clone(),
            patience,
            before: Look { taken: Instant::now(), device: None, operations: None },
        };
        sampler.before = sampler.look();
        Some(sampler)
    }

    /// What happened since the previous sample; `t_ns` is written into the sample.
    pub fn sample(&mut self, t_ns: u64) -> StorageSample {
        let now = self.look();
        let before = std::mem::replace(&mut self.before, now);
        let now = &self.before;
        let seconds = now.taken.duration_since(before.taken).as_secs_f64();
        let device = now.device.zip(before.device).map(|(now, before)| now.since(&before, t_ns, seconds));
        let moved = |(now, before): (&BTreeMap<String, u64>, &BTreeMap<String, u64>)| {
            let count = |(kind, now): (&String, &u64)| {
                let moved = now.saturating_sub(before.get(kind).copied().unwrap_or(0));
                (moved > 0).then(|| (kind.clone(), moved))
            };
            now.iter().filter_map(count).collect()
        };
        let operations = now.operations.as_ref().zip(before.operations.as_ref()).map(moved);
        let [server_cpu, client_cpu, link_cpu] =
            [&mut self.server, &mut self.client, &mut self.link].map(|side| cpus(side, seconds));
        let all = [&self.server, &self.client, &self.link].into_iter().flatten();
        let ended =
            all.filter(|watched| watched.before.is_none()).map(|watched| watched.part.program.clone()).collect();
        StorageSample { t_ns, seconds, server_cpu, client_cpu, link_cpu, server_device: device, operations, ended }
    }

    fn look(&self) -> Look {
        Look {
            taken: Instant::now(),
            device: self.device.as_ref().and_then(Device::counters),
            operations: self.operations.as_deref().and_then(|socket| operations(socket, self.patience)),
        }
    }
}

/// A process, known by its pid and its start.
#[derive(Debug)]
struct Watched {
    part: LaneProcess,
    started: Option<u64>,
    /// CPU time at the previous sample, clock ticks; none once it is gone.
    before: Option<u64>,
}

impl Watched {
    fn new(part: &LaneProcess) -> Watched {
        let (started, before) = ticks(part.pid).unzip();
        Watched { part: part.clone(), started, before }
    }

    /// CPU time since the previous sample, seconds; none if it is gone, or another process has its pid.
    fn cpu_seconds(&mut self) -> Option<f64> {
        let before = self.before.take()?;
        let (_, now) = ticks(self.part.pid).filter(|(started, _)| Some(*started) == self.started)?;
        self.before = Some(now);
        Some(now.saturating_sub(before) as f64 / clock_ticks_per_second() as f64)
    }
}

/// The start of a process, and the CPU time of all its threads since, clock ticks (proc_pid_stat(5)).
fn ticks(pid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain blanks and parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // A zombie.
    (fields.first() != Some(&"Z")).then_some(())?;
    Some((number(19)?, number(11)?.saturating_add(number(12)?)))
}

/// CPUs that a side used; none if it has no process, or one of its processes has ended.
fn cpus(side: &mut [Watched], seconds: f64) -> Option<f64> {
    let spent: Vec<Option<f64>> = side.iter_mut().map(Watched::cpu_seconds).collect();
    let sum: Option<f64> = spent.into_iter().sum();
    sum.filter(|_| !side.is_empty()).map(|sum| sum / seconds).filter(|cpus| cpus.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_storage::clock::thread_cpu_ns;
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    use std::io::Write;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    fn part(side: LaneSide, program: &str, pid: u32) -> LaneProcess {
        LaneProcess { side, program: program.to_owned(), pid }
    }

    fn lane(parts: Vec<LaneProcess>, operations: Option<PathBuf>) -> Lane {
        Lane {
            name: "nbd".to_owned(),
            directory: PathBuf::from("/no/such/lane/mount"),
            device: None,
            group: None,
            trigger: None,
            parts,
            server_device: Some("no such device".to_owned()),
            operations,
            is_volatile: false,
        }
    }

    /// Uses so much CPU, which takes longer where others want it as well.
    fn burn(time: Duration) {
        let end_ns = thread_cpu_ns() + time.as_nanos() as u64;
        while thread_cpu_ns() < end_ns {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_is_not_there_is_absent_and_what_ended_is_named() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let parts = vec![part(LaneSide::Server, "us", std::process::id()), part(LaneSide::Client, "sleep", child.id())];
        let mut sampler = StorageSampler::of(&lane(parts, Some(PathBuf::from("/no/such/socket")))).unwrap();
        burn(Duration::from_millis(200));
        let sample = sampler.sample(7);
        assert!(sample.server_cpu.unwrap() > 0.0 && sample.seconds >= 0.2, "{sample:?}");
        assert_eq!((sample.t_ns, sample.client_cpu, sample.link_cpu), (7, Some(0.0), None));
        assert_eq!((sample.server_device, sample.operations, sample.ended.len()), (None, None, 0));
        child.kill().unwrap();
        // Until it has ended, and leaves it there to be waited for.
        waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let mut has_ended = |when: &str| {
            let sample = sampler.sample(8);
            assert_eq!((sample.client_cpu, &sample.ended[..]), (None, &["sleep".to_owned()][..]), "{when}");
            assert!(sample.server_cpu.is_some(), "the other side goes on");
        };
        has_ended("nobody has waited for it");
        child.wait().unwrap();
        has_ended("somebody has");
    }

    #[test]
    fn operations_are_those_since_the_look_before() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("operations");
        let listener = UnixListener::bind(&socket).unwrap();
        let answers = [r#"{"READ":5,"WRITE":7}"#, r#"{"READ":5,"WRITE":9,"COMMIT":1}"#, "no json", r#"{"READ":9}"#];
        let thread = std::thread::spawn(move || {
            for answer in answers {
                writeln!(listener.accept().unwrap().0, "{answer}").unwrap();
            }
        });
        let parts = vec![part(LaneSide::Client, "us", std::process::id())];
        let lane = lane(parts, Some(socket));
        let mut sampler = StorageSampler::waiting(&lane, Duration::from_secs(30)).unwrap();
        let counted = sampler.sample(1).operations.unwrap();
        assert_eq!(counted, [("COMMIT".to_owned(), 1), ("WRITE".to_owned(), 2)].into());
        assert_eq!(sampler.sample(2).operations, None, "what cannot be read is no count");
        assert_eq!(sampler.sample(3).operations, None, "and neither is the time after it");
        thread.join().unwrap();
    }

    #[test]
    fn a_client_that_says_nothing_holds_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("operations");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(operations(&socket, ANSWERS_WITHIN), None);
        // Nor once as many wait as the kernel lets wait.
        let mut waiting = Vec::new();
        while let Some(one) = connect(&socket) {
            waiting.push(one);
        }
        assert!(!waiting.is_empty());
        assert_eq!(operations(&socket, ANSWERS_WITHIN), None);
    }

    #[test]
    fn a_lane_without_a_network_is_not_watched() {
        assert!(StorageSampler::of(&lane(Vec::new(), None)).is_none());
    }
}
