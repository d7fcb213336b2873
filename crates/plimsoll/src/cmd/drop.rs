//! `plimsoll drop`: removes what `load` created.

use super::{DONE, target};
use crate::args::DropArgs;
use crate::terminal::{self, Progress};
use plimsoll_lab::drop::drop;
use plimsoll_lab::{LabError, OpenTarget};
use plimsoll_server::Home;

pub fn run(args: DropArgs) -> anyhow::Result<u8> {
    let family = plimsoll_workloads::chosen::family(&args.workload)?;
    let spec = target::spec(&args.target, &format!("plimsoll drop {}", args.workload))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let dropped = drop(&mut target, family)?;
    let database = if dropped.database { format!(" and the database {}", target.database) } else { String::new() };
    terminal::note(&format!("dropped {}{database}", dropped.tables.join(", ")));
    Ok(DONE)
}
