//! `plimsoll completions`: tab completion.

use super::DONE;
use crate::args::{Cli, CompletionsArgs};
use crate::terminal;
use clap::CommandFactory;

pub fn run(args: CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "plimsoll", &mut script);
    terminal::result(&String::from_utf8_lossy(&script))?;
    Ok(DONE)
}
