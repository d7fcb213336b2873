//! Probe 8, flush batch: how many pages per second the page cleaners write in place, with each protection against torn
//! pages. It shows what `innodb_doublewrite` costs, and what untorn writes would cost.

use crate::job::{Access, Doublewrite, Job, JobEngine};
use crate::layout::FileLayout;
use crate::op::PAGE;
use crate::probe::{Extent, ProbeStep};

/// Pages of a batch: what one write to the doublewrite area holds (MySQL, according to a trace: up to 2 MiB).
const PAGES: u32 = 128;
/// Batches under way at once: `innodb_page_cleaners` and `innodb_write_io_threads` are 4 by default in MySQL.
const CLEANERS: u32 = 4;
/// The doublewrite area, and data files.
const FILES: u32 = 1 + 2;
const BYTES: u64 = 384 << 20;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let mut ways = vec![Doublewrite::On, Doublewrite::Synced, Doublewrite::Off];
    if extent.atomic && extent.direct {
        ways.push(Doublewrite::Atomic);
    }
    ways.into_iter().map(|doublewrite| step(extent, doublewrite)).collect()
}

fn step(extent: &Extent, doublewrite: Doublewrite) -> ProbeStep {
    let params = [
        ("doublewrite", name(doublewrite).into()),
        ("pages", PAGES.into()),
        ("block", PAGE.into()),
        ("cleaners", CLEANERS.into()),
    ];
    ProbeStep::new(8, name(doublewrite), "flush batch", params, job(extent, doublewrite))
}

fn name(doublewrite: Doublewrite) -> &'static str {
    match doublewrite {
        Doublewrite::Off => "off",
        Doublewrite::On => "on",
        Doublewrite::Synced => "on-synced",
        Doublewrite::Atomic => "atomic",
    }
}

fn job(extent: &Extent, doublewrite: Doublewrite) -> Job {
    let layout = FileLayout::of("batch", FILES, BYTES.min(extent.data_bytes / 4 * 3));
    extent.job(layout, Access::FlushBatch { pages: PAGES, doublewrite }, JobEngine::Threads { workers: CLEANERS })
}
