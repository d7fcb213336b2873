//! The report of a run: in every format, in the terminal, with its intervals, and safe whatever it is made of.

mod checked;
mod disturbed;
mod formats;
mod intervals;
mod page;
mod sample;
mod terminal;

use sample::Report;

fn answer(report: &Report) -> String {
    plimsoll_report::document(&report.recorded()).answer
}

fn findings(report: &Report) -> Vec<String> {
    plimsoll_report::document(&report.recorded()).findings.iter().map(ToString::to_string).collect()
}
