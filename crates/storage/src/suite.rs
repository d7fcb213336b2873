//! Which probes an evaluation consists of, in order, and how much space and time they may take.

use crate::op::PAGE;
use crate::percona;
use crate::probe::{self, ADVISING_NS, Extent, ProbeStep};
use plimsoll_load::window::SECOND_NS;
use plimsoll_model::io::DeviceFacts;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Used if the machine's memory is not known.
const USUAL_MEMORY: u64 = 8 * GIB;
/// On a small disk, the size of the page files is a multiple of this, so that every set of files derived from it has
/// whole pages.
const GRAIN: u64 = 4 * MIB;
/// With page files of this size, all probes of the full suite have enough room.
const LEAST: u64 = 64 * MIB;
/// The steps of one file of probes.
type Steps = fn(&Extent) -> Vec<ProbeStep>;

/// The files of probes, in the order of the first number in each.
const FILES: [Steps; 17] = [
    probe::commit::steps,
    probe::primitives::steps,
    probe::honesty::steps,
    probe::page_read::steps,
    probe::page_write::steps,
    probe::flush_batch::steps,
    probe::files::steps,
    probe::read_tail::steps,
    probe::interference::steps,
    probe::sequential::steps,
    probe::cache::steps,
    probe::extension::steps,
    probe::metadata::steps,
    probe::alignment::steps,
    probe::content::steps,
    probe::cost::steps,
    probe::steady::steps,
];
const QUICK: &[u8] = &[1, 2, 5, 6, 7, 9, 13, 17];
const FULL: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 21];
/// The probes on which advice about settings rests.
const ADVISING: [u8; 7] = [4, 7, 8, 9, 10, 11, 17];
/// The number of the probe that takes half an hour, so that it only runs on request.
pub const STEADY: u8 = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// At most 90 seconds and 2 GB, and half of the free space.
    Quick,
    /// At most 20 minutes (without the steady state), and a quarter of the free space.
    Full,
    /// See [`percona`]. At most 2.4 GB, and half of the free space.
    Percona2008,
}

impl Suite {
    pub const ALL: [Suite; 3] = [Suite::Quick, Suite::Full, Suite::Percona2008];

    pub fn name(self) -> &'static str {
        match self {
            Suite::Quick => "quick",
            Suite::Full => "full",
            Suite::Percona2008 => "percona-2008",
        }
    }

    /// How much the suite may use on this device: as planned if there is plenty, in proportion on a small disk. Facts
    /// that the system does not tell are assumed to be the usual ones.
    pub fn extent(self, facts: &DeviceFacts) -> Extent {
        let free = facts.free_bytes.unwrap_or(u64::MAX);
        let (data_bytes, most_bytes) = match self {
            // Page files, sets of files of half their size beside them, and logs.
            Suite::Quick => same(GIB.min(grained(free / 2 / 2))),
            Suite::Full => {
                // A sixth for the page files, so that the largest set is large; more on small disks, where the page
                // files are the largest set.
                let usable = free / 4;
                let data = grained((usable / 6).clamp(LEAST.min(usable / 2), 4 * GIB));
                let memory = facts.memory_bytes.unwrap_or(USUAL_MEMORY);
                (data, memory.saturating_mul(2).min(usable.saturating_sub(data)).max(data))
            }
            Suite::Percona2008 => percona::sizes(free / 2),
        };
        Extent {
            data_bytes,
            most_bytes,
            window_ns: self.window_ns(),
            advising_ns: if self == Suite::Full { ADVISING_NS } else { self.window_ns() },
            full: self == Suite::Full,
            io_uring: facts.io_uring_refused.is_none(),
            direct: facts.direct.unwrap_or(true),
            log_block: facts.log_block_bytes.filter(|_| facts.direct.unwrap_or(true)),
            atomic: facts.atomic_write_bytes.is_some_and(|(least, most)| offers_pages(least, most)),
        }
    }

    /// The same with page files of this size; for the article's sets it is the size of the large one.
    pub fn sized(self, extent: Extent, bytes: u64) -> Extent {
        let (data_bytes, most_bytes) = match self {
            Suite::Quick | Suite::Full => same(bytes),
            Suite::Percona2008 => percona::sized(bytes),
        };
        Extent { data_bytes, most_bytes, ..extent }
    }

    /// How long one measurement lasts if nothing else is asked for.
    fn window_ns(self) -> u64 {
        match self {
            Suite::Quick => 3 * SECOND_NS / 2,
            Suite::Full => 5 * SECOND_NS,
            Suite::Percona2008 => 10 * SECOND_NS,
        }
    }

    /// The steps in order. `steady` adds probe 14 at the end, since a device needs to recover from it.
    pub fn steps(self, extent: &Extent, steady: bool) -> Vec<ProbeStep> {
        let numbers = match self {
            Suite::Quick => QUICK,
            Suite::Full => FULL,
            Suite::Percona2008 => return percona::steps(extent),
        };
        let belongs = |step: &ProbeStep| numbers.contains(&step.probe) || (steady && step.probe == STEADY);
        let advising = Extent { window_ns: extent.advising_ns, ..*extent };
        let each = |steps: &Steps| {
            let (usual, longer) = (steps(extent), steps(&advising));
            usual.into_iter().zip(longer).map(|(usual, longer)| match ADVISING.contains(&usual.probe) {
                true => longer,
                false => usual,
            })
        };
        FILES.iter().flat_map(each).filter(belongs).collect()
    }
}

fn same(bytes: u64) -> (u64, u64) {
    (bytes, bytes)
}

fn grained(bytes: u64) -> u64 {
    (bytes / GRAIN * GRAIN).max(GRAIN)
}

/// Whether untorn writes of a page are between the smallest and the largest unit; both are 0 if none are offered.
fn offers_pages(least: u64, most: u64) -> bool {
    least > 0 && (least..=most).contains(&u64::from(PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Access, Job};
    use crate::layout::{Allocation, FileLayout};
    use plimsoll_load::window::Limit;
    use std::collections::{BTreeSet, HashSet};

    /// A device that lays files out slowly for its kind.
    const LAID_OUT_PER_SECOND: f64 = 200e6;
    /// To make threads, to open files, to let operations end.
    const SECONDS_BETWEEN: f64 = 0.2;

    fn machine(free: u64, memory: u64) -> DeviceFacts {
        let bytes = |bytes| Some(bytes);
        DeviceFacts {
            free_bytes: bytes(free),
            memory_bytes: bytes(memory),
            atomic_write_bytes: Some((4096, 1 << 20)),
            ..DeviceFacts::default()
        }
    }

    fn steps(suite: Suite, free: u64) -> Vec<ProbeStep> {
        suite.steps(&suite.extent(&machine(free, 24 * GIB)), true)
    }

    fn jobs(steps: &[ProbeStep]) -> impl Iterator<Item = &Job> {
        steps.iter().flat_map(|step| step.beside.iter().chain([&step.job]))
    }

    /// The most bytes that lie there at a time, and the bytes that are written to lay files out, if what no later step
    /// needs is removed.
    fn bytes(steps: &[ProbeStep]) -> (u64, u64) {
        let (mut there, mut most, mut written): (Vec<&FileLayout>, u64, u64) = (Vec::new(), 0, 0);
        for (place, step) in steps.iter().enumerate() {
            for job in jobs(std::slice::from_ref(step)).filter(|job| job.layout.allocation == Allocation::Overwrite) {
                written += if there.contains(&&job.layout) { 0 } else { job.layout.bytes() };
            }
            there.retain(|layout| jobs(&steps[place..]).any(|job| !layout.fresh && job.layout == **layout));
            let new: HashSet<&FileLayout> = jobs(std::slice::from_ref(step)).map(|job| &job.layout).collect();
            there.extend(new.into_iter().filter(|layout| !there.contains(layout)).collect::<Vec<_>>());
            let grown = if let Access::Metadata { bytes } = step.job.access { bytes } else { 0 };
            most = most.max(there.iter().map(|layout| layout.bytes()).sum::<u64>() + grown);
        }
        (most, written)
    }

    fn seconds(steps: &[ProbeStep]) -> f64 {
        let window = |step: &ProbeStep| match step.job.limit {
            Limit::Time(ns) => (ns + step.job.warmup_ns) as f64 / 1e9,
            Limit::Events(_) | Limit::EventsPerConnection(_) => 1.0,
        };
        let windows: f64 = steps.iter().map(|step| window(step) + SECONDS_BETWEEN).sum();
        windows + bytes(steps).1 as f64 / LAID_OUT_PER_SECOND
    }

    fn numbers(steps: &[ProbeStep]) -> BTreeSet<u8> {
        steps.iter().map(|step| step.probe).collect()
    }

    #[test]
    fn each_suite_has_its_probes_and_the_steady_state_only_if_asked_for() {
        let extent = Suite::Full.extent(&machine(1000 * GIB, 24 * GIB));
        assert_eq!(numbers(&Suite::Full.steps(&extent, false)), FULL.iter().copied().collect());
        assert_eq!(numbers(&steps(Suite::Full, 1000 * GIB)), (1..=17).chain([20, 21]).collect());
        let extent = Suite::Quick.extent(&machine(1000 * GIB, 24 * GIB));
        assert_eq!(numbers(&Suite::Quick.steps(&extent, false)), QUICK.iter().copied().collect());
    }

    #[test]
    fn the_quick_suite_has_what_it_promises() {
        let all = steps(Suite::Quick, 1000 * GIB);
        let ids: BTreeSet<&str> = all.iter().map(|step| step.id.as_str()).collect();
        for id in [
            "1.mysql",
            "1.mariadb",
            "2.mysql.1",
            "2.mysql.8",
            "2.mariadb.64",
            "5.overwrite",
            "5.extend",
            "6.depth-1",
            "6.depth-16",
            "6.depth-64",
            "7.depth-1",
            "7.depth-16",
            "7.depth-64",
            "9.overwrite.4x1",
            "9.overwrite.4x8",
            "9.hole.4x1",
            "9.hole.4x8",
            "13.read.64m",
            "13.read.1g",
            "17.512",
            "17.16384",
        ] {
            assert!(ids.contains(id), "{id} is not among {ids:?}");
        }
    }

    #[test]
    fn ids_are_names_and_each_is_there_once() {
        for suite in Suite::ALL {
            for free in [300 * MIB, 2 * GIB, 1000 * GIB] {
                let all = steps(suite, free);
                let ids: BTreeSet<&str> = all.iter().map(|step| step.id.as_str()).collect();
                assert_eq!(ids.len(), all.len(), "{suite:?}: {ids:?}");
                let is_name = |id: &str| {
                    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "./+-".contains(c);
                    id.chars().all(allowed) && id.starts_with(|c: char| c.is_ascii_alphanumeric())
                };
                assert_eq!(ids.iter().find(|id| !is_name(id)), None);
            }
        }
    }

    #[test]
    fn suites_keep_to_their_time() {
        let time = |suite: Suite| {
            let extent = suite.extent(&machine(1000 * GIB, 24 * GIB));
            seconds(&suite.steps(&extent, false))
        };
        assert!(time(Suite::Quick) <= 90.0, "{} s", time(Suite::Quick));
        assert!(time(Suite::Full) <= 20.0 * 60.0, "{} s", time(Suite::Full));
    }

    #[test]
    fn files_are_measured_for_as_long_as_advice_needs() {
        let windows = |suite: Suite, change: fn(&mut Extent)| {
            let mut extent = suite.extent(&machine(1000 * GIB, 24 * GIB));
            change(&mut extent);
            let files = suite.steps(&extent, false).into_iter().filter(|step| step.probe == 9);
            files.map(|step| step.job.limit).collect::<Vec<_>>()
        };
        assert!(windows(Suite::Full, |_| {}).iter().all(|limit| *limit == Limit::Time(ADVISING_NS)));
        let asked = windows(Suite::Quick, |extent| extent.advising_ns = ADVISING_NS);
        assert!(!asked.is_empty() && asked.iter().all(|limit| *limit == Limit::Time(ADVISING_NS)));
    }

    #[test]
    fn a_size_that_is_asked_for_is_used_whatever_that_of_the_article() {
        let extent = Suite::Percona2008.extent(&machine(1000 * GIB, 24 * GIB));
        let sized = Suite::Percona2008.sized(extent, 16 * GIB);
        assert_eq!((sized.data_bytes, sized.most_bytes), (GIB, 16 * GIB));
    }

    #[test]
    fn suites_keep_to_their_space_on_disks_of_any_size() {
        for free in [256 * MIB, 300 * MIB, GIB, 10 * GIB, 39 * GIB, 1000 * GIB] {
            let most = |suite: Suite| bytes(&steps(suite, free)).0;
            assert!(most(Suite::Quick) <= (free / 2).min(2_000_000_000), "quick: {} of {free}", most(Suite::Quick));
            assert!(most(Suite::Full) <= free / 4, "full: {} of {free}", most(Suite::Full));
            assert!(most(Suite::Percona2008) <= free / 2, "percona: {} of {free}", most(Suite::Percona2008));
        }
    }

    #[test]
    fn sets_grow_with_memory_as_far_as_there_is_room() {
        let largest = |free, memory| {
            let all = Suite::Full.steps(&Suite::Full.extent(&machine(free, memory)), false);
            let sets = all.iter().filter(|step| step.probe == 13);
            sets.filter_map(|step| step.params["set_bytes"].count()).max().unwrap()
        };
        assert_eq!(largest(1000 * GIB, 8 * GIB), 16 * GIB);
        assert_eq!(largest(1000 * GIB, 64 * GIB), 64 * GIB);
        assert_eq!(largest(39 * GIB, 64 * GIB), 4 * GIB);
    }

    #[test]
    fn a_small_disk_keeps_all_probes_and_two_sets_to_compare() {
        let all = steps(Suite::Quick, 280 * MIB);
        assert_eq!(numbers(&all).len(), QUICK.len() + 1);
        let sets: Vec<u64> =
            all.iter().filter(|step| step.probe == 13).filter_map(|step| step.params["set_bytes"].count()).collect();
        assert!(sets.len() == 2 && sets[0] < sets[1], "{sets:?}");
    }

    #[test]
    fn every_job_of_a_suite_fits_its_files() {
        for suite in Suite::ALL {
            for free in [300 * MIB, 1000 * GIB] {
                for step in steps(suite, free) {
                    let checked = jobs(std::slice::from_ref(&step)).try_for_each(crate::run::check);
                    assert!(checked.is_ok(), "{} with {free} bytes free: {checked:?}", step.id);
                }
            }
        }
    }

    #[test]
    fn loads_beside_go_on_for_longer_than_what_is_measured() {
        let nanoseconds = |job: &Job| if let Limit::Time(ns) = job.limit { ns } else { 0 };
        let all = steps(Suite::Full, 1000 * GIB);
        let both = all.iter().filter_map(|step| Some((nanoseconds(step.beside.as_ref()?), nanoseconds(&step.job))));
        let shortest = both.map(|(beside, measured)| beside / measured).min();
        assert!(shortest.is_some_and(|times| times > 100), "{shortest:?}");
    }

    #[test]
    fn what_a_device_lacks_is_left_out_or_replaced() {
        let facts = DeviceFacts {
            direct: Some(false),
            io_uring_refused: Some("forbidden".to_owned()),
            ..machine(1000 * GIB, GIB)
        };
        let plain = Suite::Full.steps(&Suite::Full.extent(&facts), false);
        assert!(jobs(&plain).all(|job| !job.open.direct && job.engine.name() != "io_uring"));
        let depths = |steps: &[ProbeStep]| steps.iter().filter(|step| step.probe == 7).count();
        assert_eq!(depths(&plain), depths(&steps(Suite::Full, 1000 * GIB)));
    }
}
