//! The option files that the documents print, on current servers.

use super::SEED;
use plimsoll_model::Flavour;
use plimsoll_plan::knowledge::{Consequence, Translated, Version, translate};
use plimsoll_plan::lab::file::{self, PlanChoices};

const NETAPP: &str = include_str!("../fixtures/netapp-tr3693-appendix-e.cnf");
const SUN: &str = include_str!("../fixtures/sun-blueprint-chapter-3.cnf");
const PURE: &str = include_str!("../fixtures/pure-flasharray-appendix-b.cnf");

fn translated(listing: &str, flavour: Flavour, version: Version) -> Translated {
    let plan = "name = \"listing\"\n[server]\nconfig_file = \"old.cnf\"\n[workload]\nkind = \"tpcc\"\n";
    let plan = file::read("plan.toml", plan, PlanChoices::of_seed(SEED), &|_| Ok(listing.to_owned())).expect("a plan");
    translate(&plan.variants[0].config, flavour, version)
}

/// The names that a line is said about, by what follows.
fn said(translated: &Translated) -> [Vec<&str>; 2] {
    assert_eq!(translated.mistake(), None);
    [Consequence::Applied, Consequence::LeftOut].map(|consequence| {
        let lines = translated.lines.iter().filter(|line| line.consequence == consequence);
        lines.map(|line| line.name.as_str()).collect()
    })
}

fn value<'t>(translated: &'t Translated, name: &str) -> Option<&'t str> {
    translated.settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
}

const OF_NETAPP_NOT_OURS: [&str; 8] = [
    "port",
    "socket",
    "pid_file",
    "basedir",
    "datadir",
    "log_error",
    "innodb_log_group_home_dir",
    "innodb_data_file_path",
];

#[test]
fn netapp() {
    let names = |more: &[&'static str]| [&OF_NETAPP_NOT_OURS[..], more].concat();
    let mysql = translated(NETAPP, Flavour::MySql, (9, 7, 4));
    let [applied, left_out] = said(&mysql);
    assert_eq!(applied, ["log_bin", "innodb_log_file_size"]);
    assert_eq!(left_out, names(&["innodb_checksums", "innodb_support_xa"]));
    assert_eq!(value(&mysql, "innodb_redo_log_capacity"), Some("1000M"));
    assert_eq!(value(&mysql, "log_bin"), Some("ON"));
    assert_eq!(mysql.settings.len(), 7);

    let maria = translated(NETAPP, Flavour::MariaDb, (10, 11, 19));
    let [applied, left_out] = said(&maria);
    assert_eq!(applied, ["log_bin"]);
    assert_eq!(left_out, names(&["innodb_checksums", "innodb_support_xa", "innodb_thread_concurrency"]));
    assert_eq!(value(&maria, "innodb_log_file_size"), Some("500M"));

    // The servers that the document measured knew them all.
    let of_its_time = translated(NETAPP, Flavour::MySql, (5, 0, 56));
    let [applied, left_out] = said(&of_its_time);
    assert_eq!((applied, left_out), (vec!["log_bin"], OF_NETAPP_NOT_OURS.to_vec()));
}

#[test]
fn sun() {
    let mysql = translated(SUN, Flavour::MySql, (9, 7, 4));
    let [applied, left_out] = said(&mysql);
    assert_eq!(applied, ["skip_locking", "table_cache", "thread_cache", "innodb_log_file_size"]);
    let not_ours = ["port", "socket", "basedir", "datadir", "log_error", "user"];
    let gone = ["thread_concurrency", "query_cache_size", "query_cache_type", "innodb_additional_mem_pool_size"];
    assert_eq!(left_out, [&not_ours[..], &gone].concat());
    assert_eq!(value(&mysql, "table_open_cache"), Some("1024"));
    assert_eq!(value(&mysql, "innodb_redo_log_capacity"), Some("3800M"));
    assert_eq!(value(&mysql, "innodb_data_file_path"), Some("ibdata1:100M:autoextend"));

    let maria = translated(SUN, Flavour::MariaDb, (10, 11, 19));
    let [applied, left_out] = said(&maria);
    assert_eq!(applied, ["skip_locking", "table_cache", "thread_cache"]);
    // MariaDB has kept its query cache.
    let gone = ["thread_concurrency", "innodb_additional_mem_pool_size", "innodb_thread_concurrency"];
    assert_eq!(left_out, [&not_ours[..], &gone].concat());
    assert_eq!(value(&maria, "query_cache_type"), Some("0"));
}

#[test]
fn pure() {
    let not_ours = ["datadir", "socket", "bind_address", "log_error", "pid_file"];
    let mysql = translated(PURE, Flavour::MySql, (9, 7, 4));
    let [applied, left_out] = said(&mysql);
    assert_eq!(applied, ["innodb_log_file_size"]);
    let gone = ["ssl", "skip_character_set_client_handshake", "innodb_log_files_in_group"];
    assert_eq!(left_out, [&["default_authentication_plugin"], &not_ours[..], &gone].concat());
    assert_eq!(value(&mysql, "innodb_redo_log_capacity"), Some("32768M"));
    assert_eq!(value(&mysql, "innodb_monitor_enable"), Some("%"));
    assert_eq!(value(&mysql, "large_pages"), Some("ON"));

    let maria = translated(PURE, Flavour::MariaDb, (10, 11, 19));
    let [applied, left_out] = said(&maria);
    assert_eq!(applied, ["innodb_log_file_size"]);
    for gone in ["innodb_buffer_pool_instances", "innodb_page_cleaners", "innodb_checksum_algorithm"] {
        assert!(left_out.contains(&gone), "{gone}: {left_out:?}");
    }
    assert!(!left_out.contains(&"ssl") && !left_out.contains(&"innodb_flush_method"));
    assert_eq!(value(&maria, "innodb_log_file_size"), Some("32768M"));

    // On the server of the document all is as it was written.
    let of_its_time = translated(PURE, Flavour::MySql, (8, 0, 19));
    let [applied, left_out] = said(&of_its_time);
    assert_eq!((applied, left_out), (vec![], not_ours.to_vec()));
}

#[test]
fn each_line_names_its_place_and_what_to_do() {
    let lines: Vec<String> = translated(SUN, Flavour::MySql, (9, 7, 4))
        .lines
        .iter()
        .map(|line| format!("{}: {}: {}", line.at, line.name, line.what))
        .collect();
    for expected in [
        "old.cnf, line 12: table_cache: is called table_open_cache since MySQL 5.1.3: applied as \
         table_open_cache = 1024",
        "old.cnf, line 16: thread_concurrency: left out: MySQL removed it in 5.7.2: a hint that only Solaris followed",
        "old.cnf, line 25: innodb_log_file_size: was the size of one of 2 files; MySQL has innodb_redo_log_capacity \
         for the whole redo log: applied as innodb_redo_log_capacity = 3800M",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
}
