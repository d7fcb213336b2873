//! Turns the request into steps, and checks everything before anything starts: what they need, how long they take.

use crate::EvaluateError;
use crate::asked::{IoPlan, What};
use crate::limits;
use plimsoll_load::window::Limit;
use plimsoll_model::io::DeviceFacts;
use plimsoll_model::total;
use plimsoll_storage::job::{Access, Job, JobEngine};
use plimsoll_storage::layout::FileLayout;
use plimsoll_storage::probe::ProbeStep;
use plimsoll_storage::suite::{STEADY, Suite};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The assumed rate of laying out files, bytes per second.
const LAYOUT_PER_SECOND: f64 = 300e6;
/// Time of a step besides its files and its window: to start and end its threads, and to begin its part of the
/// recording.
const BETWEEN: Duration = Duration::from_millis(150);
/// Space that stays free besides the files of a measurement, for the recording and for others.
const SPARE_BYTES: u64 = 16 << 20;
/// What a private server takes: its redo log of 128 MB, a copy while that is rewritten, and some 100 MB of rows.
const VALIDATION_BYTES: u64 = 400_000_000;
/// The probes that predict what a server reaches.
const PREDICTING: [u8; 2] = [2, 6];
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
    if !plan.validate.is_empty() && !planned.steps.iter().any(|step| PREDICTING.contains(&step.probe)) {
        return Err(EvaluateError::Refused(
            "--validate compares servers with the probes 2 (commits) and 6 (page reads), and neither is measured: add \
             one to --probes, or leave out --validate"
                .to_owned(),
        ));
    }
    let (needed, free) = (needed_bytes(plan, &planned.steps) + SPARE_BYTES, facts.free_bytes.unwrap_or(PLENTY));
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

/// The most space that is taken at a time. Servers come when the files are gone, unless these are kept.
fn needed_bytes(plan: &IoPlan, steps: &[ProbeStep]) -> u64 {
    let (files, servers) = (most_bytes(steps, plan.keep), VALIDATION_BYTES * plan.validate.len() as u64);
    if plan.keep { total([files, servers]) } else { files.max(servers) }
}

/// The user's own measurement; threads replace io_uring if that is refused.
fn possible(step: &ProbeStep, facts: &DeviceFacts) -> ProbeStep {
    let mut step = step.clone();
    if let (JobEngine::Uring { .. }, Some(_)) = (step.job.engine, &facts.io_uring_refused) {
        step.job.engine = JobEngine::Threads { workers: step.job.engine.depth() };
        step.params.insert("engine".to_owned(), step.job.engine.name().into());
    }
    step
}

fn of_suite(plan: &IoPlan, suite: Suite, steady: bool, facts: &DeviceFacts) -> Result<Planned, EvaluateError> {
    if steady && suite == Suite::Percona2008 {
        let why = format!("the suite {} has no steady state: leave out --steady, or choose another", suite.name());
        return Err(EvaluateError::Refused(why));
    }
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
    let wanted = |step: &ProbeStep| {
        plan.probes.is_empty() || plan.probes.contains(&step.probe) || steady && step.probe == STEADY
    };
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

/// The most space that the files of the steps take at a time; `keep` if none is removed that another does not replace.
pub fn most_bytes(steps: &[ProbeStep], keep: bool) -> u64 {
    if keep {
        return kept_bytes(steps);
    }
    let (mut there, mut most): (Vec<&FileLayout>, u64) = (Vec::new(), 0);
    for (place, step) in steps.iter().enumerate() {
        for job in step.jobs() {
            if !there.contains(&&job.layout) {
                there.push(&job.layout);
            }
        }
        let made = step.jobs().map(made_bytes);
        most = most.max(total(there.iter().map(|layout| layout.bytes()).chain(made)));
        there.retain(|layout| is_needed(layout, &steps[place + 1..]));
    }
    most
}

/// Files of one name replace each other.
fn kept_bytes(steps: &[ProbeStep]) -> u64 {
    let mut largest: BTreeMap<&str, u64> = BTreeMap::new();
    for layout in steps.iter().flat_map(ProbeStep::jobs).map(|job| &job.layout) {
        let bytes = largest.entry(&layout.name).or_default();
        *bytes = layout.bytes().max(*bytes);
    }
    let made = steps.iter().map(|step| total(step.jobs().map(made_bytes))).max();
    total(largest.into_values().chain(made))
}

/// What a job makes and removes itself.
fn made_bytes(job: &Job) -> u64 {
    if let Access::Metadata { bytes } = job.access { bytes } else { 0 }
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
    use plimsoll_storage::probe::test::{self, IoMode, TestMode, TestOptions};

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
        assert!(most_bytes(&steps, false) <= 2_000_000_000, "{}", most_bytes(&steps, false));
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

    #[test]
    fn what_is_kept_and_what_servers_take_has_to_fit_too() {
        let steps = steps(Suite::Full);
        let (kept, removed) = (most_bytes(&steps, true), most_bytes(&steps, false));
        assert!(kept > removed, "{kept} and {removed}");
        let names: BTreeSet<&str> = steps.iter().map(|step| step.job.layout.name.as_str()).collect();
        let largest = steps.iter().map(|step| step.job.layout.bytes()).max().expect("steps");
        assert!(kept <= largest * names.len() as u64, "one set of each name");
        let validated = IoPlan { validate: vec!["auto".to_owned()], ..plan(&[6], Some(64 << 20)) };
        assert_eq!(needed_bytes(&validated, &[]), VALIDATION_BYTES);
        let facts = DeviceFacts { free_bytes: Some(200 << 20), ..DeviceFacts::default() };
        assert!(planned(&plan(&[6], Some(64 << 20)), &facts).is_ok());
        assert!(planned(&validated, &facts).unwrap_err().to_string().contains("only 209 MB are free"));
    }

    #[test]
    fn an_option_that_would_do_nothing_is_refused() {
        let facts = DeviceFacts { free_bytes: Some(1 << 40), ..DeviceFacts::default() };
        let asked = |suite, steady, probes: &[u8], validate: &[String]| {
            let what = What::Suite { suite, steady };
            let asked = IoPlan { what, validate: validate.to_vec(), ..plan(probes, Some(64 << 20)) };
            planned(&asked, &facts).map_err(|error| error.to_string())
        };
        let both = asked(Suite::Quick, true, &[6], &[]).expect("probes 6 and 14");
        let numbers: BTreeSet<u8> = both.steps.iter().map(|step| step.probe).collect();
        assert_eq!(numbers, BTreeSet::from([6, STEADY]));
        assert!(asked(Suite::Percona2008, true, &[], &[]).unwrap_err().contains("--steady"));
        let auto = ["auto".to_owned()];
        assert!(asked(Suite::Quick, false, &[1], &auto).unwrap_err().contains("--validate"));
        assert!(asked(Suite::Percona2008, false, &[], &auto).unwrap_err().contains("--validate"));
        assert!(asked(Suite::Quick, false, &[1, 2], &auto).is_ok());
    }

    #[test]
    fn what_replaces_io_uring_is_said() {
        let options = TestOptions { io_mode: IoMode::Async, depth: 8, ..TestOptions::new(TestMode::RandomRead) };
        let asked = test::step(&options).expect("a test");
        let facts = DeviceFacts { io_uring_refused: Some("forbidden".to_owned()), ..DeviceFacts::default() };
        let found = possible(&asked, &facts);
        assert_eq!((found.params["engine"].text(), found.job.engine.depth()), (Some("threads"), 8));
        assert_eq!(possible(&asked, &DeviceFacts::default()), asked);
    }
}
