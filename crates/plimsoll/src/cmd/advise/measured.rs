//! `plimsoll advise --workload`: a look at a private server under a workload, and ladders that try what it calls for. What a
//! ladder keeps is looked at again, until nothing new is called for or the time is up.

use super::super::lab::option_file;
use super::super::run::random_seed;
use super::super::{DONE, ENVIRONMENT, INTERRUPTED, drafted, has_directory, write_whole};
use crate::args::{AdviseArgs, MeasureArgs};
use crate::terminal::{self, Progress};
use anyhow::Context;
use plimsoll_advice::measured::{
    MOST_ROUNDS, affordable, conclude, gain_words, kept_settings, option_file as written, proposals, rung, with_worth,
};
use plimsoll_advice::window::LEAST_SECONDS;
use plimsoll_advice::window::seen::SeenContext;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::execute::{Finished, execute};
use plimsoll_lab::options::Options;
use plimsoll_model::Estimate;
use plimsoll_model::advice::{Advice, AdviceFinding};
use plimsoll_model::lab::{Ladder, TrialOutcome};
use plimsoll_model::number::counted;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::file::draft::{DraftAsks, DraftSettings, PlanDraft};
use plimsoll_plan::lab::file::{PlanChoices, read};
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::plan::script_of;
use plimsoll_record::EarlyEnd;
use plimsoll_record::read::{self as recordings, RecordingView};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a trial is measured if nothing else is said.
const EACH: Duration = Duration::from_secs(10);
/// Share of the time that is kept for what all of it brings together.
const RESERVED: f64 = 0.2;
/// How long a ladder waits for a quiet machine.
const WAIT_QUIET: Duration = Duration::from_secs(120);

pub fn run(args: &AdviseArgs, workload: &str, asked_for: &SeenContext) -> anyhow::Result<(Advice, u8)> {
    let home = Home::from_env().map_err(LabError::from)?;
    let mut lab = AdviceLab::new(args, workload, asked_for, &home)?;
    let Some(mut advice) = lab.look()? else { return Err(lab.nothing().into()) };
    if let Some(path) = &args.measure.plan {
        lab.write_plan(&advice, path)?;
    }
    if args.measure.measure.is_none() {
        return Ok((advice, lab.code()));
    }
    while let Some(kept_more) = lab.climb(&advice)? {
        if kept_more && let Some(after) = lab.look()? {
            advice = after;
        }
    }
    let left_out = proposals(&advice, &lab.measured);
    let together = lab.together()?;
    let mut code = lab.code();
    // What took so long is told in any case.
    if let Err(error) = lab.write_config(together.as_ref()) {
        terminal::note(&format!("plimsoll: {error:#}"));
        code = ENVIRONMENT;
    }
    let mut told = conclude(advice, lab.measured, together.as_ref());
    let lines = left_out.iter().filter_map(|finding| finding.change_words());
    told.unseen.extend(lines.map(|line| format!("{line} was not tried: a longer --measure would")));
    told.looked_at.extend(lab.recordings.iter().map(|path| format!("recording {}", path.display())));
    Ok((told, code))
}

/// What is measured, and what was measured so far.
struct AdviceLab<'a> {
    args: &'a AdviseArgs,
    asked_for: &'a SeenContext,
    home: &'a Home,
    /// The server as it is, with what was kept.
    draft: PlanDraft,
    options: Options,
    progress: Progress,
    ends: Instant,
    /// How long a trial took, with all that belongs to it, seconds.
    each: f64,
    measured: Vec<AdviceFinding>,
    /// Of each ladder that kept something, all of that against its base.
    gains: Vec<Option<Estimate>>,
    recordings: Vec<PathBuf>,
    ended: Option<EarlyEnd>,
}

impl<'a> AdviceLab<'a> {
    /// Starts nothing.
    fn new(
        args: &'a AdviseArgs,
        workload: &str,
        asked_for: &'a SeenContext,
        home: &'a Home,
    ) -> anyhow::Result<AdviceLab<'a>> {
        for path in [&args.measure.plan, &args.measure.write_config].into_iter().flatten() {
            has_directory(path)?;
        }
        Ok(AdviceLab {
            args,
            asked_for,
            home,
            draft: draft(args, asked_for, workload)?,
            options: Options {
                // Who types the path of a script means to run it; an option file is another matter.
                allow_commands: args.measure.allow_commands
                    || script_of(workload).is_some() && args.config_file.is_none(),
                given: Given { server: args.target.server.clone(), ..Given::default() },
                holder: "plimsoll advise".to_owned(),
                tool_version: env!("CARGO_PKG_VERSION").to_owned(),
                threads: 2,
                wait_quiet: WAIT_QUIET,
                ..Options::default()
            },
            progress: Progress::new(0)?,
            ends: Instant::now() + args.measure.measure.unwrap_or_default(),
            each: 0.0,
            measured: Vec::new(),
            gains: Vec::new(),
            recordings: Vec::new(),
            ended: None,
        })
    }

    /// How long a trial is measured: of a shorter look than this too little would be known.
    fn measure_seconds(&self, asks: &DraftAsks) -> f64 {
        match asks {
            DraftAsks::Look => self.draft.measure_seconds.max(LEAST_SECONDS),
            _ => self.draft.measure_seconds,
        }
    }

    fn plan(&self, asks: DraftAsks) -> anyhow::Result<LabPlan> {
        let measure_seconds = self.measure_seconds(&asks);
        let text = PlanDraft { asks, measure_seconds, ..self.draft.clone() }.text();
        let choices = PlanChoices { seed: random_seed(), ..PlanChoices::default() };
        let plan = read("the plan of plimsoll advise", &text, choices, &|name| option_file(Path::new(name)))?;
        Ok(match &self.args.target.server {
            Some(server) => plan.on(server),
            None => plan,
        })
    }

    /// Executes what is asked of the server as it is now, and reads what was recorded.
    fn execute(&mut self, asks: DraftAsks, what: &str) -> anyhow::Result<(Finished, RecordingView)> {
        let longer = self.measure_seconds(&asks) - self.draft.measure_seconds;
        let plan = self.plan(asks)?;
        terminal::note(&format!("{what}, seed {}", plan.seed));
        let finished = execute(self.home, &plan, &self.options, &mut self.progress);
        self.progress.clear();
        let finished = finished?;
        self.recordings.push(finished.recording.clone());
        self.ended.clone_from(&finished.ended);
        let view = recordings::open(&finished.recording).map_err(LabError::from)?;
        let took = view.trials.iter().filter_map(|trial| trial.outcome.as_ref()).map(repeated).fold(0.0, f64::max);
        self.each = took - longer;
        Ok((finished, view))
    }

    /// What one load point calls for; none if it was not measured.
    fn look(&mut self) -> anyhow::Result<Option<Advice>> {
        let (finished, view) = self.execute(DraftAsks::Look, "a look at the server under its load")?;
        if let Some((_, why)) = finished.failed.first() {
            self.ended = Some(EarlyEnd::Failed(why.clone()));
        }
        if self.ended.is_some() {
            return Ok(None);
        }
        Ok(Some(plimsoll_analysis::advice::advice(&view, self.asked_for).map_err(LabError::from)?))
    }

    /// Tries what is advised and was not tried yet, as far as there is time, and says whether something was kept; none if
    /// nothing could be tried.
    fn climb(&mut self, advice: &Advice) -> anyhow::Result<Option<bool>> {
        let mut all = proposals(advice, &self.measured);
        let reserved = if self.gains.is_empty() { 0.0 } else { RESERVED };
        let left = self.left().mul_f64(1.0 - reserved).as_secs_f64();
        let Some((taken, most_rounds)) = affordable(all.len(), self.each, left).filter(|_| self.ended.is_none()) else {
            return Ok(None);
        };
        all.truncate(taken);
        let lines: Vec<String> = all.iter().filter_map(|finding| finding.change_words()).collect();
        let what = format!("trying {}", lines.join(", then "));
        let rungs = all.iter().map(rung).collect();
        let (finished, _) = self.execute(DraftAsks::Ladder { rungs, most_rounds }, &what)?;
        Ok(finished.summary.ladders.first().map(|ladder| self.keep(all, ladder)))
    }

    /// Takes over what a ladder found; whether it kept something.
    fn keep(&mut self, proposals: Vec<AdviceFinding>, ladder: &Ladder) -> bool {
        let before = kept_settings(&self.measured);
        self.measured.extend(with_worth(proposals, ladder));
        let kept = kept_settings(&self.measured);
        let is_more = kept != before;
        self.gains.extend(is_more.then(|| ladder.gain.clone()));
        self.draft.config.extend(kept);
        is_more
    }

    fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// What all that was kept brings together: as the ladder found it, or, of several ladders, measured once more against
    /// the server as it was.
    fn together(&mut self) -> anyhow::Result<Option<Estimate>> {
        match (&self.gains[..], &self.ended) {
            ([], _) | (_, Some(_)) => return Ok(None),
            ([gain], None) => return Ok(gain.clone()),
            _ => {}
        }
        let Some((_, most_rounds)) = affordable(1, self.each, self.left().as_secs_f64()) else { return Ok(None) };
        let changed = kept_settings(&self.measured);
        self.draft.config = DraftSettings::new();
        let (finished, _) =
            self.execute(DraftAsks::Together { changed, most_rounds }, "all of it against none of it")?;
        let rows = finished.summary.comparisons.first().map(|comparison| &comparison.rows);
        Ok(rows.and_then(|rows| Some(rows.first()?.change.clone())))
    }

    fn write_plan(&self, advice: &Advice, path: &Path) -> anyhow::Result<()> {
        let rungs: Vec<_> = proposals(advice, &[]).iter().map(rung).collect();
        if rungs.is_empty() {
            terminal::note(&format!("no plan was written to {}: there is nothing to try", path.display()));
            return Ok(());
        }
        let asks = DraftAsks::Ladder { rungs, most_rounds: MOST_ROUNDS };
        let draft = PlanDraft { asks, ..self.draft.clone() };
        let text = draft.text_alone(self.args.target.server.as_deref(), random_seed());
        write_whole(path, text).with_context(|| format!("the plan cannot be written: {}", path.display()))?;
        terminal::note(&format!("written: {}", path.display()));
        Ok(())
    }

    /// What was kept as an option file; nothing if nothing was.
    fn write_config(&self, together: Option<&Estimate>) -> anyhow::Result<()> {
        let Some(last) = self.recordings.last().filter(|_| !self.gains.is_empty()) else { return Ok(()) };
        let path = self.args.measure.write_config.clone().unwrap_or_else(|| last.join("my.cnf"));
        let mut head = vec![format!("{}: what was shown to help", self.draft.title)];
        head.extend(together.map(|gain| format!("all of it together: {}", gain_words(gain))));
        let text = written(&head, &self.measured);
        write_whole(&path, text).with_context(|| format!("the option file cannot be written: {}", path.display()))?;
        terminal::note(&format!("option file: {}", path.display()));
        Ok(())
    }

    /// Why there is no advice.
    fn nothing(&self) -> LabError {
        why_nothing(self.ended.as_ref(), self.recordings.last().map(PathBuf::as_path))
    }

    fn code(&self) -> u8 {
        match &self.ended {
            None => DONE,
            Some(EarlyEnd::Interrupted) => {
                terminal::note("interrupted; results so far are kept");
                INTERRUPTED
            }
            Some(EarlyEnd::Failed(why)) => {
                terminal::note(&format!("plimsoll: measuring ended early: {why}"));
                ENVIRONMENT
            }
        }
    }
}

/// Why there is no advice, and which recording says more.
fn why_nothing(ended: Option<&EarlyEnd>, recording: Option<&Path>) -> LabError {
    let more = recording.map_or(String::new(), |recording| format!("; {} says more", recording.display()));
    match ended {
        Some(EarlyEnd::Failed(why)) => LabError::Environment(format!("nothing was measured: {why}{more}")),
        Some(EarlyEnd::Interrupted) | None => LabError::Interrupted,
    }
}

/// How long the same trial would take again, seconds: without the loading of its data, which is no phase.
fn repeated(outcome: &TrialOutcome) -> f64 {
    outcome.phases.iter().map(|span| span.seconds).sum()
}

/// The server as it is given.
fn draft(args: &AdviseArgs, asked_for: &SeenContext, workload: &str) -> anyhow::Result<PlanDraft> {
    let of: &MeasureArgs = &args.measure;
    Ok(PlanDraft {
        name: drafted::name("advise", workload),
        title: format!("advice for {workload} at {}", counted(f64::from(of.connections), "connection")),
        config_file: drafted::config_file(args.config_file.as_ref())?,
        config: DraftSettings::new(),
        lane: of.lane.clone(),
        workload: drafted::workload(workload, of.data.as_deref(), &of.params)?,
        connections: usize::from(of.connections),
        warmup: of.warmup.clone(),
        measure_seconds: args.time.unwrap_or(EACH).as_secs_f64(),
        noisy_host: of.noisy_host,
        allow: asked_for.allowed().into_iter().collect(),
        asks: DraftAsks::Look,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_failed_is_no_mistake_of_who_asked_for_it() {
        let failed = EarlyEnd::Failed("the server was lost".to_owned());
        let failed = why_nothing(Some(&failed), Some(Path::new("/r/20260101T000000Z-advise")));
        assert_eq!(failed.exit_code(), 3);
        let said = failed.to_string();
        assert!(said.contains("the server was lost; /r/20260101T000000Z-advise says more"), "{said}");
        assert_eq!(why_nothing(Some(&EarlyEnd::Interrupted), None).exit_code(), 130);
    }
}
