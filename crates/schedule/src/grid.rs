//! All variants at all load points, round by round.

use crate::draw;
use crate::explained;
use crate::labels::label;
use crate::pairing::{Outcomes, PairedVariants};
use crate::stage::{Amount, Stage, UnplacedTrial};
use crate::stopping::{ComparisonState, criterion, is_hopeless, of_pairs};
use crate::switchback;
use crate::trial::EndedTrial;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::worse_by_more_than;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_model::stopping::restarted_label;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::pairs::{pairs, points};
use plimsoll_plan::lab::{Order, StoppingRule, SwitchbackBlock, TrialRules, Variant};
use plimsoll_stats::sides::Criterion;
use plimsoll_stats::switchback::{Switched, SwitchedPair};

/// A list of trials that grows by a round where outcomes decide who takes part in it.
pub struct Grid {
    seed: u64,
    rules: TrialRules,
    variants: Vec<Variant>,
    turns: Vec<Place>,
    ended: usize,
    /// Of the turns that have ended, where something depends on them.
    outcomes: Vec<TrialOutcome>,
    /// The variants of each comparison, by their places among all.
    comparisons: Vec<[usize; 2]>,
    /// The places of comparisons that are not decided yet, where that ends them.
    open: Vec<usize>,
    /// Where rounds end when they have shown enough.
    stopping: Option<(StoppingRule, Criterion)>,
    turning: Turning,
}

/// Whether variants take turns on a running server.
#[derive(Clone, Copy)]
enum Turning {
    /// Each trial starts a server of its own.
    Never,
    Still,
    /// Something was carried over from one to another.
    NoLonger,
}

/// A trial of a grid, with its variant by its place among all.
#[derive(Clone, Copy, Debug)]
struct Place {
    variant: usize,
    point: LoadPoint,
    round: u32,
    block: Option<SwitchbackBlock>,
}

impl Grid {
    pub fn new(plan: &LabPlan, variants: &[&Variant]) -> Grid {
        let comparisons = pairs(variants);
        let among = comparisons.len();
        let stopping = plan.trials.stopping.filter(|_| among > 0).map(|rule| (rule, criterion(&plan.trials, among)));
        let mut grid = Grid {
            seed: plan.seed,
            rules: plan.trials.clone(),
            variants: variants.iter().map(|variant| (*variant).clone()).collect(),
            turns: Vec::new(),
            ended: 0,
            outcomes: Vec::new(),
            open: (0..among).collect(),
            comparisons,
            stopping,
            turning: if plan.trials.switchback.is_some() { Turning::Still } else { Turning::Never },
        };
        grid.turns = match (plan.trials.order, &grid.stopping) {
            (Order::Sequential, _) => grid.sequential(),
            (Order::Interleaved, Some(_)) => grid.round(1),
            (Order::Interleaved, None) => (1..=plan.trials.rounds).flat_map(|round| grid.round(round)).collect(),
        };
        grid
    }

    /// All variants that take part, point by point, in an order drawn anew each time: those to be compared are
    /// neighbours in time, and none is always first.
    fn round(&self, round: u32) -> Vec<Place> {
        let variants: Vec<&Variant> = self.variants.iter().collect();
        let mut turns = Vec::new();
        for (place, point) in points(&variants).into_iter().enumerate() {
            let there = |variant: &usize| self.takes_part(*variant) && variants[*variant].load.points.contains(&point);
            let drawn = draw::order((0..variants.len()).filter(there).collect(), self.seed, "", round, place);
            let blocks: &[Option<SwitchbackBlock>] = match self.turning {
                Turning::Still => &switchback::BLOCKS.map(Some),
                Turning::Never | Turning::NoLonger => &[None],
            };
            let turn = |variant| blocks.iter().map(move |block| Place { variant, point, round, block: *block });
            turns.extend(drawn.into_iter().flat_map(turn));
        }
        turns
    }

    fn takes_part(&self, variant: usize) -> bool {
        self.stopping.is_none() || self.open.iter().any(|place| self.comparisons[*place].contains(&variant))
    }

    fn sequential(&self) -> Vec<Place> {
        let mut turns = Vec::new();
        for (place, variant) in self.variants.iter().enumerate() {
            for round in 1..=self.rules.rounds {
                let turn = |point: &LoadPoint| Place { variant: place, point: *point, round, block: None };
                turns.extend(variant.load.points.iter().map(turn));
            }
        }
        turns
    }

    /// After a round: leaves out what is decided, and begins the next round if something is open and there is time.
    fn go_on(&mut self) {
        let Some((rule, criterion)) = &self.stopping else { return };
        let ended = self.turns.last().map_or(0, |turn| turn.round);
        let taken: f64 = self.outcomes.iter().map(TrialOutcome::seconds).sum();
        let labels: Vec<String> = self.turns.iter().map(|turn| self.label(turn)).collect();
        let mut outcomes = Outcomes::default();
        for ((turn, label), outcome) in self.turns.iter().zip(&labels).zip(&self.outcomes) {
            outcomes.insert(label, turn.point, turn.round, outcome);
        }
        let paired =
            |[a, b]: &[usize; 2]| PairedVariants::new(&self.variants[*a], &self.variants[*b], &outcomes, ended);
        let all: Vec<PairedVariants<'_>> = self.comparisons.iter().map(paired).collect();
        let has_time = rule.max_seconds.is_none_or(|most| taken < most);
        let (pairs, _) = explained::pairs(&self.rules, &all, ended);
        let state = |place: &usize| of_pairs(&pairs[*place], all[*place].deciding(), criterion, rule, ended);
        let open = match self.turning {
            Turning::Still => self.turned(&all, rule, criterion, ended),
            Turning::Never | Turning::NoLonger => {
                Some(self.open.iter().copied().filter(|place| state(place) == ComparisonState::Open).collect())
            }
        };
        let next = match open {
            Some(open) => {
                self.open = open;
                ended + 1
            }
            None => {
                self.turning = Turning::NoLonger;
                self.open = (0..self.comparisons.len()).collect();
                1
            }
        };
        if has_time && next <= self.rules.rounds {
            self.turns.extend(self.round(next));
        }
    }

    /// The comparisons of a switchback that are still open; none if something is carried over in one of them.
    fn turned(
        &self,
        all: &[PairedVariants<'_>],
        rule: &StoppingRule,
        criterion: &Criterion,
        ended: u32,
    ) -> Option<Vec<usize>> {
        let mut open = Vec::new();
        for place in self.open.iter().copied() {
            let rounds = switchback::rounds(&all[place]);
            match switchback::judged(&rounds, criterion, rule.decide) {
                Switched::Lingers => return None,
                _ if is_hopeless(rounds.len(), ended) => {}
                Switched::Decided if is_known(rule, criterion, &rounds, all[place].deciding()) => {}
                Switched::Open | Switched::Decided => open.push(place),
            }
        }
        Some(open)
    }

    fn label(&self, turn: &Place) -> String {
        let name = &self.variants[turn.variant].name;
        match (self.turning, turn.block) {
            (_, Some(block)) => label(name, block),
            (Turning::NoLonger, None) => restarted_label(name),
            (Turning::Never | Turning::Still, None) => name.clone(),
        }
    }
}

/// Whether rounds of a switchback tell what a gate asks, if there is one.
fn is_known(rule: &StoppingRule, criterion: &Criterion, rounds: &[SwitchedPair], deciding: Metric) -> bool {
    let Some(limit) = rule.fail_if_slower else { return true };
    let seconds: Vec<(f64, f64)> = rounds.iter().map(|round| round.second).collect();
    let change = criterion.paired(&seconds);
    change.is_ok_and(|change| worse_by_more_than(&change, deciding.more_is_better(), limit).is_some())
}

impl Stage for Grid {
    fn next(&self) -> Option<UnplacedTrial> {
        let turn = self.turns.get(self.ended)?;
        let variant = self.variants.get(turn.variant)?.clone();
        Some(UnplacedTrial {
            label: self.label(turn),
            variant,
            point: turn.point,
            round: turn.round,
            block: turn.block,
            fault: None,
            load_seed: None,
        })
    }

    fn tell(&mut self, EndedTrial { outcome, .. }: &EndedTrial) {
        self.ended += 1;
        if self.stopping.is_some() {
            self.outcomes.push(outcome.clone());
        }
        if self.ended == self.turns.len() {
            self.go_on();
        }
    }

    /// As if nothing that is open were decided before its last round.
    fn about(&self) -> Amount {
        let rounds = self.turns.last().map_or(0, |turn| turn.round);
        let to_come = if self.stopping.is_some() { self.rules.rounds - rounds } else { 0 };
        let is_turning = matches!(self.turning, Turning::Still);
        let blocks = if is_turning { switchback::BLOCKS.len() } else { 1 };
        let of_round = |variant: usize| blocks * self.variants[variant].load.points.len();
        let each: usize = (0..self.variants.len()).filter(|variant| self.takes_part(*variant)).map(of_round).sum();
        let begun: Amount = self.turns.iter().map(|turn| Amount::of(1, turn.block.is_some())).sum();
        begun + Amount::of(each * to_come as usize, is_turning)
    }
}
