//! Turns the request into steps, and checks everything before anything starts: what they need, how long they take.

use crate::EvaluateError;
use crate::asked::{IoPlan, What};
use crate::limits;
use plimsoll_load::window::Limit;
use plimsoll_model::io::DeviceFacts;
use plimsoll_model::total;
use plimsoll_storage::job::{Access, JobEngine};
use plimsoll_storage::layout::FileLayout;
use plimsoll_storage::probe::ProbeStep;
use plimsoll_storage::suite::Suite;
use std::collections::BTreeSet;
use std::time::Duration;

/// The assumed rate of laying out files, bytes per second.
const LAYOUT_PER_SECOND: f64 = 300e6;
/// Time of a step besides its files and its window: to start and end its threads, and to begin its part of the
/// recording.
const BETWEEN: Duration = Duration::from_millis(150);
/// Space that stays free besides the files of a measurement, for the recording and for others.
const SPARE_BYTES: u64 = 16 << 20;
/// Free space with which nothing has to be reduced.
const PLENTY: u64 = 1 << 50;

/// What will be measured.
#[derive(Debug, Default)]
pub struct Planned {
    pub steps: Vec<ProbeStep>,
    /// Bytes of the page files, and how many they should have if space is short.
    pub smaller: Option<(u64, u64)>,
    /// Ids of steps that have no room.
    pub left_out: Vec<String>,
}

/// The steps of a plan on this device.
///
/// # Errors
/// [`EvaluateError::Refused`] for probes that the suite does not have, and for sizes that do not fit.
pub fn planned(plan: &IoPlan, facts: &DeviceFacts) -> Result<Planned, EvaluateError> {
    let planned = match &plan.what {
        What::Test(step) => Planned { steps: vec![possible(step, facts)], ..Planned::default() },
        What::Suite { suite, steady } => of_suite(plan, *suite, *steady, facts)?,
    };
    limits::check(&planned.steps, facts)?;
    let (needed, free) = (most_bytes(&planned.steps) + SPARE_BYTES, facts.free_bytes.unwrap_or(PLENTY));
    if needed > free {
        return Err(EvaluateError::Refused(format!(
            "the files need {} MB in {}, but only {} MB are free there: free some space or choose a smaller --size",
            needed.div_ceil(1_000_000),
            plan.directory.display(),
            free / 1_000_000
        )));
    }
    Ok(planned)
}

/// The user's own measurement; threads replace io_uring if that is refused.
fn possible(step: &ProbeStep, facts: &DeviceFacts) -> ProbeStep {
    let mut step = step.clone();
    if let (JobEngine::Uring { .. }, Some(_)) = (step.job.engine, &facts.io_uring_refused) {
        step.job.engine = JobEngine::Threads { workers: step.job.engine.depth() };
    }
    step
}

fn of_suite(plan: &IoPlan, suite: Suite, steady: bool, facts: &DeviceFacts) -> Result<Planned, EvaluateError> {
    let chosen = |facts: &DeviceFacts| {
        let mut extent = suite.extent(facts);
        if let Some(bytes) = plan.data_bytes {
            extent = suite.sized(extent, bytes);
        }
        if let Some(window) = plan.window {
            extent.window_ns = window.as_nanos() as u64;
            extent.advising_ns = extent.window_ns;
        }
        (extent, suite.steps(&extent, steady))
    };
    let (extent, mut steps) = chosen(facts);
    let (roomy, all) = chosen(&DeviceFacts { free_bytes: Some(PLENTY), ..facts.clone() });
    has_all(&plan.probes, suite, &steps)?;
    let wanted = |step: &ProbeStep| plan.probes.is_empty() || plan.probes.contains(&step.probe);
    steps.retain(wanted);
    let kept: BTreeSet<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let left_out = all.iter().filter(|step| wanted(step) && !kept.contains(step.id.as_str()));
    Ok(Planned {
        left_out: left_out.map(|step| step.id.clone()).collect(),
        smaller: (extent.data_bytes < roomy.data_bytes).then_some((extent.data_bytes, roomy.data_bytes)),
        steps,
    })
}

fn has_all(probes: &[u8], suite: Suite, steps: &[ProbeStep]) -> Result<(), EvaluateError> {
    let known: BTreeSet<u8> = steps.iter().map(|step| step.probe).collect();
    let Some(unknown) = probes.iter().find(|probe| !known.contains(probe)) else { return Ok(()) };
    let known: Vec<String> = known.iter().map(u8::to_string).collect();
    Err(EvaluateError::Refused(format!(
        "the suite {} has no probe {unknown}; it has {} (14 comes with --steady)",
        suite.name(),
        known.join(", ")
    )))
}

/// Whether later steps can reuse existing files; fresh ones are never reused.
pub fn is_needed(layout: &FileLayout, later: &[ProbeStep]) -> bool {
    !layout.fresh && later.iter().flat_map(ProbeStep::jobs).any(|job| job.layout == *layout)
}

/// The most space that the files of the steps take at a time.
pub fn most_bytes(steps: &[ProbeStep]) -> u64 {
    let (mut there, mut most): (Vec<&FileLayout>, u64) = (Vec::new(), 0);
    for (place, step) in steps.iter().enumerate() {
        for job in step.jobs() {
            if !there.contains(&&job.layout) {
                there.push(&job.layout);
            }
        }
        let made = step.jobs().map(|job| if let Access::Metadata { bytes } = job.access { bytes } else { 0 });
        most = most.max(total(there.iter().map(|layout| layout.bytes()).chain(made)));
        there.retain(|layout| is_needed(layout, &steps[place + 1..]));
    }
    most
}

/// About how long each step takes, its files included.
pub fn times(steps: &[ProbeStep]) -> Vec<Duration> {
    let mut there: Vec<&FileLayout> = Vec::new();
    let time = |step: &ProbeStep, layouts: Vec<&FileLayout>| {
        let bytes: u64 = layouts.iter().map(|layout| layout.bytes()).sum();
        let window_ns = match step.job.limit {
            Limit::Time(ns) => ns,
            // How long a number of operations takes is unknown before it is measured.
            Limit::Events(_) | Limit::EventsPerConnection(_) => 0,
        };
        let measured = Duration::from_nanos(step.job.warmup_ns + window_ns);
        BETWEEN + measured + Duration::from_secs_f64(bytes as f64 / LAYOUT_PER_SECOND)
    };
    let mut all = Vec::new();
    for step in steps {
        let new: Vec<&FileLayout> =
            step.jobs().map(|job| &job.layout).filter(|layout| layout.fresh || !there.contains(layout)).collect();
        there.extend(new.iter().copied());
        all.push(time(step, new));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::window::SECOND_NS;

    fn steps(suite: Suite) -> Vec<ProbeStep> {
        let facts = DeviceFacts { free_bytes: Some(100 << 30), memory_bytes: Some(8 << 30), ..DeviceFacts::default() };
        suite.steps(&suite.extent(&facts), false)
    }

    fn plan(probes: &[u8], data_bytes: Option<u64>) -> IoPlan {
        IoPlan {
            directory: "/mnt/x".into(),
            what: What::Suite { suite: Suite::Quick, steady: false },
            probes: probes.to_vec(),
            data_bytes,
            window: Some(Duration::from_secs(1)),
            seed: 1,
            keep: false,
            name: "io".to_owned(),
            validate: Vec::new(),
        }
    }

    #[test]
    fn the_quick_suite_needs_no_more_than_it_says() {
        let steps = steps(Suite::Quick);
        assert!(most_bytes(&steps) <= 2_000_000_000, "{}", most_bytes(&steps));
        assert!(times(&steps).iter().sum::<Duration>() <= Duration::from_secs(90));
        assert_eq!(times(&steps).len(), steps.len());
    }

    #[test]
    fn files_are_kept_for_as_long_as_somebody_needs_them() {
        let steps = steps(Suite::Quick);
        let shared = steps.iter().find(|step| step.probe == 6).map(|step| &step.job.layout).expect("page reads");
        assert!(is_needed(shared, &steps));
        assert!(!is_needed(shared, &[]));
        let fresh = FileLayout { fresh: true, ..shared.clone() };
        assert!(!is_needed(&fresh, &steps), "reopened each time");
    }

    #[test]
    fn what_is_asked_for_has_to_exist_and_to_fit() {
        let free = |bytes| DeviceFacts { free_bytes: Some(bytes), ..DeviceFacts::default() };
        let found = planned(&plan(&[6], Some(64 << 20)), &free(1 << 40)).expect("it fits");
        assert!(found.steps.iter().all(|step| step.probe == 6 && step.job.limit == Limit::Time(SECOND_NS)));
        assert!(found.smaller.is_none() && found.left_out.is_empty(), "{found:?}");
        let error = planned(&plan(&[6], Some(64 << 20)), &free(1 << 20)).unwrap_err().to_string();
        assert!(error.contains("/mnt/x") && error.contains("1 MB are free"), "{error}");
        let error = planned(&plan(&[99], None), &free(1 << 40)).unwrap_err().to_string();
        assert!(error.contains("no probe 99") && error.contains("it has 1, 2, 5"), "{error}");
        let error = planned(&plan(&[], None), &free(10 << 20)).unwrap_err().to_string();
        assert!(
            error.contains("the files need 24 MB in /mnt/x, but only 10 MB are free there"),
            "the suite's own size: {error}"
        );
        let small = planned(&plan(&[], None), &free(256 << 20)).expect("smaller");
        assert!(small.smaller.is_some_and(|(bytes, wanted)| bytes < wanted), "{small:?}");
    }
}
