//! The section about order entry: its transactions against their limits, and whether its input was what it has to be.

use super::markup::{Section, remark, sentence, subheading, table};
use crate::input::Report;
use crate::order_entry::{self, audit, backlog, cost, new_orders, retries, skew, transactions};
use crate::sweep::Sweep;
use crate::text::{escape, escape_tied};
use plimsoll_model::summary::{OrderEntry, Point};

/// `None` for other workloads.
pub(super) fn section(report: &Report) -> Option<Section> {
    let sweep = Sweep::new(report);
    let (point, entry) = order_entry::of(&sweep)?;
    let mut body = format!(
        "<p><b>TPC-C-like</b>, profile {}, fidelity {}; at {}.</p>\n",
        escape(&entry.profile),
        escape(&entry.fidelity),
        escape_tied(&sweep.load_text(point))
    );
    body.push_str(&table(&transactions(point, entry)));
    body.push_str(&remark(&limits_remark(point)));
    body.push_str(&facts(point, entry));
    if !entry.audit.is_empty() {
        body.push_str(&(subheading("Input audit") + &table(&audit(entry)) + &remark(AUDIT_REMARK)));
    }
    if !entry.skew.is_empty() {
        body.push_str(&(subheading("Key skew") + &table(&skew(entry)) + &remark(SKEW_REMARK)));
    }
    if !entry.notes.is_empty() {
        body.push_str(&subheading("Notes"));
        let notes = entry.notes.iter().map(|note| item(note)).collect::<String>();
        body.push_str(&format!("<ul class=\"facts-list\">\n{notes}</ul>\n"));
    }
    Some(Section::new("order-entry", "Order entry", body))
}

const AUDIT_REMARK: &str = "What was drawn, against the ranges of clause 9.2.2.5 and the least shares of clause 5.2.3. Too \
                            few: with so few samples, chance alone may lead out of the range (2.6 standard errors). A \
                            least share holds unless it is missed by more than that. No intervals: the question is \
                            whether a mean lies within its range.";

const SKEW_REMARK: &str = "Share of accesses that went to the hottest keys; expected is the exact share under the \
                           non-uniform distribution of clause 2.1.6. No intervals: all accesses were counted.";

fn limits_remark(point: &Point) -> String {
    let what = if point.response_ms.is_some() { "Response times, from the moment of being due" } else { "Latencies" };
    format!("{what}. The limits of clause 5.2.5.7 are on the 90th percentile.")
}

fn facts(point: &Point, entry: &OrderEntry) -> String {
    let known = [Some(new_orders(entry)), backlog(entry), Some(retries(point)), cost(point)];
    let items: String = known.into_iter().flatten().map(|fact| item(&sentence(&fact))).collect();
    format!("<ul class=\"facts-list\">\n{items}</ul>\n")
}

fn item(text: &str) -> String {
    format!("<li>{}</li>\n", escape_tied(text))
}
