//! Sides that take turns on one running server, some of which leave something behind.

use crate::noise::{autoregression, generator, normal};
use crate::table::{Row, Wanted};
use fastrand::Rng;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_stats::comparison::paired;
use plimsoll_stats::sequential::Looks;
use plimsoll_stats::switchback::{Switched, SwitchedPair, switched};

/// Standard deviation of a block, half of its variance a drift of the machine.
const DEVIATION: f64 = 0.03;
const CORRELATION: f64 = 0.6;
const DECIDE: f64 = 0.02;
const ROUNDS: usize = 40;
/// In blocks: how long a side runs unmeasured before each of its blocks, and how finely time is cut.
const WASH_OUT: f64 = 0.5;
const STEPS: usize = 10;
/// Nothing is asked of it: how far the method reaches.
const SHOWN: Wanted = Wanted { least: 0.0, most: 1.0 };

/// What one side does to the logarithm of the other's throughput: at once, and in the end beside that.
#[derive(Clone, Copy)]
struct Effect {
    at_once: f64,
    later: f64,
    /// The time constant of what comes later, in blocks.
    constant: f64,
}

impl Effect {
    fn at_once(size: f64) -> Effect {
        Effect { at_once: size, later: 0.0, constant: 1.0 }
    }

    /// It gains at once and pays half as much again later: a change for the worse that looks like one for the better.
    fn debt(constant: f64) -> Effect {
        Effect { at_once: 0.1, later: -0.15, constant }
    }

    /// It comes slowly.
    fn slow(constant: f64) -> Effect {
        Effect { at_once: 0.0, later: 0.1, constant }
    }

    fn in_the_end(self) -> f64 {
        self.at_once + self.later
    }
}

enum End {
    Lingers,
    /// With this change, the logarithm of a ratio.
    Decided(f64),
    Open,
}

pub fn rows(simulations: usize) -> Vec<Row> {
    let looks = Looks::new(ROUNDS, CONFIDENCE);
    let mut rows = Vec::new();
    let mut row = |estimator, situation: String, effect: Effect, wanted, is: &dyn Fn(&End, f64) -> bool| {
        let number = 900 + rows.len() as u64;
        let ends = (0..simulations).map(|simulation| ends(&mut generator(number, simulation), effect, &looks));
        let share = ends.filter(|end| is(end, effect.in_the_end())).count() as f64 / simulations as f64;
        rows.push(Row { estimator, situation, n: ROUNDS, share, wanted, half_width: None });
    };
    let differs = |end: &End, _: f64| matches!(end, End::Decided(change) if change.abs() > DECIDE.ln_1p());
    let lingers = |end: &End, _: f64| matches!(end, End::Lingers);
    let is_wrong = |end: &End, truth: f64| matches!(end, End::Decided(change) if change * truth < 0.0 && change.abs() > DECIDE.ln_1p());
    let is_decided = |end: &End, _: f64| matches!(end, End::Decided(_));
    row("switchback, a difference", "none, blocks 3 %".into(), Effect::at_once(0.0), Wanted::FALSE_ALARMS, &differs);
    for size in [0.0, 0.1] {
        let situation = format!("a change of {:.0} % at once, blocks 3 %", 100.0 * size);
        row("switchback, carried over", situation, Effect::at_once(size), Wanted::FALSE_ALARMS, &lingers);
    }
    let situation = "a change of 10 % at once, blocks 3 %".to_owned();
    row("switchback, decided", situation, Effect::at_once(0.1), Wanted::POWER, &is_decided);
    for (constant, wanted) in
        [(0.25, Wanted::RARELY), (0.5, Wanted::RARELY), (1.0, Wanted::RARELY), (2.0, Wanted::RARELY), (8.0, SHOWN)]
    {
        let situation = format!("10 % more at once, 5 % less in the end, time constant {constant} × a block");
        row("switchback, a wrong sign", situation, Effect::debt(constant), wanted, &is_wrong);
        let situation = format!("10 % in the end, time constant {constant} × a block");
        row("switchback, a wrong sign", situation, Effect::slow(constant), wanted, &is_wrong);
    }
    for constant in [1.0, 2.0, 8.0] {
        let situation = format!("10 % more at once, 5 % less in the end, time constant {constant} × a block");
        row("switchback, carried over", situation, Effect::debt(constant), SHOWN, &lingers);
    }
    rows
}

/// A plan that looks after every round.
fn ends(rng: &mut Rng, effect: Effect, looks: &Looks) -> End {
    let drift = autoregression(rng, 4 * ROUNDS, CORRELATION);
    let mut server = Server { effect, later: 0.0 };
    let mut rounds = Vec::new();
    for of_round in drift.chunks(4) {
        let swapped = rng.bool();
        let mut side = |server: &mut Server, is_b: bool, drift: &[f64]| {
            [drift[0], drift[1]].map(|drift| {
                let noise = DEVIATION / 2f64.sqrt() * (drift + normal(rng));
                (server.block(is_b) + noise).exp()
            })
        };
        let one = side(&mut server, swapped, &of_round[..2]);
        let other = side(&mut server, !swapped, &of_round[2..]);
        let (a, b) = if swapped { (other, one) } else { (one, other) };
        rounds.push(SwitchedPair { first: (a[0], b[0]), second: (a[1], b[1]) });
        match switched(&rounds, looks, DECIDE) {
            Switched::Open => {}
            Switched::Lingers => return End::Lingers,
            Switched::Decided => {
                let seconds: Vec<(f64, f64)> = rounds.iter().map(|round| round.second).collect();
                return paired(&seconds, CONFIDENCE).map_or(End::Open, |change| End::Decided(change.value.ln_1p()));
            }
        }
    }
    End::Open
}

struct Server {
    effect: Effect,
    /// What has come so far of what comes later.
    later: f64,
}

impl Server {
    /// Runs a side for its wash-out and a block; the mean logarithm of its throughput in the block.
    fn block(&mut self, is_b: bool) -> f64 {
        let Effect { at_once, later, constant } = self.effect;
        let (target, now) = if is_b { (later, at_once) } else { (0.0, 0.0) };
        let mut run = |length: f64| {
            let step = length / STEPS as f64;
            let each = (0..STEPS).map(|_| {
                self.later += (target - self.later) * (1.0 - (-step / constant).exp());
                self.later
            });
            each.sum::<f64>() / STEPS as f64
        };
        run(WASH_OUT);
        now + run(1.0)
    }
}
