//! Writes a page from sample data: `cargo run -p plimsoll-report --example sample -- sample.html`.
//! A second argument picks another case: `single`, `empty`, `interrupted`, `order-entry`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use plimsoll_report::{html, terminal_table};
use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "sample.html".to_owned());
    let case = arguments.next();
    let mut report = match case.as_deref() {
        Some("order-entry") => sample::order_entry::report(),
        _ => sample::report(),
    };
    let keep = match case.as_deref() {
        Some("single") => 1,
        Some("empty") => 0,
        Some("interrupted") => 3,
        _ => report.summary.points.len(),
    };
    if keep < report.summary.points.len() {
        report.summary.interrupted = keep != 1;
        report.summary.points.truncate(keep);
        report.timeline.truncate(keep);
        let loads: Vec<(f64, f64)> = report
            .summary
            .points
            .iter()
            .filter_map(|point| Some((point.connections as f64, point.transactions_per_second?)))
            .collect();
        report.knee = plimsoll_stats::knee(&loads);
    }
    std::fs::write(&path, html(&report))?;
    std::io::stdout().write_all(terminal_table(&report, true).as_bytes())
}
