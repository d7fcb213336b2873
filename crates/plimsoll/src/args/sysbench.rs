//! Command lines of sysbench, answered with those of Plimsoll that do the same.
//!
//! sysbench 1.0 has the script before the command (`sysbench oltp_read_write --threads=8 run`) and the server in options of
//! its own (its README, "General command line options" and "Database options").

use plimsoll_model::text::shell_word;
use plimsoll_workloads::chosen::parameters_of;

/// sysbench's commands, and ours.
const COMMANDS: [(&str, &str); 3] = [("prepare", "load"), ("run", "run"), ("cleanup", "drop")];
/// Parts of a target.
const SERVER: [&str; 6] =
    ["--mysql-host", "--mysql-port", "--mysql-socket", "--mysql-user", "--mysql-db", "--mysql-password"];
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

/// The command line to type instead, and why parts of it are gone; none if nothing of these words is sysbench's.
pub fn answer(words: &[String]) -> Option<String> {
    let mut typed = Typed::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        typed.take(word, &mut rest);
    }
    typed.is_sysbench.then(|| typed.told())
}

impl Typed {
    fn take<'a>(&mut self, word: &str, rest: &mut impl Iterator<Item = &'a String>) {
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
            self.remarks.push(format!("{needless} is not needed: {why}"));
        } else if name == "--threads" && self.command != Some("load") {
            self.words.push("--connections".to_owned());
            self.words.extend(value);
        } else {
            self.words.push(word.to_owned());
        }
    }

    fn told(&self) -> String {
        let mut line = vec!["plimsoll".to_owned()];
        line.extend(self.command.map(str::to_owned));
        line.extend(self.words.iter().map(|word| shell_word(word)));
        let mut remarks = self.remarks.clone();
        if self.part("--mysql-password").is_some() {
            remarks.push("a password comes from MYSQL_PWD, --defaults-file or --ask-password".to_owned());
        }
        line.extend(self.target().map(|target| format!("--target {}", shell_word(&target))));
        let remarks: String = remarks.iter().map(|remark| format!("\n  {remark}")).collect();
        format!("plimsoll: sysbench says it so; here it is\n  {}{remarks}", line.join(" "))
    }

    fn part(&self, name: &str) -> Option<&str> {
        self.server.iter().rev().find(|(part, _)| *part == name).map(|(_, value)| value.as_str())
    }

    /// With sysbench's defaults for what is left out.
    fn target(&self) -> Option<String> {
        let named = ["--mysql-host", "--mysql-port", "--mysql-socket", "--mysql-user", "--mysql-db"];
        named.iter().any(|name| self.part(name).is_some()).then(|| {
            let or = |name, default| self.part(name).unwrap_or(default);
            let (user, database) = (or("--mysql-user", "sbtest"), or("--mysql-db", "sbtest"));
            let host = or("--mysql-host", "localhost");
            let port = self.part("--mysql-port").map(|port| format!(":{port}")).unwrap_or_default();
            let socket = self.part("--mysql-socket").map(|socket| format!("?socket={socket}")).unwrap_or_default();
            format!("mysql://{user}@{host}{port}/{database}{socket}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

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
            ("oltp_read_write --threads=8 --time=60 run", "plimsoll run oltp_read_write --connections 8 --time=60"),
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
        ];
        for other in others {
            assert_eq!(answered(other), None, "{other}");
        }
    }
}
