//! What is done of what was typed: from the words to the exit code.

use crate::builtin;
use crate::console;
use crate::general::General;
use crate::grammar::{CommandLine, TypedOption, options_of_file};
use crate::halt::Halt;
use crate::old;
use crate::options::{OptionSet, OptionSpec, listed};
use crate::request::{Caller, TestRequest, VERSION};
use crate::scripts;
use crate::tables;
use plimsoll_script::vm::lua_version;
use std::fs;

/// Does what the words after the program's name ask for; the exit code.
pub fn run(words: &[String], around: &mut Caller) -> u8 {
    let request = match request(words) {
        Ok(None) => return 0,
        Ok(Some(request)) => request,
        Err(halt) => return told(&halt),
    };
    let asks_for_verdict = request.general.asks_for_verdict && request.line.command.as_deref() == Some("run");
    let code = test(request, around).unwrap_or_else(|halt| told(&halt));
    if let Some(recorder) = around.recorder().filter(|_| asks_for_verdict) {
        recorder.verdict();
    }
    code
}

fn told(halt: &Halt) -> u8 {
    match halt {
        Halt::Usage(text) => console::complain(text),
        Halt::Fatal(text) => console::say(&format!("FATAL: {text}")),
        Halt::Plain(text) => console::say(text),
        Halt::Quiet(code) => return *code,
    }
    Halt::FAILED
}

/// Takes the words apart; nothing if all they ask for is told.
pub(crate) fn request(words: &[String]) -> Result<Option<TestRequest>, Halt> {
    let mut line = CommandLine::parse(words)?;
    if line.take_old_test() {
        console::complain(
            "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without \
             any options.",
        );
    }
    old::translate(&mut line);
    let typed = with_file(std::mem::take(&mut line.options))?;
    let mut own = OptionSet::new(renamed(typed, &mut console::say));
    own.know(tables::OWN)?;
    let mut options = OptionSet::new(own.take_unknown());
    for specs in all_tables() {
        options.know(specs)?;
    }
    if options.is_on("help") {
        console::print(&help());
        return Ok(None);
    }
    if options.is_on("version") {
        console::print(&format!("sysbench {VERSION}\n"));
        return Ok(None);
    }
    let general = General::read(&options, &own)?;
    Ok(Some(TestRequest { line, options, own, general }))
}

fn all_tables() -> [&'static [OptionSpec]; 6] {
    [tables::GENERAL, tables::RANDOM, tables::LOG, tables::DATABASE, tables::MYSQL, tables::PGSQL]
}

/// The options of `--config-file` come before those that were typed.
fn with_file(typed: Vec<TypedOption>) -> Result<Vec<TypedOption>, Halt> {
    let path = typed.iter().rev().find(|option| option.name == "config_file").and_then(|option| option.value.clone());
    let Some(path) = path.filter(|path| !path.is_empty()) else { return Ok(typed) };
    match fs::read_to_string(&path) {
        Ok(text) => Ok(options_of_file(&text).into_iter().chain(typed).collect()),
        Err(error) => Err(Halt::Usage(format!("{path}: {error}"))),
    }
}

/// Options by their names of today. As with sysbench, those of yesterday are told and count more than today's, unless they
/// say no more than their default.
fn renamed(mut today: Vec<TypedOption>, warn: &mut dyn FnMut(&str)) -> Vec<TypedOption> {
    for (old, new, least) in tables::RENAMED {
        let Some(last) = today.iter().rev().find(|option| option.name == old).cloned() else { continue };
        let value = last.value.as_deref().unwrap_or_default().trim_start();
        match value.parse::<i64>() {
            // By its own name, by which that is told.
            Err(_) if !value.is_empty() => continue,
            Ok(number) if number > least => {
                warn(&format!("WARNING: --{} is deprecated, use --{new} instead", old.replace('_', "-")));
                today.push(TypedOption { name: new.to_owned(), ..last });
            }
            _ => {}
        }
        today.retain(|option| option.name != old);
    }
    today
}

fn help() -> String {
    format!(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n\n\
         General options:\n{}\n\
         Options of Plimsoll's own:\n{}\n\
         Pseudo-Random Numbers Generator options:\n{}\n\
         Log options:\n{}\n\
         General database options:\n\n{}\n\n\
         Compiled-in database drivers:\n  mysql - MySQL driver\n\n\
         mysql options:\n{}\n\
         Compiled-in tests:\n{}\n\
         See 'sysbench <testname> help' for a list of options for each test.\n\n",
        listed(tables::GENERAL),
        listed(tables::OWN),
        listed(tables::RANDOM),
        listed(tables::LOG),
        listed(tables::DATABASE),
        listed(tables::MYSQL),
        builtin::ALL.iter().map(|test| format!("  {} - {}\n", test.name, test.title)).collect::<String>()
    )
}

/// Runs the test that was named.
fn test(request: TestRequest, around: &mut Caller) -> Result<u8, Halt> {
    if !request.general.is_recorded {
        around.recorder = None;
    }
    console::say(&format!("sysbench {VERSION} (using bundled {})\n", lua_version()));
    match request.line.test.as_deref().and_then(builtin::find) {
        Some(test) => builtin::run(test, request, around),
        None => scripts::run(request, around),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of a line's options, and what is told of them.
    fn renamed_of(line: &str) -> (Vec<String>, Vec<String>) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut told = Vec::new();
        let options =
            renamed(CommandLine::parse(&words).unwrap().options, &mut |text: &str| told.push(text.to_owned()));
        let shown = |option: TypedOption| format!("{}={}", option.name, option.value.unwrap_or_default());
        (options.into_iter().map(shown).collect(), told)
    }

    #[test]
    fn old_names_are_told_and_count_more_than_new_ones() {
        let (options, told) = renamed_of("--num-threads=16 --max-requests=5 --threads=4 --tx-rate=3 --max-time=7");
        assert_eq!(options, ["threads=4", "threads=16", "events=5", "time=7", "rate=3"]);
        assert_eq!(told[0], "WARNING: --num-threads is deprecated, use --threads instead");
        assert_eq!(told.len(), 4, "{told:?}");
    }

    #[test]
    fn old_names_that_say_nothing_are_left_out() {
        let (options, told) = renamed_of("--events=9 --max-requests=0 --num-threads=1 --max-time --tx-rate=0");
        assert_eq!((options, told), (vec!["events=9".to_owned()], Vec::new()));
        let (options, told) = renamed_of("--max-requests=x --max-time=5 --max-time=0");
        assert_eq!((options, told), (vec!["max_requests=x".to_owned()], Vec::new()));
    }
}
