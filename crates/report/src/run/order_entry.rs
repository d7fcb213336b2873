//! The section about order entry: its transactions against their limits, and whether its input was as required.

use crate::document::{Block, Item, Section};
use crate::order_entry::{self, audit, backlog, cost, new_orders, retries, skew, transactions};
use crate::run_view::ShownRun;
use plimsoll_model::layout::sentence;
use plimsoll_model::number::short;
use plimsoll_model::summary::{OrderEntry, Point};

/// `None` for other workloads.
pub(super) fn section(run: &ShownRun<'_>) -> Option<Section> {
    let sweep = run.sweep();
    let (point, entry) = order_entry::of(&sweep)?;
    let what = format!("profile {}, fidelity {}; at {}.", entry.profile, entry.fidelity, sweep.load_text(point));
    let mut blocks = vec![
        Block::lead("TPC-C-like,", what),
        Block::table("transactions", transactions(point, entry), [limits_remark(point)]),
        Block::List(facts(point, entry)),
    ];
    if !entry.audit.is_empty() {
        blocks.push(Block::subheading("Input audit"));
        blocks.push(Block::table("audit", audit(entry), [AUDIT_REMARK.to_owned()]));
    }
    if !entry.skew.is_empty() {
        blocks.push(Block::subheading("Key skew"));
        blocks.push(Block::table("skew", skew(entry), [SKEW_REMARK.to_owned()]));
    }
    if !entry.notes.is_empty() {
        blocks.push(Block::subheading("Notes"));
        blocks.push(Block::List(entry.notes.iter().map(Item::of).collect()));
    }
    let found = order_entry::new_order_p90(point);
    let found = found.map_or(String::new(), |p90| format!("90 % of all new orders took at most {} ms", short(p90)));
    Some(Section::of("order-entry", "Order entry", blocks)?.found(found))
}

const AUDIT_REMARK: &str = "What was drawn, against the ranges of clause 9.2.2.5 and the minimum shares of clause 5.2.3. Too \
                            few: with so few samples, chance alone may lead out of the range (2.6 standard errors). A \
                            minimum share holds unless it is missed by more than that. No intervals: the question is \
                            whether a mean lies within its range.";

const SKEW_REMARK: &str = "Share of accesses that went to the hottest keys; expected is the exact share under the \
                           non-uniform distribution of clause 2.1.6. No intervals: all accesses were counted.";

fn limits_remark(point: &Point) -> String {
    let what = if point.response_ms.is_some() { "Response times, from the due time" } else { "Latencies" };
    format!("{what}. The limits of clause 5.2.5.7 apply to the 90th percentile.")
}

fn facts(point: &Point, entry: &OrderEntry) -> Vec<Item> {
    let known = [Some(new_orders(entry)), backlog(entry), Some(retries(point)), cost(point)];
    known.into_iter().flatten().map(|fact| Item::of(sentence(&fact))).collect()
}
