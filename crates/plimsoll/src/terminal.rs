//! What a person sees while something happens. All of it goes to standard error; standard output is for results.

mod lab;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_lab::watch::{IoEvent, LoadProgress};
use plimsoll_lab::{Event, Watcher};
use plimsoll_model::io::Probe;
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::Point;
use plimsoll_plan::points::LoadPoint;
use plimsoll_report::interval::Measured;
use plimsoll_report::text::clean;
use plimsoll_server::Step;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use lab::{duration, title};

/// Says nothing about steps that are over before anybody wonders.
const WORTH_A_WORD: Duration = Duration::from_millis(700);
/// Without a terminal, a load tells of itself this often.
const LOAD_LINE: Duration = Duration::from_secs(5);

/// A person who is waited for may interrupt; this often it is looked whether they have.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Prints an error with its causes.
pub fn error(error: &anyhow::Error) {
    // A message may quote a server, or a recording that somebody else made.
    let text = format!("{error:#}");
    note(&format!("plimsoll: {}", text.lines().map(clean).collect::<Vec<_>>().join("\n")));
}

/// Prints a line; a standard error that is gone is nobody's loss.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints a result on standard output.
///
/// # Errors
/// If it cannot be written: a full disk, a closed pipe.
pub fn result(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written =
        out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())).and_then(|()| out.flush());
    written.map_err(|error| std::io::Error::new(error.kind(), format!("cannot write to standard output: {error}")))
}

/// Whether standard output may be coloured.
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A flag that Ctrl-C and `kill` set. A second Ctrl-C ends the process at once.
pub fn interrupt_flag() -> std::io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())?;
        signal_hook::flag::register(signal, flag.clone())?;
    }
    Ok(flag)
}

/// Shows events as lines and bars.
pub struct Progress {
    interrupted: Arc<AtomicBool>,
    /// Seconds between interval lines; 0 for none.
    every: u64,
    seconds: f64,
    bar: Option<ProgressBar>,
    said: Option<Step>,
    load_line: Duration,
    /// What is under way: of a lab the trial, of a storage evaluation, which may be a trial, the measurement.
    measuring: Vec<Measuring>,
}

struct Measuring {
    /// `[3/17] 6.depth-16`
    what: String,
    begun: Instant,
    /// How long everything still took then.
    left: Duration,
}

impl Progress {
    pub fn new(every: u64) -> std::io::Result<Progress> {
        Ok(Progress {
            interrupted: interrupt_flag()?,
            every,
            seconds: 0.0,
            bar: None,
            said: None,
            load_line: Duration::ZERO,
            measuring: Vec::new(),
        })
    }

    fn server(&mut self, step: Step, since: Duration) {
        let text = match step {
            Step::Initialising => "initialising a data directory (once per server build)",
            Step::WaitingForTemplate => "waiting for another Plimsoll to initialise a data directory",
            Step::Copying => "copying the data directory",
            Step::Starting => "starting the server",
            Step::Ready => return,
        };
        if since >= WORTH_A_WORD && self.said != Some(step) {
            self.said = Some(step);
            note(&format!("{text} …"));
        }
    }

    fn load(&mut self, progress: LoadProgress) {
        let new = progress.rows.saturating_sub(progress.rows_before);
        let per_second = new as f64 / progress.elapsed.as_secs_f64().max(1e-3);
        if !std::io::stderr().is_terminal() {
            if progress.elapsed.saturating_sub(self.load_line) >= LOAD_LINE {
                self.load_line = progress.elapsed;
                let (rows, total) = (progress.rows, progress.rows_total);
                let left = match total.saturating_sub(rows) as f64 / per_second {
                    seconds if seconds > 0.0 && seconds.is_finite() => format!(", about {} s left", seconds.ceil()),
                    _ => String::new(),
                };
                note(&format!("loading {}: {rows} of {total} rows, {per_second:.0} rows/s{left}", progress.doing));
            }
            return;
        }
        self.make_room_for(|bar| bar.length().is_some());
        let bar = self.bar.get_or_insert_with(|| load_bar(progress.rows_total));
        bar.set_position(progress.rows);
        bar.set_message(format!("{} {per_second:.0} rows/s", progress.doing));
    }

    fn interval(&mut self, point: LoadPoint, interval: &Interval) {
        if interval.phase == Phase::Drain {
            return;
        }
        if !self.measuring.is_empty() {
            return self.trial_interval(interval);
        }
        if self.every == 0 {
            return self.in_place(interval_line(point, interval));
        }
        self.seconds += interval.seconds;
        if self.seconds + 0.01 >= self.every as f64 {
            self.seconds = 0.0;
            note(&interval_line(point, interval));
        }
    }

    fn io(&mut self, event: IoEvent) {
        match event {
            IoEvent::Planned { steps, time, bytes } => {
                let (seconds, megabytes) = (time.as_secs_f64(), bytes / 1_000_000);
                note(&format!(
                    "{steps} measurements, about {seconds:.0} s; their files take up to {megabytes} MB at a time"
                ));
            }
            IoEvent::StepBegins { place, of, id, left } => {
                let measuring = Measuring { what: format!("[{place}/{of}] {id}"), begun: Instant::now(), left };
                self.in_place(measuring.what.clone());
                self.measuring.push(measuring);
            }
            IoEvent::Layout { written, of } => {
                self.measuring_line(|| format!("writing its files, {} of {} MB", written / 1_000_000, of / 1_000_000))
            }
            IoEvent::Interval { interval } => self.measuring_line(|| io_interval(interval)),
            IoEvent::StepEnds { probe } => {
                self.measuring.pop();
                if probe.error.is_some() || !std::io::stderr().is_terminal() {
                    self.clear();
                    note(&probe_line(probe));
                }
            }
        }
    }

    /// The measurement under way, in place: what it does, and about how long everything still takes.
    fn measuring_line(&mut self, doing: impl FnOnce() -> String) {
        let Some(measuring) = self.measuring.last() else { return };
        let left = measuring.left.saturating_sub(measuring.begun.elapsed()).as_secs_f64().ceil();
        self.in_place(format!("{}  {}  about {left:.0} s left", measuring.what, doing()));
    }

    /// Shows what is going on in a line that what is printed next replaces; on a terminal only.
    fn in_place(&mut self, text: String) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        self.make_room_for(|bar| bar.length().is_none());
        let line = self.bar.get_or_insert_with(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
        line.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        line.set_message(text);
        line.tick();
    }

    /// Waits until a person has typed a line; false if they interrupted, or have closed their terminal.
    fn line_was_typed(&self) -> std::io::Result<bool> {
        let stdin = std::io::stdin();
        // What was typed before the question is no answer to it.
        tcflush(&stdin, QueueSelector::IFlush)?;
        while !self.interrupted() {
            let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut asked, Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(stdin.read_line(&mut String::new())? > 0),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Takes a bar away that is not of the kind that comes next: one of a load has a length, a line has none.
    fn make_room_for(&mut self, next: impl Fn(&ProgressBar) -> bool) {
        if self.bar.as_ref().is_some_and(|bar| !next(bar)) {
            self.clear();
        }
    }

    /// Takes the bar away before something else is printed.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn load_bar(rows: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("loading {bar:32} {pos}/{len} rows, {msg}, {eta} left");
    let bar = ProgressBar::with_draw_target(Some(rows), ProgressDrawTarget::stderr());
    // The template is a constant that a test parses.
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn interval_line(point: LoadPoint, interval: &Interval) -> String {
    let per_second = |count: u64| if interval.seconds > 0.0 { count as f64 / interval.seconds } else { 0.0 };
    let shown = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.2}"));
    let at = (interval.t_ns as f64 / 1e9 + interval.seconds).round();
    let mut line = format!(
        "[{at:>4.0}s] connections: {}  tps: {:.1}  qps: {:.1}  p50/p95/p99 ms: {}/{}/{}",
        point.connections,
        per_second(interval.transactions),
        per_second(interval.queries),
        shown(interval.latency_ms.p50),
        shown(interval.latency_ms.p95),
        shown(interval.latency_ms.p99),
    );
    let errors: u64 = interval.errors.values().sum();
    for (name, count) in [("errors", errors), ("reconnects", interval.reconnects), ("dropped", interval.counts.dropped)]
    {
        if count > 0 {
            line += &format!("  {name}: {count}");
        }
    }
    if interval.phase == Phase::WarmUp {
        line += "  (warm-up)";
    }
    line
}

fn point_line(point: &Point) -> String {
    let throughput = match point.nopm {
        Some(nopm) => Measured::of(point, "nopm", Some(nopm)).in_words("NOPM"),
        None => {
            let rate = point.transactions_per_second;
            Measured::of(point, "transactions_per_second", rate).in_words("transactions/s")
        }
    };
    let p95 = Measured::of(point, "latency_ms.p95", point.latency_ms.p95).label(2);
    format!("{throughput}  p95 {p95} ms")
}

fn io_interval(interval: &Interval) -> String {
    let at = (interval.t_ns as f64 / 1e9 + interval.seconds).round();
    let per_second = if interval.seconds > 0.0 { interval.transactions as f64 / interval.seconds } else { 0.0 };
    let p99 = interval.latency_ms.p99.map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
    let warmup = if interval.phase == Phase::WarmUp { " (warm-up)" } else { "" };
    format!("{at:.0} s  {per_second:.0} IOPS  p99 {p99}{warmup}")
}

/// A measurement of storage that is over: its rate, and the latency of each kind of operation.
fn probe_line(probe: &Probe) -> String {
    let told = |path: &str, value: Option<f64>| Measured { value, estimate: probe.estimates.get(path).cloned() };
    let mut line = format!("{:<22} {}", probe.id, probe.name);
    if probe.iops.is_some() {
        line += &format!("  {} /s", told("iops", probe.iops).label(0));
    }
    for (kind, latency) in &probe.latency_us {
        let p99 = told(&format!("latency_us.{kind}.p99"), latency.p99).label(0);
        line += &format!("  {kind} p99 {p99} µs");
    }
    if let Some(why) = &probe.error {
        line += &format!("  failed: {}", clean(why));
    }
    line
}

impl Watcher for Progress {
    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Server { step, since } => self.server(step, since),
            Event::Load(progress) => self.load(progress),
            Event::PointBegins { .. } => self.seconds = 0.0,
            Event::Interval { point, interval } => self.interval(point, interval),
            Event::PointEnds { point } if self.every == 0 => {
                self.clear();
                note(&format!("        connections: {:>4}  {}", point.connections, point_line(point)));
            }
            Event::PointEnds { .. } => {}
            Event::Io(event) => self.io(event),
            Event::Lab(event) => self.lab(event),
            Event::Doing(text) if self.measuring.is_empty() => self.in_place(text.to_owned()),
            Event::Doing(text) => self.measuring_line(|| text.to_owned()),
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn done_by_hand(&mut self, what: &str) -> bool {
        self.clear();
        note(&format!("to do by hand: {}\npress Enter when it is done, Ctrl-C to end here", clean(what)));
        std::io::stdin().is_terminal() && self.line_was_typed().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_can_be_made() {
        assert!(ProgressStyle::with_template("loading {bar:32} {pos}/{len} rows, {msg}, {eta} left").is_ok());
        assert_eq!(load_bar(7).length(), Some(7));
    }
}
