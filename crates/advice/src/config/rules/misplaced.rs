//! Options of servers in groups that no server reads, and lines that are no options.

use crate::config::options::{ConfigOptions, shown};
use crate::config::read::{NAMELESS, Oddity, OddityEffect, WrittenOption};
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::settings::facts;
use plimsoll_plan::option_file::is_read_by;

/// Groups of servers: a group that is spelt so, but for dashes and the like, was meant for one.
const OF_SERVERS: [&str; 4] = ["mysqld", "mariadbd", "mariadb", "server"];
/// Groups of programs that have options of InnoDB's themselves, and of what is no group at all.
const WITH_INNODB: [&str; 7] =
    ["xtrabackup", "mariabackup", "mariadb-backup", "innobackupex", "innochecksum", "embedded", NAMELESS];

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    let misplaced = found.elsewhere.iter().filter_map(|option| misplaced(found, option));
    misplaced.chain(found.oddities.iter().map(|odd| unreadable(found, odd))).collect()
}

fn unreadable(found: &ConfigOptions, odd: &Oddity) -> AdviceFinding {
    let is_read = odd.group.is_empty() || is_read_by(&odd.group, found.release);
    let severity = match odd.effect {
        OddityEffect::Stops => Severity::Critical,
        OddityEffect::StopsInGroup if is_read => Severity::Critical,
        OddityEffect::StopsInGroup => Severity::Info,
        OddityEffect::PassedOver => Severity::Warn,
    };
    let consequence = match severity {
        Severity::Critical => format!("{} does not start with it", found.release),
        Severity::Warn => format!("{} goes on without it", found.release),
        Severity::Info => format!("{} does not read its group", found.release),
    };
    AdviceFinding {
        advised: "mend the line".to_owned(),
        why: format!("{}; {consequence}.", odd.why),
        at: Some(odd.at.clone()),
        ..blank("config.unreadable", severity, odd.found.clone(), found)
    }
}

fn misplaced(found: &ConfigOptions, option: &WrittenOption) -> Option<AdviceFinding> {
    let at = Some(option.at.clone());
    if option.group.is_empty() {
        return Some(AdviceFinding {
            advised: "put a line such as [mysqld] above it".to_owned(),
            why: format!("It stands before the first group, and {} does not start with such a file.", found.release),
            at,
            ..blank("config.misplaced", Severity::Critical, shown(option), found)
        });
    }
    let is_servers = facts(&option.name).is_some() && is_meant_for_server(&option.group, &option.name);
    is_servers.then(|| AdviceFinding {
        advised: "move it to [mysqld]".to_owned(),
        why: format!("It stands in the group [{}], which {} does not read.", option.group, found.release),
        at,
        ..blank("config.misplaced", Severity::Warn, shown(option), found)
    })
}

/// Whether a server's option in a group that is not read looks as if a server were to read it. Groups of other vendors and series
/// are there so that this server does not, and other programs have options that are called like a server's.
fn is_meant_for_server(group: &str, option: &str) -> bool {
    let group = group.to_ascii_lowercase();
    let letters: String = group.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_misspelt = OF_SERVERS.contains(&letters.as_str()) && !OF_SERVERS.contains(&group.as_str());
    let is_innodbs = option.to_ascii_lowercase().starts_with("innodb");
    // [mysqld-8.0], [mysqld1], [mariadb-10.6]
    let is_of_server = OF_SERVERS.iter().chain(&["galera", "client-server"]).any(|known| is_numbered(&group, known));
    is_misspelt || is_innodbs && !is_of_server && !WITH_INNODB.contains(&group.as_str())
}

/// Whether a group is called so, with or without a number behind it.
fn is_numbered(group: &str, known: &str) -> bool {
    let number = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'));
    group.strip_prefix(known).is_some_and(number)
}

fn blank(rule: &str, severity: Severity, what: String, found: &ConfigOptions) -> AdviceFinding {
    AdviceFinding {
        rule: rule.to_owned(),
        step: AdviceStep::Install,
        severity,
        setting: None,
        at: None,
        found: what,
        advised: String::new(),
        line: None,
        why: String::new(),
        costs: Vec::new(),
        shows: None,
        source: "MySQL manual: Using Option Files; MariaDB documentation: Configuring MariaDB with Option Files"
            .to_owned(),
        confirmed: found.release.was_asked(),
        worth: 0.0,
        measured: None,
    }
}
