//! `plimsoll man`: a manual page for each command.

use super::DONE;
use crate::args::{Cli, ManArgs};
use anyhow::Context;
use clap::CommandFactory;
use std::fs;

pub fn run(args: &ManArgs) -> anyhow::Result<u8> {
    let directory = &args.directory;
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .with_context(|| format!("the manual pages cannot be written: {}", directory.display()))?;
    Ok(DONE)
}
