//! Command lines of sysbench, answered with those of Plimsoll that do the same.
//!
//! sysbench 1.0 has the script before the command (`sysbench oltp_read_write --threads=8 run`) and the server in options of
//! its own (its README, "General command line options" and "Database options").

use super::Cli;
use clap::{CommandFactory, Parser};
use plimsoll_model::text::shell_word;
use plimsoll_plan::{Target, Url};
use plimsoll_workloads::chosen::parameters_of;
use std::iter::Peekable;
use std::path::PathBuf;

/// sysbench's commands, and ours.
const COMMANDS: [(&str, &str); 3] = [("prepare", "load"), ("run", "run"), ("cleanup", "drop")];
/// Of a run, what is the default of both: no limit.
const NO_LIMITS: [&str; 2] = ["--events=0", "--rate=0"];
const PASSWORD: &str = "--mysql-password";
/// Parts of a target.
const SERVER: [&str; 6] = ["--mysql-host", "--mysql-port", "--mysql-socket", "--mysql-user", "--mysql-db", PASSWORD];
/// What needs no option here, and why.
const NEEDLESS: [(&str, &str); 3] = [
    ("--db-driver", "every workload speaks to MySQL and MariaDB"),
    ("--percentile", "p50, p90, p95, p99 and p999 are always measured"),
    ("--histogram", "the recording has every latency"),
];

/// What somebody typed who knows sysbench.
#[derive(Default)]
struct Typed {
    words: Vec<String>,
    command: Option<&'static str>,
    server: Vec<(&'static str, String)>,
    remarks: Vec<String>,
    is_sysbench: bool,
}

/// The command line to type instead, and why parts of it are gone; none if nothing of these words is sysbench's. What has no
/// counterpart among our own commands is what `plimsoll sysbench` is there for.
pub fn answer(words: &[String]) -> Option<String> {
    let mut typed = Typed::default();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        typed.take(word, &mut rest);
    }
    if typed.is_sysbench { typed.told(words) } else { None }
}

impl Typed {
    fn take<'a>(&mut self, word: &str, rest: &mut Peekable<impl Iterator<Item = &'a String>>) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        if let Some((theirs, ours)) = COMMANDS.iter().find(|(theirs, _)| *theirs == word) {
            let is_after_workload = self.words.first().is_some_and(|first| parameters_of(first).is_ok());
            self.is_sysbench |= is_after_workload || theirs != ours;
            self.command = Some(ours);
        } else if let Some(part) = SERVER.iter().find(|part| **part == name) {
            self.is_sysbench = true;
            let value = value.or_else(|| rest.next().cloned()).unwrap_or_default();
            self.server.push((part, value));
        } else if let Some((needless, why)) = NEEDLESS.iter().find(|(needless, _)| *needless == name) {
            self.is_sysbench = true;
            rest.next_if(|next| value.is_none() && is_value(next));
            self.remarks.push(format!("{needless} is not needed: {why}"));
        } else {
            self.words.push(word.to_owned());
        }
    }

    /// None where our own command says better than we could what is wrong with it.
    fn told(&self, typed: &[String]) -> Option<String> {
        let fits = self.line().filter(|line| self.is_known() && Cli::try_parse_from(line).is_ok());
        if fits.is_none() && self.is_of_ours() {
            return None;
        }
        let mut remarks = if fits.is_some() { self.remarks.clone() } else { Vec::new() };
        let line = fits.unwrap_or_else(|| as_sysbench(typed));
        if self.part(PASSWORD).is_some() {
            remarks.push("a password comes from MYSQL_PWD, --defaults-file or --ask-password".to_owned());
        }
        let line: Vec<String> = line.iter().map(|word| shell_word(word)).collect();
        let remarks: String = remarks.iter().map(|remark| format!("\n  {remark}")).collect();
        Some(format!("plimsoll: sysbench says it so; here it is\n  {}{remarks}", line.join(" ")))
    }

    /// Whether what the command is for is a workload of ours, and not a script.
    fn is_known(&self) -> bool {
        self.command.is_none() || self.words.first().is_some_and(|name| parameters_of(name).is_ok())
    }

    /// Whether the first word is a command of ours that sysbench does not have.
    fn is_of_ours(&self) -> bool {
        self.command.is_none() && self.words.first().is_some_and(|word| Cli::command().find_subcommand(word).is_some())
    }

    /// The same for our commands; none if the server cannot be named by a target.
    fn line(&self) -> Option<Vec<String>> {
        let mut line = vec!["plimsoll".to_owned()];
        line.extend(self.command.map(str::to_owned));
        line.extend(self.words.iter().filter_map(|word| match self.command {
            // What was loaded is known.
            Some("drop") if word.starts_with("--") => None,
            Some("run") if NO_LIMITS.contains(&word.as_str()) => None,
            Some("run") if word == "--threads" || word.starts_with("--threads=") => {
                Some(word.replacen("--threads", "--connections", 1))
            }
            _ => Some(word.clone()),
        }));
        if SERVER.iter().any(|part| *part != PASSWORD && self.part(part).is_some()) {
            line.extend(["--target".to_owned(), self.url()?.describe()]);
        }
        Some(line)
    }

    fn part(&self, name: &str) -> Option<&str> {
        self.server.iter().rev().find(|(part, _)| *part == name).map(|(_, value)| value.as_str())
    }

    /// The server that is named, with sysbench's defaults for what is left out; none if no target can name it.
    fn url(&self) -> Option<Url> {
        let or = |name, default: &str| Some(self.part(name).unwrap_or(default).to_owned());
        let url = Url {
            user: or("--mysql-user", "sbtest"),
            host: or("--mysql-host", "localhost")?,
            port: self.part("--mysql-port").map_or(Ok(Url::default().port), str::parse::<u16>).ok()?,
            socket: self.part("--mysql-socket").map(PathBuf::from),
            database: or("--mysql-db", "sbtest"),
            ..Url::default()
        };
        let Target::External(read) = Target::parse(&url.describe()).ok()? else { return None };
        let is_same = read.place() == url.place() && read.user == url.user && read.database == url.database;
        is_same.then_some(url)
    }
}

/// The command line for `plimsoll sysbench`: with the command last, values behind `=`, and without a password.
fn as_sysbench(typed: &[String]) -> Vec<String> {
    let mut line = vec!["plimsoll".to_owned(), "sysbench".to_owned()];
    let mut command = None;
    let mut rest = typed.iter().peekable();
    while let Some(word) = rest.next() {
        if word == PASSWORD {
            rest.next();
        } else if is_command(word) {
            command = Some(word.clone());
        } else if word.starts_with("--") && !word.contains('=') {
            let value = rest.next_if(|next| is_value(next)).map(|value| format!("={value}"));
            line.push(format!("{word}{}", value.unwrap_or_default()));
        } else if !word.starts_with("--mysql-password=") {
            line.push(word.clone());
        }
    }
    line.extend(command);
    line
}

fn is_command(word: &str) -> bool {
    COMMANDS.iter().any(|(theirs, _)| *theirs == word)
}

/// Whether what follows an option is its value: neither another one, nor what is to be run, nor a command.
fn is_value(word: &str) -> bool {
    !word.starts_with("--") && !is_command(word) && !word.ends_with(".lua") && parameters_of(word).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &str) -> Option<String> {
        answer(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    /// The command of an answer.
    fn command(line: &str) -> String {
        let told = answered(line).unwrap_or_else(|| panic!("{line}"));
        told.lines().nth(1).expect("a command").trim().to_owned()
    }

    #[test]
    fn what_people_type_is_answered_with_what_works() {
        for (typed, ours) in [
            ("oltp_read_write prepare", "plimsoll load oltp_read_write"),
            ("prepare oltp_read_write --tables=4", "plimsoll load oltp_read_write --tables=4"),
            ("oltp_read_write --threads=8 --time=60 run", "plimsoll run oltp_read_write --connections=8 --time=60"),
            ("oltp_read_write --threads=8 prepare", "plimsoll load oltp_read_write --threads=8"),
            ("oltp_read_write --tables=4 --threads=2 cleanup", "plimsoll drop oltp_read_write"),
            ("oltp_read_write --events=0 --time=60 run", "plimsoll run oltp_read_write --time=60"),
            (
                "oltp_read_write --events=9 --time=60 --mysql-password=p run",
                "plimsoll sysbench oltp_read_write --events=9 --time=60 run",
            ),
            ("oltp_read_write --db-ps-mode=disable run", "plimsoll sysbench oltp_read_write --db-ps-mode=disable run"),
            (
                "./my.lua --mysql-socket=/s --threads=4 run",
                "plimsoll sysbench ./my.lua --mysql-socket=/s --threads=4 run",
            ),
            (
                "oltp_read_only --mysql-user=me@corp --mysql-host=::1 run",
                "plimsoll run oltp_read_only --target 'mysql://me@corp@[::1]:3306/sbtest'",
            ),
            (
                "oltp_read_write --histogram --db-ps-mode disable --mysql-password p --threads 4 run",
                "plimsoll sysbench oltp_read_write --histogram --db-ps-mode=disable --threads=4 run",
            ),
            (
                "--forced-shutdown ./my.lua --mysql-db x --time 9 run",
                "plimsoll sysbench --forced-shutdown ./my.lua --mysql-db=x --time=9 run",
            ),
            (
                "run oltp_read_write --threads 16 --mysql-user root --percentile 99 --db-driver mysql --histogram --time 5s",
                "plimsoll run oltp_read_write --connections 16 --time 5s --target mysql://root@localhost:3306/sbtest",
            ),
            ("cleanup oltp_read_write", "plimsoll drop oltp_read_write"),
            ("run oltp_read_only --percentile=99", "plimsoll run oltp_read_only"),
            (
                "run oltp_read_only --mysql-host=db --mysql-port=3307 --mysql-user=me --mysql-db=x --mysql-password=p",
                "plimsoll run oltp_read_only --target mysql://me@db:3307/x",
            ),
            (
                "oltp_read_only --mysql-socket /run/my.sock run",
                "plimsoll run oltp_read_only --target 'mysql://sbtest@localhost/sbtest?socket=/run/my.sock'",
            ),
        ] {
            let found = command(typed);
            assert_eq!(found, ours);
            let words = found.split_whitespace().map(|word| word.trim_matches('\''));
            assert!(Cli::try_parse_from(words).is_ok(), "{found}");
        }
    }

    #[test]
    fn a_password_is_never_repeated() {
        let told = answered("run oltp_read_only --mysql-password=s3cret --mysql-user=me").unwrap();
        assert!(!told.contains("s3cret") && told.contains("MYSQL_PWD"), "{told}");
    }

    #[test]
    fn other_mistakes_are_no_business_of_it() {
        let others = [
            "run oltp_read_write --no-such-option",
            "run smack --threads 8 --fast",
            "rum oltp_read_write",
            "server run",
            "load oltp_read_write --connections 8 --mysql-user=me",
        ];
        for other in others {
            assert_eq!(answered(other), None, "{other}");
        }
    }
}
