//! How fast the CPUs are just now, by work that is always the same. Their frequency changes it, and what neighbours take of
//! caches and of the way to memory; how much CPU time others take does not.

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::thread;

/// Words that the work walks over, 4 MiB: more than a CPU's own caches hold.
const WORDS: usize = 1 << 20;
/// Dependent steps from word to word: about 10 ms.
const STEPS: u32 = 500_000;
/// A generator that reaches every word from every other (Press et al., Numerical Recipes, "quick and dirty" generators).
const FACTOR: u32 = 1_664_525;
const SUMMAND: u32 = 1_013_904_223;

/// Steps per second of CPU time, the mean over all CPUs at once; `None` if threads cannot be started. It takes some 10 ms.
pub fn cpu_speed() -> Option<f64> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let seconds: Option<Vec<f64>> = thread::scope(|scope| {
        let started: Vec<_> =
            (0..cpus).map(|_| thread::Builder::new().name("speed".into()).spawn_scoped(scope, work)).collect();
        started.into_iter().map(|thread| thread.ok()?.join().ok()).collect()
    });
    let seconds = seconds?;
    Some(f64::from(STEPS) * seconds.len() as f64 / seconds.iter().sum::<f64>())
}

/// Does the work once; how much CPU time it took, seconds.
fn work() -> f64 {
    let words: Vec<u32> = (0..WORDS as u32).collect();
    let begun = cpu_seconds();
    let mut at = 0_u32;
    for _ in 0..STEPS {
        // The next place is known when the word is there.
        at = words[at as usize % WORDS].wrapping_mul(FACTOR).wrapping_add(SUMMAND);
    }
    black_box(at);
    cpu_seconds() - begun
}

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_have_a_speed() {
        let speeds: Vec<f64> = (0..5).map(|_| cpu_speed().expect("threads")).collect();
        let (least, most) =
            (speeds.iter().copied().fold(f64::INFINITY, f64::min), speeds.iter().copied().fold(0.0, f64::max));
        // A step takes neither a picosecond nor a millisecond, whatever else the machine does.
        assert!(1e3 < least && most < 1e12, "{speeds:?}");
    }
}
