//! How soon a lab knows: as many rounds as were planned, against rounds that end by themselves, by restarts and by flips of
//! the running server. One side is slowed down by a known share; then both sides are equal, where each answer that names a
//! difference is wrong.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::plimsoll;
use anyhow::Context;
use plimsoll_model::comparison::Verdict;
use std::fs;
use std::time::{Duration, Instant};

/// Every update computes so many digests first: the server's CPU time for it is known, and its own work is little beside it.
const TRIGGER: &str = "CREATE DEFINER = 'root'@'localhost' TRIGGER sbtest.slow BEFORE UPDATE ON sbtest.sbtest1 FOR EACH ROW \
                       SET NEW.c = IF(BENCHMARK(@@GLOBAL.max_connect_errors, SHA2(NEW.c, 256)), '', NEW.c);\n";
const DIGESTS: u32 = 20_000;
/// 15 % fewer updates.
const SLOWED: u32 = 23_530;
/// A setting that can be flipped, and makes no difference.
const EQUAL: u32 = DIGESTS + 1;

const FIXED: &str = "rounds = 10\n";
const AUTO: &str = "rounds = \"auto\"\ndecide = \"5%\"\nmax_rounds = 20\n";
const FLIPS: &str = "rounds = \"auto\"\ndecide = \"5%\"\nmax_rounds = 20\n\
                     switchback = true\nwashout = \"500ms\"\nblock = \"2s\"\n";

/// Of a lab that takes all its rounds; the first one builds the dataset.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A guess: two trials of 5 s in a round, and as many rounds as each may need.
pub fn expected_seconds(pairs: u32) -> u64 {
    u64::from(pairs) * 2 * 5 * (10 + 5 + 5 + 15 + 15)
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let trigger = arena.scratch().join("slow.sql");
    fs::write(&trigger, TRIGGER).with_context(|| format!("writing {}", trigger.display()))?;
    let lab = |rounds: &'static str, digests: u32| move || Answer::of(arena, rounds, digests);
    // It builds the dataset that the others find.
    lab("rounds = 1\n", EQUAL)()?;
    let title = format!("verdicts on {}: a side that is 15 % slower, and sides that are equal", arena.label());
    let [fixed, auto, flips, equal_auto, equal_flips] = in_turn(
        &title,
        extent.pairs as usize,
        [
            ("slower, 10 rounds", &lab(FIXED, SLOWED)),
            ("slower, auto", &lab(AUTO, SLOWED)),
            ("slower, flips", &lab(FLIPS, SLOWED)),
            ("equal, auto", &lab(AUTO, EQUAL)),
            ("equal, flips", &lab(FLIPS, EQUAL)),
        ],
        |answer: &Answer| format!("{:?} after {:.0} s", answer.verdict, answer.seconds),
    )?;
    let planned = seconds("slower, 10 rounds", &fixed);
    let sooner = |what: &str, all: &[Answer]| {
        BenchRow::ratio(format!("{what} ÷ 10 rounds"), &seconds("", all), &planned)
            .with_target(BenchTarget::AtMost(0.5))
    };
    let (by_auto, by_flips) = (sooner("slower, auto", &auto), sooner("slower, flips", &flips));
    let (wrong_auto, wrong_flips) = (wrong("equal, auto", &equal_auto), wrong("equal, flips", &equal_flips));
    let findings = vec![
        by_auto.finding("verdicts-auto", arena),
        by_flips.finding("verdicts-flips", arena),
        wrong_auto.finding("verdicts-equal-auto", arena),
        wrong_flips.finding("verdicts-equal-flips", arena),
    ];
    let found = [("10 rounds", &fixed), ("auto", &auto), ("flips", &flips)].map(|(what, all)| found(what, all));
    let spent = [
        seconds("slower, auto", &auto),
        seconds("slower, flips", &flips),
        seconds("equal, auto", &equal_auto),
        seconds("equal, flips", &equal_flips),
    ];
    let judged = [planned, by_auto, by_flips, wrong_auto, wrong_flips];
    let rows = found.into_iter().chain(spent).chain(judged).collect();
    let notes = vec![format!(
        "an update computes {DIGESTS} digests; the slower side {SLOWED}, the equal one {EQUAL}; trials and blocks of 2 s"
    )];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

fn seconds(what: &str, all: &[Answer]) -> BenchRow {
    BenchRow::new(format!("{what}: s"), 0, all.iter().map(|answer| answer.seconds))
}

fn found(what: &str, all: &[Answer]) -> BenchRow {
    let found = share(all, |verdict| verdict == Verdict::Lower);
    BenchRow::new(format!("slower, {what}: found, %"), 0, found).with_target(BenchTarget::AtLeast(90.0))
}

fn wrong(what: &str, all: &[Answer]) -> BenchRow {
    let wrong = share(all, |verdict| matches!(verdict, Verdict::Lower | Verdict::Higher));
    BenchRow::new(format!("{what}: wrong, %"), 0, wrong).with_target(BenchTarget::AtMost(15.0))
}

/// The share of these verdicts, in percent; none without any.
fn share(answers: &[Answer], is_meant: impl Fn(Verdict) -> bool) -> Option<f64> {
    let meant = answers.iter().filter(|answer| is_meant(answer.verdict)).count();
    (!answers.is_empty()).then(|| 100.0 * meant as f64 / answers.len() as f64)
}

/// What a lab said, and the seconds until it did.
struct Answer {
    verdict: Verdict,
    seconds: f64,
}

impl Answer {
    /// Runs a lab with such rounds, in which one side computes `digests`.
    fn of(arena: &Arena, rounds: &str, digests: u32) -> anyhow::Result<Answer> {
        let plan = plan(&arena.scratch().join("slow.sql").display().to_string(), rounds, digests);
        let lab = plimsoll::lab(arena, "verdicts", &plan)?;
        let begun = Instant::now();
        let summary = plimsoll::summary_of_lab(arena, lab, PATIENCE)?;
        let seconds = begun.elapsed().as_secs_f64();
        let row = summary.comparisons.first().and_then(|comparison| comparison.rows.first());
        let verdict = row.with_context(|| format!("the lab compared nothing: {}", summary.headline))?.verdict;
        Ok(Answer { verdict, seconds })
    }
}

/// Every server makes the trigger when it starts; no update waits for the disk.
fn plan(trigger: &str, rounds: &str, digests: u32) -> String {
    format!(
        "name = \"verdicts\"\n\
         [server]\nconfig = {{ innodb_flush_log_at_trx_commit = 2, sync_binlog = 0, init_file = {trigger:?} }}\n\
         [workload]\nkind = \"oltp_update_non_index\"\ntables = 1\ntable_size = 10000\n\
         [load]\nconnections = [2]\n[trials]\nwarmup = \"500ms\"\nmeasure = \"2s\"\n{rounds}\
         [[variant]]\nname = \"base\"\nconfig = {{ max_connect_errors = {DIGESTS} }}\n\
         [[variant]]\nname = \"other\"\nconfig = {{ max_connect_errors = {digests} }}\n"
    )
}
