//! The `plimsoll` command: arguments in, exit code out. The crates below it do the work.

// Only `terminal` writes to the standard streams: it makes sure that no text written by others controls the terminal.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod cmd;
mod terminal;

use args::{Cli, Command, help, sysbench};
use clap::FromArgMatches;
use plimsoll_model::text::is_unfit;
use std::process::ExitCode;

/// The arguments; ends the process if they are wrong or ask for help.
fn parsed() -> Cli {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = help::command(&words);
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let parsed =
        matches.and_then(|matches| Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command)));
    parsed.unwrap_or_else(|error| {
        if let Some(answer) = sysbench::answer(&words).filter(|_| error.use_stderr()) {
            terminal::note(&answer);
            terminal::settle();
            std::process::exit(error.exit_code());
        }
        // It may quote a file name that somebody else chose.
        let text = error.render().to_string();
        if error.use_stderr() && text.contains(|c: char| c != '\n' && is_unfit(c)) {
            terminal::note(&text);
            terminal::settle();
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}

fn main() -> ExitCode {
    cmd::completions::answer();
    if let Some(words) = cmd::sysbench::asked() {
        let code = cmd::sysbench::run(&words);
        terminal::settle();
        return ExitCode::from(code);
    }
    let cli = parsed();
    let outcome = match cli.command {
        Command::Quickstart(args) => cmd::quickstart::run(args),
        Command::Workloads(args) => cmd::workloads::run(args),
        Command::Load(args) => cmd::load::run(args),
        Command::Run(args) => match args.script() {
            Some(path) => cmd::script::run(&args, path),
            None => cmd::run::run(*args),
        },
        Command::Sysbench(args) => Ok(cmd::sysbench::run(&args.words)),
        Command::Check(args) => cmd::check::run(args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::Drop(args) => cmd::drop::run(args),
        Command::Io(args) => cmd::io::run(&args),
        Command::Lab(args) => cmd::lab::run(&args),
        Command::Advise(args) => cmd::advise::run(&args),
        Command::Crash(args) => cmd::crash::run(&args),
        Command::Tune(args) => cmd::tune::run(&args),
        Command::Lane(args) => cmd::lane::run(&args),
        Command::LanePart(args) => cmd::lane_part::run(*args),
        Command::ScriptPart => plimsoll_lab::apart::serve().map(|()| cmd::DONE).map_err(Into::into),
        Command::Agent(args) => cmd::agent::run(args),
        Command::Fleet(args) => cmd::fleet::run(args),
        Command::Datasets(args) => cmd::datasets::run(args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Recordings(args) => cmd::recordings::run(&args),
        Command::Serve(args) => cmd::serve::run(&args),
        Command::Server(args) => cmd::server::run(args),
        Command::Calibrate(args) => cmd::calibrate::run(args),
        Command::Clean(args) => cmd::clean::run(args),
        Command::Completions(args) => cmd::completions::run(args),
        Command::Man(args) => cmd::man::run(&args),
    };
    let code = outcome.unwrap_or_else(|error| {
        terminal::error(&error);
        cmd::exit_code(&error)
    });
    terminal::settle();
    ExitCode::from(code)
}
