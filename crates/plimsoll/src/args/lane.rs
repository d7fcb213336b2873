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
  overlay, root           on the file system that Plimsoll's home lies on
  tmpfs                   memory

Kinds with a network between a client and a server, both of them here, which are all in user space:
  nbd, iscsi              a device over TCP or iSCSI, with a file system of the client: fs=xfs if not given
  nfs-image               likewise, a device that is a file over NFSv3
  nfs-files               the server's own files over NFSv3
  sshfs                   the server's own files over SFTP: for correctness, not for timing

Modifiers:
  iops=200                at most so many reads and so many writes per second; a flush counts as a write
  bandwidth=4M            at most so many bytes read and written per second
  options=noatime+discard options of mount, joined by +
  sector=4096             logical sector of the device: 512 or 4096
  scheduler=none          of the device: none, mq-deadline, bfq, kyber
  delay=2ms               of each read and each write, whole milliseconds; flushes cannot be delayed
  error=eio               reads and writes fail while a trigger file exists, whose path is printed; also error=enospc
  cache=64M               a cache of reads in front of the (delayed) device; writes go through it
  cache=unsafe            a device that swallows flushes
  nbd=unix:/run/my.sock   your own NBD server below it; also nbd=HOST:PORT

Modifiers of network lanes, beside iops, bandwidth (of the server's disk), options, scheduler and cache=unsafe:
  fs=btrfs                the file system of the client, for kinds with a device
  delay=250us             of each round trip, requests that overlap go on overlapping
  mtu=9000                the longest packet, bytes; 1500 if not given
  options=actimeo=30      of nfs-files: actimeo=SECONDS, rsize=BYTES, wsize=BYTES, others for the server's XFS
  export=fuse             of iscsi: a way to the device that mixes up concurrent writes, which the check refuses

Limits (iops, bandwidth) of lanes without a network hold for `plimsoll io` on the lane. Another shell joins them with \
the line that `up` prints.

  dir=$(plimsoll lane up ext4,iops=200) && plimsoll io \"$dir\"; plimsoll lane down

Exit codes: 0 done; 1 the check refused the lane; 2 a name or size that cannot be, or a lane that is up already; 3 \
missing packages or rights, or a program that failed; 130 interrupted, and what was done is undone.";

#[derive(Debug, Args)]
pub struct LaneArgs {
    #[command(subcommand)]
    pub action: LaneAction,
}

#[derive(Debug, Subcommand)]
pub enum LaneAction {
    /// List what lanes there can be here, what is missing for the others, and the lanes that are up.
    #[command(after_help = NAMES)]
    List {
        /// Print one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Build a lane and check it; its directory is printed on standard output.
    #[command(after_help = NAMES)]
    Up {
        /// What the lane is: ext4, or xfs,delay=2ms, see below.
        #[arg(value_name = "NAME")]
        name: String,
        /// Size of the sparse image, or of a tmpfs; 4G, or half of what is free, if not given.
        #[arg(long, value_parser = size, value_name = "SIZE")]
        size: Option<u64>,
        /// Do not check it: for lanes that lie, as with options=barrier=0 or cache=unsafe.
        #[arg(long)]
        no_check: bool,
    },
    /// May a lane be measured? Integrity of data, flushes, direct reads; exits 1 if not.
    Check {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Take a lane down, with all that is on it; all of them if no name is given.
    Down {
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

/// What `plimsoll lane-part` was given: a part of a network lane that is this program.
#[derive(Debug, Args)]
pub struct LanePartArgs {
    #[command(subcommand)]
    pub part: LanePart,
}

#[derive(Debug, Subcommand)]
pub enum LanePart {
    /// Pass on TCP connections, what the client sends later than it came.
    Link(LinkArgs),
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
    pub swallow_flush: bool,
}

fn size(text: &str) -> Result<u64, PlanError> {
    quantity::size(text)
}
