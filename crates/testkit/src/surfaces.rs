//! Servers whose best settings are known: surfaces with a planted optimum, on which searches are tried.
//!
//! Each is a space of settings and a function from levels to what they bring, as the logarithm of throughput against that of
//! the server as it is. A seed moves the optimum; most settings of most surfaces do nothing.

use plimsoll_load::seed::Rng;
use plimsoll_plan::lab::space::{Dimension, Levels, Need, NeededLevel, SearchSpace, SettingLevel, ValueRange};

/// What levels bring; none where the server does not come up, or the trial fails.
type Brings = Box<dyn Fn(&[SettingLevel]) -> Option<f64>>;

pub struct Surface {
    pub name: &'static str,
    pub space: SearchSpace,
    brings: Brings,
    /// Of the server as it is.
    today: f64,
    /// What the best levels bring.
    pub best: f64,
}

/// All of them; [`FLAT`] is one more.
pub const SURFACES: [&str; 13] = [
    "saturating",
    "peaks",
    "plateau",
    "ridge",
    "cliff",
    "collapse",
    "choices",
    "special",
    "conditional",
    "many",
    "deceptive",
    "failures",
    "both-or-none",
];
/// Nothing does anything.
pub const FLAT: &str = "flat";

/// Steps by which the optimum is looked for on the surface itself.
const DRAWS: usize = 3_000;
const CLIMBS: usize = 6_000;

impl Surface {
    /// # Panics
    /// If there is none of this name.
    pub fn new(name: &'static str, seed: u64) -> Surface {
        let mut draw = Draw { rng: Rng::new(seed, 1, 0) };
        let (space, brings) = made(name, &mut draw);
        let today = brings(&space.today()).expect("the server as it is runs");
        let mut surface = Surface { name, space, brings, today, best: 0.0 };
        surface.best = surface.optimum(&mut draw);
        surface
    }

    /// Against the server as it is.
    pub fn truth(&self, levels: &[SettingLevel]) -> Option<f64> {
        (self.brings)(levels).map(|value| value - self.today)
    }

    fn optimum(&self, draw: &mut Draw) -> f64 {
        let mut best = (0.0, self.space.today());
        for step in 0..DRAWS + CLIMBS {
            let levels =
                if step < DRAWS { draw.levels(&self.space) } else { draw.near(&self.space, &best.1, step - DRAWS) };
            if let Some(value) = self.truth(&levels).filter(|value| *value > best.0) {
                best = (value, levels);
            }
        }
        best.0
    }
}

struct Draw {
    rng: Rng,
}

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.rng.unit()
    }

    fn level(&mut self, dimension: &Dimension) -> SettingLevel {
        let words = dimension.words.len() as u64;
        match dimension.range.is_none() || words > 0 && self.rng.unit() < 0.2 {
            true => SettingLevel::Word(self.rng.between(0, words - 1) as usize),
            false => SettingLevel::At(self.rng.unit()),
        }
    }

    fn levels(&mut self, space: &SearchSpace) -> Levels {
        let levels = space.dimensions.iter().map(|dimension| self.level(dimension)).collect();
        space.tidy(levels)
    }

    /// Ever closer.
    fn near(&mut self, space: &SearchSpace, levels: &Levels, step: usize) -> Levels {
        let mut near = levels.clone();
        let width = 0.5 * 0.999f64.powi(step as i32);
        for _ in 0..self.rng.between(1, 3) {
            let place = self.rng.between(0, near.len() as u64 - 1) as usize;
            near[place] = match near[place] {
                SettingLevel::At(share) if self.rng.unit() < 0.8 => {
                    SettingLevel::At((share + width * (self.rng.unit() - 0.5)).clamp(0.0, 1.0))
                }
                _ => self.level(&space.dimensions[place]),
            };
        }
        space.tidy(near)
    }
}

fn dimension(place: usize, words: &[&str], range: Option<ValueRange>, today: SettingLevel) -> Dimension {
    Dimension {
        name: format!("setting_{place}"),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        range,
        today,
        written: None,
        needs: None,
        flips: false,
        cap: None,
    }
}

fn steps(high: f64) -> Option<ValueRange> {
    Some(ValueRange { low: 0.0, high, is_log: false, step: 1.0, is_size: false })
}

/// `n` a number, `f` a few numbers, `s` a number with a word of its own, digits so many words.
fn space(kinds: &str, today: f64) -> SearchSpace {
    const WORDS: [&str; 4] = ["a", "b", "c", "d"];
    let made = |(place, kind): (usize, char)| match kind {
        'n' => dimension(place, &[], steps(1_000.0), SettingLevel::At(today)),
        'f' => dimension(place, &[], steps(8.0), SettingLevel::At((today * 8.0).round() / 8.0)),
        's' => dimension(place, &["off"], steps(1_000.0), SettingLevel::At(today)),
        words => dimension(place, &WORDS[..words as usize - '0' as usize], None, SettingLevel::Word(0)),
    };
    SearchSpace { dimensions: kinds.chars().enumerate().map(made).collect(), ..SearchSpace::default() }
}

fn at(levels: &[SettingLevel], place: usize) -> f64 {
    if let SettingLevel::At(share) = levels[place] { share } else { 0.0 }
}

fn is(levels: &[SettingLevel], place: usize, word: usize) -> bool {
    levels[place] == SettingLevel::Word(word)
}

fn peak(x: f64, top: f64, width: f64) -> f64 {
    (-((x - top) / width).powi(2)).exp()
}

/// From 0 to 1, steeply at `middle`.
fn step(x: f64, middle: f64) -> f64 {
    1.0 / (1.0 + (-25.0 * (x - middle)).exp())
}

/// Five numbers and three words, of which a surface uses some.
const MIXED: &str = "nnnfn223";

fn made(name: &str, draw: &mut Draw) -> (SearchSpace, Brings) {
    match name {
        // A buffer pool: more is better, ever less so.
        "saturating" => {
            let (bend, gain) = (draw.between(2.0, 6.0), draw.between(0.4, 0.7));
            let brings = move |levels: &[SettingLevel]| Some(gain * (1.0 - (-bend * at(levels, 0)).exp()));
            (space(MIXED, 0.1), Box::new(brings))
        }
        "peaks" => {
            let tops = [0; 3].map(|_| draw.between(0.3, 0.9));
            let brings = move |levels: &[SettingLevel]| {
                Some((0..3).map(|place| 0.22 * peak(at(levels, place), tops[place], 0.3)).sum())
            };
            (space(MIXED, 0.1), Box::new(brings))
        }
        "plateau" => {
            let (one, other) = (draw.between(0.4, 0.7), draw.between(0.4, 0.7));
            let brings =
                move |levels: &[SettingLevel]| Some(0.3 * step(at(levels, 0), one) + 0.2 * step(at(levels, 3), other));
            (space(MIXED, 0.1), Box::new(brings))
        }
        // A log that has to grow with a pool.
        "ridge" => {
            let apart = draw.between(-0.2, 0.2);
            let brings = move |levels: &[SettingLevel]| {
                Some(0.4 * peak(at(levels, 0) - at(levels, 1), apart, 0.3) + 0.4 * at(levels, 0))
            };
            (space(MIXED, 0.2), Box::new(brings))
        }
        // Memory: better up to where the server does not start.
        "cliff" => {
            let most = draw.between(0.9, 1.4);
            let brings = move |levels: &[SettingLevel]| {
                let sum = at(levels, 0) + at(levels, 1);
                (sum <= most).then(|| 0.5 * sum + 0.1 * peak(at(levels, 2), 0.5, 0.3))
            };
            (space(MIXED, 0.2), Box::new(brings))
        }
        // Concurrency: better up to where it is much worse.
        "collapse" => {
            let most = draw.between(0.5, 0.8);
            let brings = move |levels: &[SettingLevel]| {
                let x = at(levels, 4);
                Some(if x <= most { 0.5 * x / most } else { -0.4 } + if is(levels, 5, 1) { 0.1 } else { 0.0 })
            };
            (space(MIXED, 0.1), Box::new(brings))
        }
        _ => made_of_words(name, draw),
    }
}

fn made_of_words(name: &str, draw: &mut Draw) -> (SearchSpace, Brings) {
    match name {
        "choices" => {
            let brought: Vec<f64> = (0..27).map(|_| draw.between(-0.2, 0.4)).collect();
            let word =
                |levels: &[SettingLevel], place: usize| (0..3).find(|word| is(levels, place, *word)).unwrap_or(0);
            let brings = move |levels: &[SettingLevel]| {
                let words = [0, 1, 2].map(|place| word(levels, place));
                let each: f64 = words.iter().enumerate().map(|(place, word)| brought[9 * place + word]).sum();
                let together = brought[9 * words[0] + 3 * words[1] + words[2]];
                Some(0.5 * each + 0.35 * together + 0.1 * at(levels, 3))
            };
            (space("333nnn22", 0.3), Box::new(brings))
        }
        "special" => {
            let (gain, top) = (draw.between(0.2, 0.35), draw.between(0.3, 0.8));
            let brings = move |levels: &[SettingLevel]| {
                let first = if is(levels, 0, 0) { gain } else { 0.1 * at(levels, 0) };
                let second = if is(levels, 1, 0) { -0.2 } else { 0.15 * peak(at(levels, 1), top, 0.3) };
                Some(first + second + 0.15 * peak(at(levels, 2), top, 0.3))
            };
            (space("ssnnf22n", 0.3), Box::new(brings))
        }
        _ => made_of_many(name, draw),
    }
}

fn made_of_many(name: &str, draw: &mut Draw) -> (SearchSpace, Brings) {
    match name {
        // A thread pool: nothing before its own settings fit.
        "conditional" => {
            let tops = [draw.between(0.3, 0.9), draw.between(0.3, 0.9)];
            let brings = move |levels: &[SettingLevel]| {
                let pool: f64 = (0..2).map(|place| 0.25 * peak(at(levels, place + 1), tops[place], 0.35)).sum();
                Some(if is(levels, 0, 1) { pool - 0.1 } else { 0.0 } + 0.1 * at(levels, 3))
            };
            let mut space = space("2nnnnf2n", 0.1);
            for place in [1, 2] {
                space.dimensions[place].needs = Some(Need { of: 0, is: NeededLevel::Word(1) });
            }
            (space, Box::new(brings))
        }
        "many" => {
            let each: Vec<(f64, f64)> = (0..12).map(|_| (draw.between(0.03, 0.07), draw.between(0.5, 1.0))).collect();
            let brings = move |levels: &[SettingLevel]| {
                let one = |(place, (gain, top)): (usize, &(f64, f64))| match levels[place] {
                    SettingLevel::At(share) => gain * peak(share, *top, 0.5),
                    SettingLevel::Word(1) => *gain,
                    _ => 0.0,
                };
                Some(each.iter().enumerate().map(one).sum())
            };
            (space("nnnnnnnnn222", 0.1), Box::new(brings))
        }
        "deceptive" => {
            let (broad, narrow) = (draw.between(0.1, 0.3), draw.between(0.7, 0.9));
            let brings = move |levels: &[SettingLevel]| {
                let x = at(levels, 0);
                Some(0.3 * peak(x, broad, 0.25) + 0.5 * peak(x, narrow, 0.12) + 0.15 * at(levels, 1))
            };
            (space(MIXED, 0.5), Box::new(brings))
        }
        // A third of all configurations fails.
        "failures" => {
            let tops = [0; 3].map(|_| draw.between(0.35, 0.65));
            let brings = move |levels: &[SettingLevel]| {
                let fails = at(levels, 0) > 0.75 && at(levels, 2) < 0.4
                    || at(levels, 1) > 0.7 && is(levels, 5, 1)
                    || is(levels, 7, 2);
                let peaks: f64 = (0..3).map(|place| 0.2 * peak(at(levels, place), tops[place], 0.3)).sum();
                (!fails).then_some(peaks + if is(levels, 5, 1) { 0.1 } else { 0.0 })
            };
            (space(MIXED, 0.1), Box::new(brings))
        }
        _ => made_of_words_alone(name, draw),
    }
}

fn made_of_words_alone(name: &str, draw: &mut Draw) -> (SearchSpace, Brings) {
    match name {
        "both-or-none" => {
            let top = draw.between(0.4, 0.8);
            let brings = move |levels: &[SettingLevel]| {
                let words = match (is(levels, 5, 1), is(levels, 6, 1)) {
                    (true, true) => 0.3,
                    (false, false) => 0.0,
                    _ => -0.1,
                };
                Some(words + 0.2 * peak(at(levels, 0), top, 0.3))
            };
            (space(MIXED, 0.2), Box::new(brings))
        }
        FLAT => (space(MIXED, 0.3), Box::new(|_| Some(0.0))),
        other => panic!("no surface is called {other}"),
    }
}
