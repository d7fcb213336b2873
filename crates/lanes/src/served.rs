//! A device with faults: an image behind nbdkit and its filters, which nbdfuse turns into a file again.
//!
//! The filters, outermost first: `error` fails, `cache` answers reads or swallows flushes, `delay` waits, `log` reports
//! what reached the image (nbdkit-error-filter(1), nbdkit-cache-filter(1), nbdkit-delay-filter(1),
//! nbdkit-log-filter(1)). `delay` has no delay for flushes.

use super::site::Site;
use super::spec::{Cache, Nbd, Spec};
use super::{process, tool};
use crate::LaneError;
use crate::error::DuringLane;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use std::fs::{self, DirBuilder, File};
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the export may take to appear as a file.
const READY_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);
/// Requests that the server handles in parallel per connection: a delay must not limit the depth.
pub(super) const THREADS: &str = "64";

/// The words after `nbdkit`.
fn arguments(site: &Site, spec: &Spec) -> Result<Vec<String>, LaneError> {
    let mut filters = vec!["--filter=log"];
    let mut parameters = vec![format!("logfile={}", site.log().display())];
    if let Some(delay) = spec.delay {
        filters.insert(0, "--filter=delay");
        parameters.extend(["rdelay", "wdelay"].map(|what| format!("{what}={}ms", delay.as_millis())));
    }
    if let Some(cache) = spec.cache {
        filters.insert(0, "--filter=cache");
        match cache {
            Cache::Unsafe => parameters.push("cache=unsafe".to_owned()),
            Cache::Bytes(bytes) => {
                // A limited write-back cache loses writes that it has no room for (nbdkit 1.32).
                parameters.extend(["cache=writethrough", "cache-on-read=true"].map(str::to_owned));
                parameters.push(format!("cache-max-size={bytes}"));
            }
        }
    }
    if let Some(error) = &spec.error {
        filters.insert(0, "--filter=error");
        parameters.extend([format!("error={error}"), "error-rate=100%".to_owned()]);
        parameters.push(format!("error-file={}", site.trigger().display()));
    }
    let below = match &spec.nbd {
        None => vec!["file".to_owned(), site.image().display().to_string()],
        Some(Nbd::Unix(path)) => vec!["nbd".to_owned(), format!("socket={}", path.display())],
        Some(Nbd::Tcp { host, port }) => {
            vec!["nbd".to_owned(), format!("hostname={host}"), format!("port={port}")]
        }
    };
    let mut words = vec![process::socket_word(&site.socket()?), format!("--threads={THREADS}")];
    words.extend(filters.into_iter().map(str::to_owned));
    words.extend(below);
    words.extend(parameters);
    Ok(words)
}

/// Starts the server, which keeps running in the background; returns when it accepts connections.
///
/// # Errors
/// [`LaneError::Environment`] with its output.
pub fn start(site: &Site, spec: &Spec) -> Result<(), LaneError> {
    let log = site.log();
    mknodat(CWD, &log, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).during("make the named pipe", &log)?;
    // A pipe can be opened for writing only while there is a reader; later the server's lines are lost.
    let _reader = open_pipe(site, OFlags::RDWR)?;
    tool::run_in(site.root(), "nbdkit", &arguments(site, spec)?).map(drop)
}

/// Makes the server's export available as the file `fuse/disk`; in the list of mounts its source is `source`.
///
/// # Errors
/// [`LaneError::Environment`] with the output of nbdfuse, or if the file does not appear.
pub fn export(site: &Site, source: &str) -> Result<(), LaneError> {
    let (fuse, said) = (site.fuse(), site.root().join("nbdfuse.log"));
    // After a power cut it is there already.
    DirBuilder::new().recursive(true).create(&fuse).during("make", &fuse)?;
    let output = File::create(&said).during("write", &said)?;
    let mut command = tool::command("nbdfuse")?;
    command.args(["-o", &format!("fsname={source}")]).arg(site.export()).arg("--unix").arg(site.socket()?);
    command.stdout(Stdio::null()).stderr(output);
    let child = command.spawn().during("start nbdfuse for", &fuse)?;
    until_ready(child, &said, "nbdfuse shows no disk", || {
        fs::metadata(site.export()).is_ok_and(|facts| facts.len() > 0)
    })
}

/// Waits until a program can be used that then runs in the background; `said` is where it writes.
///
/// # Errors
/// [`LaneError::Environment`] that begins with `failed` and has its output, if it ends or is not ready in time.
pub(super) fn until_ready(
    mut child: Child,
    said: &Path,
    failed: &str,
    is_ready: impl Fn() -> bool,
) -> Result<(), LaneError> {
    let deadline = Instant::now() + READY_WITHIN;
    while !is_ready() {
        if has_ended(&mut child) || Instant::now() >= deadline {
            let told = fs::read_to_string(said).unwrap_or_default();
            return Err(LaneError::Environment(format!("{failed}: {}", told.trim())));
        }
        thread::sleep(POLL);
    }
    // Somebody has to take note of its end, whenever that is. Without a thread it stays as a zombie until Plimsoll ends.
    let _ = thread::Builder::new().name("await".to_owned()).spawn(move || child.wait());
    Ok(())
}

fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

fn open_pipe(site: &Site, how: OFlags) -> Result<OwnedFd, LaneError> {
    let flags = how | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    open(site.log(), flags, Mode::empty()).during("open", &site.log())
}

/// Counts flushes that reach the image, or the user's server, from now on.
#[derive(Debug)]
pub struct FlushCounter {
    count: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

impl FlushCounter {
    /// # Errors
    /// [`LaneError::Io`] if the pipe is gone.
    pub fn listen(site: &Site) -> Result<FlushCounter, LaneError> {
        let mut lines = BufReader::new(File::from(open_pipe(site, OFlags::RDONLY)?));
        let (count, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, asked) = (count.clone(), over.clone());
        let reader = thread::spawn(move || {
            let mut line = Vec::new();
            // After the request to end, it reads once more up to the end, so that nothing is missed.
            loop {
                let last = asked.load(Ordering::Acquire);
                while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                    if line.ends_with(b"\n") {
                        counted.fetch_add(u64::from(is_flush(&line)), Ordering::Relaxed);
                        line.clear();
                    }
                }
                if last {
                    return;
                }
                thread::sleep(POLL);
            }
        });
        Ok(FlushCounter { count, over, reader })
    }

    /// Stops listening: the flushes so far.
    pub fn end(self) -> u64 {
        self.over.store(true, Ordering::Release);
        // It cannot panic; if it did, too few would be counted, and the check would say so.
        let _ = self.reader.join();
        self.count.load(Ordering::Relaxed)
    }
}

/// Whether it is a request of that kind: the line of an answer begins with dots.
fn is_flush(line: &[u8]) -> bool {
    String::from_utf8_lossy(line).split_whitespace().any(|word| word == "Flush")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str) -> String {
        let spec = Spec::parse(name).unwrap();
        arguments(&Site::of(Path::new("/h"), &spec), &spec).unwrap().join(" ")
    }

    #[test]
    fn filters_stand_in_the_order_in_which_requests_meet_them() {
        let all = line("ext4,delay=2ms,cache=64M,error=eio");
        let order = ["error", "cache", "delay", "log"].map(|filter| all.find(&format!("--filter={filter}")).unwrap());
        assert!(order.is_sorted(), "{all}");
        for part in ["rdelay=2ms wdelay=2ms", "cache=writethrough", "cache-max-size=67108864", "error=EIO", "/fail"] {
            assert!(all.contains(part), "{all}");
        }
        assert!(line("ext4,cache=unsafe").contains("cache=unsafe"));
        assert!(line("ext4,nbd=unix:/a.sock").contains(" nbd socket=/a.sock "));
        assert!(line("xfs,nbd=db:10809,delay=1s").contains(" nbd hostname=db port=10809 "));
    }

    #[test]
    fn a_flush_is_counted_once() {
        assert!(is_flush(b"2026-11-22 05:47:53.2 connection=1 Flush id=7 ...\n"));
        assert!(!is_flush(b"2026-11-22 05:47:53.2 connection=1 ...Flush id=7 return=0\n"));
        assert!(!is_flush(b"2026-11-22 05:47:53.2 connection=1 Connect flush=1\n"));
    }
}
