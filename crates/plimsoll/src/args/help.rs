//! The help of commands that take a workload: with the parameters of the one that was named, and no others.

use super::Cli;
use clap::{Command, CommandFactory};
use plimsoll_workloads::chosen::{options, parameters_of};

/// Commands with workload parameters, under all their names.
const OF_A_WORKLOAD: [&str; 7] = ["load", "prepare", "run", "check", "advise", "crash", "tune"];

/// What can be typed, for these words after the program's name. All that it takes stays, whatever its help shows.
pub fn command(words: &[String]) -> Command {
    let Some(name) = words.first().filter(|word| OF_A_WORKLOAD.contains(&word.as_str())) else {
        return Cli::command();
    };
    let name = if name == "prepare" { "load" } else { name };
    let mut typed = words[1..].iter().map(|word| word.strip_prefix("--workload=").unwrap_or(word));
    let named = typed.find_map(|word| parameters_of(word).ok()).unwrap_or_default();
    let others = || options().into_iter().map(|(option, _)| option).filter(|option| !named.contains(option));
    Cli::command()
        .mut_subcommand(name, |command| others().fold(command, |of, name| of.mut_arg(name, |arg| arg.hide(true))))
}
