//! What a transaction cost.

use super::{label, left_out};
use crate::document::{Block, Figure, Section};
use crate::figure::costs;
use crate::found::span;
use crate::subject::Recorded;
use crate::table::{Column, Table};
use plimsoll_model::diagnosis::Cost;
use plimsoll_model::number::{NOTHING, column};

const REMARK: &str = "\
All within the measured window. Client CPU is that of its loop threads; server CPU and context switches are those of \
its whole process; reads, writes and KB (of 1,000 bytes) are those of the block devices that hold its data, where it \
runs on this machine; host CPU is everything on the host. Storage server CPU and round trips, the requests that the \
storage server has to answer, exist on network lanes only. No intervals: these are totals over the window, divided; of \
several rounds, the means.";
const CAPTION: &str = "\
What a transaction cost on average; shorter is cheaper. The share of reads and the request size are not costs: they \
describe the requests. No intervals: these are totals over the window, divided.";

/// Of the load points of a run.
pub fn section(recorded: &Recorded) -> Option<Section> {
    let measured = recorded.trials.iter().filter(|trial| trial.point.is_some());
    let costs: Vec<(String, Cost)> = measured.map(|trial| (label(trial, recorded), trial.cost)).collect();
    of(&costs, &costs)
}

/// Some of the costs are drawn; all are in the table behind.
pub fn of(drawn: &[(String, Cost)], costs: &[(String, Cost)]) -> Option<Section> {
    let table = table(costs)?;
    let caption = [CAPTION.to_owned()].into_iter().chain(left_out(drawn.len(), costs.len())).collect::<Vec<_>>();
    let blocks = match costs::draw("costs", drawn, &caption.join(" ")) {
        Some(figure) => vec![Block::Figure(Figure { table, ..figure }), Block::remark(REMARK)],
        None => vec![Block::table("costs", table, [REMARK.to_owned()])],
    };
    Some(Section::of("cost", "Cost per transaction", blocks)?.found(found(costs)))
}

/// `412 to 530 µs of server CPU`.
fn found(costs: &[(String, Cost)]) -> String {
    let known = span(costs.iter().filter_map(|(_, cost)| cost.server_cpu_us));
    known.map_or(String::new(), |known| format!("{known} µs of server CPU"))
}

/// `None` if nothing is known.
pub fn table(costs: &[(String, Cost)]) -> Option<Table> {
    let cost = |name: &str, unit: &str, pick: fn(&Cost) -> Option<f64>| {
        let values: Vec<Option<f64>> = costs.iter().map(|(_, cost)| pick(cost)).collect();
        Column::numbers(name, unit, column(&values, 2))
    };
    let mut known = vec![
        cost("client CPU", "µs", |cost| cost.client_cpu_us),
        cost("server CPU", "µs", |cost| cost.server_cpu_us),
        cost("reads", "", |cost| cost.reads),
        cost("writes", "", |cost| cost.writes),
        cost("read", "KB", |cost| cost.read_kb),
        cost("written", "KB", |cost| cost.written_kb),
        cost("share of reads", "%", |cost| cost.read_share.map(|share| 100.0 * share)),
        cost("request size", "KB", |cost| cost.request_kb),
        cost("fsyncs", "", |cost| cost.fsyncs),
        cost("context switches", "", |cost| cost.context_switches),
        cost("host CPU", "µs", |cost| cost.host_cpu_us),
        cost("storage server CPU", "µs", |cost| cost.storage_cpu_us),
        cost("round trips to storage", "", |cost| cost.storage_round_trips),
    ];
    known.retain(|column| column.cells.iter().any(|cell| cell != NOTHING));
    (!known.is_empty()).then(|| {
        let labels = Column::words("load point", costs.iter().map(|(label, _)| label.clone()).collect());
        Table::new([labels].into_iter().chain(known).collect())
    })
}
