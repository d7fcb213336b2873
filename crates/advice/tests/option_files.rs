//! Option files as servers read them: names by release, values, groups, and what whoever asks accepts.

use plimsoll_advice::config::judge;
use plimsoll_advice::config::read::{ConfigSources, read};
use plimsoll_model::Class;
use plimsoll_model::advice::{Advice, Severity};
use plimsoll_plan::knowledge::Release;

/// Files in memory, by name.
struct Files<'a>(&'a [(&'a str, &'a str)]);

impl ConfigSources for Files<'_> {
    fn read(&mut self, file: &str) -> Result<Vec<u8>, String> {
        let text = self.0.iter().find(|(name, _)| *name == file).map(|(_, text)| text.as_bytes().to_vec());
        text.ok_or_else(|| "cannot be read: there is none".to_owned())
    }

    fn list(&mut self, _: &str) -> Result<Vec<String>, String> {
        Err("cannot be listed: there is none".to_owned())
    }
}

fn advice_with(text: &str, release: &str, allowed: &[Class]) -> Advice {
    let read = read("my.cnf", &mut Files(&[("my.cnf", text)])).expect("it is there");
    judge(read, Release::parse(release).expect("a release"), allowed.iter().copied().collect())
}

fn advice(text: &str, release: &str) -> Advice {
    advice_with(text, release, &[])
}

/// The rules that speak of `[mysqld]` with these lines, and how much it matters.
fn told(release: &str, lines: &str) -> Vec<(String, Severity)> {
    let advice = advice(&format!("[mysqld]\n{lines}\n"), release);
    advice.findings.into_iter().map(|finding| (finding.rule, finding.severity)).collect()
}

fn critical(rule: &str) -> Vec<(String, Severity)> {
    vec![(rule.to_owned(), Severity::Critical)]
}

fn warn(rule: &str) -> Vec<(String, Severity)> {
    vec![(rule.to_owned(), Severity::Warn)]
}

#[test]
fn names_that_are_gone_before_and_after_a_release_are_gone_from_it() {
    for name in [
        "show_compatibility_56=1",
        "secure_auth=1",
        "log_syslog=1",
        "internal_tmp_disk_storage_engine=InnoDB",
        "master_info_repository=TABLE",
        "slave_rows_search_algorithms=HASH_SCAN",
        "plugin_maturity=stable",
        "wsrep_on=ON",
        "default_authentication_plugin=mysql_native_password",
        "innodb_support_xa=1",
    ] {
        assert_eq!(told("mysql-8.4", name), critical("config.removed"), "{name}");
    }
    assert_eq!(told("mysql-9.1", "query_cache_size=0"), critical("config.removed"));
    assert_eq!(told("mysql-8.4", "loose-secure_auth=1"), warn("config.removed"));
    assert_eq!(told("mysql-8.4", "old_style_user_limits=1"), warn("config.removed"), "MySQL 8.0 had it");
    assert_eq!(told("mysql-8.4", "table_open_cache_triggers=10"), warn("config.too-new"), "MySQL 9.7 has it");
    assert_eq!(told("mariadb-10.6", "log_error_verbosity=2"), warn("config.removed"), "only MySQL is known to have it");
    assert_eq!(told("mariadb-11.4.2", "innodb_buffer_pool_size_max=8G"), critical("config.too-new"));
    for (release, line) in [
        ("mysql-8.0", "tls_version=TLSv1.2"),
        ("mysql-5.7", "ssl_ca=ca.pem"),
        ("mysql-5.7", "innodb_file_format=Barracuda"),
        ("mysql-5.7", "log_bin=b\nbinlog_transaction_dependency_history_size=30000"),
        ("mysql-8.2", "master_info_repository=TABLE"),
    ] {
        assert_eq!(told(release, line), [], "{line} on {release}");
    }
}

#[test]
fn an_old_size_of_the_redo_log_beside_todays_is_to_go_wherever_it_stands() {
    for lines in
        ["innodb_redo_log_capacity=8G\ninnodb_log_file_size=1G", "innodb_log_file_size=1G\ninnodb_redo_log_capacity=8G"]
    {
        let advice = advice(&format!("[mysqld]\n{lines}\n"), "mysql-8.4");
        let [finding] = &advice.findings[..] else { panic!("{:#?}", advice.findings) };
        assert_eq!((finding.rule.as_str(), finding.line.as_deref()), ("config.renamed", Some("")), "{finding:#?}");
        assert!(finding.why.contains("innodb_redo_log_capacity = 8G, and counts"), "{}", finding.why);
    }
    // An old name that the server takes for the same variable counts where it comes later.
    assert_eq!(told("mariadb-11.8", "table_open_cache=900\ntable_cache=800")[0].0, "config.shadowed");
}

#[test]
fn mariadbs_one_redo_file_is_as_large_as_it_says() {
    let lines = "innodb_log_file_size=48M\ninnodb_log_files_in_group=2";
    assert_eq!(told("mariadb-11.8", lines), warn("config.removed"), "48M is not the default of 96M");
}

#[test]
fn options_of_semi_synchronous_replication_go_with_their_plugin() {
    let old = "rpl_semi_sync_master_enabled=1";
    let with = |plugin: &str| format!("plugin_load_add={plugin}.so\n{old}");
    let info = vec![("config.deprecated".to_owned(), Severity::Info)];
    assert_eq!(told("mysql-8.4", &with("semisync_master")), info);
    assert_eq!(told("mysql-8.0", old), info, "INSTALL PLUGIN may have loaded it");
    assert_eq!(told("mysql-8.0.20", old), [], "there is no other name yet");
    assert_eq!(told("mysql-8.4", &with("semisync_source")), critical("config.renamed"));
    assert_eq!(told("mariadb-11.8", old), []);
    let advice = advice(&format!("[mysqld]\nplugin_load_add=semisync_source.so\n{old}\n"), "mysql-8.4");
    assert_eq!(advice.findings[0].line.as_deref(), Some("rpl_semi_sync_source_enabled = 1"));
    let alone = advice_with("[mysqld]\nrpl_semi_sync_slave_enabled=1\n", "mysql-9.7", &[]);
    assert_eq!(alone.findings[0].advised, "write rpl_semi_sync_replica_enabled = 1, and load semisync_replica");
}

#[test]
fn options_of_other_programs_vendors_and_series_are_left_where_they_are() {
    for group in [
        "myisamchk",
        "aria_chk",
        "mysqlhotcopy",
        "mariadb-dump",
        "mysqlpump",
        "client-mariadb",
        "mysqld1",
        "mysqld-5.7",
        "mariadb-10.11",
        "galera",
    ] {
        let lines = "key_buffer_size=256M\nsort_buffer_size=256M\ninteractive-timeout\nquery_cache_size=0";
        let advice = advice(&format!("[{group}]\n{lines}\n"), "mysql-9.7");
        assert_eq!(advice.findings, [], "{group}");
    }
    let upper = advice("[MYSQLD]\nquery_cache_size=0\n", "mysql-9.7");
    assert_eq!(upper.findings[0].rule, "config.removed", "servers do not look at the case");
    let client = advice("[client-server-10.11]\nquery_cache_sizes=0\n", "mariadb-10.11");
    assert_eq!(client.findings, [], "MariaDB reads no such group");
}

#[test]
fn what_no_server_starts_with_is_critical_and_what_it_passes_over_is_not() {
    let of = |text: &str| {
        let advice = advice(text, "mysql-9.7");
        advice.findings.iter().map(|finding| (finding.severity, finding.why.clone())).collect::<Vec<_>>()
    };
    let no_end = "It begins a group and has no ]; MySQL 9.7 does not start with it.";
    assert_eq!(of("[mysqld\nmax_connections=500\n"), [(Severity::Critical, no_end.to_owned())]);
    assert_eq!(of("[mysqld]\nmax connections=500\n")[0].0, Severity::Critical);
    assert_eq!(of("[mysql]\nmax connections=500\n")[0].0, Severity::Info, "a server does not read it");
    assert_eq!(of("[mysqld] ; main\nmax_connections=500\n"), []);
    let mut files = Files(&[("my.cnf", "! include more.cnf\n"), ("more.cnf", "[mysqld]\nmax_connections=500\n")]);
    assert_eq!(read("my.cnf", &mut files).expect("it is there").files, ["my.cnf", "more.cnf"]);
}

#[test]
fn values_that_are_no_numbers_keep_the_server_from_starting() {
    for value in ["= 1.5G", "= 70%", "= 8 G", "= abc", "=", ""] {
        let line = format!("innodb_buffer_pool_size {value}");
        assert_eq!(told("mysql-8.4", line.trim()), critical("config.refused"), "{line}");
    }
    assert_eq!(told("mysql-8.4", "max_connections"), critical("config.refused"));
    let overridden = "max_connections=many\nmax_connections=500";
    assert_eq!(told("mysql-8.4", overridden), critical("config.refused"), "every line is read");
    for line in ["innodb_buffer_pool_size=8GB", "long_query_time=0.5", "innodb_max_dirty_pages_pct=70.5"] {
        assert!(told("mysql-8.4", line).iter().all(|(_, severity)| *severity == Severity::Info), "{line}");
    }
    // Without a value, what may be left out is 1.
    assert_eq!(told("mysql-8.4", "slow_query_log\ninnodb_purge_batch_size"), []);
    assert_eq!(told("mysql-8.4", "max_connections=-5"), warn("config.clamped"));
    assert_eq!(told("mysql-8.4", "delayed_insert_limit=-5"), warn("config.clamped"));
}

#[test]
fn modes_and_gtids_that_stop_an_upgrade_are_told() {
    let modes = "[mysqld]\nsql_mode=STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER\n";
    let of_modes = advice(modes, "mysql-8.4");
    let [finding] = &of_modes.findings[..] else { panic!("{:#?}", of_modes.findings) };
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.line.as_deref(), Some("sql_mode = STRICT_TRANS_TABLES"));
    assert_eq!(advice(modes, "mysql-5.7").findings, []);
    let of_gtids = advice("[mysqld]\ngtid_mode=ON\n", "mysql-8.4");
    let [finding] = &of_gtids.findings[..] else { panic!("{:#?}", of_gtids.findings) };
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(finding.line.as_deref(), Some("gtid_mode = ON\nenforce_gtid_consistency = ON"));
    let off = told("mysql-9.7", "gtid_mode=ON\nenforce_gtid_consistency=OFF");
    assert!(off.contains(&("config.conflict".to_owned(), Severity::Critical)), "{off:?}");
    for (release, lines) in [("mysql-8.4", "gtid_mode=ON\nenforce_gtid_consistency=1"), ("mysql-9.7", "gtid_mode=ON")] {
        assert!(!told(release, lines).iter().any(|(rule, _)| rule == "config.conflict"), "{lines} on {release}");
    }
}

#[test]
fn temporary_tables_are_limited_by_what_limits_them_on_the_release() {
    for (release, lines, is_told) in [
        ("mysql-8.4", "tmp_table_size=64M", false),
        ("mysql-8.4", "tmp_table_size=64M\ninternal_tmp_mem_storage_engine=MEMORY", true),
        ("mysql-5.7", "tmp_table_size=64M", true),
    ] {
        let conflict = told(release, lines).iter().any(|(rule, _)| rule == "config.conflict");
        assert_eq!(conflict, is_told, "{lines} on {release}");
    }
}

#[test]
fn lines_are_read_and_written_as_servers_read_them() {
    let slow = advice("[mysqld]\nlog_slow_queries=/var/log/slow.log\nlong_query_time=2\n", "mysql-9.7");
    let [finding] = &slow.findings[..] else { panic!("{:#?}", slow.findings) };
    assert_eq!(finding.line.as_deref(), Some("slow_query_log = ON\nslow_query_log_file = /var/log/slow.log"));
    // The binary log is on, whatever it is called.
    assert_eq!(told("mariadb-11.8", "log_bin=0\nsync_binlog=1"), warn("config.misread"));
    assert_eq!(told("mysql-8.4", "skip_innodb_doublewrite=OFF"), critical("config.danger"));
    assert_eq!(told("mysql-8.4", "skip_innodb_doublewrite=0")[0].0, "config.default");
}

#[test]
fn what_the_server_takes_instead_of_a_value_is_what_counts() {
    let commits = advice("[mysqld]\ninnodb_flush_log_at_trx_commit=3\n", "mysql-8.4");
    let [finding] = &commits.findings[..] else { panic!("{:#?}", commits.findings) };
    assert_eq!((finding.rule.as_str(), &finding.costs[..]), ("config.danger", &[Class::D1][..]));
    assert!(finding.why.starts_with("MySQL 8.4 takes 2 instead. It loses"), "{}", finding.why);
    assert_eq!(told("mariadb-11.8", "innodb_flush_log_at_trx_commit=3"), [], "MariaDB has it");
    let capacity = advice("[mysqld]\ninnodb_io_capacity=5000\ninnodb_io_capacity_max=2000\n", "mysql-9.7");
    let is_told = |why: &str| why.contains("the server lowers innodb_io_capacity");
    assert!(capacity.findings.iter().any(|finding| is_told(&finding.why)), "{:#?}", capacity.findings);
}

#[test]
fn what_a_crash_may_cost_is_no_finding() {
    let text = "[mysqld]\ninnodb_flush_log_at_trx_commit=2\nlog_bin=b\nsync_binlog=0\n";
    let costs = |allowed: &[Class]| {
        let findings = advice_with(text, "mysql-9.7", allowed).findings.into_iter();
        findings.filter(|finding| finding.rule == "config.danger").map(|finding| finding.costs).collect::<Vec<_>>()
    };
    assert_eq!(costs(&[]), [vec![Class::D1], vec![Class::D1, Class::D4]]);
    assert_eq!(costs(&[Class::D1]), [vec![Class::D4]]);
    assert!(costs(&[Class::D1, Class::D4]).is_empty());
}
