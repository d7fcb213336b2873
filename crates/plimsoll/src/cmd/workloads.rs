//! `plimsoll workloads`: lists the workloads, or describes one.

use super::DONE;
use crate::args::WorkloadsArgs;
use crate::terminal;

pub fn run(args: WorkloadsArgs) -> anyhow::Result<u8> {
    let text = match args.name {
        Some(name) => plimsoll_workloads::describe(&name)?,
        None => plimsoll_workloads::summaries().map(|(name, summary)| format!("{name:24}{summary}\n")).collect(),
    };
    terminal::result(&text)?;
    Ok(DONE)
}
