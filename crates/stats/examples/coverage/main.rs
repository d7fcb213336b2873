//! Prints how often the intervals of this crate contain the truth: seeded simulations with realistic autocorrelation.
//! `make coverage` runs it; `docs/statistics.md` has what it printed.
//!
//! `--simulations N` runs fewer of them (4,000 if not given).

mod explained;
mod noise;
mod parts;
mod rounds;
mod scaling;
mod search;
mod sequential;
mod series;
mod switchback;
mod table;
mod within;

use parts::rows;
use std::process::ExitCode;
use table::{Row, table};

const SIMULATIONS: usize = 4_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let simulations = match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => SIMULATIONS,
        (Some("--simulations"), Some(number)) if number.parse::<usize>().is_ok_and(|n| n > 0) => {
            number.parse().unwrap_or(SIMULATIONS)
        }
        _ => {
            eprintln!("accepted is: --simulations N, with N above 0");
            return ExitCode::from(2);
        }
    };
    let rows = rows(simulations);
    print!("{}", table(&rows, simulations));
    if rows.iter().all(Row::holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
