use super::*;
use crate::origin::Where;
use crate::setting::Setting;
use plimsoll_model::Class;
use std::collections::BTreeMap;

const MARIA_10: Version = (10, 11, 19);
const MYSQL_9: Version = (9, 7, 4);

fn from_file(line: usize, name: &str, value: &str) -> Setting {
    let at = Where { file: "old.cnf".into(), line };
    Setting { name: name.into(), value: value.into(), at, from_file: true }
}

fn inline(line: usize, name: &str, value: &str) -> Setting {
    let at = Where { file: "plan.toml".into(), line };
    Setting { name: name.into(), value: value.into(), at, from_file: false }
}

fn removed(name: &str, value: &str, flavour: Flavour, version: Version) -> Option<String> {
    match standing(name, value, flavour, version) {
        Standing::Removed { remark } => Some(remark),
        _ => None,
    }
}

#[test]
fn the_vendor_decides_and_versions_of_vendors_are_not_compared() {
    let name = "innodb_buffer_pool_instances";
    assert!(removed(name, "16", Flavour::MariaDb, MARIA_10).unwrap().starts_with("MariaDB removed it in 10.6: "));
    assert_eq!(standing(name, "16", Flavour::MariaDb, (10, 5, 28)), Standing::Current);
    for version in [(8, 0, 19), MYSQL_9, (26, 7, 0)] {
        assert_eq!(standing(name, "16", Flavour::MySql, version), Standing::Current, "{version:?}");
    }
    assert_eq!(standing("query_cache_size", "0", Flavour::MySql, (5, 7, 44)), Standing::Current);
    assert!(removed("Query-Cache-Size", "0", Flavour::MySql, (8, 0, 3)).is_some());
    assert_eq!(standing("query_cache_size", "0", Flavour::MariaDb, (11, 8, 6)), Standing::Current);
}

#[test]
fn values_are_removed_too() {
    let standing = |value| removed("innodb_checksum_algorithm", value, Flavour::MariaDb, MARIA_10);
    assert!(standing("none").is_some() && standing("NONE").is_some());
    assert_eq!(standing("crc32"), None);
    assert_eq!(removed("innodb_checksum_algorithm", "none", Flavour::MySql, MYSQL_9), None);
    assert!(is_value_gone("innodb_checksum_algorithm", "none", Flavour::MariaDb, MARIA_10));
    assert!(!is_value_gone("innodb_page_cleaners", "4", Flavour::MariaDb, MARIA_10), "the name is gone");
}

#[test]
fn switches_are_seen_through() {
    let name = "skip-character-set-client-handshake";
    assert!(removed(name, "", Flavour::MySql, MYSQL_9).is_some());
    assert_eq!(standing(name, "", Flavour::MySql, (8, 0, 19)), Standing::Current);
    assert_eq!(unswitched("skip_innodb_doublewrite", ""), ("innodb_doublewrite", "OFF"));
    assert_eq!(unswitched("skip_innodb_doublewrite", "0"), ("innodb_doublewrite", "ON"));
    for word in ["OFF", "false", "no", "1", "ON"] {
        assert_eq!(unswitched("skip_innodb_doublewrite", word), ("innodb_doublewrite", "OFF"), "{word}");
    }
    assert_eq!(class("skip_innodb_doublewrite", "OFF", Flavour::MySql), Class::D2);
    assert_eq!(unswitched("enable_log_bin", "OFF"), ("log_bin", "ON"));
    assert_eq!(unswitched("enable_log_bin", "ON"), ("log_bin", "ON"));
    assert_eq!(unswitched("skip_name_resolve", "ON"), ("skip_name_resolve", "ON"));
    assert_eq!(class("loose-skip-innodb-doublewrite", "", Flavour::MySql), Class::D2);
}

#[test]
fn of_two_redo_files_becomes_one_capacity() {
    let settings = [from_file(1, "innodb_log_file_size", "1024M"), from_file(2, "innodb_log_files_in_group", "32")];
    let sized = |settings: &[Setting], flavour, version| {
        let translated = translate(settings, flavour, version);
        let pairs: Vec<_> = translated.settings.iter().map(|s| (s.name.clone(), s.value.clone())).collect();
        (pairs, translated.lines.len())
    };
    let one = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    assert_eq!(sized(&settings, Flavour::MySql, MYSQL_9), (one("innodb_redo_log_capacity", "32768M"), 2));
    assert_eq!(sized(&settings, Flavour::MariaDb, MARIA_10), (one("innodb_log_file_size", "32768M"), 2));
    assert_eq!(sized(&settings, Flavour::MySql, (8, 0, 19)).1, 0);
    // Nobody said how many: two, as was the default.
    assert_eq!(sized(&settings[..1], Flavour::MySql, MYSQL_9), (one("innodb_redo_log_capacity", "2048M"), 1));
    assert_eq!(sized(&settings[..1], Flavour::MariaDb, MARIA_10), (one("innodb_log_file_size", "1024M"), 0));
}

#[test]
fn the_plan_wins_over_the_option_file_under_todays_name_too() {
    let mut settings = vec![inline(9, "innodb_redo_log_capacity", "4G"), from_file(1, "innodb_log_file_size", "500M")];
    for _ in 0..2 {
        let translated = translate(&settings, Flavour::MySql, MYSQL_9);
        assert_eq!(translated.settings, [inline(9, "innodb_redo_log_capacity", "4G")]);
        settings.reverse();
    }
}

#[test]
fn of_an_old_name_and_todays_in_one_file_todays_counts_in_either_order() {
    let mut settings = [
        from_file(1, "innodb_redo_log_capacity", "8G"),
        from_file(2, "innodb_log_file_size", "1G"),
        from_file(3, "innodb_log_files_in_group", "2"),
    ];
    for _ in 0..2 {
        let translated = translate(&settings, Flavour::MySql, MYSQL_9);
        assert_eq!(translated.settings, [from_file(1, "innodb_redo_log_capacity", "8G")]);
        let consequences: Vec<_> = translated.lines.iter().map(|line| line.consequence).collect();
        assert_eq!(consequences, [Consequence::LeftOut; 2]);
        settings.reverse();
    }
}

#[test]
fn of_repeated_sizes_the_last_is_joined() {
    let settings = [from_file(1, "innodb_log_file_size", "1G"), from_file(2, "innodb_log_file_size", "2G")];
    let standings = standings(&settings, Flavour::MySql, MYSQL_9);
    assert!(matches!(&standings[1], Standing::Renamed { remark, .. } if remark.contains("2 files")), "{standings:?}");
}

#[test]
fn a_name_of_mariadb_becomes_one_that_this_mysql_has() {
    let renamed = |name: &str, version| match standing(name, "4", Flavour::MySql, version) {
        Standing::Renamed { name, .. } => Some(name),
        _ => None,
    };
    assert_eq!(renamed("slave_parallel_threads", (5, 7, 44)).as_deref(), Some("slave_parallel_workers"));
    assert_eq!(renamed("slave_parallel_threads", MYSQL_9).as_deref(), Some("replica_parallel_workers"));
    assert_eq!(renamed("log_bin_compress", (5, 7, 44)), None);
    assert!(removed("log_bin_compress", "ON", Flavour::MySql, (5, 7, 44)).is_some());
    assert_eq!(renamed("log_bin_compress", (8, 0, 20)).as_deref(), Some("binlog_transaction_compression"));
}

#[test]
fn what_stands_in_the_plan_is_refused_where_an_option_file_is_translated() {
    let settings = [inline(3, "table_cache", "64"), inline(4, "query_cache_size", "1M"), inline(5, "datadir", "/d")];
    let translated = translate(&settings, Flavour::MySql, MYSQL_9);
    let consequences: Vec<_> = translated.lines.iter().map(|line| line.consequence).collect();
    assert_eq!(consequences, [Consequence::Refused, Consequence::Removed, Consequence::Refused]);
    assert!(translated.settings.is_empty());
    let mistake = translated.mistake().unwrap().to_string();
    assert!(mistake.starts_with("plan.toml, line 3: table_cache: is called table_open_cache since MySQL 5.1.3"));
    assert!(mistake.ends_with("; write table_open_cache = 64"), "{mistake}");
    assert_eq!(translate(&[inline(6, "log_bin", "binlog")], Flavour::MySql, MYSQL_9).mistake(), None);
}

#[test]
fn a_class_belongs_to_a_value() {
    let class = |name, value| class(name, value, Flavour::MySql);
    for (name, value, expected) in [
        ("innodb_flush_log_at_trx_commit", "1", Class::D0),
        ("innodb_flush_log_at_trx_commit", "2", Class::D1),
        ("innodb_flush_log_at_trx_commit", "0", Class::D1p),
        ("innodb_doublewrite", "ON", Class::D0),
        ("innodb_doublewrite", "detect_and_recover", Class::D0),
        ("innodb_doublewrite", "DETECT_ONLY", Class::D2),
        ("innodb_doublewrite", "0", Class::D2),
        ("innodb_checksum_algorithm", "none", Class::D3),
        ("innodb_flush_method", "O_DIRECT", Class::D0),
        ("innodb_flush_method", "O_DIRECT_NO_FSYNC", Class::D1),
        ("innodb_flush_method", "nosync", Class::D2),
        ("sync_binlog", "0", Class::D4),
        ("skip-log-bin", "", Class::D4),
        ("transaction-isolation", "READ-COMMITTED", Class::I),
        ("innodb_buffer_pool_size", "8G", Class::A),
        ("innodb_io_capacity", "20000", Class::D0),
    ] {
        assert_eq!(class(name, value), expected, "{name} = {value}");
    }
    assert_eq!(classes("sync_binlog", "0", Flavour::MySql), [Class::D1, Class::D4].into());
    assert!(classes("innodb_flush_log_at_trx_commit", "3", Flavour::MariaDb).is_empty());
}

#[test]
fn risks_are_those_of_what_is_in_effect() {
    let variables = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let without_log = variables(&[("log_bin", "OFF"), ("sync_binlog", "0"), ("innodb_buffer_pool_size", "1")]);
    assert_eq!(risks(&without_log, Flavour::MariaDb), [Class::D4].into());
    let unsynced = variables(&[("log_bin", "ON"), ("sync_binlog", "0")]);
    assert_eq!(risks(&unsynced, Flavour::MariaDb), [Class::D1, Class::D4].into());
    let safe = variables(&[("log_bin", "ON"), ("sync_binlog", "1"), ("innodb_flush_log_at_trx_commit", "1")]);
    assert!(risks(&safe, Flavour::MySql).is_empty());
}

#[test]
fn variables_that_are_not_called_like_their_options() {
    assert_eq!(variable("transaction_isolation", Flavour::MariaDb, MARIA_10), "tx_isolation");
    assert_eq!(variable("transaction_isolation", Flavour::MariaDb, (11, 8, 6)), "transaction_isolation");
    assert_eq!(variable("transaction_isolation", Flavour::MySql, MYSQL_9), "transaction_isolation");
}
