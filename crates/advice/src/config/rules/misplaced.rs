//! Options of servers in groups that this server does not read, and lines that are no options.

use crate::config::options::{ConfigOptions, shown};
use crate::config::read::WrittenOption;
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::settings::facts;

/// Groups of other programs, which may have options that are called like a server's.
const OF_OTHERS: [&str; 16] = [
    "client",
    "mysql",
    "mysqldump",
    "mysqladmin",
    "mysqlbinlog",
    "mysqlcheck",
    "mysqlimport",
    "mysqlshow",
    "mysqlslap",
    "mysql_upgrade",
    "mysqld_safe",
    "mariadbd-safe",
    "mysqld_multi",
    "xtrabackup",
    "mariabackup",
    "embedded",
];

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    let misplaced = found.elsewhere.iter().filter_map(|option| misplaced(found, option));
    let odd = found.oddities.iter().map(|odd| AdviceFinding {
        advised: "mend the line".to_owned(),
        why: format!("It is {}.", odd.why.trim_start_matches("is ")),
        at: Some(odd.at.clone()),
        ..blank("config.unreadable", odd.found.clone(), found)
    });
    misplaced.chain(odd).collect()
}

fn misplaced(found: &ConfigOptions, option: &WrittenOption) -> Option<AdviceFinding> {
    let at = Some(option.at.clone());
    if option.group.is_empty() {
        return Some(AdviceFinding {
            severity: Severity::Critical,
            advised: "put a line such as [mysqld] above it".to_owned(),
            why: format!("It stands before the first group, and {} does not start with such a file.", found.release),
            at,
            ..blank("config.misplaced", shown(option), found)
        });
    }
    let group = option.group.to_ascii_lowercase();
    let of_another = OF_OTHERS.contains(&group.as_str()) && group == option.group;
    let of_innodb = option.name.to_ascii_lowercase().starts_with("innodb");
    let is_servers = facts(&option.name).is_some() && (!of_another || of_innodb && !group.contains("backup"));
    is_servers.then(|| AdviceFinding {
        advised: "move it to [mysqld]".to_owned(),
        why: format!("It stands in the group [{}], which {} does not read.", option.group, found.release),
        at,
        ..blank("config.misplaced", shown(option), found)
    })
}

fn blank(rule: &str, what: String, found: &ConfigOptions) -> AdviceFinding {
    AdviceFinding {
        rule: rule.to_owned(),
        step: AdviceStep::Install,
        severity: Severity::Warn,
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
