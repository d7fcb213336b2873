//! `plimsoll completions`: tab completion.

use super::DONE;
use crate::args::{Cli, CompletionsArgs};
use crate::terminal;
use clap::{Command, CommandFactory};

pub fn run(args: CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&Cli::command()), "plimsoll", &mut script);
    terminal::document(&String::from_utf8_lossy(&script))?;
    Ok(DONE)
}

/// Without the subcommands that are hidden, which clap_complete would offer.
fn shown(all: &Command) -> Command {
    let listed = all.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    let shown = Command::new("plimsoll").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    shown.args(all.get_arguments().cloned()).subcommands(listed)
}
