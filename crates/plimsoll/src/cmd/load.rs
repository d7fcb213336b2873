//! `plimsoll load`: creates schema and data.

use super::{DONE, chosen, target};
use crate::args::LoadArgs;
use crate::terminal::{self, Progress};
use plimsoll_data::load::load;
use plimsoll_data::target::OpenTarget;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::fleet::{self, LoadedData};

pub fn run(args: LoadArgs) -> anyhow::Result<u8> {
    let chosen = chosen(&args.workload, &args.params.0, None)?;
    let spec = target::spec(&args.target, &format!("plimsoll load {}", chosen.name()))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let connections = usize::from(args.threads);
    let loaded = match args.fleet.plan() {
        Some(plan) => {
            let data = LoadedData { typed: &args.params.0, seed: args.seed, connections };
            fleet::load(&mut target, &plan, &chosen, &data, &mut progress)
        }
        None => {
            let data = chosen.dataset(args.seed);
            load(&mut target, data.as_ref(), connections, &mut progress).map_err(LabError::from)
        }
    };
    progress.clear();
    let loaded = match loaded {
        Err(LabError::Interrupted) => {
            terminal::note("interrupted; the same command continues where it stopped");
            return Err(LabError::Interrupted.into());
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
    target::close(target, &mut progress);
    Ok(DONE)
}
