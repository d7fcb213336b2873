//! What builds say that they know.

use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_server::{ServerError, options};
use plimsoll_testkit::servers;
use std::path::{Path, PathBuf};

fn known(binary: Option<PathBuf>) {
    let Some(binary) = binary else { return };
    let build = plimsoll_server::find::inspect(&binary).unwrap();
    let options = options::known(&build, &[]).unwrap();
    assert!(options.iter().count() > 600);
    for name in
        ["innodb_buffer_pool_size", "Innodb-Doublewrite", "skip-log-bin", "sync_binlog", "transaction_isolation"]
    {
        assert!(options.accepts(name), "{build}: {name}");
    }
    // Neither what was misspelt, nor beginnings of names, nor names that it would only ignore.
    for name in ["innodb_bufer_pool_size", "innodb_buffer_pool_siz", "loose_innodb_dblwr", "innodb_checksums"] {
        assert!(!options.accepts(name), "{build}: {name}");
    }
    assert_eq!(options.nearest("innodb_bufer_pool_size")[0], "innodb_buffer_pool_size");
    let of_mysql = build.flavour == Flavour::MySql;
    for name in ["innodb_thread_concurrency", "innodb_redo_log_capacity", "mysqlx"] {
        assert_eq!(options.accepts(name), of_mysql, "{build}: {name}");
    }
    assert_eq!(options.accepts("query_cache_size"), !of_mysql);
}

#[test]
fn mariadb_knows_its_options() {
    known(servers::mariadb());
}

#[test]
fn mysql_knows_its_options() {
    known(servers::mysql());
}

#[test]
fn what_lists_no_options_is_no_server() {
    let build = Build { flavour: Flavour::MySql, version: "9.7.4".into(), binary: "/bin/true".into() };
    assert!(
        matches!(options::known(&build, &[]), Err(ServerError::NotAServer { path, .. }) if path == Path::new("/bin/true"))
    );
}
