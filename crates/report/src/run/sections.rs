//! The sections that only a run has, and what it adds to those that labs also have.

use crate::document::{Block, Figure, Item, Section};
use crate::figure::{cpu, curves as figure_of_curves, operations};
use crate::interval::Measured;
use crate::points::{self, Per, TableRoom};
use crate::run_view::ShownRun;
use crate::scaling;
use crate::section::limit::words;
use crate::section::{cost as shared_cost, latency as shared_latency, limit as shared_limit, timeline};
use crate::sweep::{Sweep, Unit, errors_by_code, shown_latency};
use crate::table::{Column, Mark};
use plimsoll_model::Metric;
use plimsoll_model::layout::aligned;
use plimsoll_model::number::{counted, number, short};
use plimsoll_model::summary::Point;

/// The main figure. For a single load point, its seconds say more than a single dot.
pub(super) fn figure(run: &ShownRun<'_>) -> Option<Section> {
    match curves(run) {
        Some(figure) => Section::of("figure", "Throughput and latency", vec![Block::Figure(figure)]),
        None => Section::of("figure", "Throughput", timeline::section(run.recorded)?.blocks),
    }
}

fn curves(run: &ShownRun<'_>) -> Option<Figure> {
    figure_of_curves::draw("throughput", &super::curves::curves(run), &main_caption(run))
}

/// Left out if it is the main figure already.
pub(super) fn timeline(run: &ShownRun<'_>) -> Option<Section> {
    curves(run)?;
    timeline::section(run.recorded)
}

fn main_caption(run: &ShownRun<'_>) -> String {
    let sweep = run.sweep();
    let measured: Vec<Measured> = sweep.points.iter().map(|point| sweep.measured(point)).collect();
    let has_interval = |measured: &Measured| measured.ends() != (None, None);
    let several = run.rounds() > 1;
    let mut caption =
        vec![if several { "Dots are means over all rounds." } else { "Dots are means over the measured window." }];
    if measured.iter().any(has_interval) {
        caption.push("Thin strokes with caps are their 95 % intervals.");
    }
    if measured.iter().any(|measured| measured.value.is_some() && !has_interval(measured)) {
        caption.push("If a dot has no interval, the reason stands below the table of load points.");
    }
    let has_seconds = run.recorded.trials.iter().any(|trial| trial.series.intervals.len() > 1);
    if has_seconds && sweep.unit == Unit::Transactions {
        caption.push(match several {
            false => "Broad pale strokes reach from the slowest to the fastest second.",
            true => "Broad pale strokes reach from the slowest to the fastest second of the round in the middle.",
        });
    }
    if sweep.points.iter().any(Point::is_disturbed) {
        caption.push("A crossed-out load point was disturbed: something else used the machine at the same time.");
    }
    if let Some(knee) = sweep.knee() {
        caption.push(
            "The mark with the line through it is the knee: the smallest load that reaches 95 % of the highest \
             throughput, interpolated between load points.",
        );
        if has_interval(&Measured::from(&knee.load)) {
            caption.push("The pale band is its 95 % interval.");
        }
    }
    match sweep.scaling.and_then(|scaling| scaling.saturation.as_ref()).map(|model| model.poor.is_some()) {
        Some(true) => caption.push(
            "The dashed line is the Universal Scalability model, which does not describe these load points well: see \
             Scaling.",
        ),
        Some(false) => caption.push("The dashed line is the Universal Scalability model, fitted to the dots."),
        None => {}
    }
    caption.join(" ")
}

pub(super) fn load_points(run: &ShownRun<'_>) -> Option<Section> {
    let sweep = run.sweep();
    if sweep.points.is_empty() {
        return None;
    }
    let rows = points::load_points(&sweep, TableRoom::Page);
    let mut remarks = Vec::new();
    if rows.columns.iter().any(Column::has_intervals) {
        remarks.push("The 95 % interval of a number stands beside or below it.".to_owned());
    }
    if rows.marks.contains(&Some(Mark::Knee)) {
        remarks.push("The knee marks the first load point that reaches 95 % of the peak.".to_owned());
    }
    if sweep.points.iter().any(|point| point.response_ms.is_some()) {
        remarks.push(
            "Percentiles are of the response time, counted from the moment when a transaction was due.".to_owned(),
        );
    }
    if sweep.unit == Unit::NewOrders {
        remarks.push(
            "NOPM: new orders committed per minute. The column new_order covers only these; all others cover all kinds \
             together."
                .to_owned(),
        );
    }
    remarks.extend(errors_by_code(sweep.points).map(|named| format!("Errors by code: {named}.")));
    let found = counted(sweep.points.len() as f64, "load point");
    Some(Section::of("points", "Load points", vec![Block::table("points", rows, remarks)])?.found(found))
}

/// What the sweep shows as a whole.
pub(super) fn scaling(run: &ShownRun<'_>) -> Option<Section> {
    let sweep = run.sweep();
    let scaling = sweep.scaling?;
    let (rows, remarks) = (scaling::table(&sweep, scaling), scaling::remarks(scaling));
    let mut blocks = Vec::new();
    if rows.rows() > 0 {
        blocks.push(Block::table("scaling", rows, remarks));
    } else if !remarks.is_empty() {
        blocks.push(Block::remark(remarks.join(" ")));
    }
    if !scaling.refusals.is_empty() {
        blocks.push(Block::List(scaling.refusals.iter().map(Item::of).collect()));
    }
    let knee =
        sweep.knee().map(|knee| format!("95 % of the peak from about {} connections on", number(knee.load.value, 0)));
    let found = knee.unwrap_or_else(|| "no knee".to_owned());
    Some(Section::of("scaling", "Scaling", blocks)?.found(found))
}

/// The listings that the workload's original would have printed.
pub(super) fn original(run: &ShownRun<'_>) -> Option<Section> {
    let listings = run.summary.points.iter().filter_map(|point| point.original_listing.as_deref());
    let mut blocks: Vec<Block> = listings.map(|listing| Block::Listing(aligned(listing))).collect();
    let found = counted(blocks.len() as f64, "listing");
    if !blocks.is_empty() {
        blocks.push(Block::remark(points::ORIGINAL_REMARK));
    }
    Some(Section::of("original", "As the original prints it", blocks)?.found(found))
}

pub(super) fn limit(run: &ShownRun<'_>) -> Option<Section> {
    let shared = shared_limit::section(run.recorded).map_or_else(Vec::new, |section| section.blocks);
    let caption = "Host: all its CPU time by kind, named at the last bar. Load generator: how much of its time it was \
                   on a CPU; near 100 % it measures itself rather than the server. All are means \
                   over the measured window, with 95 % intervals as thin strokes or beside the names; if one is \
                   missing, the reason stands below the table of load points.";
    let figure = cpu::draw(&run.sweep(), caption).map(Block::Figure);
    let sweep = run.sweep();
    let judged = sweep.detailed().and_then(|point| Some((run.diagnosis(point)?, point)));
    let found = judged.map(|(diagnosis, point)| format!("{} at {}", words(diagnosis), sweep.load_text(point)));
    let section = Section::of("limit", "What limited it", shared.into_iter().chain(figure).collect());
    Some(section?.found(found.unwrap_or_default()))
}

/// With the workload's parameters.
pub(super) fn environment(run: &ShownRun<'_>, shared: Option<Section>) -> Option<Section> {
    let summary = run.summary;
    let fixed = [("workload", summary.workload.clone()), ("seed", summary.seed.to_string())];
    let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value));
    let parameters = summary.params.iter().map(|(name, value)| (name.clone(), value.to_string()));
    let workload = [Block::subheading("Workload"), Block::Pairs(fixed.chain(parameters).collect())];
    let shared = shared.map_or_else(Vec::new, |section| section.blocks);
    let section = Section::of("environment", "Test environment", shared.into_iter().chain(workload).collect());
    Some(section?.found(summary.target.title()))
}

pub(super) fn cost(run: &ShownRun<'_>) -> Option<Section> {
    let sweep = run.sweep();
    let mut blocks = shared_cost::section(run.recorded).map_or_else(Vec::new, |section| section.blocks);
    // If each transaction is one query, the second table would repeat the first.
    let has_queries = sweep.points.iter().any(|point| point.queries != point.transactions);
    let tables = [
        (Per::Transaction, "per-transaction", "CPU and I/O of the processes, per transaction"),
        (Per::Query, "per-query", "The same per query"),
    ];
    for (per, name, heading) in tables.into_iter().take(1 + usize::from(has_queries)) {
        if let Some(costs) = points::costs(&sweep, per) {
            let remarks = [PROCESS_REMARK.to_owned()].into_iter().chain(of_script(&sweep));
            blocks.extend([Block::subheading(heading), Block::table(name, costs, remarks)]);
        }
    }
    let cpu = sweep.detailed().and_then(|point| {
        let cpu = Metric::ServerCpuUsPerTransaction.value(point)?;
        Some(format!("{} µs of server CPU per transaction at {}", short(cpu), sweep.load_text(point)))
    });
    Some(Section::of("cost", "Cost", blocks)?.found(cpu.unwrap_or_default()))
}

const PROCESS_REMARK: &str = "All within the measured window. Client CPU is that of its loop threads; the server's CPU, context \
                              switches and I/O are those of its whole process.";

/// What the script of a workload has taken of its loops.
fn of_script(sweep: &Sweep<'_>) -> Option<String> {
    let point = sweep.detailed()?;
    let (us, longest_ms) = (point.client.script_us_per_query?, point.client.script_ms_max?);
    Some(format!(
        "At {} the script computed for {} µs per query, and for {} ms at the longest without asking anything.",
        sweep.load_text(point),
        short(us),
        short(longest_ms)
    ))
}

pub(super) fn latency(run: &ShownRun<'_>) -> Option<Section> {
    let sweep = run.sweep();
    let detailed = sweep.detailed()?;
    let mut blocks = vec![Block::table("latencies", points::latencies(&sweep), [])];
    blocks.extend(shared_latency::section(run.recorded).map_or_else(Vec::new, |section| section.blocks));
    let caption = "Filled dot: median; upright stroke: 95th percentile; ring: 99th percentile; small dot: maximum. Blue: \
                   whole transactions; green: statements.";
    if let Some(figure) = operations::draw(detailed, caption) {
        blocks.push(Block::subheading(format!("By operation, at {}", sweep.load_text(detailed))));
        blocks.push(Block::Figure(figure));
    }
    let found = match (shown_latency(detailed).p50, shown_latency(detailed).p99) {
        (Some(p50), Some(p99)) => {
            format!("half within {} ms, 99 % within {} ms at {}", short(p50), short(p99), sweep.load_text(detailed))
        }
        _ => String::new(),
    };
    Some(Section::of("latency", "Latency", blocks)?.found(found))
}
