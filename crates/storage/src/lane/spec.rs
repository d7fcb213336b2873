//! What a lane is, as its name says it: `ext4,delay=2ms,options=noatime`. Nothing is made or asked for here.

use crate::error::StorageError;
use plimsoll_plan::quantity;
use std::path::PathBuf;
use std::time::Duration;

/// What is accepted, for messages and for `--help`.
pub const MODIFIERS: &str = "\
iops=N (reads and writes per second, each), bandwidth=SIZE (per second), options=A+B (of mount), sector=512|4096, \
delay=MS (of each read and write, as in 2ms), error=eio|enospc (while a trigger file exists), cache=SIZE (of reads, \
in front of the device), cache=unsafe (one that swallows flushes), nbd=unix:PATH or nbd=HOST:PORT (a server of yours \
below it)";

/// The file system of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Root,
    Tmpfs,
    Overlay,
    Ext4,
    Xfs,
    Xfs16k,
    Btrfs,
    BtrfsNocow,
}

impl Kind {
    pub const ALL: [Kind; 8] =
        [Kind::Root, Kind::Tmpfs, Kind::Overlay, Kind::Ext4, Kind::Xfs, Kind::Xfs16k, Kind::Btrfs, Kind::BtrfsNocow];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Root => "root",
            Kind::Tmpfs => "tmpfs",
            Kind::Overlay => "overlay",
            Kind::Ext4 => "ext4",
            Kind::Xfs => "xfs",
            Kind::Xfs16k => "xfs-16k",
            Kind::Btrfs => "btrfs",
            Kind::BtrfsNocow => "btrfs-nocow",
        }
    }

    pub fn describe(self) -> &'static str {
        match self {
            Kind::Root => "a directory of the file system that Plimsoll's home lies on",
            Kind::Tmpfs => "memory",
            Kind::Overlay => "overlayfs above the file system of the home",
            Kind::Ext4 => "ext4 on an image file, loop device with direct I/O",
            Kind::Xfs => "XFS likewise",
            Kind::Xfs16k => "XFS with blocks of 16 KiB, the size of an InnoDB page",
            Kind::Btrfs => "btrfs, copy on write",
            Kind::BtrfsNocow => "btrfs that overwrites in place (chattr +C)",
        }
    }

    /// Whether it lies on a block device of its own.
    pub fn has_device(self) -> bool {
        !matches!(self, Kind::Root | Kind::Tmpfs | Kind::Overlay)
    }

    /// The smallest device that its mkfs accepts, bytes (xfsprogs 6.1 and btrfs-progs 6.2, rounded up).
    pub fn least_bytes(self) -> u64 {
        match self {
            Kind::Xfs | Kind::Xfs16k => 320 << 20,
            Kind::Btrfs | Kind::BtrfsNocow => 256 << 20,
            _ => 128 << 20,
        }
    }
}

/// The cache in front of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Answers reads of what was read or written last, at most this many bytes; writes go through it.
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

/// What a lane consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    name: String,
    pub kind: Kind,
    /// Of mount(8).
    pub options: Vec<String>,
    /// Reads per second, and writes per second.
    pub iops: Option<u64>,
    /// Bytes read per second, and bytes written per second.
    pub bandwidth: Option<u64>,
    /// Bytes of a logical sector.
    pub sector: Option<u64>,
    /// Of each read and each write; whole milliseconds.
    pub delay: Option<Duration>,
    /// The errno, in capitals, with which reads and writes fail while the trigger file exists.
    pub error: Option<String>,
    pub cache: Option<Cache>,
    pub nbd: Option<Nbd>,
}

impl Spec {
    /// Reads a lane's name.
    ///
    /// # Errors
    /// [`StorageError::Refused`] saying what was found and what is accepted.
    pub fn parse(name: &str) -> Result<Spec, StorageError> {
        let mut words = name.split(',');
        let first = words.next().unwrap_or_default();
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == first).ok_or_else(|| {
            let kinds = Kind::ALL.map(Kind::name).join(", ");
            refused(name, &format!("it begins with '{first}'; accepted is one of {kinds}, then modifiers after commas"))
        })?;
        let mut spec = Spec {
            name: name.to_owned(),
            kind,
            options: Vec::new(),
            iops: None,
            bandwidth: None,
            sector: None,
            delay: None,
            error: None,
            cache: None,
            nbd: None,
        };
        let mut seen = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if seen.contains(&key) {
                return Err(refused(name, &format!("'{key}=' stands there twice")));
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
            "options" => self.options = mount_options(value).ok_or_else(|| wrong("options of mount joined by +"))?,
            "sector" => {
                let sector = value.parse().ok().filter(|bytes| [512, 4096].contains(bytes));
                self.sector = Some(sector.ok_or_else(|| wrong("sector=512 or sector=4096"))?);
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
            "nbd" => self.nbd = Some(nbd(value).ok_or_else(|| wrong("unix:/PATH or HOST:PORT"))?),
            _ => return Err(format!("'{key}' is no modifier; accepted are {MODIFIERS}")),
        }
        Ok(())
    }

    /// Refuses modifiers that the kind cannot have.
    fn suits(&self, keys: &[&str]) -> Result<(), String> {
        let fits = |key: &str| match self.kind {
            Kind::Root | Kind::Overlay => ["iops", "bandwidth"].contains(&key),
            Kind::Tmpfs => key == "options",
            _ => true,
        };
        match keys.iter().find(|key| !fits(key)) {
            Some(key) => Err(format!("'{key}=' does not go with {}, which has no device of its own", self.kind.name())),
            None => Ok(()),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its directory: a lane's name may hold slashes, but no percent sign.
    pub fn directory_name(&self) -> String {
        self.name.replace('/', "%")
    }

    /// The lane that a directory of this name belongs to.
    pub fn of_directory_name(name: &str) -> Result<Spec, StorageError> {
        Spec::parse(&name.replace('%', "/"))
    }

    pub fn is_throttled(&self) -> bool {
        self.iops.is_some() || self.bandwidth.is_some()
    }

    /// Whether a server in user space stands between the image and the loop device.
    pub fn is_served(&self) -> bool {
        self.delay.is_some() || self.error.is_some() || self.cache.is_some() || self.nbd.is_some()
    }
}

fn refused(name: &str, why: &str) -> StorageError {
    StorageError::Refused(format!("'{name}' is no lane: {why}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Spec {
        Spec::parse(name).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_name_is_a_description() {
        let spec = parsed("xfs-16k,iops=200,bandwidth=4M,delay=2ms,cache=64M,error=eio,sector=4096,options=noatime+ro");
        assert_eq!(spec.kind, Kind::Xfs16k);
        assert_eq!((spec.iops, spec.bandwidth, spec.sector), (Some(200), Some(4 << 20), Some(4096)));
        assert_eq!((spec.delay, spec.cache), (Some(Duration::from_millis(2)), Some(Cache::Bytes(64 << 20))));
        assert_eq!((spec.error.as_deref(), spec.options), (Some("EIO"), vec!["noatime".to_owned(), "ro".to_owned()]));
        assert_eq!(parsed("ext4,options=barrier=0").options, ["barrier=0"]);
        assert_eq!(parsed("ext4,cache=unsafe").cache, Some(Cache::Unsafe));
        assert_eq!(parsed("ext4,nbd=unix:/run/a.sock").nbd, Some(Nbd::Unix("/run/a.sock".into())));
        assert_eq!(parsed("ext4,nbd=db:10809").nbd, Some(Nbd::Tcp { host: "db".to_owned(), port: 10809 }));
    }

    #[test]
    fn every_kind_is_a_lane_and_its_directory_is_one_name() {
        for kind in Kind::ALL {
            assert_eq!(parsed(kind.name()).kind, kind);
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
            ("ext4,colour=red", ["'colour'", "bandwidth"]),
            ("ext4,", ["''", "bandwidth"]),
            ("root,delay=2ms", ["delay=", "no device of its own"]),
            ("tmpfs,iops=10", ["iops=", "no device of its own"]),
            ("overlay,options=noatime", ["options=", "overlay"]),
        ] {
            let error = Spec::parse(name).expect_err(name).to_string();
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
    }
}
