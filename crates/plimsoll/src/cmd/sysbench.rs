//! `plimsoll sysbench`, and Plimsoll where it is called by sysbench's name.

use crate::terminal;
use plimsoll_sysbench::dispatch;
use plimsoll_sysbench::request::Caller;
use std::env;
use std::path::Path;
use std::sync::atomic::Ordering;

const NAME: &str = "sysbench";

/// The words that are sysbench's affair, if it was called by that name: as the program, through a link, or as the command.
pub fn asked() -> Option<Vec<String>> {
    let mut words = env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next()?;
    let words: Vec<String> = words.collect();
    if Path::new(&program).file_name().is_some_and(|name| name == NAME) {
        return Some(words);
    }
    words.split_first().filter(|(command, _)| *command == NAME).map(|(_, rest)| rest.to_vec())
}

pub fn run(words: &[String]) -> u8 {
    // Without it Ctrl-C ends the program at once.
    let flag = terminal::interrupt_flag().ok();
    let is_interrupted = || flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    dispatch::run(words, &Caller { is_interrupted: &is_interrupted, password: env::var("MYSQL_PWD").ok() })
}
