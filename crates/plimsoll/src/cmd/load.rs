//! `plimsoll load`: creates schema and data.

use super::{DONE, chosen, target};
use crate::args::LoadArgs;
use crate::terminal::{self, Progress};
use plimsoll_data::DataError;
use plimsoll_data::load::load;
use plimsoll_data::target::OpenTarget;
use plimsoll_host::Home;
use plimsoll_lab::LabError;

pub fn run(args: LoadArgs) -> anyhow::Result<u8> {
    let chosen = chosen(&args.workload, &args.params.0, None)?;
    let spec = target::spec(&args.target, &format!("plimsoll load {}", chosen.name()))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let data = chosen.dataset(args.seed);
    let loaded = load(&mut target, data.as_ref(), usize::from(args.threads), &mut progress);
    progress.clear();
    let loaded = match loaded {
        Err(DataError::Interrupted) => {
            terminal::note("interrupted; the same command continues where it stopped");
            return Err(DataError::Interrupted.into());
        }
        other => other?,
    };
    let seconds = loaded.elapsed.as_secs_f64();
    terminal::note(&format!(
        "loaded {} rows into {} of {} in {seconds:.1} s ({:.0} rows/s, {}{})",
        loaded.rows,
        target.database,
        target.describe(),
        loaded.rows_per_second(),
        loaded.method,
        if loaded.resumed { ", continued" } else { "" },
    ));
    if let Some(why) = loaded.without_routines {
        terminal::note(&format!(
            "there are no stored procedures, because the server refused them ({why}); --call-style procedure will not \
             work"
        ));
    }
    Ok(DONE)
}
