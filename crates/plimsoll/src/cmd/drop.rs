//! `plimsoll drop`: removes what `load` created.

use super::{DONE, target};
use crate::args::DropArgs;
use crate::terminal::{self, Progress};
use plimsoll_data::drop::{Dropped, drop};
use plimsoll_data::target::OpenTarget;
use plimsoll_host::Home;
use plimsoll_lab::LabError;

/// How many tables are named; there may be a hundred thousand.
const SHOWN: usize = 50;

pub fn run(args: DropArgs) -> anyhow::Result<u8> {
    let family = plimsoll_workloads::chosen::family(&args.workload)?;
    let spec = target::spec(&args.target, &format!("plimsoll drop {}", args.workload))?;
    let mut progress = Progress::new(0)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    let dropped = drop(&mut target, family)?;
    terminal::note(&told(&dropped, &target.database));
    target::close(target, &mut progress);
    Ok(DONE)
}

fn told(dropped: &Dropped, database: &str) -> String {
    let shown: Vec<&str> = dropped.tables.iter().take(SHOWN).map(String::as_str).collect();
    let more = match dropped.tables.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more tables"),
    };
    let database = match (&dropped.stays, dropped.database) {
        (Some(why), _) => format!("; the database {database} is kept: {why}"),
        (None, true) => format!(" and the database {database}"),
        (None, false) => String::new(),
    };
    format!("dropped {}{more}{database}", shown.join(", "))
}
