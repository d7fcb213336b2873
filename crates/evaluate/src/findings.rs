//! The caveats of a probe's numbers, and of all probes together.

use crate::plan::Planned;
use plimsoll_model::Caveat;
use plimsoll_model::io::Probe;
use plimsoll_stats::change_points::change_points;
use plimsoll_stats::steady::{Steadiness, steadiness};
use plimsoll_storage::disturbance;
use plimsoll_storage::job::{Access, Job, JobEngine, Mix};
use plimsoll_storage::layout::Content;
use plimsoll_storage::probe::ProbeStep;

/// Share by which throughput must fall within a window to be reported.
const FALL: f64 = 0.1;

/// The caveats of one measurement; `rates` are the operations per second of its seconds.
pub fn of_probe(step: &ProbeStep, rates: &[f64]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add = |holds: bool, code: &str, message: String| {
        if holds {
            caveats.push(Caveat::new(code, message));
        }
    };
    let (job, id) = (&step.job, &step.id);
    add(
        through_cache(job) && !job.open.dsync && writes(job),
        "buffered",
        format!(
            "{id} writes to the page cache, so its write latency is that of copying memory: look at its syncs instead, \
             or measure with O_DIRECT"
        ),
    );
    add(
        // Of reads and writes without O_DSYNC the caveat above is enough.
        through_cache(job) && reads(job) && (job.open.dsync || !writes(job)),
        "buffered",
        format!("{id} reads through the page cache, which answers what it holds: to measure the device, use O_DIRECT"),
    );
    add(
        // A tablespace always grows by zeros.
        job.layout.content == Content::Zeros && !matches!(job.access, Access::Extension { .. }),
        "zero_data",
        format!(
            "{id} moves only zeros, which some storage never stores: compare it with random content before trusting it"
        ),
    );
    // If a rate is set, what was offered decides throughput.
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
    let asks_storage = !matches!(job.engine, JobEngine::Null { .. });
    moves_pages && asks_storage && !job.open.direct
}

fn reads(job: &Job) -> bool {
    mix(job) != Mix::Writes
}

fn writes(job: &Job) -> bool {
    mix(job) != Mix::Reads
}

fn mix(job: &Job) -> Mix {
    match job.access {
        Access::Random { mix, .. } | Access::Sequential { mix, .. } => mix,
        _ => Mix::Reads,
    }
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

/// Caveats of all probes together, and of sizes that had to be reduced; `device` is what they were measured on.
pub fn of_all(planned: &Planned, device: &str, probes: &[Probe]) -> Vec<Caveat> {
    let mut caveats = of_sizes(planned);
    caveats.extend(of_others(device, probes));
    caveats
}

/// Load from others on the CPUs and on the device during measurements: `noisy_host` and `stolen_cpu` as in a run
/// against a server, `other_load` as before the start.
fn of_others(device: &str, probes: &[Probe]) -> Vec<Caveat> {
    let noisy = noticed(probes, disturbance::cpus_of_others).map(|(most, when)| {
        let what =
            format!("other processes and the kernel's own threads used up to {most:.1} of the host's CPUs {when}");
        Caveat::new("noisy_host", format!("{what}: repeat when they have stopped"))
    });
    let stolen = noticed(probes, disturbance::stolen_percent).map(|(most, when)| {
        let what = format!("the hypervisor took up to {most:.0} % of the CPU time {when}");
        Caveat::new("stolen_cpu", format!("{what}: repeat on a quieter machine"))
    });
    let reading = noticed(probes, disturbance::foreign_reads_kb).map(|(most, when)| {
        let megabytes = most / 1e3;
        let what =
            format!("others read up to {megabytes:.1} MB per second from {device} {when}, which reads nothing itself");
        Caveat::new("other_load", format!("{what}: repeat when they have stopped"))
    });
    [noisy, stolen, reading].into_iter().flatten().collect()
}

/// The largest of the excessive values, and the measurements in which they occurred.
fn noticed(probes: &[Probe], value: impl Fn(&Probe) -> Option<f64>) -> Option<(f64, String)> {
    let above: Vec<(f64, &String)> = probes.iter().filter_map(|probe| Some((value(probe)?, &probe.id))).collect();
    let (most, worst) = above.iter().copied().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let when = match above.len() {
        1 => format!("while {worst} was measured"),
        some => format!("during {some} of {} measurements, most during {worst}", probes.len()),
    };
    Some((most, when))
}

fn of_sizes(planned: &Planned) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if let Some((bytes, wanted)) = planned.smaller {
        let message = format!(
            "the page files have {} MB instead of {} MB, because too little space is free: a cache on the way answers \
             more of a small set; free some space and repeat",
            bytes / 1_000_000,
            wanted / 1_000_000
        );
        caveats.push(Caveat::new("small_sets", message));
    }
    if !planned.left_out.is_empty() {
        let ids = planned.left_out.join(", ");
        let message = format!("left out because too little space is free: {ids}; free some and repeat to measure them");
        caveats.push(Caveat::new("left_out", message));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_storage::probe::test::{TestMode, TestOptions, step};

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
    fn what_the_page_cache_answers_is_told_of_reads_and_of_writes() {
        let told = |mode, direct, dsync| {
            let step = step(&TestOptions { direct, dsync, ..TestOptions::new(mode) }).unwrap();
            let caveats = of_probe(&step, &[]).into_iter().filter(|caveat| caveat.code == "buffered");
            let verb = |caveat: Caveat| if caveat.message.contains("reads through") { "reads" } else { "writes" };
            caveats.map(verb).collect::<Vec<_>>()
        };
        assert_eq!(told(TestMode::RandomRead, false, false), ["reads"]);
        assert_eq!(told(TestMode::RandomRead, false, true), ["reads"], "O_DSYNC is of writes");
        assert_eq!(told(TestMode::RandomMixed, false, true), ["reads"]);
        assert_eq!(told(TestMode::RandomMixed, false, false), ["writes"]);
        assert!(told(TestMode::RandomWrite, false, true).is_empty());
        assert!(told(TestMode::RandomMixed, true, false).is_empty());
    }

    fn noticing(number: u8, block: u64, name: &str, value: f64) -> Probe {
        Probe {
            probe: number,
            id: format!("{number}.x"),
            params: [("block".to_owned(), block.into())].into(),
            found: [(name.to_owned(), value)].into(),
            ..Probe::default()
        }
    }

    #[test]
    fn load_of_others_while_something_was_measured_is_told_once() {
        let busy = |cpus| noticing(1, 4096, "cpus_of_others", cpus);
        assert_eq!(of_others("vda", &[busy(disturbance::OTHERS_CPUS), Probe::default()]), []);
        let told = of_others("vda", &[busy(0.7), noticing(6, 4096, "cpus_of_others", 1.84), busy(0.1)]);
        assert_eq!((told.len(), told[0].code.as_str()), (1, "noisy_host"));
        assert!(told[0].message.contains("up to 1.8 of the host's CPUs during 2 of 3"), "{told:?}");
        assert!(told[0].message.contains("most during 6.x"), "{told:?}");
        let told = of_others("vda", &[noticing(2, 4096, "steal_percent", 12.0)]);
        assert!(
            told[0].code == "stolen_cpu" && told[0].message.contains("12 % of the CPU time while 2.x was"),
            "{told:?}"
        );
    }

    #[test]
    fn reads_that_are_not_ours_are_told() {
        let reads = |number, block| of_others("vda", &[noticing(number, block, "read_kb_per_second", 8000.0)]);
        let told = reads(17, 16384);
        assert!(told[0].code == "other_load" && told[0].message.contains("8.0 MB per second from vda"), "{told:?}");
        assert_eq!((reads(6, 16384), reads(17, 512)), (vec![], vec![]), "pages, and blocks that are read first");
        assert_eq!(of_others("vda", &[noticing(1, 4096, "read_kb_per_second", 30.0)]), []);
    }

    #[test]
    fn what_had_no_room_is_named() {
        let full = Planned { smaller: None, left_out: Vec::new(), ..Planned::default() };
        assert_eq!(of_sizes(&full), []);
        let small = Planned { smaller: Some((64_000_000, 512_000_000)), left_out: vec!["13.read.1g".into()], ..full };
        let told = of_sizes(&small);
        assert!(told[0].message.contains("64 MB instead of 512 MB"), "{told:?}");
        assert!(told[1].message.contains("13.read.1g"), "{told:?}");
    }
}
