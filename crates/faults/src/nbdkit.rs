//! The device beside another one whose unflushed writes vanish: nbdkit with a write-back cache in its own memory, killed. After the
//! same writes and flushes, over the same protocol, both images have to be the same.
//!
//! Its cache works in blocks, and a write with FUA makes all of the block durable that it is in, what was written to it before included
//! (`blk_write` in its `filters/cache/blk.c`); ours makes durable what the write has. So such writes are of whole blocks here.

use super::client::NbdClient;
use super::device::{SECTOR, VolatileDevice};
use super::nbd;
use super::writer::{KnownSector, SECTORS, WriterStep, drawn, found, written};
use super::{Cut, Survival};
use plimsoll_testkit::servers;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// Sequences of writes and flushes.
const SEQUENCES: u64 = 100;
/// The smallest block of its cache.
const BLOCK: u64 = 4096;
const BYTES: u64 = SECTORS * SECTOR;
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// The steps of a seed, with forced writes of whole blocks.
fn steps(seed: u64) -> Vec<WriterStep> {
    let sectors = BLOCK / SECTOR;
    let step = |step| match step {
        WriterStep::Write { first, forced: true, .. } => {
            WriterStep::Write { first: first / sectors * sectors, sectors, forced: true }
        }
        other => other,
    };
    drawn(seed).into_iter().map(step).collect()
}

/// An image without anything in it.
fn image(path: &Path) -> File {
    let image = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    image.set_len(BYTES).unwrap();
    image
}

/// What the writer knows, and what is there, after a power cut of ours.
fn after_a_cut(steps: &[WriterStep], path: &Path) -> (HashMap<u64, KnownSector>, Vec<u32>) {
    let image = image(path);
    let spool = tempfile::tempfile().unwrap();
    let device = Mutex::new(VolatileDevice::new(image.try_clone().unwrap(), spool).unwrap());
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| nbd::talk(&mut theirs, &device));
        // Connected until after the cut, as the other one.
        let mut client = NbdClient::of(ours, BYTES);
        let known = written(steps, &mut client);
        device.lock().unwrap().cut(Cut { survival: Survival::Nothing, seed: 0 }).unwrap();
        (known, found(&image))
    })
}

/// What is there after nbdkit was killed. It flushes when its client leaves, so that the kill has to come before.
fn after_a_kill(steps: &[WriterStep], path: &Path) -> Vec<u32> {
    let image = image(path);
    let socket = path.with_extension("sock");
    let mut command = Command::new("nbdkit");
    command.arg("--foreground").arg("--unix").arg(&socket).args(["--filter=cache", "file"]).arg(path);
    command.args(["cache=writeback", &format!("cache-min-block-size={BLOCK}")]).stdin(Stdio::null());
    let mut server = Killed(command.spawn().unwrap());
    let mut stream = None;
    servers::wait_until(STARTS_WITHIN, || {
        stream = UnixStream::connect(&socket).ok();
        stream.is_some()
    });
    let mut client = NbdClient::of(stream.expect("nbdkit listens"), BYTES);
    written(steps, &mut client);
    server.kill();
    found(&image)
}

/// A process that does not outlive its test.
struct Killed(Child);

impl Killed {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_cut_leaves_what_a_killed_write_back_cache_leaves() {
    if Command::new("nbdkit").arg("--version").output().is_err() {
        return servers::skip("the device is compared with nbdkit's cache; install nbdkit");
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut kept, mut lost) = (0, 0);
    for seed in 0..SEQUENCES {
        let steps = steps(seed);
        let path = |name: &str| directory.path().join(format!("{name}-{seed}"));
        let (known, ours) = after_a_cut(&steps, &path("ours"));
        let theirs = after_a_kill(&steps, &path("nbdkit"));
        assert_eq!(ours, theirs, "seed {seed}: {steps:?}");
        let durable = |sector| known.get(&sector).map_or(0, |known| known.durable);
        let expected: Vec<u32> = (0..SECTORS).map(durable).collect();
        assert_eq!(ours, expected, "seed {seed}: what was flushed, and nothing else: {steps:?}");
        kept += expected.iter().filter(|number| **number > 0).count();
        lost += known.values().filter(|known| !known.since.is_empty()).count();
    }
    println!("{SEQUENCES} sequences: {kept} flushed sectors were there in both, {lost} unflushed ones in neither");
    assert!(kept > 0 && lost > 0, "{kept} flushed sectors, {lost} unflushed ones");
}
