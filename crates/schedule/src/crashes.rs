//! Faults under load: of each kind so many trials for every variant. They take turns, so that a drift of the machine
//! affects all alike; each fault of a round comes at the same moment for all variants.

use crate::draw;
use crate::labels::crash_label;
use crate::stage::{Amount, Stage, UnplacedTrial};
use crate::trial::EndedTrial;
use plimsoll_load::seed::Rng;
use plimsoll_model::FaultKind;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{CrashRules, PlannedFault, Variant};

/// Keeps what is drawn of faults apart from everything else: "crash" in ASCII.
const FAULTS: u64 = 0x63_7261_7368;

pub(crate) struct Crashes {
    turns: Vec<UnplacedTrial>,
    ended: usize,
}

impl Crashes {
    pub fn new(plan: &LabPlan) -> Crashes {
        let rounds = plan.crash.iter().flat_map(|rules| {
            (1..=rules.trials).flat_map(move |round| rules.faults.iter().map(move |kind| (rules, round, *kind)))
        });
        let turns = rounds.flat_map(|(rules, round, kind)| turns(plan, rules, round, kind)).collect();
        Crashes { turns, ended: 0 }
    }
}

/// One fault for each variant.
fn turns(plan: &LabPlan, rules: &CrashRules, round: u32, kind: FaultKind) -> Vec<UnplacedTrial> {
    let fault = rules.again.unwrap_or_else(|| fault(plan.seed, rules, round, kind));
    let turn = |variant: &Variant| {
        let point = *variant.load.points.first()?;
        let label = crash_label(&variant.name, kind);
        Some(UnplacedTrial {
            label,
            variant: variant.clone(),
            point,
            round,
            block: None,
            fault: Some(fault),
            load_seed: fault.load_seed,
        })
    };
    let drawn = draw::order(plan.variants.iter().collect(), plan.seed, kind.name(), round, 0);
    drawn.into_iter().filter_map(turn).collect()
}

/// When the fault of a round comes, and what is drawn in it.
fn fault(seed: u64, rules: &CrashRules, round: u32, kind: FaultKind) -> PlannedFault {
    let mut rng = Rng::new(seed, FAULTS ^ (kind as u64) << 48, round.into());
    let after_seconds = rules.load_seconds * (0.5 + rng.unit() / 2.0);
    PlannedFault { kind, seed: rng.next_u64(), after_seconds, after_commits: None, load_seed: None }
}

impl Stage for Crashes {
    fn next(&self) -> Option<UnplacedTrial> {
        self.turns.get(self.ended).cloned()
    }

    fn tell(&mut self, _: &EndedTrial) {
        self.ended += 1;
    }

    fn about(&self) -> Amount {
        Amount::of(self.turns.len(), false)
    }
}
