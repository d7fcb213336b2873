//! `plimsoll completions`: tab completion.

use super::DONE;
use crate::args::{Cli, CompletionsArgs};
use crate::terminal;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use plimsoll_workloads::summaries;

/// The argument of all commands that take a workload.
const WORKLOAD: &str = "workload";

pub fn run(args: CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&Cli::command()), "plimsoll", &mut script);
    terminal::document(&String::from_utf8_lossy(&script))?;
    Ok(DONE)
}

/// Without the subcommands that are hidden, which clap_complete would offer, and with the names of workloads, which a
/// command accepts in other spellings too.
fn shown(all: &Command) -> Command {
    let listed = all.get_subcommands().filter(|one| !one.is_hide_set()).cloned().map(with_workloads);
    let shown = Command::new("plimsoll").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    shown.args(all.get_arguments().cloned()).subcommands(listed)
}

fn with_workloads(command: Command) -> Command {
    let takes_one = command.get_arguments().any(|argument| argument.get_id() == WORKLOAD);
    let names = || PossibleValuesParser::new(summaries().map(|(name, _)| name));
    if takes_one { command.mut_arg(WORKLOAD, |argument| argument.value_parser(names())) } else { command }
}
