//! Turns events into lines and, on a terminal, into a view.

use super::screen::SCREEN;
use super::view::{Doing, LabView, Loading, MeasurementStep, RunView, View, Work};
use super::words::{self, LineSums};
use super::{interrupt_flag, note};
use plimsoll_model::LoadPoint;
use plimsoll_model::OpeningStep;
use plimsoll_model::layout::clean;
use plimsoll_model::number::{counted, duration};
use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample};
use plimsoll_model::text::escaped;
use plimsoll_watch::{Event, Watcher};
use plimsoll_watch::{IoEvent, LabEvent, LoadProgress};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Steps that end sooner than this are not mentioned.
const WORTH_A_WORD: Duration = Duration::from_millis(700);
/// Without a terminal, loading reports this often.
const LOAD_LINE: Duration = Duration::from_secs(5);
/// While a person is waited for, interruptions are looked for this often.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Shows events as lines and in a view.
pub struct Progress {
    /// Seconds between interval lines; 0 for none.
    every: u64,
    sums: LineSums,
    said: Option<OpeningStep>,
    load_line: Duration,
    /// What is shown in place. It is kept without a terminal too, so that events are followed in one way only.
    view: View,
    live: bool,
}

impl Progress {
    /// Follows something with an interval line every `every` seconds, or none. A terminal shows each second in its view
    /// anyway, so it has lines only for longer intervals.
    pub fn new(every: u64) -> std::io::Result<Progress> {
        let view = View { interrupted: interrupt_flag()?, ..View::default() };
        let live = SCREEN.is_live();
        let every = if live && every == 1 { 0 } else { every };
        Ok(Progress { every, sums: LineSums::default(), said: None, load_line: Duration::ZERO, view, live })
    }

    /// Removes the view.
    pub fn clear(&mut self) {
        (self.view.work, self.view.doing) = (Work::Other, None);
        SCREEN.show(None);
    }

    fn server(&mut self, step: OpeningStep, since: Duration) {
        let text = match step {
            OpeningStep::Initialising => "initialising a data directory (once per server build)",
            OpeningStep::WaitingForTemplate => "waiting for another Plimsoll to initialise a data directory",
            OpeningStep::Copying => "copying the data directory",
            OpeningStep::Starting => "starting the server",
            // Another server may be started after it.
            OpeningStep::Ready => return (self.said, self.view.doing) = (None, None),
        };
        if since < WORTH_A_WORD || self.said == Some(step) {
            return;
        }
        self.said = Some(step);
        match self.live {
            true => self.doing(text, since),
            false => note(&format!("{text} …")),
        }
    }

    /// Something began this long ago.
    fn doing(&mut self, what: &str, ago: Duration) {
        let now = Instant::now();
        let since = now.checked_sub(ago).unwrap_or(now);
        self.view.doing = Some(Doing::Something { what: what.to_owned(), since });
    }

    /// Something is under way, since the first time that it was told.
    fn still_doing(&mut self, what: &str) {
        let is_known = matches!(&self.view.doing, Some(Doing::Something { what: known, .. }) if known == what);
        if !is_known {
            self.doing(what, Duration::ZERO);
        }
    }

    fn load(&mut self, progress: LoadProgress) {
        let new = progress.rows.saturating_sub(progress.rows_before);
        let loading = Loading {
            what: progress.doing.to_owned(),
            rows: progress.rows,
            of: progress.rows_total,
            rows_per_second: new as f64 / progress.elapsed.as_secs_f64().max(1e-3),
        };
        if !self.live && is_load_line_due(progress.elapsed, &mut self.load_line) {
            let left = loading.seconds_left().map_or(String::new(), |left| format!(", about {} s left", left.ceil()));
            let Loading { what, rows, of, rows_per_second } = &loading;
            note(&format!("loading {what}: {rows} of {of} rows, {rows_per_second:.0} rows/s{left}"));
        }
        self.view.doing = Some(Doing::Loading(loading));
    }

    fn interval(
        &mut self,
        point: LoadPoint,
        interval: &Interval,
        host: Option<&HostSample>,
        server: Option<&ServerSample>,
    ) {
        if interval.phase == Phase::Drain {
            return;
        }
        self.view.doing = None;
        match &mut self.view.work {
            Work::Lab(lab) => return lab.add(interval, host, server),
            Work::Run(run) => run.add(interval, host, server),
            Work::Other => {}
        }
        self.sums.add(interval);
        if self.sums.is_due(self.every) {
            note(&words::interval(point, interval, &std::mem::take(&mut self.sums)));
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
                let name = format!("[{place}/{of}] {id}");
                let step = MeasurementStep { name, what: String::new(), begun: Instant::now(), left };
                self.view.doing = Some(Doing::Step(step));
            }
            IoEvent::Layout { written, of } => {
                self.measuring(|| format!("writing its files, {} of {} MB", written / 1_000_000, of / 1_000_000))
            }
            IoEvent::Interval { interval } => self.measuring(|| words::io_interval(interval)),
            IoEvent::StepEnds { probe } => {
                self.view.doing = None;
                if probe.error.is_some() || !self.live {
                    note(&words::probe(probe));
                }
            }
        }
    }

    /// What the storage measurement under way is doing.
    fn measuring(&mut self, what: impl FnOnce() -> String) {
        if let Some(Doing::Step(step)) = &mut self.view.doing {
            step.what = what();
        }
    }

    fn lab(&mut self, event: LabEvent) {
        match event {
            LabEvent::Planned { plan, trials, seconds, bytes } => {
                self.view.work = Work::Lab(Box::new(LabView::new(plan)));
                let (trials, megabytes) = (counted(trials as f64, "trial"), bytes.div_ceil(1_000_000));
                note(&format!("about {trials}, {}, up to {megabytes} MB of data", duration(seconds)));
            }
            LabEvent::Note { text } => note(text),
            event => {
                self.view.doing = None;
                if let Work::Lab(lab) = &mut self.view.work {
                    of_trial(event, lab, self.live);
                }
            }
        }
    }

    /// Waits until a person has typed a line; false if they interrupted or closed their terminal.
    fn line_was_typed(&self) -> std::io::Result<bool> {
        let stdin = std::io::stdin();
        // What was typed before the question does not answer it.
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
}

/// Whether loading that has taken so long is told again, and then when it was told last. What has taken less than that is
/// another load.
fn is_load_line_due(elapsed: Duration, told: &mut Duration) -> bool {
    if elapsed < *told {
        *told = Duration::ZERO;
    }
    let is_due = elapsed.saturating_sub(*told) >= LOAD_LINE;
    if is_due {
        *told = elapsed;
    }
    is_due
}

fn of_trial(event: LabEvent, lab: &mut LabView, live: bool) {
    match event {
        LabEvent::TrialBegins { place, of, trial, left, next } => {
            lab.begin(place, of, trial, left, next);
            if !live {
                let left = duration(left.as_secs_f64());
                note(&format!("[{place}/{of}] {}  about {left} left", words::title(trial)));
            }
        }
        LabEvent::Phase { phase } => lab.enter(phase),
        LabEvent::TrialEnds { trial, outcome } => {
            let place = lab.place().map_or(String::new(), |(place, of)| format!("[{place}/{of}] "));
            note(&clean(&format!("{place}{}  {}", words::title(trial), words::result(outcome))));
            lab.end();
        }
        LabEvent::SoFar { summary } => lab.know(summary),
        LabEvent::Planned { .. } | LabEvent::Note { .. } => {}
    }
}

impl Watcher for Progress {
    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Server { step, since } => self.server(step, since),
            Event::Load(progress) => self.load(progress),
            Event::PointBegins { place, of, point, plan } => {
                (self.sums, self.view.doing) = (LineSums::default(), None);
                match &mut self.view.work {
                    Work::Run(run) => run.next(place, point),
                    work => *work = Work::Run(Box::new(RunView::new(plan, place, of, point))),
                }
            }
            Event::PointRepeats { place, of, point, plan } => {
                if place == 1 {
                    let were = if of == 1 { "was" } else { "were" };
                    note(&format!("{} {were} disturbed; measuring again", counted(of as f64, "measurement")));
                }
                (self.sums, self.view.doing) = (LineSums::default(), None);
                self.view.work = Work::Run(Box::new(RunView::new(plan, place, of, point)));
            }
            Event::Interval { point, interval, host, server } => self.interval(point, interval, host, server),
            Event::PointEnds { point } if self.every == 0 => note(&words::point(point)),
            Event::PointEnds { .. } => {}
            Event::Agent { sample } => match &mut self.view.work {
                Work::Run(run) => run.agent(sample),
                Work::Lab(lab) => lab.agent(sample),
                Work::Other => {}
            },
            Event::Agreed { .. } => {}
            Event::Io(event) => self.io(event),
            Event::Lab(event) => self.lab(event),
            Event::Doing(text) => self.still_doing(text),
        }
        SCREEN.show(Some(self.view.clone()));
    }

    fn interrupted(&self) -> bool {
        self.view.interrupted.load(Ordering::Relaxed)
    }

    fn done_by_hand(&mut self, what: &str) -> bool {
        SCREEN.show(None);
        note(&format!("to do by hand: {}\npress Enter when it is done, Ctrl-C to end here", escaped(what)));
        std::io::stdin().is_terminal() && self.line_was_typed().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        let (sums, view) = (LineSums::default(), View::default());
        Progress { every: 0, sums, said: None, load_line: Duration::ZERO, view, live: false }
    }

    #[test]
    fn each_load_is_told_from_its_beginning() {
        let mut told = Duration::ZERO;
        let mut lines = |seconds: u64| {
            (0..=seconds).filter(|second| is_load_line_due(Duration::from_secs(*second), &mut told)).count()
        };
        assert_eq!((lines(60), lines(6)), (12, 1));
    }

    #[test]
    fn what_is_told_again_has_taken_since_it_was_first_told() {
        let mut progress = progress();
        let since = |progress: &Progress| match &progress.view.doing {
            Some(Doing::Something { since, .. }) => *since,
            other => panic!("{other:?}"),
        };
        progress.doing("watching", Duration::from_secs(9));
        let first = since(&progress);
        progress.still_doing("watching");
        assert_eq!(since(&progress), first);
        progress.still_doing("checking");
        assert!(since(&progress) > first);
    }

    #[test]
    fn a_second_server_that_starts_slowly_is_told_too() {
        let mut progress = progress();
        progress.server(OpeningStep::Starting, WORTH_A_WORD);
        assert_eq!(progress.said, Some(OpeningStep::Starting));
        progress.server(OpeningStep::Ready, WORTH_A_WORD);
        assert_eq!(progress.said, None);
    }
}
