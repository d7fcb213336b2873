//! What a lane is, according to its name: `ext4,delay=2ms,options=noatime` or `iscsi,fs=xfs,delay=1ms`. Nothing is
//! created or asked of the machine here.

use super::kind::{FileSystem, Transport};
use super::nfs_options::NfsOptions;
use super::tcp::{self, TcpSetting};
use crate::LaneError;
use plimsoll_plan::quantity;
use std::path::PathBuf;
use std::time::Duration;

/// What is accepted, for messages; the help of `plimsoll lane` has a row for each.
pub const MODIFIERS: &str = "\
iops=N (reads and writes per second, each), bandwidth=SIZE (per second), options=A+B (of mount), sector=512|4096, \
scheduler=none|mq-deadline|bfq|kyber, delay=MS (of each read and write, as in 2ms; of a network lane, of each round \
trip), error=eio|enospc (while a trigger file exists), cache=SIZE (of reads, in front of the device), cache=unsafe \
(one that swallows flushes), nbd=unix:PATH or nbd=HOST:PORT (a server of yours below it), device=volatile (one of \
Plimsoll's own, which loses at a power cut what was not flushed; of nfs-files, that of its server); of network lanes \
fs=ext4|xfs|btrfs (of the client), mtu=BYTES, tcp=A+B (settings of both ends), export=fuse";

/// The longest frame of a veth pair, and the shortest that IPv4 accepts (RFC 791), bytes.
const MTU: std::ops::RangeInclusive<u32> = 576..=65_535;

/// The cache in front of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Answers reads of what was last read or written, at most this many bytes; writes go through it.
    Bytes(u64),
    /// Swallows flushes, as a lying device does.
    Unsafe,
}

/// A server of the user's that speaks the NBD protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nbd {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
}

/// What decides the order in which a device gets its requests (Linux, `Documentation/block/switching-sched.rst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    None,
    MqDeadline,
    Bfq,
    Kyber,
}

impl Scheduler {
    const ALL: [Scheduler; 4] = [Scheduler::None, Scheduler::MqDeadline, Scheduler::Bfq, Scheduler::Kyber];

    /// The kernel's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::None => "none",
            Scheduler::MqDeadline => "mq-deadline",
            Scheduler::Bfq => "bfq",
            Scheduler::Kyber => "kyber",
        }
    }
}

/// What a lane consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    name: String,
    pub transport: Transport,
    /// The file system on the device: the client's, or the server's for a transport that serves files.
    pub kind: FileSystem,
    /// Of mount(8).
    pub options: Vec<String>,
    /// Reads per second, and writes per second.
    pub iops: Option<u64>,
    /// Bytes read per second, and bytes written per second.
    pub bandwidth: Option<u64>,
    /// Bytes of a logical sector.
    pub sector: Option<u64>,
    /// Delay of each read and each write, whole milliseconds; on a network lane of each round trip, microseconds.
    pub delay: Option<Duration>,
    /// The errno, in capitals, with which reads and writes fail while the trigger file exists.
    pub error: Option<String>,
    pub cache: Option<Cache>,
    pub nbd: Option<Nbd>,
    /// Its device can lose its power, and then loses what was not flushed.
    pub is_volatile: bool,
    pub scheduler: Option<Scheduler>,
    /// Bytes of the longest packet between the client and the server.
    pub mtu: Option<u32>,
    /// Of both ends of its network.
    pub tcp: Vec<TcpSetting>,
    /// The client's device is the FUSE export of qemu-storage-daemon itself, which mixes up concurrent writes (7.2).
    pub fuse_export: bool,
}

impl Spec {
    /// Reads a lane's name.
    ///
    /// # Errors
    /// [`LaneError::Refused`] saying what was found and what is accepted.
    pub fn parse(name: &str) -> Result<Spec, LaneError> {
        let mut words = name.split(',');
        let first = words.next().unwrap_or_default();
        let (transport, kind) = begins(first).ok_or_else(|| {
            let kinds =
                FileSystem::ALL.map(FileSystem::name).into_iter().chain(Transport::NETWORK.map(Transport::name));
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            refused(name, &format!("it begins with '{first}'; accepted is one of {kinds}, then modifiers after commas"))
        })?;
        let mut spec = Spec {
            name: name.to_owned(),
            transport,
            kind,
            options: Vec::new(),
            iops: None,
            bandwidth: None,
            sector: None,
            delay: None,
            error: None,
            cache: None,
            nbd: None,
            is_volatile: false,
            scheduler: None,
            mtu: None,
            tcp: Vec::new(),
            fuse_export: false,
        };
        let mut seen = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if seen.contains(&key) {
                return Err(refused(name, &format!("'{key}=' is given twice")));
            }
            seen.push(key);
            spec.modify(key, value).map_err(|wrong| refused(name, &wrong))?;
        }
        spec.suits(&seen).map_err(|wrong| refused(name, &wrong))?;
        Ok(spec)
    }

    fn modify(&mut self, key: &str, value: &str) -> Result<(), String> {
        let wrong = |accepted: &str| format!("'{key}={value}'; accepted is {accepted}");
        match key {
            "iops" => {
                let iops = value.parse().ok().filter(|iops| *iops > 0);
                self.iops = Some(iops.ok_or_else(|| wrong("iops=N, 1 or more"))?);
            }
            "bandwidth" => {
                self.bandwidth = Some(size(value, 4096).ok_or_else(|| wrong("a size per second, 4K or more"))?)
            }
            "options" => self.options = mount_options(value).ok_or_else(|| wrong("mount options joined by +"))?,
            "sector" => {
                let sector = value.parse().ok().filter(|bytes| [512, 4096].contains(bytes));
                self.sector = Some(sector.ok_or_else(|| wrong("sector=512 or sector=4096"))?);
            }
            "delay" if self.is_network() => {
                self.delay = Some(round_trip(value).ok_or_else(|| wrong("a duration, 10us to 1s"))?)
            }
            "delay" => self.delay = Some(delay(value).ok_or_else(|| wrong("whole milliseconds, 1ms to 10s"))?),
            "error" => {
                let error = ["eio", "enospc"].contains(&value).then(|| value.to_uppercase());
                self.error = Some(error.ok_or_else(|| wrong("error=eio or error=enospc"))?);
            }
            "cache" if value == "unsafe" => self.cache = Some(Cache::Unsafe),
            "cache" => {
                let bytes = size(value, 1 << 20).ok_or_else(|| wrong("a size, 1M or more, or unsafe"))?;
                self.cache = Some(Cache::Bytes(bytes));
            }
            "device" if value == "volatile" => self.is_volatile = true,
            "device" => return Err(wrong("device=volatile")),
            "nbd" => self.nbd = Some(nbd(value).ok_or_else(|| wrong("unix:/PATH or HOST:PORT"))?),
            "scheduler" => {
                let known = Scheduler::ALL.into_iter().find(|scheduler| scheduler.name() == value);
                self.scheduler = Some(known.ok_or_else(|| wrong(&Scheduler::ALL.map(Scheduler::name).join(", ")))?);
            }
            "fs" => {
                let kind = FileSystem::ALL.into_iter().find(|kind| kind.name() == value && kind.needs_device());
                self.kind = kind.ok_or_else(|| wrong("a file system with a device, such as ext4, xfs or btrfs"))?;
            }
            "mtu" => {
                let bytes = value.parse().ok().filter(|bytes| MTU.contains(bytes));
                self.mtu = Some(bytes.ok_or_else(|| wrong("mtu=N, 576 to 65535 bytes"))?);
            }
            "tcp" => self.tcp = tcp::settings(value).ok_or_else(|| wrong(tcp::ACCEPTED))?,
            "export" if value == "fuse" => self.fuse_export = true,
            "export" => return Err(wrong("export=fuse")),
            _ => return Err(format!("'{key}' is not a modifier; accepted are {MODIFIERS}")),
        }
        Ok(())
    }

    /// Refuses modifiers that the lane cannot have.
    fn suits(&self, keys: &[&str]) -> Result<(), String> {
        let fits = |key: &str| match (self.transport, self.kind) {
            (Transport::Local, FileSystem::Root | FileSystem::Overlay) => ["iops", "bandwidth"].contains(&key),
            (Transport::Local, FileSystem::Tmpfs) => key == "options",
            (Transport::Local, _) => !["fs", "mtu", "tcp", "export"].contains(&key),
            (transport, _) => transport.modifiers().contains(&key),
        };
        if let Some(key) = keys.iter().find(|key| !fits(key)) {
            return Err(match self.transport {
                Transport::Local if self.has_device() => format!("'{key}=' goes with network lanes only"),
                Transport::Local => {
                    format!("'{key}=' does not go with {}, which has no device of its own", self.kind.name())
                }
                transport => {
                    let accepted = transport.modifiers().join("=, ");
                    format!("'{key}=' does not go with {}; accepted are {accepted}=", transport.name())
                }
            });
        }
        match self.transport {
            Transport::Local if self.is_volatile && self.is_served() => {
                Err("'device=volatile' does not go with delay=, error=, cache= and nbd=".to_owned())
            }
            Transport::Local => Ok(()),
            _ if matches!(self.cache, Some(Cache::Bytes(_))) => {
                Err("'cache=SIZE' goes only with lanes without a network; accepted is cache=unsafe".to_owned())
            }
            Transport::NfsFiles => NfsOptions::of(&self.options).map(drop),
            _ => Ok(()),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its directory: a lane's name may contain slashes, but no percent sign.
    pub fn directory_name(&self) -> String {
        self.name.replace('/', "%")
    }

    /// The lane that a directory of this name belongs to.
    pub fn of_directory_name(name: &str) -> Result<Spec, LaneError> {
        Spec::parse(&name.replace('%', "/"))
    }

    pub fn is_throttled(&self) -> bool {
        self.iops.is_some() || self.bandwidth.is_some()
    }

    pub fn is_network(&self) -> bool {
        self.transport != Transport::Local
    }

    /// Whether the client's file system is on a block device of its own.
    pub fn has_device(&self) -> bool {
        self.kind.needs_device() && !self.transport.serves_files()
    }

    /// Whether it has an image that can be kept and restored: one that a loop device reads without a server between.
    pub fn has_image(&self) -> bool {
        !self.is_network() && self.has_device() && !self.is_behind_nbd()
    }

    /// Whether nbdkit and its filters are between the image and the loop device of a lane without a network.
    pub fn is_served(&self) -> bool {
        let filtered = self.delay.is_some() || self.error.is_some() || self.cache.is_some() || self.nbd.is_some();
        !self.is_network() && filtered
    }

    /// Whether the loop device of a lane without a network is attached to a file of nbdfuse, which asks a server.
    pub fn is_behind_nbd(&self) -> bool {
        self.is_served() || self.is_volatile
    }

    /// Whether its storage server can lose its memory and come back while its client goes on: the clients of other
    /// transports do not ask again.
    pub fn has_restartable_server(&self) -> bool {
        self.transport == Transport::NfsFiles && self.is_volatile
    }

    /// Whether its storage acknowledges what it would lose without power.
    pub fn acknowledges_early(&self) -> bool {
        let without_barriers = |option: &String| ["barrier=0", "nobarrier"].contains(&option.as_str());
        let is_async = self.transport == Transport::NfsFiles && self.options.iter().any(|option| option == "async");
        self.cache == Some(Cache::Unsafe) || is_async || self.options.iter().any(without_barriers)
    }

    /// Whether latencies measured on it mean anything. sshfs acknowledges a write before the server has it, even one
    /// with O_DIRECT, so only syncs cost anything.
    pub fn is_for_timing(&self) -> bool {
        self.transport != Transport::Sshfs
    }

    /// The smallest disk that it can have, bytes.
    pub fn least_bytes(&self) -> u64 {
        match self.transport {
            // One file system is in a file of another, whose log and inodes need room too.
            Transport::NfsImage => self.kind.least_bytes() + (256 << 20),
            _ => self.kind.least_bytes(),
        }
    }
}

/// The meaning of the first word of a name.
fn begins(word: &str) -> Option<(Transport, FileSystem)> {
    let local = FileSystem::ALL.into_iter().find(|kind| kind.name() == word).map(|kind| (Transport::Local, kind));
    let network = || Transport::NETWORK.into_iter().find(|transport| transport.name() == word);
    local.or_else(|| Some((network()?, FileSystem::Xfs)))
}

fn refused(name: &str, why: &str) -> LaneError {
    LaneError::Refused(format!("'{name}' is not a lane: {why}"))
}

fn size(text: &str, least: u64) -> Option<u64> {
    quantity::size(text).ok().filter(|bytes| *bytes >= least)
}

/// The server that delays counts whole milliseconds.
fn delay(text: &str) -> Option<Duration> {
    let delay = quantity::duration(text).ok()?;
    let whole = delay.subsec_nanos().is_multiple_of(1_000_000) && delay.as_millis() > 0;
    (whole && delay <= Duration::from_secs(10)).then_some(delay)
}

/// The link of a network lane sleeps, which takes a few microseconds longer than it should. With more than a second,
/// the round trips at its start would exceed the time that it is given.
fn round_trip(text: &str) -> Option<Duration> {
    let accepted = Duration::from_micros(10)..=Duration::from_secs(1);
    quantity::duration(text).ok().filter(|delay| accepted.contains(delay))
}

fn mount_options(text: &str) -> Option<Vec<String>> {
    let fine =
        |option: &str| !option.is_empty() && option.chars().all(|c| c.is_ascii_alphanumeric() || "_-.=:".contains(c));
    text.split('+').all(fine).then(|| text.split('+').map(str::to_owned).collect())
}

fn nbd(text: &str) -> Option<Nbd> {
    if let Some(path) = text.strip_prefix("unix:") {
        let fine = path.starts_with('/') && !path.contains(['%', ' ']) && !path.contains(char::is_control);
        return fine.then(|| Nbd::Unix(PathBuf::from(path)));
    }
    let (host, port) = text.rsplit_once(':')?;
    let fine = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-.:[]".contains(c));
    fine.then(|| Some(Nbd::Tcp { host: host.to_owned(), port: port.parse().ok()? })).flatten()
}

/// Why latencies of a lane of this name must not be measured, if that is so.
pub fn not_for_timing(name: &str) -> Option<String> {
    let spec = Spec::parse(name).ok().filter(|spec| !spec.is_for_timing())?;
    Some(format!(
        "the lane {} is for correctness only: sshfs acknowledges a write before the storage server has it, even one \
         with O_DIRECT, so latencies of writes mean nothing; use nfs-files to measure files over a network, and \
         `plimsoll lane check` to check this one",
        spec.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Spec {
        Spec::parse(name).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_name_is_a_description() {
        let spec = parsed("xfs-16k,iops=200,bandwidth=4M,delay=2ms,cache=64M,error=eio,sector=4096,options=noatime+ro");
        assert_eq!(spec.kind, FileSystem::Xfs16k);
        assert_eq!((spec.iops, spec.bandwidth, spec.sector), (Some(200), Some(4 << 20), Some(4096)));
        assert_eq!((spec.delay, spec.cache), (Some(Duration::from_millis(2)), Some(Cache::Bytes(64 << 20))));
        assert_eq!((spec.error.as_deref(), spec.options), (Some("EIO"), vec!["noatime".to_owned(), "ro".to_owned()]));
        assert_eq!(parsed("ext4,options=barrier=0").options, ["barrier=0"]);
        let early = ["ext4,options=barrier=0", "xfs,cache=unsafe", "nfs-files,options=async"];
        assert!(early.map(parsed).iter().all(Spec::acknowledges_early) && !parsed("ext4").acknowledges_early());
        assert_eq!(parsed("ext4,cache=unsafe").cache, Some(Cache::Unsafe));
        assert_eq!(parsed("ext4,nbd=unix:/run/a.sock").nbd, Some(Nbd::Unix("/run/a.sock".into())));
        assert_eq!(parsed("ext4,nbd=db:10809").nbd, Some(Nbd::Tcp { host: "db".to_owned(), port: 10809 }));
    }

    #[test]
    fn a_network_lane_is_a_transport_and_a_file_system() {
        let spec = parsed("iscsi,fs=btrfs,delay=250us,mtu=9000,scheduler=kyber,cache=unsafe,export=fuse,iops=50");
        assert_eq!((spec.transport, spec.kind, spec.mtu), (Transport::Iscsi, FileSystem::Btrfs, Some(9000)));
        assert_eq!((spec.delay, spec.scheduler), (Some(Duration::from_micros(250)), Some(Scheduler::Kyber)));
        assert!(spec.fuse_export && spec.is_network() && spec.has_device() && !spec.has_image() && !spec.is_served());
        assert_eq!((parsed("nbd").kind, parsed("ext4").transport), (FileSystem::Xfs, Transport::Local));
        let files = parsed("nfs-files,options=noatime+actimeo=3");
        assert!(files.is_network() && !files.has_device() && files.is_for_timing());
        assert!(
            !parsed("sshfs").is_for_timing() && parsed("ext4").has_image() && !parsed("ext4,delay=1ms").has_image()
        );
    }

    #[test]
    fn every_kind_is_a_lane_and_its_directory_is_one_name() {
        for kind in FileSystem::ALL {
            assert_eq!(parsed(kind.name()).kind, kind);
        }
        for transport in Transport::NETWORK {
            assert_eq!(parsed(transport.name()).transport, transport);
        }
        let spec = parsed("ext4,nbd=unix:/run/a.sock");
        assert!(!spec.directory_name().contains('/'));
        assert_eq!(Spec::of_directory_name(&spec.directory_name()).unwrap(), spec);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_accepted() {
        for (name, texts) in [
            ("zfs", ["'zfs'", "xfs-16k"]),
            ("", ["''", "ext4"]),
            ("../ext4", ["'../ext4'", "ext4"]),
            ("ext4,iops=0", ["iops=0", "1 or more"]),
            ("ext4,iops=200,iops=300", ["iops", "twice"]),
            ("ext4,bandwidth=fast", ["bandwidth=fast", "4K"]),
            ("ext4,delay=0.5ms", ["delay=0.5ms", "whole milliseconds"]),
            ("ext4,delay=1h", ["delay=1h", "10s"]),
            ("ext4,error=no", ["error=no", "eio"]),
            ("ext4,cache=1", ["cache=1", "unsafe"]),
            ("ext4,sector=1000", ["sector=1000", "4096"]),
            ("ext4,options=a b", ["options=a b", "+"]),
            ("ext4,options=", ["options=", "+"]),
            ("ext4,nbd=unix:relative", ["unix:relative", "HOST:PORT"]),
            ("ext4,nbd=host:99999", ["host:99999", "HOST:PORT"]),
            ("ext4,device=new", ["device=new", "device=volatile"]),
            ("ext4,device=volatile,delay=2ms", ["device=volatile", "delay="]),
            ("nbd,device=volatile", ["device=", "accepted are"]),
            ("ext4,colour=red", ["'colour'", "bandwidth"]),
            ("ext4,", ["''", "bandwidth"]),
            ("root,delay=2ms", ["delay=", "no device of its own"]),
            ("tmpfs,iops=10", ["iops=", "no device of its own"]),
            ("overlay,options=noatime", ["options=", "overlay"]),
            ("ext4,mtu=1500", ["mtu=", "network lanes"]),
            ("ext4,scheduler=cfq", ["scheduler=cfq", "mq-deadline"]),
            ("nfs", ["'nfs'", "nfs-files"]),
            ("nbd,fs=tmpfs", ["fs=tmpfs", "xfs"]),
            ("nbd,export=fuse", ["export=", "accepted are fs="]),
            ("iscsi,export=nbd", ["export=nbd", "export=fuse"]),
            ("iscsi,cache=64M", ["cache=SIZE", "cache=unsafe"]),
            ("iscsi,delay=1us", ["delay=1us", "10us"]),
            ("iscsi,delay=2s", ["delay=2s", "to 1s"]),
            ("iscsi,mtu=100", ["mtu=100", "576"]),
            ("iscsi,tcp=mem=1", ["tcp=mem=1", "nosack"]),
            ("ext4,tcp=nosack", ["tcp=", "network lanes"]),
            ("iscsi,error=eio", ["error=", "accepted are"]),
            ("nfs-files,fs=xfs", ["fs=", "accepted are"]),
            ("nfs-files,options=rsize=1", ["rsize=1", "4096"]),
            ("nfs-files,options=timeo=9", ["timeo", "soft"]),
            ("sshfs,cache=unsafe", ["cache=", "accepted are"]),
        ] {
            let error = Spec::parse(name).expect_err(name).to_string();
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
    }
}
