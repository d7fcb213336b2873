//! Writes a page from sample data: `cargo run -p plimsoll-render --example sample -- sample.html`.
//! A second argument picks another case: `single`, `empty`, `interrupted`, `order-entry`, `old` (without intervals).

#[path = "../tests/report/sample/mod.rs"]
mod sample;

use sample::{html, terminal_table};
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
        report = sample::first(keep);
        report.summary.interrupted = keep != 1;
    }
    if case.as_deref() == Some("old") {
        report.summary.points.iter_mut().for_each(|point| point.estimates = Default::default());
        report.summary.scaling = None;
    }
    std::fs::write(&path, html(&report))?;
    std::io::stdout().write_all(terminal_table(&report, true).as_bytes())
}
