//! What `plimsoll lane` was given.

use clap::{Args, Subcommand};
use plimsoll_plan::{PlanError, quantity};

const NAMES: &str = "\
A lane's name says what it is: a kind, then modifiers after commas.

Kinds:
  ext4, xfs, btrfs        a file system on an image file and a loop device with direct I/O
  xfs-16k                 XFS with blocks of 16 KiB, the size of an InnoDB page
  btrfs-nocow             btrfs that overwrites in place
  overlay, root           on the file system that Plimsoll's home lies on
  tmpfs                   memory

Modifiers:
  iops=200                at most so many reads and so many writes per second; a flush counts as a write
  bandwidth=4M            at most so many bytes read and written per second
  options=noatime+discard options of mount, joined by +
  sector=4096             logical sector of the device: 512 or 4096
  delay=2ms               of each read and each write, whole milliseconds; flushes cannot be delayed
  error=eio               reads and writes fail while a trigger file exists, whose path is printed; also error=enospc
  cache=64M               a cache of reads in front of the (delayed) device; writes go through it
  cache=unsafe            a device that swallows flushes
  nbd=unix:/run/my.sock   your own NBD server below it; also nbd=HOST:PORT

Limits (iops, bandwidth) hold for `plimsoll io` on the lane. Another shell joins them with the line that `up` prints.

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

fn size(text: &str) -> Result<u64, PlanError> {
    quantity::size(text)
}
