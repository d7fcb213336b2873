//! What a person sees of a lab: which trial of how many, its phase, what it does so far, how long everything takes.

use super::{Measuring, Progress, note};
use plimsoll_lab::watch::LabEvent;
use plimsoll_model::lab::{ProofVerdict, TrialOutcome, TrialStatus};
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::Point;
use plimsoll_plan::lab::TrialPlan;
use plimsoll_report::format::{counted, short};
use plimsoll_report::text::clean;
use std::io::IsTerminal;
use std::time::Instant;

impl Progress {
    pub(super) fn lab(&mut self, event: LabEvent) {
        match event {
            LabEvent::Planned { trials, seconds, bytes } => note(&format!(
                "about {}, {}, up to {} MB of data",
                counted(trials as f64, "trial"),
                duration(seconds),
                bytes.div_ceil(1_000_000)
            )),
            LabEvent::TrialBegins { place, of, trial, left } => {
                let what = format!("[{place}/{of}] {}", clean(&title(trial)));
                if !std::io::stderr().is_terminal() {
                    note(&format!("{what}  about {} left", duration(left.as_secs_f64())));
                }
                self.in_place(what.clone());
                self.measuring.push(Measuring { what, begun: Instant::now(), left });
            }
            LabEvent::Phase { phase } => self.measuring_line(|| doing(phase).to_owned()),
            LabEvent::Note { text } => {
                self.clear();
                note(&clean(text));
            }
            LabEvent::TrialEnds { trial, outcome } => {
                self.clear();
                let what = self.measuring.drain(..).next().map_or_else(|| title(trial), |measuring| measuring.what);
                note(&clean(&format!("{what}  {}", result(outcome))));
            }
        }
    }

    /// What the load of a trial does, in place.
    pub(super) fn trial_interval(&mut self, interval: &Interval) {
        self.measuring_line(|| {
            let at = (interval.t_ns as f64 / 1e9 + interval.seconds).round();
            let per_second = if interval.seconds > 0.0 { interval.transactions as f64 / interval.seconds } else { 0.0 };
            let p99 = interval.latency_ms.p99.map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
            format!("{} at {at:.0} s  {per_second:.0} transactions/s  p99 {p99}", doing(interval.phase))
        });
    }
}

/// What a trial is called in front of a person.
pub fn title(trial: &TrialPlan) -> String {
    format!("{}  {}  round {}", trial.label, trial.point.label(), trial.round)
}

fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Restore => "restoring the data",
        Phase::Start => "starting the server",
        Phase::Verify => "verifying its settings",
        Phase::WarmUp => "warming up",
        Phase::Measure => "measuring",
        Phase::Drain => "draining",
        Phase::Collect => "collecting",
        Phase::Recover => "recovering",
        Phase::Stop => "stopping the server",
        Phase::Pause => "pausing",
    }
}

/// What came of a trial, in a line.
fn result(outcome: &TrialOutcome) -> String {
    let why = outcome.why.as_deref().unwrap_or("no reason is known");
    let mut line = match (outcome.status, &outcome.point) {
        (TrialStatus::Done, Some(point)) => measured(point),
        (TrialStatus::Done, None) => "done".to_owned(),
        (TrialStatus::Failed, _) => format!("failed: {why}"),
        (TrialStatus::Interrupted, _) => "interrupted".to_owned(),
    };
    if let Some(recovery) = &outcome.recovery {
        line += &format!("  recovered in {:.1} s", recovery.seconds);
        if !recovery.broken.is_empty() {
            line += &format!("  damaged: {}", recovery.broken.join("; "));
        }
    }
    let missed = outcome.proofs.iter().filter(|proof| proof.verdict != ProofVerdict::InEffect);
    let missed: Vec<&str> = missed.map(|proof| proof.name.as_str()).collect();
    if !missed.is_empty() {
        line += &format!("  not in effect: {}", missed.join(", "));
    }
    line
}

/// What a trial measured, without intervals: a lab's are those over its rounds.
fn measured(point: &Point) -> String {
    let told = |value: Option<f64>| value.map_or("-".to_owned(), short);
    let throughput = match point.nopm {
        Some(nopm) => format!("{} NOPM", short(nopm)),
        None => format!("{} transactions/s", told(point.transactions_per_second)),
    };
    format!("{throughput}  p99 {} ms", told(point.latency_ms.p99))
}

/// `40 s`, `12 min`, `3 h 20 min`.
pub fn duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match seconds {
        seconds if seconds < 100.0 => format!("{:.0} s", seconds.ceil()),
        _ if minutes < 100 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_the_unit_that_one_plans_with() {
        assert_eq!((duration(0.2), duration(99.0)), ("1 s".to_owned(), "99 s".to_owned()));
        assert_eq!((duration(720.0), duration(12_000.0)), ("12 min".to_owned(), "3 h 20 min".to_owned()));
    }
}
