//! Every command that a help text, a message or a comment names exists, with the options beside it.

use super::Cli;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory};
use std::fs;
use std::path::{Path, PathBuf};

/// What is left open when a command is only named: its other arguments, the value of a placeholder.
const OPEN: [ErrorKind; 5] = [
    ErrorKind::MissingRequiredArgument,
    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ErrorKind::MissingSubcommand,
    ErrorKind::InvalidValue,
    ErrorKind::ValueValidation,
];

/// Why there is no such command; none if there is.
fn fault(text: &str) -> Option<String> {
    let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'', '\\']));
    match Cli::command().try_get_matches_from(words) {
        Err(error) if !OPEN.contains(&error.kind()) => Some(format!("`{text}`: {error}")),
        _ => None,
    }
}

/// Commands between backticks, with a word in place of what is put in: `plimsoll lane down {name}`.
fn named_in(text: &str) -> Vec<String> {
    // A text may continue in the next line of the source, as a string or as a comment.
    let joined = text.replace("\\\n", "\n").replace("\n", " ");
    let joined =
        joined.split_whitespace().filter(|word| !matches!(*word, "///" | "//!" | "//" | "#")).collect::<Vec<_>>();
    let joined = joined.join(" ");
    let begun = joined.match_indices("`plimsoll ").map(|(at, _)| &joined[at + 1..]);
    begun.filter_map(|rest| Some(filled(&rest[..rest.find('`')?]))).collect()
}

fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, put_in)) = rest.split_once('{') {
        let (_, after) = put_in.split_once('}').unwrap_or(("", ""));
        filled += before;
        filled += "x";
        rest = after;
    }
    filled + rest
}

/// The lines of a help text that show what to type, one command each, without its explanation.
fn shown_in(help: &str) -> Vec<String> {
    let lines = help.lines().filter(|line| line.starts_with("  ") && line.contains("plimsoll "));
    let commands = lines.flat_map(|line| line.split(['$', '(', ')', ';', '&', '`'])).map(str::trim);
    let code = commands.filter(|command| command.starts_with("plimsoll "));
    code.filter_map(|command| Some(command.split("   ").next()?.trim_end_matches(" ...").to_owned())).collect()
}

fn helps(command: &mut Command, found: &mut Vec<String>) {
    found.push(command.render_long_help().to_string());
    command.get_subcommands_mut().for_each(|subcommand| helps(subcommand, found));
}

/// The sources of what ships; nobody reads the words of tests.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of the repository").flatten() {
        let path = entry.path();
        let is_shown = path.extension().is_some_and(|ending| ending == "rs" || ending == "ts");
        match path.is_dir() {
            true if ["node_modules", "dist", "tests"].iter().all(|name| !path.ends_with(name)) => sources(&path, found),
            false if is_shown && path.file_name() != Path::new(file!()).file_name() => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn every_command_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for directory in ["crates", "bench", "web"] {
        sources(&root.join(directory), &mut files);
    }
    let mut seen = 0;
    let mut faults = Vec::new();
    for file in files {
        let named = named_in(&fs::read_to_string(&file).expect("a source"));
        seen += named.len();
        faults.extend(named.iter().filter_map(|text| Some(format!("{}: {}", file.display(), fault(text)?))));
    }
    assert!(seen > 50, "{seen} were found, which cannot be all");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_command_that_a_help_shows_exists() {
    let mut texts = Vec::new();
    helps(&mut Cli::command(), &mut texts);
    let shown: Vec<String> = texts.iter().flat_map(|text| shown_in(text)).collect();
    assert!(shown.len() > 10, "{shown:?}");
    let faults: Vec<String> = shown.iter().filter_map(|text| fault(text)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_stale_name_is_found() {
    let source =
        "/// `plimsoll lane\n/// upp {name}` or\n\"`plimsoll lane down {}`, `plimsoll report --fast \\\n    x`\"";
    let faults: Vec<bool> = named_in(source).iter().map(|text| fault(text).is_some()).collect();
    assert_eq!(faults, [true, false, true], "{:?}", named_in(source));
    let help = "A help:\n  for i in 1; do\n    plimsoll rum x\n  x=$(plimsoll io \"$dir\"); plimsoll lane down   takes it down\n";
    let faults: Vec<bool> = shown_in(help).iter().map(|text| fault(text).is_some()).collect();
    assert_eq!(faults, [true, false, false], "{:?}", shown_in(help));
}
