//! `cpu`: counts prime numbers by trial division.

use super::task::BuiltinTask;
use super::{Begun, Headline};
use crate::halt::Halt;
use crate::options::{OptionKind, OptionSet, OptionSpec, option};
use crate::request::TestRequest;
use plimsoll_load::seed::Rng;
use std::hint::black_box;

pub static OPTIONS: [OptionSpec; 1] =
    [option("cpu-max-prime", OptionKind::Int, Some("10000"), "numbers that are tried are smaller than this")];

struct Primes {
    most: u64,
}

impl BuiltinTask for Primes {
    type State = ();

    fn state(&self, _: usize) {}

    fn event(&self, (): &mut (), _: &mut Rng) {
        black_box(primes(black_box(self.most)));
    }
}

/// How many numbers from 3 to `most` - 1 have no divisor up to their square root.
fn primes(most: u64) -> u64 {
    let is_prime = |number: &u64| {
        let root = (*number as f64).sqrt();
        let divisors = (2u64..).take_while(|divisor| *divisor as f64 <= root);
        divisors.into_iter().all(|divisor| !black_box(*number).is_multiple_of(divisor))
    };
    (3..most).filter(is_prime).count() as u64
}

pub fn begin(request: &TestRequest, options: &OptionSet) -> Result<Begun, Halt> {
    let most = options.number("cpu_max_prime");
    if most < 1.0 {
        return Err(Halt::Fatal(format!("Invalid value of cpu-max-prime: {most}.")));
    }
    let headline = |totals: &crate::totals::RunTotals| {
        format!("CPU speed:\n    events per second: {:8.2}\n", totals.rate(totals.events))
    };
    let preamble = format!("Prime numbers limit: {most}\n\n");
    Ok(Begun::new(
        request,
        preamble,
        Headline { report: Box::new(headline), ..Headline::none() },
        Primes { most: most as u64 },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_counted() {
        // 3, 5, 7, 11, 13, 17, 19, 23, 29.
        assert_eq!(primes(30), 9);
        assert_eq!(primes(1), 0);
    }
}
