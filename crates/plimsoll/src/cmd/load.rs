//! `plimsoll load`: schema and data.

use super::{DONE, target, workload};
use crate::args::LoadArgs;
use crate::terminal::{self, Progress};
use plimsoll_lab::load::load;
use plimsoll_lab::{LabError, OpenTarget};
use plimsoll_server::Home;
use plimsoll_workloads::oltp::Parameters;
use plimsoll_workloads::oltp::load::OltpData;

pub fn run(args: LoadArgs) -> anyhow::Result<u8> {
    let kind = workload(&args.workload)?;
    let pairs = args.params.0.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let parameters = Parameters::parse(kind, pairs)?;
    let spec = target::spec(&args.target, &format!("plimsoll load {}", kind.name()))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let data = OltpData::new(kind, &parameters, args.seed);
    let loaded = load(&mut target, &data, usize::from(args.threads), &mut progress);
    progress.clear();
    let loaded = match loaded {
        Err(LabError::Interrupted) => {
            terminal::note("interrupted; the same command goes on where it stopped");
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
        loaded.rows as f64 / seconds,
        loaded.method,
        if loaded.resumed { ", gone on with" } else { "" },
    ));
    Ok(DONE)
}
