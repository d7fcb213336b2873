//! Real servers: each tuner gets as many trials as Plimsoll's search took with its confirmation, and what it ends with is measured
//! again against today's configuration, in pairs, on data that nobody has seen.

use crate::arena::Arena;
use crate::compare::{BenchRow, PeerComparison};
use crate::peers::plimsoll;
use crate::peers::tuners::{PeerSearch, Tuner, best_of_peer};
use anyhow::{Context, bail};
use plimsoll_model::Estimate;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::number::{signed_percent, signed_range};
use plimsoll_model::tune::{FoundSetting, TuneConclusion};
use plimsoll_plan::lab::space::{Levels, SearchSpace};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs;
use std::time::Duration;

/// A load with room for better settings.
struct RealCase {
    name: &'static str,
    /// `[server]`, `[workload]` and `[load]` of its plan.
    server: &'static str,
    load: &'static str,
    tune: &'static str,
}

const CASES: [RealCase; 2] = [
    RealCase {
        name: "order entry on a throttled lane",
        server: "[server]\nlane = \"ext4,iops=400\"\n[server.config]\ninnodb_buffer_pool_size = \"64M\"\n",
        load: "[workload]\nkind = \"tpcc\"\nwarehouses = 2\naffinity = \"random\"\n[load]\nconnections = 8\n",
        tune: "top = 8\n",
    },
    RealCase {
        name: "reads and writes in memory",
        server: "[server.config]\ninnodb_buffer_pool_size = \"1G\"\n",
        load: "[workload]\nkind = \"oltp_read_write\"\ntables = 2\ntable_size = 50000\n[load]\nconnections = 16\n",
        tune: "top = 8\nin_memory = true\n",
    },
];
const TRIALS: &str = "[trials]\nwarmup = \"2s\"\nmeasure = \"5s\"\nnoisy_host = true\nlenient = true\n";
/// For the search, its confirmation, and the worths.
const SECONDS: u32 = 900;
/// Pairs by which what a tuner ends with is judged.
const PAIRS: u32 = 6;
/// A lab of these may take so long.
const PATIENCE: Duration = Duration::from_secs(3600);
const SEED: u64 = 1;

pub fn expected_seconds() -> u64 {
    CASES.len() as u64 * u64::from(SECONDS) * (Tuner::ALL.len() as u64 + 1)
}

/// What a tuner ended with; kept beside the servers, so that the bench goes on where it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RealEnd {
    tuner: Tuner,
    trials: usize,
    changed: Vec<(String, String)>,
    /// Against today's configuration, as a share; none if it ended with today's.
    change: Option<Estimate>,
}

pub fn compare(arena: &Arena, tuners: &[Tuner]) -> anyhow::Result<PeerComparison> {
    let mut comparison = PeerComparison::default();
    for case in &CASES {
        for end in ends(arena, case, tuners)? {
            let of = format!("{}, {}", case.name, end.tuner.name());
            let gain = end.change.as_ref().map_or(0.0, |change| 100.0 * change.value);
            comparison.rows.push(BenchRow::new(format!("{of}: better by, %"), 1, [gain]));
            comparison.notes.push(told(&of, &end));
        }
    }
    Ok(comparison)
}

fn told(of: &str, end: &RealEnd) -> String {
    let changed: Vec<String> = end.changed.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let change = end.change.as_ref().map_or("nothing was found".to_owned(), |change| {
        let ends = change.interval().map_or("no interval".to_owned(), signed_range);
        format!("{} ({ends}) by {}", signed_percent(change.value), changed.join(", "))
    });
    format!("{of}: {change}, after {} trials", end.trials)
}

fn ends(arena: &Arena, case: &RealCase, tuners: &[Tuner]) -> anyhow::Result<Vec<RealEnd>> {
    let directory = arena.home()?.path().join("tune");
    let words = format!("{} {}", arena.label(), case.name);
    let place = directory.join(format!("{}.json", words.replace(' ', "-").to_lowercase()));
    let mut ends: Vec<RealEnd> =
        fs::read(&place).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    for tuner in tuners {
        if ends.iter().any(|end| end.tuner == *tuner) {
            continue;
        }
        eprintln!("  {words}: {}", tuner.name());
        let end = search(arena, case, *tuner, ends.first().map_or(0, |first| first.trials))?;
        eprintln!("    {}", told(tuner.name(), &end));
        ends.push(end);
        fs::write(&place, serde_json::to_vec_pretty(&ends)?).with_context(|| format!("writing {}", place.display()))?;
    }
    Ok(ends)
}

/// `trials` is how many our own search took, which comes first.
fn search(arena: &Arena, case: &RealCase, tuner: Tuner, trials: usize) -> anyhow::Result<RealEnd> {
    let (trials, changed) = match tuner {
        Tuner::Plimsoll => own(arena, case)?,
        peer => (trials, by_peer(arena, case, peer, trials)?),
    };
    let change = if changed.is_empty() { None } else { Some(measured_again(arena, case, &changed)?) };
    Ok(RealEnd { tuner, trials, changed, change })
}

fn plan(case: &RealCase, name: &str, rest: &str) -> String {
    format!("name = \"{name}\"\n{}{}{TRIALS}{rest}", case.server, case.load)
}

/// Trials until its gain was confirmed, and the settings that it keeps; none if nothing was confirmed.
fn own(arena: &Arena, case: &RealCase) -> anyhow::Result<(usize, Vec<(String, String)>)> {
    let plan = plan(case, "tune-bench", &format!("[tune]\ntime = \"{SECONDS}s\"\n{}", case.tune));
    let mut lab = plimsoll::lab(arena, "tune-bench", &plan)?;
    lab.args(["--seed", &SEED.to_string()]);
    let summary = plimsoll::summary_of_lab(arena, lab, PATIENCE)?;
    let tune = summary.tune.context("the lab searched nothing")?;
    let confirming = tune.confirmed.as_ref().map_or(0.0, |gain| 2.0 * gain.effective_n.max(1.0)) as usize;
    let settings = |all: Vec<&FoundSetting>| all.into_iter().map(|of| (of.name.clone(), of.value.clone())).collect();
    let is_confirmed = tune.conclusion == TuneConclusion::Confirmed;
    let kept = if is_confirmed { settings(tune.kept_settings()) } else { Vec::new() };
    Ok((tune.tried.len() + confirming, kept))
}

fn by_peer(arena: &Arena, case: &RealCase, tuner: Tuner, trials: usize) -> anyhow::Result<Vec<(String, String)>> {
    let python = arena.tools().tuners.as_deref().context("there is no Python with tuners")?;
    let space = space(arena, case)?;
    let search = PeerSearch { tuner, python, space: &space, seed: SEED, trials };
    let best = best_of_peer(search, &mut |levels: &Levels| {
        let rest =
            format!("rounds = 1\n[[variant]]\nname = \"tried\"\nconfig = {}\n", config(&changed(&space, levels)));
        let lab = plimsoll::lab(arena, "tune-peer", &plan(case, "tune-peer", &rest))?;
        let value = plimsoll::summary_of_lab(arena, lab, PATIENCE).ok().and_then(|summary| rate(&summary));
        eprintln!("    {}", value.map_or("it came to no good end".to_owned(), |value| format!("{value:.0}")));
        Ok(value.map(f64::ln))
    })?;
    Ok(best.map(|levels| changed(&space, &levels)).unwrap_or_default())
}

fn changed(space: &SearchSpace, levels: &Levels) -> Vec<(String, String)> {
    space.changed(levels).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn config(changed: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, value) in changed {
        let comma = if text.is_empty() { "" } else { ", " };
        // Nothing can fail to be written to memory.
        let _ = write!(text, "{comma}{name} = {value:?}");
    }
    format!("{{ {text} }}")
}

/// New orders where there are some, else transactions.
fn rate(summary: &LabSummary) -> Option<f64> {
    let cell = summary.cells.first().filter(|cell| cell.failed == 0)?;
    Some(cell.nopm.as_ref().or(cell.transactions_per_second.as_ref())?.value)
}

/// What a search of ours may try here: everybody's space.
fn space(arena: &Arena, case: &RealCase) -> anyhow::Result<SearchSpace> {
    let plan = plan(case, "tune-space", &format!("[tune]\ntime = \"{SECONDS}s\"\n{}", case.tune));
    let mut lab = plimsoll::lab(arena, "tune-space", &plan)?;
    lab.args(["--dry-run", "--json"]);
    let finished = arena.run(lab, PATIENCE)?;
    let mut found: serde_json::Value = serde_json::from_str(&finished.stdout).context("what a dry run says")?;
    serde_json::from_value(found["search"].take()).context("the space of a dry run")
}

/// What a tuner ended with against today's configuration.
fn measured_again(arena: &Arena, case: &RealCase, changed: &[(String, String)]) -> anyhow::Result<Estimate> {
    let rest = format!(
        "rounds = {PAIRS}\n[[variant]]\nname = \"today\"\nworkload = {{ seed = 2 }}\n[[variant]]\nname = \"found\"\nworkload = {{ seed = 2 }}\n\
         config = {}\n",
        config(changed)
    );
    let lab = plimsoll::lab(arena, "tune-again", &plan(case, "tune-again", &rest))?;
    let summary = plimsoll::summary_of_lab(arena, lab, PATIENCE)?;
    let row = summary.comparisons.first().and_then(|comparison| comparison.rows.first());
    match row {
        Some(row) => Ok(row.change.clone()),
        None => bail!("the lab compared nothing: {}", summary.headline),
    }
}
