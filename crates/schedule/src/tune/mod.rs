//! A search for better settings that keeps its word: what it found is confirmed on other data against today's configuration,
//! and each setting of it has to show what it is worth.
//!
//! First today's configuration, again and again, which shows what chance does; the configurations that are tried in any case; some
//! that fill the space evenly; then what promises most by what the trials before have taught. What is believed to be best
//! is stripped of the settings that are believed to bring nothing, and confirmed in pairs. Each of its settings is put back
//! once, and what is left without those that bring nothing is confirmed again.

mod found;
mod interaction;
mod propose;
mod rates;
mod rounds;
mod search;
mod tried;

use crate::block::BlockSide;
use crate::draw;
use crate::quantity::deciding;
use crate::stage::{Amount, Stage, UnplacedTrial};
use crate::trial::EndedTrial;
pub use found::{FoundTune, TriedConfiguration, Worth};
pub use interaction::FoundInteraction;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_model::number::counted;
use plimsoll_model::{Estimate, LoadPoint, Metric};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::space::{Levels, SearchSpace, SettingLevel};
use plimsoll_plan::lab::tune::other_mix;
use plimsoll_plan::lab::{Change, PlannedWorkload, Setting, TrialPlan, TuneRules, Variant, Where};
use plimsoll_stats::sequential::Looks;
use rates::TriedRates;
use rounds::{Rounds, Taking, TrialValue};
use search::TuneSearch;
pub use search::{AT_FIRST, Winner};
use std::cell::OnceCell;

/// Of the time for everything, the shares of the search and of what confirms its winner; the rest is for what each setting is
/// worth.
const SEARCH: f64 = 0.55;
const CONFIRMATION: f64 = 0.25;
/// Of the time that is left for that, the share of other loads.
const ELSEWHERE: f64 = 0.4;
/// Fewer rounds show nothing, and more are nobody's.
const FEWEST_ROUNDS: usize = 3;
const MOST_CONFIRMING: usize = 20;
const MOST_FOR_WORTH: usize = 8;
/// A gain is known well enough if its interval reaches no further on either side than this share of it.
const CLOSE: f64 = 0.25;
/// A search of more trials than this is nobody's.
const MOST_SEARCHED: usize = 1_000;
/// What a trial takes beside warming up and measuring, seconds: a guess, as long as none has ended.
const AROUND: f64 = 6.0;
/// Keeps the seeds of what confirms apart from those of the search: "fresh" in ASCII.
const FRESH: u64 = 0x66_7265_7368;
/// Where the settings of a trial come from.
const ORIGIN: &str = "the search";

/// The search of a plan's variant.
pub(crate) struct TuneSchedule {
    base: Variant,
    rules: TuneRules,
    space: SearchSpace,
    seed: u64,
    point: LoadPoint,
    search: TuneSearch,
    winner: Option<Winner>,
    /// What follows the search, in the order in which it runs; the last one may not have ended.
    parts: Vec<(Part, Rounds)>,
    /// Of the configuration under way, where it is asked how much it carries within a limit.
    rates: Option<TriedRates>,
    /// Seconds that all trials took together, and how many there were.
    spent: f64,
    trials: usize,
    /// Configurations that have ended, each time that one was tried, and how long one was guessed to take.
    ended: usize,
    guess: f64,
    next: OnceCell<Option<UnplacedTrial>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The winner against today's configuration.
    Confirmation,
    /// The winner without each of its settings against the winner.
    Worths,
    /// What is left of the winner against today's configuration.
    Rest,
    /// What is kept against today's configuration under another load, by its place among them.
    Elsewhere(usize),
}

/// Another load than the one that is searched.
struct OtherLoad {
    name: String,
    point: LoadPoint,
    workload: PlannedWorkload,
}

impl TuneSchedule {
    /// `None` if the plan has no search, or if it is not known yet what may be tried.
    pub fn new(plan: &LabPlan) -> Option<TuneSchedule> {
        let rules = plan.tune.clone()?;
        let space = rules.space.clone()?;
        let base = plan.variants.first()?.clone();
        let point = *base.load.points.first()?;
        let search = TuneSearch::new(&rules, &space, plan.seed);
        let trial = AROUND + plan.trials.about_warm_up() + plan.trials.about_measured();
        let (rates, guess) = (rules.line_within().map(|keep| TriedRates::new(keep, None)), rules.trials_each() * trial);
        Some(TuneSchedule {
            base,
            rules,
            space,
            seed: plan.seed,
            point,
            search,
            winner: None,
            parts: Vec::new(),
            rates,
            spent: 0.0,
            trials: 0,
            ended: 0,
            guess,
            next: OnceCell::new(),
        })
    }

    /// What the trials so far show.
    pub fn found(&self) -> FoundTune {
        found::found(self)
    }

    fn metric(&self) -> Metric {
        self.rules.objective.metric().unwrap_or_else(|| deciding(&[self.point], self.search.outcomes()))
    }

    fn label(&self, name: &str) -> String {
        format!("{}/tune/{name}", self.base.name)
    }

    /// The server with these settings.
    fn variant(&self, levels: &[SettingLevel]) -> Variant {
        let setting = |(name, value): (&str, String)| Setting {
            name: name.to_owned(),
            value,
            at: Where { file: ORIGIN.to_owned(), line: 0 },
            from_file: false,
        };
        let config = self.space.changed(levels).into_iter().map(setting).collect();
        self.base.with(&self.base.name, &Change { config, ..Change::default() })
    }

    /// The same on data that the search has not seen.
    fn side(&self, name: &str, levels: &[SettingLevel]) -> BlockSide {
        let mut variant = self.variant(levels);
        if variant.workload.dataset.is_none() {
            variant.workload.seed = variant.workload.seed.wrapping_add(1);
        }
        BlockSide { label: self.label(name), variant }
    }

    /// How many configurations there would be time for.
    fn affordable(&self, seconds: f64) -> usize {
        let each = if self.ended == 0 { self.guess } else { self.spent / self.ended as f64 };
        (seconds / each.max(f64::MIN_POSITIVE)) as usize
    }

    fn left(&self) -> f64 {
        (self.rules.seconds - self.spent).max(0.0)
    }

    fn begin(&mut self, part: Part, against: BlockSide, sides: Vec<BlockSide>, rounds: usize) {
        self.begin_at(part, self.point, against, sides, rounds);
    }

    fn begin_at(&mut self, part: Part, point: LoadPoint, against: BlockSide, sides: Vec<BlockSide>, rounds: usize) {
        let looks = Looks::new(rounds, CONFIDENCE);
        self.parts.push((part, Rounds::new(against, sides, point, rounds as u32, looks, self.seed)));
    }

    fn go_on(&mut self) {
        match self.parts.last().map(|(part, _)| *part) {
            None => self.confirm(),
            Some(Part::Confirmation) => self.ask_for_worths(),
            Some(Part::Worths) => self.confirm_rest(),
            Some(Part::Rest) => self.look_elsewhere(0),
            Some(Part::Elsewhere(place)) => self.look_elsewhere(place + 1),
        }
    }

    /// Confirms what is believed to be best, if that is more than nothing.
    fn confirm(&mut self) {
        self.winner = self.search.winner(&self.space, &self.rules, self.metric());
        let Some(winner) = &self.winner else { return };
        let (today, found) =
            (self.side("confirmation/today", &self.space.today()), self.side("confirmation/found", &winner.levels));
        let rounds = self.affordable(CONFIRMATION * self.rules.seconds) / 2;
        self.begin(Part::Confirmation, today, vec![found], rounds.clamp(FEWEST_ROUNDS, MOST_CONFIRMING));
    }

    /// Puts each changed setting of a confirmed winner back once, if there is time.
    fn ask_for_worths(&mut self) {
        let Some(winner) = self.winner.as_ref().filter(|_| self.is_confirmed()) else { return };
        let places = self.worth_asking();
        let rounds = self.affordable((1.0 - ELSEWHERE) * self.left()) / (places.len() + 1);
        if winner.changed.len() < 2 || places.is_empty() || rounds < FEWEST_ROUNDS {
            return self.look_elsewhere(0);
        }
        let found = self.side("worth/found", &winner.levels);
        let without = |place: &usize| {
            let name = format!("worth/without/{}", self.space.dimensions[*place].name);
            self.side(&name, &self.space.without(&winner.levels, *place))
        };
        let sides = places.iter().map(without).collect();
        self.begin(Part::Worths, found, sides, rounds.min(MOST_FOR_WORTH));
    }

    /// Confirms what is left beside all of it, if something was dropped and there is time.
    fn confirm_rest(&mut self) {
        let (Some(rest), Some(winner)) = (self.rest(), &self.winner) else { return self.look_elsewhere(0) };
        let rounds = self.affordable(self.left()) / 3;
        if rounds < FEWEST_ROUNDS {
            return self.look_elsewhere(0);
        }
        let today = self.side("rest/today", &self.space.today());
        let sides = vec![self.side("rest/left", &rest), self.side("rest/found", &winner.levels)];
        self.begin(Part::Rest, today, sides, rounds.min(MOST_CONFIRMING));
    }

    /// Looks at what is kept of the winner under another load, if there is one more and time for it.
    fn look_elsewhere(&mut self, place: usize) {
        let Some(kept) = self.kept() else { return };
        let others = self.other_loads();
        let Some(load) = others.get(place) else { return };
        let rounds = self.affordable(self.left()) / (2 * (others.len() - place));
        if rounds < FEWEST_ROUNDS {
            return;
        }
        let side = |name: &str, levels: &[SettingLevel]| {
            let mut side = self.side(&format!("elsewhere/{}/{name}", place + 1), levels);
            side.variant.workload = PlannedWorkload { seed: side.variant.workload.seed, ..load.workload.clone() };
            side
        };
        let (today, found) = (side("today", &self.space.today()), side("found", &kept));
        self.begin_at(Part::Elsewhere(place), load.point, today, vec![found], rounds.min(MOST_FOR_WORTH));
    }

    /// Twice as many connections, half of them, and another mix.
    fn other_loads(&self) -> Vec<OtherLoad> {
        let connections = self.point.connections;
        let at = |connections: usize| OtherLoad {
            name: format!("at {}", counted(connections as f64, "connection")),
            point: LoadPoint { connections, ..self.point },
            workload: self.base.workload.clone(),
        };
        let mix = other_mix(&self.base.workload);
        let mix = mix.map(|(name, workload)| OtherLoad { name, point: self.point, workload });
        let half = (connections > 1).then(|| at(connections / 2));
        [Some(at(2 * connections)), mix, half].into_iter().flatten().collect()
    }

    /// What is kept of a confirmed winner: what is left of it if that was confirmed, else all of it.
    fn kept(&self) -> Option<Levels> {
        let winner = self.winner.as_ref().filter(|_| self.is_confirmed())?;
        Some(self.confirmed_rest().unwrap_or_else(|| winner.levels.clone()))
    }

    /// What is left of the winner, if it beats today's configuration, and is not worse than all of the winner by what counts.
    fn confirmed_rest(&self) -> Option<Levels> {
        let loss = self.part(Part::Rest)?.lead(Taking::Side(0), Taking::Side(1), &self.measured())?.value;
        self.rest().filter(|_| self.shows_gain(Part::Rest) && loss > -self.rules.decide)
    }

    /// The winner without the settings that were tried and not shown to bring anything; `None` if all were, or none, or if a
    /// limit is in the way.
    fn rest(&self) -> Option<Levels> {
        let winner = self.winner.as_ref()?;
        self.part(Part::Worths)?;
        let is_idle = |place: &usize| {
            let worth = self.worth(*place).and_then(|worth| worth.interval());
            worth.is_some_and(|(low, _)| low <= 0.0)
        };
        let dropped: Vec<usize> = winner.changed.iter().copied().filter(is_idle).collect();
        if dropped.is_empty() || dropped.len() == winner.changed.len() {
            return None;
        }
        let rest = dropped.into_iter().fold(winner.levels.clone(), |levels, place| self.space.without(&levels, place));
        self.space.exceeded(&rest).is_none().then_some(rest)
    }

    /// The places of the winner's settings that can be put back within the limits.
    fn worth_asking(&self) -> Vec<usize> {
        let Some(winner) = &self.winner else { return Vec::new() };
        let can_be_back = |place: &usize| self.space.exceeded(&self.space.without(&winner.levels, *place)).is_none();
        winner.changed.iter().copied().filter(can_be_back).collect()
    }

    fn part(&self, part: Part) -> Option<&Rounds> {
        self.parts.iter().find(|(of, _)| *of == part).map(|(_, rounds)| rounds)
    }

    /// By how much the winner, or what is left of it, beats today's configuration: a share.
    fn gain(&self, part: Part) -> Option<Estimate> {
        self.part(part)?.lead(Taking::Side(0), Taking::Against, &self.measured())
    }

    /// What the setting at a place brings to the winner, as a share.
    fn worth(&self, place: usize) -> Option<Estimate> {
        let side = self.worth_asking().iter().position(|of| *of == place)?;
        self.part(Part::Worths)?.lead(Taking::Against, Taking::Side(side), &self.measured())
    }

    /// What a trial did, whether it kept what has to hold or not.
    fn measured(&self) -> impl Fn(&TrialOutcome) -> Option<f64> + use<> {
        let metric = self.metric();
        move |outcome: &TrialOutcome| search::measured(outcome, metric)
    }

    /// In how many rounds of a part what was found failed, or missed what has to hold.
    fn misses(&self, part: Part) -> usize {
        let metric = self.metric();
        let held = |outcome: &TrialOutcome| search::value(outcome, &self.rules, metric);
        self.part(part).map_or(0, |rounds| rounds.misses(0, &self.measured(), &held))
    }

    /// Whether a part shows that what was found is better, by what counts as a gain or perhaps so, and held what has to hold.
    fn shows_gain(&self, part: Part) -> bool {
        let ends = self.gain(part).and_then(|gain| gain.interval());
        ends.is_some_and(|(low, high)| low > 0.0 && high >= self.rules.decide) && self.misses(part) == 0
    }

    fn is_confirmed(&self) -> bool {
        self.shows_gain(Part::Confirmation)
    }

    fn planned(&self) -> Option<UnplacedTrial> {
        if let Some(turn) = self.parts.last().and_then(|(_, rounds)| rounds.next()) {
            let load_seed = Some(draw::seed(self.seed ^ FRESH, turn.round));
            return Some(UnplacedTrial { load_seed, point: self.point_now(turn.point), ..turn.clone() });
        }
        let (name, levels) = self.search.next(&self.space, &self.rules, self.metric())?;
        Some(self.searched(&name, &levels))
    }

    /// A trial of the search.
    fn searched(&self, name: &str, levels: &[SettingLevel]) -> UnplacedTrial {
        UnplacedTrial {
            label: self.label(name),
            variant: self.variant(levels),
            point: self.point_now(self.point),
            // The same load for everything that is tried once.
            round: 1 + self.search.repeats(name),
            block: None,
            fault: None,
            load_seed: None,
        }
    }

    /// What the next trial is called if it is one of the search.
    fn searching(&self) -> Option<String> {
        let is_of_a_part = self.parts.last().is_some_and(|(_, rounds)| rounds.next().is_some());
        self.search.label().filter(|_| !is_of_a_part)
    }

    /// A load point at the rate that is next, where rates are asked for.
    fn point_now(&self, point: LoadPoint) -> LoadPoint {
        LoadPoint { rate: self.rates.as_ref().map_or(point.rate, TriedRates::rate), ..point }
    }

    /// What the configuration under way comes to; none as long as it takes more trials.
    fn evaluated(&mut self, outcome: &TrialOutcome) -> Option<TrialOutcome> {
        let Some(rates) = &mut self.rates else { return Some(outcome.clone()) };
        let evaluated = rates.tell(outcome)?;
        self.rates = Some(rates.of_another());
        Some(evaluated)
    }

    fn tell_search(&mut self, trial: &TrialPlan, outcome: &TrialOutcome) {
        let levels = self.space.levels_in(&trial.variant.config).unwrap_or_else(|| self.space.today());
        self.search.tell(levels, outcome);
        let is_enough = self.spent >= SEARCH * self.rules.seconds || self.ended >= MOST_SEARCHED;
        if is_enough || self.search.is_hopeless(self.metric()) {
            self.search.end();
            self.go_on();
        }
    }
}

/// The sides of a part that need more rounds for what is done next to be known.
struct OpenSides<'a> {
    part: Part,
    rounds: &'a Rounds,
    decide: f64,
    measured: TrialValue<'a>,
    held: TrialValue<'a>,
}

impl OpenSides<'_> {
    fn all(&self) -> Vec<usize> {
        let open: Vec<usize> = (0..self.rounds.sides()).filter(|place| self.is_open(*place)).collect();
        match self.part {
            // All of the winner is there for what is left of it to be held against.
            Part::Rest if open.contains(&0) => vec![0, 1],
            Part::Rest => Vec::new(),
            _ => open,
        }
    }

    fn is_open(&self, place: usize) -> bool {
        let OpenSides { part, rounds, decide, measured, held } = self;
        let has_to_hold = matches!(part, Part::Confirmation | Part::Rest);
        if has_to_hold && rounds.misses(place, measured, held) > 0 {
            return false;
        }
        let side = Taking::Side(place);
        let (first, second) = if *part == Part::Worths { (Taking::Against, side) } else { (side, Taking::Against) };
        // Where nothing can be measured, more rounds tell nothing.
        let Some(lead) = rounds.lead(first, second, measured) else { return rounds.rounds() < FEWEST_ROUNDS };
        let Some((low, high)) = lead.interval() else { return true };
        match part {
            Part::Worths => low <= 0.0 && high >= *decide,
            Part::Confirmation | Part::Rest | Part::Elsewhere(_) => {
                high >= 0.0 && (low <= 0.0 || high - low > CLOSE * (low + high))
            }
        }
    }
}

impl Stage for TuneSchedule {
    fn next(&self) -> Option<UnplacedTrial> {
        self.next.get_or_init(|| self.planned()).clone()
    }

    fn has_next(&self) -> bool {
        !self.search.is_over() || self.parts.last().is_some_and(|(_, rounds)| rounds.next().is_some())
    }

    /// By its name alone: what promises most takes long to find, and a trial says itself what it tried.
    fn awaits(&self, trial: &TrialPlan) -> bool {
        match self.parts.last().and_then(|(_, rounds)| rounds.next()) {
            Some(turn) => UnplacedTrial { point: self.point_now(turn.point), ..turn.clone() }.is(trial),
            None => {
                let is_named = self.search.label().is_some_and(|name| trial.label == self.label(&name));
                is_named && trial.point == self.point_now(self.point)
            }
        }
    }

    fn again(&self, recorded: &TrialPlan) -> Option<UnplacedTrial> {
        let name = self.searching().filter(|name| recorded.label == self.label(name));
        let read = name.and_then(|name| Some(self.searched(&name, &self.space.levels_in(&recorded.variant.config)?)));
        read.or_else(|| self.next())
    }

    fn tell(&mut self, ended: &EndedTrial) {
        self.next = OnceCell::new();
        self.spent += ended.outcome.seconds();
        self.trials += 1;
        let Some(outcome) = self.evaluated(&ended.outcome) else { return };
        self.ended += 1;
        let (metric, has_time) = (self.metric(), self.left() > 0.0);
        let Some((part, rounds)) = self.parts.last_mut() else { return self.tell_search(&ended.trial, &outcome) };
        let (part, rules) = (*part, &self.rules);
        let measured = |outcome: &TrialOutcome| search::measured(outcome, metric);
        let held = |outcome: &TrialOutcome| search::value(outcome, rules, metric);
        rounds.tell(&outcome, |rounds| match part {
            // The answer itself gets its rounds.
            Part::Worths | Part::Rest | Part::Elsewhere(_) if !has_time => Vec::new(),
            _ => OpenSides { part, rounds, decide: rules.decide, measured: &measured, held: &held }.all(),
        });
        if rounds.next().is_none() {
            self.go_on();
        }
    }

    fn about(&self) -> Amount {
        let each = if self.ended == 0 { self.rules.trials_each() } else { self.trials as f64 / self.ended as f64 };
        let to_come = if self.has_next() { (each * self.affordable(self.left()) as f64) as usize } else { 0 };
        Amount::of(self.trials + to_come, false)
    }
}
