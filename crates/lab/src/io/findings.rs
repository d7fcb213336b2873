//! What the numbers of a probe, and of all of them together, say against themselves.

use crate::io::plan::Planned;
use plimsoll_model::Caveat;
use plimsoll_model::io::Probe;
use plimsoll_stats::change_points::change_points;
use plimsoll_stats::steady::{Steadiness, steadiness};
use plimsoll_storage::job::{Access, Engine, Job, Mix};
use plimsoll_storage::layout::Content;
use plimsoll_storage::probe::Step;

/// Share by which throughput has to fall within a window to be told.
const FALL: f64 = 0.1;
/// A flush that a medium has to answer takes longer than this; the fastest of those without a volatile cache, about so long.
const FLUSH_OF_MEMORY_US: f64 = 100.0;
/// Probes whose syncs come one at a time: redo commits and counted flushes.
const SINGLE_SYNCS: [u8; 2] = [1, 5];

/// What one measurement says against itself; `rates` are operations per second of its seconds.
pub(super) fn of_probe(step: &Step, rates: &[f64]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add = |holds: bool, code: &str, message: String| {
        if holds {
            caveats.push(Caveat::new(code, message));
        }
    };
    let (job, id) = (&step.job, &step.id);
    add(
        through_cache(job) && writes(job),
        "buffered",
        format!(
            "{id} writes to the page cache: its write latency is that of copying memory; read its syncs instead, or measure with O_DIRECT"
        ),
    );
    add(
        through_cache(job) && !writes(job),
        "buffered",
        format!(
            "{id} reads through the page cache, which answers what it has: measure with O_DIRECT what the device does"
        ),
    );
    add(
        job.layout.content == Content::Zeros,
        "zero_data",
        format!(
            "{id} moves nothing but zeros, which some storage never stores: compare it with random content before trusting it"
        ),
    );
    // What was offered decides throughput where a rate is set.
    let fell = job.arrivals.rate().is_none().then(|| fell(rates)).flatten();
    add(
        fell.is_some(),
        "decaying",
        format!(
            "{id}: throughput {}: burst credits or a cache that filled up look like this; measure for longer (--time, \
             --steady) to see what remains",
            fell.unwrap_or_default()
        ),
    );
    caveats
}

fn through_cache(job: &Job) -> bool {
    let moves_pages = matches!(job.access, Access::Random { .. } | Access::Sequential { .. } | Access::Streams { .. });
    let asks_storage = !matches!(job.engine, Engine::Null { .. });
    moves_pages && asks_storage && !job.open.direct && !job.open.dsync && !job.open.sync
}

fn writes(job: &Job) -> bool {
    let mix = match job.access {
        Access::Random { mix, .. } | Access::Sequential { mix, .. } => mix,
        _ => Mix::Reads,
    };
    mix != Mix::Reads
}

/// How throughput fell within a window, if it did.
fn fell(rates: &[f64]) -> Option<String> {
    let step = change_points(rates, FALL).into_iter().find(|change| change.after < change.before);
    if let Some(change) = step {
        let (before, after, second) = (change.before, change.after, change.at);
        return Some(format!("fell from {before:.0} to {after:.0} per second at second {second}"));
    }
    match steadiness(rates, FALL) {
        Steadiness::Drifting { change } if change.value < 0.0 => {
            Some(format!("fell by {:.0} % during the window", -100.0 * change.value))
        }
        _ => None,
    }
}

/// What all probes together say, and what had to be smaller than it should be.
pub(super) fn of_all(planned: &Planned, probes: &[Probe]) -> Vec<Caveat> {
    let mut caveats = of_sizes(planned);
    caveats.extend(flush_of_memory(probes));
    caveats
}

/// A sync that is answered faster than media can.
fn flush_of_memory(probes: &[Probe]) -> Option<Caveat> {
    let median = |probe: &Probe| probe.latency_us.get("sync")?.p50;
    let single = probes.iter().filter(|probe| SINGLE_SYNCS.contains(&probe.probe));
    let fastest = single.filter_map(|probe| Some((median(probe)?, &probe.id))).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (us, id) = fastest;
    let message = format!(
        "half of all syncs of {id} took no more than {us:.0} µs, which hardly a medium can do: they are acknowledged by \
         memory somewhere below; find out whether that memory survives a loss of power before relying on it"
    );
    (us < FLUSH_OF_MEMORY_US).then(|| Caveat::new("flush_from_memory", message))
}

fn of_sizes(planned: &Planned) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if let Some((bytes, wanted)) = planned.smaller {
        let message = format!(
            "the page files are {} MB where {} MB belong, since little space is free: a cache on the way answers more of a \
             small set; free some space and repeat",
            bytes / 1_000_000,
            wanted / 1_000_000
        );
        caveats.push(Caveat::new("small_sets", message));
    }
    if !planned.left_out.is_empty() {
        let ids = planned.left_out.join(", ");
        let message = format!("left out for want of free space: {ids}; free some and repeat to know of them");
        caveats.push(Caveat::new("left_out", message));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::io::LatencyUs;

    #[test]
    fn a_fall_within_the_window_is_told_and_a_rise_is_not() {
        let noise = |i: usize| if i.is_multiple_of(2) { 5.0 } else { -5.0 };
        let stepped = |first: f64, second: f64| -> Vec<f64> {
            (0..40).map(|i| if i < 20 { first } else { second } + noise(i)).collect()
        };
        let told = fell(&stepped(3000.0, 100.0)).unwrap();
        assert!(told.contains("from 3000 to 100") && told.contains("second 20"), "{told}");
        assert_eq!(fell(&stepped(100.0, 3000.0)), None);
        assert_eq!(fell(&stepped(1000.0, 1000.0)), None);
        assert_eq!(fell(&[]), None);
    }

    #[test]
    fn syncs_faster_than_media_are_told_of_single_ones_only() {
        let probe = |number, us| Probe {
            probe: number,
            id: format!("{number}.x"),
            latency_us: [("sync".to_owned(), LatencyUs { p50: Some(us), ..LatencyUs::default() })].into(),
            ..Probe::default()
        };
        assert_eq!(flush_of_memory(&[probe(1, 800.0), probe(7, 20.0)]), None);
        let told = flush_of_memory(&[probe(1, 800.0), probe(5, 46.0)]).unwrap();
        assert!(told.code == "flush_from_memory" && told.message.contains("5.x took no more than 46 µs"), "{told:?}");
    }

    #[test]
    fn what_had_no_room_is_named() {
        let full = Planned { smaller: None, left_out: Vec::new(), ..Planned::default() };
        assert_eq!(of_sizes(&full), []);
        let small = Planned { smaller: Some((64_000_000, 512_000_000)), left_out: vec!["13.read.1g".into()], ..full };
        let told = of_sizes(&small);
        assert!(told[0].message.contains("64 MB where 512 MB"), "{told:?}");
        assert!(told[1].message.contains("13.read.1g"), "{told:?}");
    }
}
