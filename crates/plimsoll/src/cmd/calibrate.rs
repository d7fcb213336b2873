//! `plimsoll calibrate`: this machine's ceiling as a load generator.

use super::DONE;
use crate::args::CalibrateArgs;
use crate::terminal::{self, Progress};
use plimsoll_lab::LabError;
use plimsoll_lab::calibrate::calibrate;
use plimsoll_server::Home;

pub fn run(args: CalibrateArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let mut progress = Progress::new(0)?;
    terminal::note(&format!("measuring for {:.0} s …", args.time.as_secs_f64()));
    let found = calibrate(&home, args.time.as_secs_f64(), &mut progress)?;
    if args.json {
        terminal::result(&serde_json::to_string_pretty(&found)?)?;
    } else {
        let spread = |field: &str| found.estimates.get(field).map_or(String::new(), terminal::spread);
        terminal::result(&format!(
            "one loop sends at most {:.0}{} queries/s on this machine ({:.2}{} µs of CPU per query, {} connections)",
            found.queries_per_second,
            spread("queries_per_second"),
            found.cpu_us_per_query,
            spread("cpu_us_per_query"),
            found.connections
        ))?;
    }
    Ok(DONE)
}
