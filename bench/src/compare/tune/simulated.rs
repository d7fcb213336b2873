//! Surfaces with a planted optimum: how much of it is missed by what each tuner ends with, and whether what is claimed holds.

use crate::arena::Arena;
use crate::compare::{BenchExtent, BenchRow, BenchTarget, CountTable, PeerComparison};
use crate::peers::tuners::{PeerSearch, Tuner, best_of_peer};
use crate::stats::SampleSpread;
use anyhow::Context;
use plimsoll_model::tune::TuneConclusion;
use plimsoll_plan::lab::space::Levels;
use plimsoll_schedule::tune::FoundTune;
use plimsoll_schedule::{EndedTrial, Prospects, of};
use plimsoll_testkit::surfaces::{FLAT, SURFACES, Surface};
use plimsoll_testkit::tuned::{measured, measured_value, tune_plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Trials of each search; of ours, those of its confirmation are among them.
const TRIALS: usize = 40;
/// Of the time of a search of ours, what it is over after: worths come later, and peers have none.
const UNTIL_CONFIRMED: f64 = 0.8;
/// Fewer seeds are too few for a median that is compared.
const FEWEST_SEEDS: u32 = 30;
/// By how much equal trials differ; the first is the one that counts.
const NOISES: [f64; 3] = [0.1, 0.03, 0.2];
/// Surfaces on which ours has to miss no more than the best peer.
const WON: f64 = 9.0;
/// Percent.
const CLAIMS_THAT_HOLD: f64 = 93.0;
const CLAIMS_OF_NOTHING: f64 = 5.0;

/// Most of it is SMAC3's, whose forests take about 10 s for a search.
pub fn expected_seconds(pairs: u32) -> u64 {
    u64::from(pairs.max(FEWEST_SEEDS)) * SURFACES.len() as u64 * NOISES.len() as u64 * 12
}

/// What a tuner ended with on a surface.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SurfaceEnd {
    /// What is missed of the best, as a logarithm.
    regret: f64,
    /// Whether a gain is claimed, and whether its interval holds the truth; of ours alone.
    claim: Option<bool>,
}

/// By surface, tuner and noise: what was found before goes on where it was.
type SurfaceEnds = BTreeMap<String, Vec<SurfaceEnd>>;

pub fn compare(arena: &Arena, tuners: &[Tuner], extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let seeds = u64::from(extent.pairs.max(FEWEST_SEEDS));
    let title =
        format!("searches of {TRIALS} trials: what is missed of a known optimum, {seeds} seeds; and real servers");
    eprintln!("{title}");
    let directory = arena.home()?.path().join("tune");
    fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
    let place = directory.join("simulated.json");
    let mut ends: SurfaceEnds =
        fs::read(&place).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    for noise in NOISES {
        for surface in SURFACES.into_iter().chain([FLAT]) {
            for tuner in tuners {
                search(arena, &mut ends, Task { surface, tuner: *tuner, noise, seeds }, &place)?;
            }
        }
    }
    Ok(told(&ends, tuners, title))
}

/// One tuner on one surface.
#[derive(Clone, Copy)]
struct Task {
    surface: &'static str,
    tuner: Tuner,
    noise: f64,
    seeds: u64,
}

fn key(surface: &str, tuner: Tuner, noise: f64) -> String {
    format!("{surface}, {}, {:.0} %", tuner.name(), 100.0 * noise)
}

fn search(arena: &Arena, ends: &mut SurfaceEnds, task: Task, place: &Path) -> anyhow::Result<()> {
    let Task { surface, tuner, noise, seeds } = task;
    // On the flat one only claims count, and peers make none.
    if surface == FLAT && tuner != Tuner::Plimsoll {
        return Ok(());
    }
    let key = key(surface, tuner, noise);
    let done = ends.get(&key).map_or(0, Vec::len) as u64;
    for seed in done + 1..=seeds {
        arena.go_on()?;
        let of = Surface::new(surface, seed);
        let end = match tuner {
            Tuner::Plimsoll => own(&of, noise, seed),
            peer => by_peer(arena, &of, peer, noise, seed)?,
        };
        ends.entry(key.clone()).or_default().push(end);
    }
    fs::write(place, serde_json::to_vec(ends)?)?;
    eprintln!("  {key}: {}", median(ends, &key).map_or("–".to_owned(), |regret| format!("{regret:.3}")));
    Ok(())
}

/// A search of ours, with its confirmation.
fn own(surface: &Surface, noise: f64, seed: u64) -> SurfaceEnd {
    let plan = tune_plan(&surface.space, TRIALS as f64 / UNTIL_CONFIRMED, seed);
    let mut schedule = of(&plan, &Prospects::new());
    while let Some(trial) = schedule.next() {
        let outcome = measured(surface, &trial, noise, seed);
        schedule.tell(EndedTrial { trial, outcome });
    }
    let found = schedule.found().tune;
    let claimed = found.as_ref().filter(|found| found.conclusion == TuneConclusion::Confirmed);
    let truth = claimed.and_then(|found| truth(surface, found));
    let holds = claimed.and_then(|found| {
        let (low, high) = found.confirmation.as_ref()?.interval()?;
        Some((low..=high).contains(&truth?.exp_m1()))
    });
    SurfaceEnd { regret: surface.best - truth.unwrap_or(0.0), claim: holds }
}

fn truth(surface: &Surface, found: &FoundTune) -> Option<f64> {
    surface.truth(&found.winner.as_ref()?.levels)
}

fn by_peer(arena: &Arena, surface: &Surface, tuner: Tuner, noise: f64, seed: u64) -> anyhow::Result<SurfaceEnd> {
    let python = arena.tools().tuners.as_deref().context("there is no Python with tuners")?;
    let search = PeerSearch { tuner, python, space: &surface.space, seed, trials: TRIALS };
    let mut number = 0;
    let best = best_of_peer(search, &mut |levels: &Levels| {
        number += 1;
        Ok(measured_value(surface, levels, noise, seed, number))
    })?;
    let truth = best.and_then(|levels| surface.truth(&levels)).unwrap_or(0.0);
    Ok(SurfaceEnd { regret: surface.best - truth, claim: None })
}

fn median(ends: &SurfaceEnds, key: &str) -> Option<f64> {
    let regrets: Vec<f64> = ends.get(key)?.iter().map(|end| end.regret).collect();
    Some(SampleSpread::of(&regrets)?.median)
}

fn told(ends: &SurfaceEnds, tuners: &[Tuner], title: String) -> PeerComparison {
    let at = |surface: &str, tuner: Tuner, noise: f64| median(ends, &key(surface, tuner, noise));
    let is_won = |surface: &&str, noise: f64| {
        let peers = tuners.iter().filter(|tuner| **tuner != Tuner::Plimsoll);
        let best = peers.filter_map(|tuner| at(surface, *tuner, noise)).reduce(f64::min);
        best.zip(at(surface, Tuner::Plimsoll, noise)).is_some_and(|(best, own)| own <= best)
    };
    let won = |noise: f64| SURFACES.iter().filter(|surface| is_won(surface, noise)).count() as f64;
    let claims = |is_flat: bool| {
        let of = |(key, all): (&String, &Vec<SurfaceEnd>)| {
            let is_meant = key.contains(Tuner::Plimsoll.name()) && key.starts_with(FLAT) == is_flat;
            is_meant.then(|| all.clone())
        };
        ends.iter().filter_map(of).flatten().collect::<Vec<_>>()
    };
    let claimed: Vec<bool> = claims(false).iter().filter_map(|end| end.claim).collect();
    let of_nothing = claims(true);
    let percent = |part: usize, all: usize| (all > 0).then(|| 100.0 * part as f64 / all as f64);
    let holding = percent(claimed.iter().filter(|holds| **holds).count(), claimed.len());
    let nothing = percent(of_nothing.iter().filter(|end| end.claim.is_some()).count(), of_nothing.len());
    let rows = vec![
        BenchRow::new(format!("surfaces won of {}, 10 % noise", SURFACES.len()), 0, [won(NOISES[0])])
            .with_target(BenchTarget::AtLeast(WON)),
        BenchRow::new("the same, 3 % noise", 0, [won(NOISES[1])]),
        BenchRow::new("the same, 20 % noise", 0, [won(NOISES[2])]),
        BenchRow::new("claims whose interval holds the truth, %", 1, holding)
            .with_target(BenchTarget::AtLeast(CLAIMS_THAT_HOLD)),
        BenchRow::new("claims where there is nothing, %", 1, nothing)
            .with_target(BenchTarget::AtMost(CLAIMS_OF_NOTHING)),
    ];
    let findings = [("tune-surfaces", 0), ("tune-claims", 3), ("tune-nothing", 4)]
        .map(|(name, row)| rows[row].finding_on(name, "simulated"))
        .into();
    let mut header = vec!["surface, noise"];
    header.extend(tuners.iter().map(|tuner| tuner.name()));
    let row = |surface: &str, noise: f64| {
        let cell = |tuner: &Tuner| at(surface, *tuner, noise).map_or("–".to_owned(), |regret| format!("{regret:.3}"));
        [format!("{surface}, {:.0} %", 100.0 * noise)].into_iter().chain(tuners.iter().map(cell)).collect()
    };
    let table = NOISES.iter().flat_map(|noise| SURFACES.iter().map(move |surface| row(surface, *noise))).collect();
    let notes = vec![format!(
        "the table: the median of what is missed of the best, as a logarithm (0.05 is about 5 %); {TRIALS} trials each, ours with \
         its confirmation, after which a gain that was not confirmed counts as none; {} claims",
        claimed.len()
    )];
    PeerComparison { title, rows, counts: Some(CountTable { header, rows: table }), findings, notes }
}
