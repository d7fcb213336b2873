//! What advice is worth: Plimsoll's, MySQLTuner's and pt-variable-advisor's, each asked of the same servers under the same
//! load; the first five proposals of each are tried one by one.

mod look;
mod situation;
mod tried;

use super::{BenchExtent, BenchRow, BenchTarget, CountTable, PeerComparison};
use crate::arena::Arena;
use crate::peers::advisors::{Advised, Advisor};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use situation::{SITUATIONS, Situation};
use std::fs;
use std::path::PathBuf;
use tried::{ProposalOutcome, TriedProposal, tried};

/// Of each advisor in each situation so many proposals are tried, the first.
const FIRST: usize = 5;

/// A guess, most of it for ladders on slow storage: each round of a rung has two trials.
pub fn expected_seconds() -> u64 {
    SITUATIONS.len() as u64 * (90 + Advisor::ALL.len() as u64 * 3 * 6 * 2 * 9)
}

/// What an advisor said in a situation, and what came of it; kept beside the servers so that the bench goes on where it was.
#[derive(Debug, Serialize, Deserialize)]
struct Counsel {
    advisor: Advisor,
    /// Of all that it said the first are tried.
    made: usize,
    tried: Vec<TriedProposal>,
    /// Why it said nothing.
    silent: Option<String>,
}

pub fn compare(arena: &Arena, _: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("advice on {}: the first {FIRST} proposals of each, tried one by one", arena.label());
    eprintln!("{title}");
    let mut all: Vec<(&Situation, Counsel)> = Vec::new();
    for situation in SITUATIONS.iter().filter(|situation| situation.is_tried_on(arena.build().flavour)) {
        for counsel in counsels(arena, situation)? {
            all.push((situation, counsel));
        }
    }
    let of_own: Vec<&TriedProposal> = of(&all, Advisor::Plimsoll).collect();
    let worse = count(&of_own, |tried| tried.outcome == ProposalOutcome::Worse);
    let hidden = count(&of_own, |tried| tried.is_unsafe);
    let claimed: Vec<&TriedProposal> = of_own.into_iter().filter(|tried| tried.proposal.claims_gain).collect();
    let kept = count(&claimed, |tried| tried.outcome == ProposalOutcome::Helped);
    let share = (!claimed.is_empty()).then(|| 100.0 * kept as f64 / claimed.len() as f64);
    let rows = vec![
        BenchRow::new("Plimsoll’s, worse", 0, [worse as f64]).with_target(BenchTarget::AtMost(0.0)),
        BenchRow::new("Plimsoll’s, unsafe and not labelled", 0, [hidden as f64]).with_target(BenchTarget::AtMost(0.0)),
        BenchRow::new("Plimsoll’s that claim a gain: bring one, %", 0, share).with_target(BenchTarget::AtLeast(70.0)),
    ];
    let names = ["advise-worse", "advise-unsafe", "advise-gain"];
    let findings = names.iter().zip(&rows).map(|(name, row)| row.finding(name, arena)).collect();
    let silent = all.iter().filter_map(|(situation, counsel)| {
        Some(format!("{} of {}: {}", counsel.advisor.name(), situation.name, counsel.silent.as_ref()?))
    });
    let notes = all.iter().flat_map(|(situation, counsel)| told(situation, counsel)).chain(silent).collect();
    Ok(PeerComparison { title, rows, counts: Some(counts(&all)), findings, notes })
}

/// What all advisors say of this situation and what came of it, made or found.
fn counsels(arena: &Arena, situation: &Situation) -> anyhow::Result<Vec<Counsel>> {
    let directory = arena.home()?.path().join("advise");
    fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
    let path = |advisor: Advisor| -> PathBuf {
        let server = arena.label().replace(' ', "-").to_lowercase();
        directory.join(format!("{server}-{}-{}.json", situation.slug(), advisor.slug()))
    };
    let found = |advisor| fs::read(path(advisor)).ok().and_then(|text| serde_json::from_slice::<Counsel>(&text).ok());
    if let Some(found) = Advisor::ALL.into_iter().map(found).collect::<Option<Vec<Counsel>>>() {
        eprintln!("  {}: as it was found", situation.name);
        return Ok(found);
    }
    eprintln!("  {}: looking at it", situation.name);
    let advised = look::advised(arena, situation)?;
    let counsel = |(advisor, advised): (Advisor, Advised)| {
        if let Some(found) = found(advisor) {
            return Ok(found);
        }
        let counsel = Counsel::of(arena, situation, advisor, advised)?;
        fs::write(path(advisor), serde_json::to_vec_pretty(&counsel)?)?;
        Ok(counsel)
    };
    advised.into_iter().map(counsel).collect()
}

impl Counsel {
    fn of(arena: &Arena, situation: &Situation, advisor: Advisor, advised: Advised) -> anyhow::Result<Counsel> {
        let mut proposals = match advised {
            Advised::Said(proposals) => proposals,
            Advised::Nothing(why) => {
                eprintln!("    {}: {why}", advisor.name());
                return Ok(Counsel { advisor, made: 0, tried: Vec::new(), silent: Some(why) });
            }
        };
        let made = proposals.len();
        proposals.truncate(FIRST);
        eprintln!("    {}: {made} proposals, trying {}", advisor.name(), proposals.len());
        Ok(Counsel { advisor, made, tried: tried(arena, situation, proposals)?, silent: None })
    }
}

/// Everything that was tried of an advisor.
fn of<'a>(all: &'a [(&Situation, Counsel)], advisor: Advisor) -> impl Iterator<Item = &'a TriedProposal> {
    all.iter().filter(move |(_, counsel)| counsel.advisor == advisor).flat_map(|(_, counsel)| &counsel.tried)
}

fn count(tried: &[&TriedProposal], is_meant: impl Fn(&TriedProposal) -> bool) -> usize {
    tried.iter().filter(|tried| is_meant(tried)).count()
}

fn counts(all: &[(&Situation, Counsel)]) -> CountTable {
    let header = vec![
        "advisor",
        "made",
        "tried",
        "helped",
        "no effect",
        "worse",
        "not measurable here",
        "refused by the server",
        "no setting",
        "unsafe, not labelled",
    ];
    let row = |advisor: Advisor| {
        let made: usize = all.iter().filter(|(_, of)| of.advisor == advisor).map(|(_, of)| of.made).sum();
        let tried: Vec<&TriedProposal> = of(all, advisor).collect();
        let ended = |outcome| count(&tried, |tried| tried.outcome == outcome);
        let numbers = [
            made,
            tried.len(),
            ended(ProposalOutcome::Helped),
            ended(ProposalOutcome::NoEffect),
            ended(ProposalOutcome::Worse),
            ended(ProposalOutcome::NotMeasurable),
            ended(ProposalOutcome::Refused),
            ended(ProposalOutcome::NoChange),
            count(&tried, |tried| tried.is_unsafe),
        ];
        std::iter::once(advisor.name().to_owned()).chain(numbers.map(|number| number.to_string())).collect()
    };
    CountTable { header, rows: Advisor::ALL.map(row).to_vec() }
}

/// `healthy, mysqltuner (Debian): tmp_table_size = 33554432: no effect, +0.3 % (−2.0 % to +2.5 %)`.
fn told<'a>(situation: &'a Situation, counsel: &'a Counsel) -> impl Iterator<Item = String> + 'a {
    counsel.tried.iter().map(move |tried| {
        let what = match &tried.proposal.change {
            Some((setting, value)) => format!("{setting} = {value}"),
            None => tried.proposal.text.clone(),
        };
        let change = tried.change.as_ref().map(|change| format!(", {}", plimsoll_advice::measured::gain_words(change)));
        let (who, outcome) = (counsel.advisor.name(), tried.outcome.words());
        format!("{}, {who}: {what}: {outcome}{}", situation.name, change.unwrap_or_default())
    })
}
