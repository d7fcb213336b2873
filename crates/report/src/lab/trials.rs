//! The trials one by one: as a table, second by second, and those that failed.

use super::places::{self, Group};
use crate::document::{Block, Section};
use crate::figure::seconds;
use crate::section::limit;
use crate::subject::{Recorded, Trial};
use crate::table::{Column, Mark, Table};
use plimsoll_model::crash::CrashEnd;
use plimsoll_model::lab::TrialStatus;
use plimsoll_model::number::{NOTHING, counted, short};
use serde_json::{Value, json};

const CAPTION: &str = "One value per second, trial after trial. Shaded parts were not measured: warm-up and drain.";
/// More trials than this cannot be told apart on one axis of time.
const MOST_DRAWN: usize = 24;

/// Second by second, and a line for each trial.
pub fn section(recorded: &Recorded) -> Option<Section> {
    let (drawn, caption) = drawn(recorded);
    let mut blocks: Vec<Block> = seconds::draw("timeline", &drawn, &caption).map(Block::Figure).into_iter().collect();
    if !recorded.trials.is_empty() {
        blocks.push(Block::subheading("Trial by trial"));
        blocks.push(Block::table("trials", table(&recorded.trials), []));
    }
    let failed = recorded.trials.iter().filter(|trial| trial.status == TrialStatus::Failed).count();
    let trials = counted(recorded.trials.len() as f64, "trial");
    let found = if failed > 0 { format!("{trials}, of which {failed} failed") } else { trials };
    Some(Section::of("timeline", "Timeline", blocks)?.found(found))
}

/// The places of the trials that the page draws second by second: the series of others need not be read.
pub fn with_series(recorded: &Recorded) -> Vec<usize> {
    places::indices(recorded, &drawn(recorded).0)
}

/// All trials, or the first of each variant and load point, or as many of those as have room.
fn drawn(recorded: &Recorded) -> (Vec<&Trial>, String) {
    let all: Vec<&Trial> = recorded.trials.iter().filter(|trial| trial.has_seconds).collect();
    if all.len() <= MOST_DRAWN {
        return (all, CAPTION.to_owned());
    }
    let of_group = |group: Group<'_>| {
        all.iter().find(|trial| group.trials.iter().any(|other| std::ptr::eq(**trial, *other))).copied()
    };
    let mut first: Vec<&Trial> = places::all(recorded).into_iter().filter_map(of_group).collect();
    first.truncate(MOST_DRAWN);
    let caption = format!(
        "{} Of {} trials, the first of each variant and load point is drawn{}.",
        CAPTION,
        all.len(),
        if first.len() == MOST_DRAWN { format!(", up to {MOST_DRAWN} of them") } else { String::new() }
    );
    (first, caption)
}

fn table(trials: &[Trial]) -> Table {
    let words = |of: fn(&Trial) -> String| trials.iter().map(of).collect::<Vec<_>>();
    let number = |of: fn(&Trial) -> Option<f64>| -> Vec<String> {
        trials.iter().map(|trial| of(trial).map_or(NOTHING.to_owned(), short)).collect()
    };
    let mut columns = vec![
        Column::numbers("trial", "", words(|trial| trial.index.to_string())),
        Column::words("variant", words(|trial| trial.variant.clone())),
        Column::words("load", words(|trial| trial.load.to_string())),
        Column::numbers("round", "", words(|trial| trial.round.to_string())),
        Column::words("ended", words(status)),
    ];
    let known = |of: fn(&Trial) -> Option<f64>| trials.iter().any(|trial| of(trial).is_some());
    let mut add = |name: &str, unit: &str, of: fn(&Trial) -> Option<f64>| {
        if known(of) {
            columns.push(Column::numbers(name, unit, number(of)));
        }
    };
    add("new orders", "1/min", |trial| trial.point.as_ref()?.nopm);
    add("transactions", "1/s", |trial| trial.point.as_ref()?.transactions_per_second);
    add("p99", "ms", |trial| {
        let point = trial.point.as_ref()?;
        point.response_ms.unwrap_or(point.latency_ms).p99
    });
    add("restored in", "s", |trial| trial.restored.as_ref().map(|restored| restored.seconds));
    add("recovered in", "s", |trial| trial.recovery_seconds);
    add("lost", "commits", |trial| Some(trial.crash.as_ref()?.lost? as f64));
    add("not told of", "commits", |trial| Some(trial.crash.as_ref()?.unacknowledged? as f64));
    if trials.iter().any(|trial| trial.crash.is_some()) {
        columns.push(Column::words("fault", words(fault)));
    }
    columns.push(Column::words("limited by", words(limited)));
    let marks = trials.iter().map(|trial| (trial.status != TrialStatus::Done).then_some(Mark::Broken));
    Table { marks: marks.collect(), columns }
}

fn status(trial: &Trial) -> String {
    let words = match trial.status {
        TrialStatus::Done => "done",
        TrialStatus::Failed => "failed",
        TrialStatus::Interrupted => "cut short",
    };
    words.to_owned()
}

/// `power cut`; `I/O error: every flush fails; not started`.
fn fault(trial: &Trial) -> String {
    let Some(crash) = &trial.crash else { return NOTHING.to_owned() };
    let how = crash.how.as_ref().map(|how| format!(": {how}")).unwrap_or_default();
    let end = match (&crash.end, crash.damages()) {
        (CrashEnd::Answered, false) => "",
        (CrashEnd::Answered, true) => "; damaged",
        (CrashEnd::NotStarted(_), _) => "; not started",
        (CrashEnd::FileSystem(_), _) => "; not mounted",
    };
    format!("{}{how}{end}", crash.fault.words())
}

fn limited(trial: &Trial) -> String {
    trial.diagnosis.as_ref().map_or(NOTHING.to_owned(), |diagnosis| limit::words(diagnosis).to_owned())
}

/// The trials that failed, a sentence each.
pub fn failures(recorded: &Recorded) -> impl Iterator<Item = String> {
    let failed = recorded.trials.iter().filter(|trial| trial.status == TrialStatus::Failed);
    failed.map(|trial| {
        let why = trial.why.as_deref().unwrap_or("no reason is recorded");
        format!("Trial {} ({}, {}, round {}) failed: {why}", trial.index, trial.variant, trial.load, trial.round)
    })
}

/// For programs; the series stay in the recording.
pub(super) fn data(trial: &Trial) -> Value {
    json!({
        "index": trial.index,
        "variant": trial.variant,
        "connections": trial.load.connections,
        "rate_offered": trial.load.rate,
        "round": trial.round,
        "status": trial.status,
        "why": trial.why,
        "diagnosis": trial.diagnosis,
        "cost": trial.cost,
        "storage": trial.storage,
        "recovery_seconds": trial.recovery_seconds,
        "crash": trial.crash,
    })
}
