//! Checks in advance what would stop a measurement after its files were laid out: impossible jobs, buffers that do not
//! fit in memory, more files than may be open.

use crate::EvaluateError;
use plimsoll_host::limits::{SPARE_FILES, allow_open_files};
use plimsoll_model::io::DeviceFacts;
use plimsoll_storage::job::Job;
use plimsoll_storage::probe::ProbeStep;
use plimsoll_storage::run;

/// Share of the machine's memory that buffers may take: the page cache and other programs need the rest.
const MEMORY_SHARE: u64 = 4;

/// Checks every step, and lets this process have as many open files as they need.
///
/// # Errors
/// [`EvaluateError::Storage`] as in [`run::check`]; [`EvaluateError::Refused`] for too little memory;
/// [`EvaluateError::Environment`] for too few open files.
pub fn check(steps: &[ProbeStep], facts: &DeviceFacts) -> Result<(), EvaluateError> {
    steps.iter().flat_map(ProbeStep::jobs).try_for_each(run::check)?;
    steps.iter().try_for_each(|step| memory(step, facts.memory_bytes))?;
    let files = steps.iter().map(|step| step.jobs().map(open_files).sum::<u64>()).max().unwrap_or(0);
    let wanted = files + SPARE_FILES;
    allow_open_files(wanted).map_err(|allowed| {
        EvaluateError::Environment(format!(
            "the measurements need {wanted} open files, but this process may have only {allowed}: raise the limit \
             (`ulimit -Hn`), or measure with fewer --files"
        ))
    })
}

fn memory(step: &ProbeStep, memory_bytes: Option<u64>) -> Result<(), EvaluateError> {
    let needed: u64 = step.jobs().map(run::buffer_bytes).sum();
    match memory_bytes.map(|bytes| bytes / MEMORY_SHARE) {
        Some(most) if needed > most => Err(EvaluateError::Refused(format!(
            "{} needs {} MB of buffers (two for each operation under way, and 4 bytes for each block to --verify), but \
             may have only {} MB, a quarter of the memory: choose a smaller --block, --merged, --depth or --threads, \
             or to verify a smaller --size",
            step.id,
            needed / 1_000_000,
            most / 1_000_000
        ))),
        _ => Ok(()),
    }
}

/// Its files, and one more for each loop's ring.
fn open_files(job: &Job) -> u64 {
    u64::from(job.layout.files) + u64::from(job.engine.loops())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_storage::job::Access;
    use plimsoll_storage::probe::test::{IoMode, TestMode, TestOptions, step};

    fn test(change: impl Fn(&mut TestOptions)) -> ProbeStep {
        let mut options = TestOptions::new(TestMode::RandomMixed);
        change(&mut options);
        step(&options).unwrap()
    }

    fn refusal(step: ProbeStep) -> String {
        let facts = DeviceFacts { memory_bytes: Some(4 << 30), ..DeviceFacts::default() };
        check(&[step], &facts).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_done_is_refused_before_anything_is_laid_out() {
        let mut impossible = test(|_| {});
        impossible.job.access = Access::Streams { block: 0 };
        assert!(refusal(impossible).contains("a block of 0 bytes"));
        let huge = test(|o| {
            (o.io_mode, o.depth, o.block, o.files, o.size) = (IoMode::Async, 4096, 64 << 20, 1, 64 << 20);
        });
        assert!(refusal(huge).contains("549755 MB of buffers"));
        let remembered = test(|o| (o.verify, o.block, o.size) = (true, 512, 1 << 40));
        assert!(refusal(remembered).contains("a smaller --size"));
        let many = test(|o| (o.files, o.size) = (1 << 24, 1 << 40));
        assert!(refusal(many).contains("open files"));
    }

    #[test]
    fn the_usual_test_fits_every_machine() {
        let facts = DeviceFacts { memory_bytes: Some(1 << 30), ..DeviceFacts::default() };
        check(&[test(|_| {})], &facts).unwrap();
    }
}
