//! Which keys are requested: the five distributions of sysbench, over any range of whole numbers.
//!
//! A [`Distribution`] is a shape with its parameters; [`Distribution::over`] fixes the range and precomputes what
//! depends on it, and the [`RangeSampler`] then draws without allocation, lock or division by a variable. Every shape is
//! a pure function of the generator, so the seed decides the keys.
//!
//! Real-valued shapes compute in f64: over ranges wider than 2^53 neighbouring keys merge.

use plimsoll_load::seed::Rng;

/// The shapes by name, as `rand-type` accepts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DistributionName {
    Uniform,
    Gaussian,
    #[default]
    Special,
    Pareto,
    Zipfian,
}

impl DistributionName {
    pub const ALL: [DistributionName; 5] = [
        DistributionName::Uniform,
        DistributionName::Gaussian,
        DistributionName::Special,
        DistributionName::Pareto,
        DistributionName::Zipfian,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            DistributionName::Uniform => "uniform",
            DistributionName::Gaussian => "gaussian",
            DistributionName::Special => "special",
            DistributionName::Pareto => "pareto",
            DistributionName::Zipfian => "zipfian",
        }
    }

    /// The distribution with sysbench's own parameters.
    pub const fn with_defaults(self) -> Distribution {
        match self {
            DistributionName::Uniform => Distribution::Uniform,
            DistributionName::Gaussian => Distribution::Gaussian { iterations: 12 },
            DistributionName::Special => {
                Distribution::Special { iterations: 12, window_percent: 1.0, reserved_percent: 75.0 }
            }
            DistributionName::Pareto => Distribution::Pareto { h: 0.2 },
            DistributionName::Zipfian => Distribution::Zipfian { exponent: 0.8 },
        }
    }

    pub fn from_name(name: &str) -> Option<DistributionName> {
        DistributionName::ALL.into_iter().find(|shape| shape.name() == name)
    }
}

/// A shape with its parameters. With n = high - low + 1, t = high - low and U uniform in [0, 1):
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Every key equally often.
    Uniform,
    /// low + floor(n × mean of `iterations` uniforms): the Bates distribution, which 12 uniforms bring near a normal
    /// one (Johnson, Kotz, Balakrishnan, *Continuous Univariate Distributions 2*, 26.9).
    Gaussian { iterations: u32 },
    /// The default of sysbench 1.0: `reserved_percent` of the draws fall into a window of `window_percent` of the range
    /// at its middle, the others are bell-shaped around it. One U decides both, and it is at least
    /// 1 - reserved in the window, so with the defaults only the upper three quarters of the window are ever hit:
    /// low + floor(U × (d + 1) + t/2 - d/2) with d = t × window_percent / 100. This is kept, or numbers would not
    /// compare. The bell is low + floor(t × mean of `iterations` uniforms).
    Special { iterations: u32, window_percent: f64, reserved_percent: f64 },
    /// low + floor(n × U^p) with p = ln h / ln(1 - h): the share h of the keys gets the share 1 - h of the draws, again
    /// within itself (self-similar; Gray et al., *Quickly Generating Billion-Record Synthetic Databases*, SIGMOD 1994).
    Pareto { h: f64 },
    /// P(low + k - 1) proportional to k^-exponent, by rejection-inversion (Hörmann and Derflinger,
    /// *Rejection-Inversion to Generate Variates from Monotone Discrete Distributions*, ACM TOMACS 6, 1996).
    /// Low keys are the hot ones, unscrambled.
    Zipfian { exponent: f64 },
}

impl Distribution {
    /// Its shape, without parameters.
    pub const fn shape(self) -> DistributionName {
        match self {
            Distribution::Uniform => DistributionName::Uniform,
            Distribution::Gaussian { .. } => DistributionName::Gaussian,
            Distribution::Special { .. } => DistributionName::Special,
            Distribution::Pareto { .. } => DistributionName::Pareto,
            Distribution::Zipfian { .. } => DistributionName::Zipfian,
        }
    }

    /// Fixes the range `low..=high`; a reversed range is read as one key, `low`.
    pub fn over(&self, low: u64, high: u64) -> RangeSampler {
        let high = high.max(low);
        let span = (high - low) as f64;
        let count = span + 1.0;
        let shape = match *self {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { iterations } => Shape::Bell(Bell::new(iterations, count)),
            Distribution::Special { iterations, window_percent, reserved_percent } => {
                let window = span * window_percent / 100.0;
                Shape::Special {
                    bell: Bell::new(iterations, span),
                    bell_share: 1.0 - reserved_percent / 100.0,
                    window_start: span / 2.0 - window / 2.0,
                    window_length: window + 1.0,
                }
            }
            Distribution::Pareto { h } => Shape::Pareto { count, power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(exponent, count)),
        };
        RangeSampler { low, high, shape }
    }

    /// One draw. What depends on the range is computed each time: for repeated draws, keep a [`RangeSampler`].
    pub fn draw(&self, rng: &mut Rng, low: u64, high: u64) -> u64 {
        self.over(low, high).draw(rng)
    }
}

/// A distribution over one range, ready to draw.
#[derive(Clone, Debug)]
pub struct RangeSampler {
    low: u64,
    high: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Uniform,
    Bell(Bell),
    Special { bell: Bell, bell_share: f64, window_start: f64, window_length: f64 },
    Pareto { count: f64, power: f64 },
    Zipfian(Zipfian),
}

impl RangeSampler {
    /// A key in `low..=high`.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let offset = match &self.shape {
            Shape::Uniform => return rng.between(self.low, self.high),
            Shape::Bell(bell) => bell.draw(rng),
            Shape::Special { bell, bell_share, window_start, window_length } => {
                let u = rng.unit();
                if u < *bell_share { bell.draw(rng) } else { u * window_length + window_start }
            }
            Shape::Pareto { count, power } => count * rng.unit().powf(*power),
            Shape::Zipfian(zipfian) => zipfian.draw(rng),
        };
        // The conversion floors and saturates; rounding of a product may reach one past the end.
        self.low.saturating_add(offset as u64).min(self.high)
    }
}

#[derive(Clone, Debug)]
struct Bell {
    iterations: u32,
    scale: f64,
}

impl Bell {
    fn new(iterations: u32, width: f64) -> Bell {
        let iterations = iterations.max(1);
        Bell { iterations, scale: width / f64::from(iterations) }
    }

    #[inline]
    fn draw(&self, rng: &mut Rng) -> f64 {
        let sum: f64 = (0..self.iterations).map(|_| rng.unit()).sum();
        sum * self.scale
    }
}

/// Rejection-inversion in the names of the paper: h(x) = x^-e, H its integral from 1, H⁻¹ the inverse of H.
#[derive(Clone, Debug)]
struct Zipfian {
    exponent: f64,
    count: f64,
    h_integral_first: f64,
    h_integral_last: f64,
    shortcut: f64,
}

impl Zipfian {
    fn new(exponent: f64, count: f64) -> Zipfian {
        let mut zipfian = Zipfian { exponent, count, h_integral_first: 0.0, h_integral_last: 0.0, shortcut: 0.0 };
        zipfian.h_integral_first = zipfian.h_integral(1.5) - 1.0;
        zipfian.h_integral_last = zipfian.h_integral(count + 0.5);
        zipfian.shortcut = 2.0 - zipfian.h_integral_inverse(zipfian.h_integral(2.5) - zipfian.h(2.0));
        zipfian
    }

    fn h(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// (x^(1-e) - 1) / (1-e), which tends to ln x where e tends to 1; written so that it stays exact there.
    fn h_integral(&self, x: f64) -> f64 {
        let q = 1.0 - self.exponent;
        let log = x.ln();
        if (q * log).abs() < 1e-8 { log * (1.0 + q * log / 2.0) } else { (q * log).exp_m1() / q }
    }

    fn h_integral_inverse(&self, y: f64) -> f64 {
        let q = 1.0 - self.exponent;
        // Below -1 only by rounding, where the inverse is infinitely far away.
        let scaled = (q * y).max(-1.0);
        if scaled.abs() < 1e-8 { (y * (1.0 - scaled / 2.0)).exp() } else { (scaled.ln_1p() / q).exp() }
    }

    /// The offset from the lowest key.
    #[inline]
    fn draw(&self, rng: &mut Rng) -> f64 {
        loop {
            let u = self.h_integral_last + rng.unit() * (self.h_integral_first - self.h_integral_last);
            let x = self.h_integral_inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.count);
            if k - x <= self.shortcut || u >= self.h_integral(k + 0.5) - self.h(k) {
                return k - 1.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Distribution; 5] = [
        Distribution::Uniform,
        Distribution::Gaussian { iterations: 12 },
        Distribution::Special { iterations: 12, window_percent: 1.0, reserved_percent: 75.0 },
        Distribution::Pareto { h: 0.2 },
        Distribution::Zipfian { exponent: 0.8 },
    ];

    #[test]
    fn names_lead_back_to_their_shapes() {
        for shape in DistributionName::ALL {
            assert_eq!(DistributionName::from_name(shape.name()), Some(shape));
        }
        assert_eq!(DistributionName::from_name("normal"), None);
    }

    #[test]
    fn golden_values_pin_what_a_seed_draws() {
        let drawn = ALL.map(|distribution| {
            let sampler = distribution.over(1, 10_000);
            let mut rng = Rng::new(1, 2, 3);
            [sampler.draw(&mut rng), sampler.draw(&mut rng), sampler.draw(&mut rng)]
        });
        let expected = [[1685, 6223, 221], [3099, 4052, 5539], [3185, 4976, 5004], [1, 327, 1], [4574, 217, 9089]];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn one_key_and_the_widest_range_stay_inside() {
        for distribution in ALL {
            let mut rng = Rng::new(1, 1, 1);
            for (low, high) in [(7, 7), (0, u64::MAX), (u64::MAX, u64::MAX), (5, 6), (9, 3)] {
                for _ in 0..200 {
                    let key = distribution.draw(&mut rng, low, high);
                    assert!((low..=high.max(low)).contains(&key), "{distribution:?} {low}..={high} gave {key}");
                }
            }
        }
    }

    #[test]
    fn extreme_parameters_stay_inside() {
        let special = |window_percent, reserved_percent| Distribution::Special {
            iterations: 1,
            window_percent,
            reserved_percent,
        };
        for distribution in [
            special(0.0, 0.0),
            special(100.0, 100.0),
            Distribution::Gaussian { iterations: 1 },
            Distribution::Pareto { h: 0.001 },
            Distribution::Pareto { h: 0.999 },
            Distribution::Zipfian { exponent: 0.0 },
            Distribution::Zipfian { exponent: 1.0 },
            Distribution::Zipfian { exponent: 20.0 },
        ] {
            let (sampler, mut rng) = (distribution.over(10, 1_000), Rng::new(1, 1, 1));
            for _ in 0..1_000 {
                let key = sampler.draw(&mut rng);
                assert!((10..=1_000).contains(&key), "{distribution:?} gave {key}");
            }
        }
    }
}
