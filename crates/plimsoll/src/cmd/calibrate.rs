//! `plimsoll calibrate`: this machine's ceiling as a load generator.

use super::DONE;
use crate::args::CalibrateArgs;
use crate::terminal::{self, Progress};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::calibrate::calibrate;
use plimsoll_report::interval::Measured;

pub fn run(args: CalibrateArgs) -> anyhow::Result<u8> {
    if args.time.is_zero() {
        return Err(LabError::Refused("--time must be longer than 0".to_owned()).into());
    }
    let home = Home::from_env().map_err(LabError::from)?;
    let mut progress = Progress::new(0)?;
    terminal::note(&format!("measuring for {:.0} s …", args.time.as_secs_f64()));
    let found = calibrate(&home, args.time.as_secs_f64(), &mut progress)?;
    if args.json {
        terminal::json(&found)?;
    } else {
        let rate = Measured::from(&found.estimates.queries_per_second).in_words("queries/s");
        let cpu = Measured::from(&found.estimates.cpu_us_per_query).in_words("µs of CPU per query");
        terminal::result(&format!(
            "on this machine, one loop sends at most {rate}, with {cpu}, {} connections",
            found.connections
        ))?;
    }
    Ok(DONE)
}
