//! What it takes to read recordings of much that was measured: a page of 200 trials, half an hour on a page and beside
//! another, and the memory of a page over the time that its trials lasted. No server is asked for anything.

use super::{BenchExtent, BenchFinding, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::child::FinishedProcess;
use crate::peers::recordings::{self, MadeUpLab};
use std::path::Path;
use std::time::Duration;

const WIDE: MadeUpLab = MadeUpLab { points: 5, rounds: 20, seconds: 60 };
/// The same lab with trials of a minute and of ten.
const SHORT: MadeUpLab = MadeUpLab { points: 4, rounds: 5, seconds: 60 };
const LONG: MadeUpLab = MadeUpLab { seconds: 600, ..SHORT };
const HALF_AN_HOUR: u64 = 1_800;
const MOST_ROUNDS: u32 = 10;
const PATIENCE: Duration = Duration::from_secs(300);
const MIB: f64 = 1_048_576.0;

/// A guess, most of it for writing the recordings.
pub fn expected_seconds(pairs: u32) -> u64 {
    120 + u64::from(pairs.min(MOST_ROUNDS)) * 8
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = "pages of recordings".to_owned();
    let below = tempfile::Builder::new().prefix("pages-").tempdir_in(arena.scratch())?;
    eprintln!("{title}: writing a lab of {} trials, two of {}, and two runs", WIDE.trials(), SHORT.trials());
    let [wide, short, long] = [WIDE.write(below.path())?, SHORT.write(below.path())?, LONG.write(below.path())?];
    let [a, b] = [recordings::run(below.path(), HALF_AN_HOUR)?, recordings::run(below.path(), HALF_AN_HOUR)?];
    // Once without counting: the files are in memory afterwards.
    [&wide, &short, &long, &a].into_iter().try_for_each(|recording| page(arena, recording).map(drop))?;
    let [of_wide, of_short, of_long, of_half, beside] = in_turn(
        &title,
        extent.pairs.min(MOST_ROUNDS) as usize,
        [
            ("200 trials of a minute", &|| page(arena, &wide)),
            ("40 trials of a minute", &|| page(arena, &short)),
            ("40 trials of ten minutes", &|| page(arena, &long)),
            ("half an hour", &|| page(arena, &a)),
            ("half an hour beside another", &|| compared(arena, &a, &b)),
        ],
        |done: &FinishedProcess| {
            format!("{:.2} s, {:.0} MiB", done.wall.as_secs_f64(), done.resident_bytes as f64 / MIB)
        },
    )?;
    let seconds = |what: &str, all: &[FinishedProcess], most: f64| {
        BenchRow::new(format!("{what}: s"), 2, all.iter().map(|done| done.wall.as_secs_f64()))
            .with_target(BenchTarget::AtMost(most))
    };
    let memory = |what: &str, all: &[FinishedProcess]| {
        BenchRow::new(format!("{what}: MiB"), 0, all.iter().map(|done| done.resident_bytes as f64 / MIB))
    };
    let times = [
        seconds("a page of 200 trials", &of_wide, 1.0),
        seconds("a page of half an hour", &of_half, 2.0),
        seconds("half an hour beside another", &beside, 2.0),
    ];
    let memories = [
        memory("40 trials of a minute", &of_short),
        memory("40 trials of ten minutes", &of_long),
        memory("200 trials of a minute", &of_wide),
    ];
    let growth = [
        BenchRow::ratio("MiB: 200 trials ÷ 40", &memories[2], &memories[0]).with_target(BenchTarget::AtMost(1.2)),
        BenchRow::ratio("MiB: ten minutes ÷ a minute", &memories[1], &memories[0]),
    ];
    let findings = findings(&times, &growth[0], arena);
    let rows = times.into_iter().chain(memories).chain(growth).collect();
    let notes = vec![
        format!(
            "each page is made by a process of its own from start to end; a second has {} histograms",
            recordings::HISTOGRAMS
        ),
        "all that was sampled of the trials that are drawn, 24 at most, is in memory at once".to_owned(),
    ];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

fn findings(times: &[BenchRow; 3], growth: &BenchRow, arena: &Arena) -> Vec<BenchFinding> {
    let [wide, half, beside] = times;
    vec![
        wide.finding("page-200-trials", arena),
        half.finding("page-half-an-hour", arena),
        beside.finding("compare-half-an-hour", arena),
        growth.finding("page-memory", arena),
    ]
}

fn page(arena: &Arena, recording: &Path) -> anyhow::Result<FinishedProcess> {
    let mut command = arena.plimsoll_alone("report");
    command.arg(recording).args(["--format", "html", "--output", "-"]);
    arena.run(command, PATIENCE)
}

fn compared(arena: &Arena, a: &Path, b: &Path) -> anyhow::Result<FinishedProcess> {
    let mut command = arena.plimsoll_alone("compare");
    command.args([a, b]).arg("--json");
    arena.run(command, PATIENCE)
}
