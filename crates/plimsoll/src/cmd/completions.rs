//! `plimsoll completions`: tab completion. The shell's script asks Plimsoll itself, which knows its recordings.

use super::DONE;
use crate::args::{Cli, CompletionsArgs};
use crate::terminal;
use anyhow::Context;
use clap::{Arg, Command, CommandFactory};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, PathCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use plimsoll_host::Home;
use plimsoll_model::number::counted;
use plimsoll_model::text::is_unfit;
use plimsoll_record::read::Entry;
use plimsoll_server::snapshot::store;
use plimsoll_workloads::summaries;
use std::collections::BTreeMap;
use std::env;

/// By this the script says for which shell it asks.
const ASKED: &str = "PLIMSOLL_COMPLETE";

pub fn run(args: CompletionsArgs) -> anyhow::Result<u8> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).context("there is no completion for this shell")?;
    let mut script = Vec::new();
    shell.write_registration(ASKED, "plimsoll", "plimsoll", &own_path(), &mut script)?;
    terminal::document(&String::from_utf8_lossy(&script))?;
    Ok(DONE)
}

/// As Plimsoll was called, so that one that is not on the PATH is found from every directory.
fn own_path() -> String {
    let called = env::args_os().next().unwrap_or_default().to_string_lossy().into_owned();
    let path = env::current_dir().ok().filter(|_| called.contains('/')).map(|directory| directory.join(&called));
    path.map_or("plimsoll".to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Answers a shell in which somebody pressed the tab key, and ends the process; does nothing if none asks.
pub fn answer() {
    CompleteEnv::with_factory(|| offering(Cli::command())).var(ASKED).complete();
}

/// What the arguments of a command and of those below it accept, as far as it can be listed.
fn offering(command: Command) -> Command {
    let is_of_names = command.get_name() == "keep";
    command.mut_args(|argument| offered(argument, is_of_names)).mut_subcommands(offering)
}

/// `is_of_names` is of a command that takes the name of recordings, and none of them alone.
fn offered(argument: Arg, is_of_names: bool) -> Arg {
    if argument.get_id() == "baseline" || is_of_names && argument.get_id() == "name" {
        return argument.add(ArgValueCandidates::new(names));
    }
    let value = argument.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    match value.as_str() {
        "RECORDING" | "A" | "B" => argument.add(ArgValueCandidates::new(recordings)),
        "ID" => argument.add(ArgValueCandidates::new(datasets)),
        "WORKLOAD" => argument.add(ArgValueCandidates::new(workloads)),
        "PLAN.toml" => argument.add(plans()),
        _ => argument,
    }
}

fn candidate(value: String, help: String) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.into()))
}

fn listed() -> Vec<Entry> {
    let listing = Home::from_env().ok().and_then(|home| plimsoll_record::read::list(&home.recordings()).ok());
    listing.map(|listing| listing.recordings).unwrap_or_default()
}

/// Each name with how many recordings have it.
fn counted_names(all: &[Entry]) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::<_, usize>::new();
    all.iter().for_each(|entry| *names.entry(entry.manifest.name.clone()).or_default() += 1);
    names
}

/// The names of recordings, where a name means all of them.
fn names() -> Vec<CompletionCandidate> {
    let named = counted_names(&listed()).into_iter();
    named.map(|(name, count)| candidate(name, counted(count as f64, "recording"))).collect()
}

/// The names of recordings, which mean the latest of that name, then each recording, the latest first.
fn recordings() -> Vec<CompletionCandidate> {
    let all = listed();
    let names = counted_names(&all).into_iter();
    let names = names.map(|(name, count)| candidate(name, format!("the latest of {count}")));
    let each = all.iter().rev().map(|entry| (entry.id(), entry.state().word().to_owned()));
    let each = each.filter(|(id, _)| !id.contains(is_unfit)).map(|(id, state)| candidate(id, state));
    names.chain(each).enumerate().map(|(place, candidate)| candidate.display_order(Some(place))).collect()
}

fn datasets() -> Vec<CompletionCandidate> {
    let all = Home::from_env().ok().and_then(|home| store::list(&home).ok()).unwrap_or_default();
    let described = all.into_iter().map(|stored| stored.description);
    described.map(|one| candidate(one.id, format!("{} {}", one.build.flavour, one.build.version))).collect()
}

/// A command accepts them in other spellings too.
fn workloads() -> Vec<CompletionCandidate> {
    summaries().map(|(name, summary)| candidate(name.to_owned(), summary.to_owned())).collect()
}

fn plans() -> ArgValueCompleter {
    ArgValueCompleter::new(PathCompleter::any().filter(|path| path.extension().is_some_and(|ending| ending == "toml")))
}
