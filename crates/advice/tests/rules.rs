//! Every rule with an option file that it speaks of, and one of which it has nothing to say.

use plimsoll_advice::config::judge;
use plimsoll_advice::config::read::{ConfigSources, read};
use plimsoll_advice::config::rules::NAMES;
use plimsoll_model::advice::{Advice, AdviceFinding, Severity};
use plimsoll_plan::knowledge::Release;
use std::collections::{BTreeMap, BTreeSet};

/// Files and directories in memory.
#[derive(Default)]
struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    directories: BTreeMap<String, Vec<String>>,
}

impl Memory {
    fn of(files: &[(&str, &str)]) -> Memory {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
        Memory { files: files.collect(), directories: BTreeMap::new() }
    }
}

impl ConfigSources for Memory {
    fn read(&mut self, file: &str) -> Result<Vec<u8>, String> {
        self.files.get(file).cloned().ok_or_else(|| "cannot be read: there is none".to_owned())
    }

    fn list(&mut self, directory: &str) -> Result<Vec<String>, String> {
        self.directories.get(directory).cloned().ok_or_else(|| "cannot be listed: there is none".to_owned())
    }
}

fn advice_of(mut files: Memory, release: &str) -> Advice {
    let read = read("my.cnf", &mut files).expect("it is there");
    judge(read, Release::parse(release).expect("a release"), BTreeSet::new())
}

fn advice(text: &str, release: &str) -> Advice {
    advice_of(Memory::of(&[("my.cnf", text)]), release)
}

fn found<'a>(advice: &'a Advice, rule: &str) -> Vec<&'a AdviceFinding> {
    advice.findings.iter().filter(|finding| finding.rule == rule).collect()
}

/// A rule, a release, lines of `[mysqld]` that it speaks of, what the first of them should say, and lines that are right.
type Case = (&'static str, &'static str, &'static str, Option<&'static str>, &'static str);

const CASES: [Case; 35] = [
    ("config.removed", "mysql-9.7", "query_cache_size=0", Some(""), "table_open_cache=8000"),
    (
        "config.removed",
        "mariadb-11.8",
        "innodb_thread_concurrency=8",
        Some(""),
        "query_cache_size=8M\nquery_cache_type=ON",
    ),
    ("config.removed", "mariadb-11.8", "innodb_checksum_algorithm=none", Some(""), "innodb_checksum_algorithm=crc32"),
    ("config.removed", "mysql-8.4", "thread_concurrency=8", Some(""), "innodb_thread_concurrency=8"),
    (
        "config.renamed",
        "mysql-9.7",
        "tx_isolation=SERIALIZABLE",
        Some("transaction_isolation = SERIALIZABLE"),
        "transaction_isolation=SERIALIZABLE",
    ),
    (
        "config.renamed",
        "mysql-9.7",
        "innodb_log_file_size=1G",
        Some("innodb_redo_log_capacity = 2G"),
        "innodb_redo_log_capacity=2G",
    ),
    (
        "config.renamed",
        "mariadb-11.8",
        "innodb_redo_log_capacity=1G",
        Some("innodb_log_file_size = 1G"),
        "innodb_log_file_size=1G",
    ),
    ("config.too-new", "mysql-8.0.20", "innodb_redo_log_capacity=1G", Some(""), "innodb_log_file_size=1G"),
    ("config.too-new", "mariadb-10.11.5", "innodb_buffer_pool_size_max=8G", Some(""), "innodb_buffer_pool_size=8G"),
    (
        "config.deprecated",
        "mysql-9.7",
        "slave_net_timeout=30",
        Some("replica_net_timeout = 30"),
        "replica_net_timeout=30",
    ),
    ("config.deprecated", "mariadb-11.8", "innodb_flush_method=fsync", None, "innodb_data_file_buffering=ON"),
    (
        "config.abbreviated",
        "mariadb-10.11",
        "innodb_buffer_pool_dump_a=1",
        Some("innodb_buffer_pool_dump_at_shutdown = 1"),
        "innodb_buffer_pool_dump_at_shutdown=0",
    ),
    (
        "config.misspelt",
        "mysql-9.7",
        "inodb_bufer_pool_size=8G",
        Some("innodb_buffer_pool_size = 8G"),
        "innodb_buffer_pool_size=8G",
    ),
    ("config.unknown", "mysql-9.7", "frobnicate_wildly=1", None, "innodb_buffer_pool_size=8G"),
    ("config.client", "mysql-9.7", "quick", Some(""), "large_pages"),
    (
        "config.misplaced",
        "mysql-9.7",
        "[mysqldump]\ninnodb_buffer_pool_size=8G",
        None,
        "[mysqldump]\nmax_allowed_packet=1G",
    ),
    ("config.misplaced", "mysql-9.7", "[mysqld-]\nmax_connections=500", None, "[mariadb]\nmax_connections=500"),
    ("config.misplaced", "mariadb-11.8", "[mysql]\ninnodb_open_files=9", None, "[mysqld-9.7]\ninnodb_open_files=9"),
    ("config.misread", "mysql-9.7", "slow_query_log=yes", Some("slow_query_log = ON"), "slow_query_log=1"),
    ("config.misread", "mariadb-11.8", "log_bin=OFF", Some("skip_log_bin"), "log_bin=offsite"),
    ("config.misread", "mysql-8.4", "skip_slow_query_log=OFF", Some("slow_query_log = ON"), "skip_slow_query_log=0"),
    ("config.unreadable", "mysql-9.7", "innodb open files=300", None, "innodb_open_files=300"),
    (
        "config.shadowed",
        "mysql-9.7",
        "max_connections=100\nmax-connections=200",
        Some(""),
        "replicate_do_db=a\nreplicate_do_db=b",
    ),
    ("config.shadowed", "mysql-9.7", "log_bin=x\nskip_log_bin", Some(""), "log_bin=x\nsync_binlog=1"),
    (
        "config.clamped",
        "mysql-9.7",
        "innodb_buffer_pool_size=1M",
        Some("innodb_buffer_pool_size = 5M"),
        "innodb_buffer_pool_size=5M",
    ),
    (
        "config.clamped",
        "mariadb-11.8",
        "innodb_purge_threads=64",
        Some("innodb_purge_threads = 32"),
        "innodb_purge_threads=32",
    ),
    ("config.refused", "mysql-9.7", "innodb_flush_method=direct", None, "innodb_flush_method=fsync"),
    ("config.refused", "mysql-9.7", "innodb_buffer_pool_size=99999999999G", None, "innodb_buffer_pool_size=2G"),
    ("config.refused", "mysql-9.7", "innodb_doublewrite=fast", None, "innodb_doublewrite=DETECT_AND_RECOVER"),
    (
        "config.conflict",
        "mysql-9.7",
        "innodb_io_capacity=5000\ninnodb_io_capacity_max=2000",
        None,
        "innodb_io_capacity=2000\ninnodb_io_capacity_max=5000",
    ),
    ("config.conflict", "mariadb-11.8", "tmp_table_size=64M", None, "tmp_table_size=64M\nmax_heap_table_size=64M"),
    ("config.idle", "mysql-9.7", "skip_log_bin\nbinlog_cache_size=1M", None, "log_bin=x\nbinlog_cache_size=1M"),
    (
        "config.idle",
        "mariadb-11.8",
        "thread_pool_size=4",
        Some(""),
        "thread_handling=pool-of-threads\nthread_pool_size=4",
    ),
    ("config.default", "mysql-9.7", "innodb_flush_neighbors=0", None, "innodb_flush_neighbors=1"),
    ("config.danger", "mariadb-11.8", "log_bin\nsync_binlog=0", None, "log_bin\nsync_binlog=1"),
];

#[test]
fn each_rule_speaks_of_what_is_wrong_and_of_nothing_else() {
    for (rule, release, wrong, line, right) in CASES {
        let of_wrong = advice(&format!("[mysqld]\n{wrong}\n"), release);
        let findings = found(&of_wrong, rule);
        assert!(!findings.is_empty(), "{rule} on {release}: {wrong}: {:#?}", of_wrong.findings);
        if let Some(line) = line {
            assert_eq!(findings[0].line.as_deref(), Some(line), "{rule} on {release}: {wrong}");
        }
        let of_right = advice(&format!("[mysqld]\n{right}\n"), release);
        assert!(found(&of_right, rule).is_empty(), "{rule} on {release}: {right}: {:#?}", of_right.findings);
    }
}

#[test]
fn no_rule_is_without_cases() {
    for rule in NAMES {
        assert!(CASES.iter().any(|case| case.0 == rule), "{rule} has no case");
    }
    let releases = ["mysql-5.7", "mysql-8.4", "mysql-9.7", "mariadb-10.6", "mariadb-11.8"];
    let made =
        CASES.iter().flat_map(|case| releases.map(|release| advice(&format!("[mysqld]\n{}\n", case.2), release)));
    for finding in made.flat_map(|advice| advice.findings) {
        assert!(NAMES.contains(&finding.rule.as_str()), "{} is not listed", finding.rule);
        assert!(!finding.advised.is_empty() && !finding.source.is_empty() && finding.why.ends_with('.'), "{finding:?}");
    }
}

#[test]
fn what_is_safe_current_and_not_the_default_is_left_alone() {
    for (release, text) in [
        (
            "mysql-9.7",
            "innodb_buffer_pool_size=8G\ninnodb_redo_log_capacity=4G\nmax_connections=500\nlog_bin=/var/log/b",
        ),
        (
            "mariadb-11.8",
            "innodb_buffer_pool_size=8G\ninnodb_log_file_size=4G\nlog_bin\nsync_binlog=1\nmax_connections=500",
        ),
    ] {
        let advice = advice(&format!("[mysqld]\n{text}\n"), release);
        assert_eq!(advice.findings, [], "{release}");
        assert!(advice.answer.starts_with("Nothing to do: looked at "), "{}", advice.answer);
    }
}

#[test]
fn what_keeps_the_server_from_starting_comes_first() {
    let advice = advice("[mysqld]\ninnodb_doublewrite=0\nquery_cache_size=0\n", "mysql-9.7");
    assert!(advice.answer.starts_with("Do first: query_cache_size: delete the line (line 3). "), "{}", advice.answer);
    assert_eq!(advice.worst(), Some(Severity::Critical));
}

#[test]
fn a_loose_option_keeps_no_server_from_starting() {
    let advice = advice("[mysqld]\nloose-query_cache_size=0\n", "mysql-9.7");
    assert_eq!(found(&advice, "config.removed")[0].severity, Severity::Warn);
}

#[test]
fn included_files_are_read_where_they_are_included_and_the_last_counts() {
    let mut files = Memory::of(&[
        ("my.cnf", "[mysqld]\nmax_connections=100\n!includedir conf.d\n!include more.cnf\nmax_connections=300\n"),
        ("conf.d/a.cnf", "[mysqld]\nmax_connections=200\n"),
        ("more.cnf", "[mysqld]\nquery_cache_size=0\n"),
    ]);
    files.directories.insert("conf.d".to_owned(), vec!["conf.d/a.cnf".to_owned()]);
    let advice = advice_of(files, "mysql-9.7");
    let shadowed: Vec<_> = found(&advice, "config.shadowed").into_iter().filter_map(|f| f.at.clone()).collect();
    let places: Vec<(&str, usize)> = shadowed.iter().map(|at| (at.file.as_str(), at.line)).collect();
    assert_eq!(places, [("conf.d/a.cnf", 2), ("my.cnf", 2)]);
    assert_eq!(found(&advice, "config.removed")[0].at.as_ref().unwrap().file, "more.cnf");
    assert!(advice.answer.contains("(more.cnf, line 2)"), "{}", advice.answer);
    assert_eq!(advice.looked_at[0], "4 options in 9 lines of 3 files");
}

#[test]
fn what_cannot_be_included_is_said_with_its_line_and_ends_nothing() {
    let files = Memory::of(&[(
        "my.cnf",
        "[mysqld]\n!include my.cnf\n!include gone.cnf\n!includedir gone.d\n!incldue x\n!include\nquery_cache_size=0\n",
    )]);
    let advice = advice_of(files, "mysql-9.7");
    let odd = found(&advice, "config.unreadable");
    let lines: Vec<usize> = odd.iter().map(|finding| finding.at.as_ref().unwrap().line).collect();
    // A directory that is not there, and a directive that names nothing, keep every server from starting.
    assert_eq!(lines, [4, 6, 2, 3, 5]);
    assert_eq!([odd[1].severity, odd[2].severity], [Severity::Critical, Severity::Warn]);
    assert_eq!(odd[0].why, "gone.d cannot be listed: there is none; MySQL 9.7 does not start with it.");
    assert!(odd[2].why.contains("includes itself"), "{}", odd[2].why);
    assert_eq!(odd[3].why, "gone.cnf cannot be read: there is none; MySQL 9.7 goes on without it.");
    assert_eq!(found(&advice, "config.removed").len(), 1);
}

#[test]
fn a_chain_of_includes_is_followed_as_far_as_servers_follow_it() {
    let names: Vec<String> = (0..15).map(|n| if n == 0 { "my.cnf".to_owned() } else { format!("{n}.cnf") }).collect();
    let texts: Vec<String> = (1..=15).map(|next| format!("!include {next}.cnf\n")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let advice = advice_of(Memory::of(&files), "mysql-9.7");
    assert!(found(&advice, "config.unreadable")[0].why.contains("10 levels"), "{:#?}", advice.findings);
}

#[test]
fn bytes_that_are_no_text_and_lines_without_end_are_said_and_the_rest_is_read() {
    let mut bytes = b"\x00\xff\xfe\x01 = \x02\n[mysqld]\n".to_vec();
    bytes.extend(vec![b'x'; 100_000]);
    bytes.extend(b"\nquery_cache_size=0\n\xff\xff\n");
    let files = Memory { files: BTreeMap::from([("my.cnf".to_owned(), bytes)]), ..Memory::default() };
    let advice = advice_of(files, "mysql-9.7");
    assert_eq!(found(&advice, "config.unreadable").len(), 3);
    assert_eq!(found(&advice, "config.removed").len(), 1);
}

#[test]
fn a_file_of_five_megabytes_has_a_short_answer() {
    let text = format!(
        "[mysqld]\n{}",
        format!("frobnicate_wildly=1\nquery_cache_size=0\n# {}\n", "-".repeat(300)).repeat(15_000)
    );
    assert!(text.len() > 5_000_000);
    let advice = advice(&text, "mysql-9.7");
    assert!(advice.findings.len() < 300, "{}", advice.findings.len());
    assert!(advice.findings.iter().any(|finding| finding.why.contains(" more lines are like it.")));
}

#[test]
fn secrets_are_not_shown() {
    let text = "[mysqld]\nreport_password=hush\nwsrep_sst_auth=user:hush\nmy_plugin_token=hush\nreport_pasword=hush\n\
                report_pass=hush\nreport password hush\nhush;\n[client]\npassword=hush\npassword hush\n";
    for release in ["mysql-9.7", "mariadb-11.8", "mysql-8.0"] {
        let advice = advice(text, release);
        assert!(!format!("{advice:?}").contains("hush"), "{advice:#?}");
    }
}
