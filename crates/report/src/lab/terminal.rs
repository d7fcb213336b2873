//! A lab in the terminal.

use super::answer::answer;
use super::{crashes, tables, tuned};
use crate::comparison::interval_in_full;
use crate::table::Table;
use crate::terminal::{BOLD, TextLook, rows};
use plimsoll_model::comparison::{Design, unlike_in_words};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::lab::{LabSummary, Ladder, LadderStep, LoadLine, Restores, VariantComparison};
use plimsoll_model::layout::clean;
use plimsoll_model::number::{counted, short};
use plimsoll_model::number::{percent, signed_percent};
use plimsoll_model::stopping::Stopping;
use plimsoll_model::tune::TuneSummary;

/// The answer first, then what each variant does, the comparisons, ladders and load lines, and the caveats; ends with a
/// line break. With `colour`, the answer and titles are bold and heads are dim; nothing else differs.
pub fn terminal(summary: &LabSummary, look: TextLook) -> String {
    let mut blocks = vec![head(summary, look)];
    blocks.extend(summary.tune.iter().flat_map(|tune| searched(tune, look)));
    // Every trial of a search is a variant of its own.
    if summary.tune.is_none() {
        blocks.push(titled("variants", &tables::cells(&summary.cells), look));
    }
    blocks.extend(summary.comparisons.iter().map(|comparison| compared(comparison, look)));
    blocks.extend(summary.ladders.iter().map(|ladder| climbed(ladder, look)));
    blocks.push(load_lines(&summary.load_lines, look));
    blocks.push(titled("what faults cost", &crashes::table(&summary.crashes), look));
    blocks.push(titled("the way back", &crashes::recoveries(&summary.crashes), look));
    blocks.push(remarks(summary, look));
    blocks.retain(|lines| !lines.is_empty());
    blocks.iter().map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

fn head(summary: &LabSummary, look: TextLook) -> Vec<String> {
    let preset = summary.preset.as_ref().map(|preset| format!(", preset {preset}")).unwrap_or_default();
    let title = summary.title.as_ref().unwrap_or(&summary.name);
    let failed = match summary.trials.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let trials = format!("{title}{preset}: {}{failed}", counted(summary.trials.done as f64, "trial"));
    let told = look.wrapped(&clean(&answer(summary))).into_iter().map(|line| look.style(BOLD, line));
    let restores = summary.restores.iter().flat_map(|restores| look.wrapped(&clean(&restored(restores))));
    look.wrapped(&clean(&trials)).into_iter().chain(told).chain(restores).collect()
}

/// `data restored by reflink in 0.21 s (median of 16), 32.0 MB`.
fn restored(restores: &Restores) -> String {
    let Restores { method, trials, seconds, bytes } = restores;
    let size = if *bytes > 0 { format!(", {} MB", short(*bytes as f64 / 1e6)) } else { String::new() };
    format!("data restored by {method} in {seconds:.2} s (median of {trials}){size}")
}

/// A table below its title, and why intervals are missing from it; nothing for a table without rows.
fn titled(title: &str, table: &Table, look: TextLook) -> Vec<String> {
    if table.rows() == 0 {
        return Vec::new();
    }
    let mut lines: Vec<String> = look.wrapped(&clean(title)).into_iter().map(|line| look.style(BOLD, line)).collect();
    lines.extend(rows(table, look));
    lines.extend(table.missing().iter().flat_map(|reason| look.wrapped(&clean(reason))));
    lines
}

fn compared(comparison: &VariantComparison, look: TextLook) -> Vec<String> {
    let VariantComparison { a, b, rows, .. } = comparison;
    let design = match comparison.design {
        Design::Paired => "paired round by round",
        Design::Unpaired => "not paired",
    };
    let title = format!("{b} against {a}, {design}");
    let mut lines = titled(&title, &tables::comparison(comparison), look);
    if rows.is_empty() {
        return lines;
    }
    let floor = match &comparison.floor {
        Some(floor) => format!("two rounds of {a} differ by up to {} in 19 of 20 cases; ", percent(floor.value)),
        None => String::new(),
    };
    let equivalence = percent(comparison.equivalence);
    lines.extend(look.wrapped(&clean(&format!("{floor}a change of up to {equivalence} counts as no difference"))));
    let stopping = comparison.stopping.as_ref().map(Stopping::in_words);
    lines.extend(stopping.iter().flat_map(|ended| look.wrapped(&clean(ended))));
    let carried = comparison.stopping.as_ref().and_then(|of| of.switchback.as_ref());
    lines.extend(carried.iter().flat_map(|of| look.wrapped(&clean(&of.in_words()))));
    let explained = comparison.explained.as_ref().map(|of| format!("without what others took: {}", of.in_words()));
    lines.extend(explained.iter().flat_map(|explained| look.wrapped(&clean(explained))));
    if rows.iter().any(|row| row.change.confidence > CONFIDENCE) {
        lines.push("For each metric, all intervals hold together in 95 % of cases.".to_owned());
    }
    let work = unlike_in_words(&comparison.unlike_work);
    let work = (!work.is_empty()).then(|| format!("not the same work: {work}"));
    lines.extend(work.iter().flat_map(|work| look.wrapped(&clean(work))));
    let unlike = comparison.unlike.as_ref().map(|unlike| format!("not equally safe: {unlike}"));
    lines.extend(unlike.iter().flat_map(|unlike| look.wrapped(&clean(unlike))));
    lines
}

/// The staircase, then a sentence for each rung, and what all kept rungs bring together.
fn climbed(ladder: &Ladder, look: TextLook) -> Vec<String> {
    let floor = match &ladder.floor {
        Some(floor) => format!("the base differs from itself by up to {} in 19 of 20 cases", percent(floor.value)),
        None => match ladder.steps.iter().find_map(|step| step.stopping.as_ref()) {
            Some(of) => format!("a change of up to {} counts as none", percent(of.decide)),
            None => "no floor was measured".to_owned(),
        },
    };
    let title = format!("ladder of {}: {floor}", ladder.variant);
    let mut lines = titled(&title, &tables::ladder(ladder), look);
    let ended = |step: &LadderStep| step.stopping.as_ref().map(|of| format!("; {}", of.in_words())).unwrap_or_default();
    let whys = ladder.steps.iter().map(|step| format!("{}: {}{}", step.rung, step.why, ended(step)));
    lines.extend(whys.flat_map(|why| look.wrapped(&clean(&why))));
    if let Some(gain) = &ladder.gain {
        let together = format!("all kept together: {} ({})", signed_percent(gain.value), interval_in_full(gain));
        lines.extend(look.wrapped(&clean(&together)));
    }
    lines
}

/// What a search found, what each setting is worth, and what did not work.
fn searched(tune: &TuneSummary, look: TextLook) -> [Vec<String>; 3] {
    let mut settings = titled("settings", &tuned::settings(tune), look);
    settings.extend(tuned::together_in_words(tune).iter().flat_map(|told| look.wrapped(&clean(told))));
    let failures = tuned::failures(tune).into_iter().flat_map(|told| look.wrapped(&clean(&told)));
    [settings, titled("how sure", &tuned::confirmations(tune), look), failures.collect()]
}

fn load_lines(lines: &[LoadLine], look: TextLook) -> Vec<String> {
    let mut shown = titled("load lines", &tables::load_lines(lines), look);
    let why_not = |line: &LoadLine| {
        let at = counted(line.connections as f64, "connection");
        line.why_not.as_ref().map(|why| format!("{} at {at}: {why}", line.variant))
    };
    shown.extend(lines.iter().filter_map(why_not).flat_map(|why| look.wrapped(&clean(&why))));
    shown
}

/// The caveats.
fn remarks(summary: &LabSummary, look: TextLook) -> Vec<String> {
    let caveats = summary.caveats.iter().map(|caveat| format!("caveat {}: {}", caveat.code, caveat.message));
    caveats.flat_map(|line| look.wrapped(&clean(&line))).collect()
}
