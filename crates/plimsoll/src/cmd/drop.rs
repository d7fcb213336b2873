//! `plimsoll drop`: removes what `load` created.

use super::{DONE, target, workload};
use crate::args::DropArgs;
use crate::terminal::{self, Progress};
use plimsoll_lab::drop::drop;
use plimsoll_lab::{LabError, OpenTarget};
use plimsoll_server::Home;

pub fn run(args: DropArgs) -> anyhow::Result<u8> {
    let kind = workload(&args.workload)?;
    let spec = target::spec(&args.target, &format!("plimsoll drop {}", kind.name()))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let dropped = drop(&mut target, kind.dataset_family())?;
    let database = if dropped.database { format!(" and the database {}", target.database) } else { String::new() };
    terminal::note(&format!("dropped {}{database}", dropped.tables.join(", ")));
    Ok(DONE)
}
