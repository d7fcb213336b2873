//! What `plimsoll lane` was given.

use clap::{Args, Subcommand};
use plimsoll_plan::{PlanError, quantity};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

const NAMES: &str = "\
A lane's name says what it is: a kind, then modifiers after commas.

Kinds:
  ext4, xfs, btrfs        a file system on an image file and a loop device with direct I/O
  xfs-16k                 XFS with blocks of 16 KiB, the size of an InnoDB page
  btrfs-nocow             btrfs that overwrites in place
  overlay, root           the file system that Plimsoll's home is on
  tmpfs                   memory

Kinds with a network between a client and a storage server, both on this machine, all in user space:
  nbd, iscsi              a device over NBD or iSCSI, with the client's file system on it: fs=xfs if not given
  nfs-image               the same, where the device is a file over NFSv3
  nfs-files               the server's own files over NFSv3
  sshfs                   the server's own files over SFTP: for correctness, not for timing

Modifiers:
  iops=200                at most this many reads and this many writes per second; a flush counts as a write
  bandwidth=4M            at most this many bytes read and this many written per second
  options=noatime+discard mount options, joined by +
  sector=4096             logical sector of the device: 512 or 4096
  scheduler=none          scheduler of the device: none, mq-deadline, bfq, kyber
  delay=2ms               delay of each read and each write, whole milliseconds; flushes cannot be delayed
  error=eio               reads and writes fail while a trigger file exists (its path is printed); also error=enospc
  cache=64M               a read cache in front of the (delayed) device; writes go through it
  cache=unsafe            a device that swallows flushes
  device=volatile         a device of Plimsoll's own, which loses at a power cut what was not flushed
  nbd=unix:/run/my.sock   your own NBD server below it, if it holds no data; also nbd=HOST:PORT

Modifiers of network lanes, in addition to iops, bandwidth (of the server's disk), options, scheduler and cache=unsafe:
  fs=btrfs                the client's file system, for kinds with a device
  delay=250us             delay of each round trip; overlapping requests still overlap
  mtu=9000                the longest packet, bytes; 1500 if not given
  tcp=nosack+nots+mem=8M  TCP settings of both ends: no selective acknowledgements, no timestamps, socket buffers of at most 8 MiB
  device=volatile         for nfs-files: its server's disk loses at a power cut what was not flushed
  options=actimeo=30      for nfs-files: actimeo=SECONDS, rsize=BYTES, wsize=BYTES; soft, with timeo=TENTHS and retrans=N \
(EIO after the one times the other); async (the server acknowledges what its disk does not have yet); others for the \
server's XFS
  export=fuse             for iscsi: a way to the device that mixes up concurrent writes, which the check refuses

The limits (iops, bandwidth) of lanes without a network apply to `plimsoll io` on the lane. Another shell joins them \
with the line that `up` prints.

  dir=$(plimsoll lane up ext4,iops=200) && plimsoll io \"$dir\"; plimsoll lane down

Exit codes: 0 done; 1 the check refused the lane; 2 an impossible name or size, or a lane that is up already; 3 \
missing packages or rights, or a program that failed; 130 interrupted, and every step undone.";

#[derive(Debug, Args)]
pub struct LaneArgs {
    #[command(subcommand)]
    pub action: LaneAction,
}

#[derive(Debug, Subcommand)]
pub enum LaneAction {
    /// List the lanes that this machine can have, what the others are missing, and the lanes that are up.
    #[command(after_help = NAMES)]
    List {
        /// Print one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Build a lane, check it, and print its directory on standard output.
    #[command(after_help = NAMES)]
    Up {
        /// The lane's name, which says what it is: ext4, or xfs,delay=2ms; see below.
        #[arg(value_name = "NAME")]
        name: String,
        /// Size of the sparse image, or of a tmpfs; if not given, 4G, or half of the free space if that is less.
        #[arg(long, value_parser = size, value_name = "SIZE")]
        size: Option<u64>,
        /// Do not check the lane: for lanes that lie, such as those with options=barrier=0 or cache=unsafe.
        #[arg(long)]
        no_check: bool,
    },
    /// Check whether a lane may be measured: data integrity, flushes, direct reads; exits 1 if not.
    Check {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Take down a lane, or all of them if no name is given, with everything on it.
    Down {
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

/// What `plimsoll lane-part` was given: a part of a lane that runs in this program.
#[derive(Debug, Args)]
pub struct LanePartArgs {
    #[command(subcommand)]
    pub part: LanePart,
}

#[derive(Debug, Subcommand)]
pub enum LanePart {
    /// Relay TCP connections, delaying what the client sends.
    Link(LinkArgs),
    /// Serve a device that loses at a power cut what was not flushed.
    Device(DeviceArgs),
    /// Take the power from the storage server of a lane, or its link, and give it back.
    Disturb(DisturbArgs),
    /// Mount the files of an NFSv3 server.
    Nfs(NfsArgs),
}

#[derive(Debug, Args)]
pub struct LinkArgs {
    #[arg(long)]
    pub listen: IpAddr,
    #[arg(long)]
    pub server: IpAddr,
    #[arg(long = "port", required = true)]
    pub ports: Vec<u16>,
    #[arg(long, value_parser = quantity::duration)]
    pub delay: Duration,
}

#[derive(Debug, Args)]
pub struct DeviceArgs {
    #[arg(long)]
    pub image: PathBuf,
    #[arg(long)]
    pub spool: PathBuf,
    #[arg(long)]
    pub socket: PathBuf,
    #[arg(long)]
    pub power: PathBuf,
}

#[derive(Debug, Args)]
pub struct DisturbArgs {
    #[arg(long)]
    pub home: PathBuf,
    #[arg(long)]
    pub lane: String,
    /// How long the link is gone; without it the storage server loses its power.
    #[arg(long)]
    pub link_milliseconds: Option<u64>,
}

#[derive(Debug, Args)]
pub struct NfsArgs {
    #[arg(long)]
    pub nfs: SocketAddr,
    #[arg(long)]
    pub mountd: SocketAddr,
    #[arg(long)]
    pub export: String,
    #[arg(long)]
    pub mount: PathBuf,
    #[arg(long)]
    pub source: String,
    #[arg(long)]
    pub attribute_seconds: u32,
    #[arg(long)]
    pub rsize: u32,
    #[arg(long)]
    pub wsize: u32,
    #[arg(long)]
    pub operations: Option<PathBuf>,
    #[arg(long)]
    pub answer_milliseconds: u64,
    #[arg(long)]
    pub give_up_milliseconds: u64,
    #[arg(long = "async")]
    pub is_async: bool,
}

fn size(text: &str) -> Result<u64, PlanError> {
    quantity::size(text)
}

#[cfg(test)]
mod tests {
    use super::NAMES;
    use plimsoll_lanes::spec::MODIFIERS;

    #[test]
    fn the_help_has_a_row_for_each_modifier() {
        let words = MODIFIERS.split_whitespace().filter_map(|word| word.split_once('='));
        let mut rows = 0;
        for (key, _) in words {
            assert!(NAMES.contains(&format!("\n  {key}=")), "{key}");
            rows += 1;
        }
        assert!(rows >= 14, "{rows}");
    }
}
