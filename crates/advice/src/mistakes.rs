//! What other advisors are known for, and what this one makes of the same input: a test for each mistake. Where they come from
//! is said in words, since links die.

use crate::config;
use crate::config::read::{ConfigSources, read};
use crate::window::rules::RULES;
use crate::window::rules::fixtures::{SPEAKS, change, healthy, limited_by, says};
use crate::window::seen::SeenServer;
use crate::window::{WindowVerdict, judge};
use plimsoll_model::advice::{Advice, Severity};
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_plan::knowledge::{Release, classes};
use std::collections::BTreeSet;

/// An option file in memory.
struct OneFile<'a>(&'a str);

impl ConfigSources for OneFile<'_> {
    fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn list(&mut self, _: &str) -> Result<Vec<String>, String> {
        Err("there is one file".to_owned())
    }
}

fn of_file(lines: &str, release: &str) -> Advice {
    let text = format!("[mysqld]\n{lines}\n");
    let read = read("my.cnf", &mut OneFile(&text)).unwrap();
    config::judge(read, Release::parse(release).unwrap(), BTreeSet::new())
}

fn with(settings: &[(&str, &str)]) -> SeenServer {
    let mut seen = healthy();
    seen.settings.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    seen
}

/// Settings that any rule proposes to change, over all cases in which rules speak.
fn proposals() -> Vec<(&'static str, String)> {
    let cases = SPEAKS.iter().map(|(id, plant)| {
        let mut seen = healthy();
        plant(&mut seen);
        change(id, &seen)
    });
    cases.flatten().collect()
}

#[test]
fn a_join_without_an_index_needs_an_index_and_never_a_buffer() {
    let mut seen = with(&[("join_buffer_size", "314572800")]);
    seen.counted.rows_read = Some(1e7);
    let advice = judge("a server", &seen);
    let told: Vec<&str> = advice.findings.iter().map(|finding| finding.advised.as_str()).collect();
    assert!(told.iter().any(|advised| advised.contains("an index")), "{told:?}");
    assert!(proposals().iter().all(|(name, _)| *name != "join_buffer_size"));
}

#[test]
fn a_redo_log_is_sized_by_what_is_written_and_not_by_the_pool() {
    let pool = ("innodb_buffer_pool_size", "137438953472");
    assert_eq!(says("redo.small", &with(&[pool])), WindowVerdict::Fine, "1 GiB is not too little for 100 KB a second");
    let large = with(&[pool, ("innodb_redo_log_capacity", "12884901888")]);
    assert_eq!(says("redo.small", &large), WindowVerdict::Fine, "nor is 12 GiB to be shrunk");
    let twelve = of_file("innodb_log_file_size = 1G\ninnodb_log_files_in_group = 12", "mysql-5.7");
    assert!(twelve.findings.is_empty(), "{:#?}", twelve.findings);
}

#[test]
fn memory_is_what_is_left_and_not_what_every_connection_could_take() {
    let settings = [("max_connections", "4000"), ("sort_buffer_size", "67108864"), ("join_buffer_size", "67108864")];
    let seen = with(&settings);
    assert_eq!(says("mem.too-much", &seen), WindowVerdict::Fine, "it would be 500 GiB, and nothing swaps");
    let mut elsewhere = limited_by(Bottleneck::ReadIo);
    elsewhere.memory_left = None;
    assert!(matches!(says("mem.pool-small", &elsewhere), WindowVerdict::Unseen(_)), "of a container elsewhere");
}

#[test]
fn a_ratio_is_no_reason() {
    let mut seen = healthy();
    // Each of few reads misses; each of few temporary tables goes to disk; every connection gets a new thread.
    seen.signals.storage.misses = Some(3.0);
    (seen.counted.tmp_tables, seen.counted.tmp_disk_tables) = (Some(0.01), Some(0.01));
    seen.counted.threads_created = Some(0.01);
    for id in ["mem.pool-small", "tmp.disk", "conc.threads-created", "tc.overflow"] {
        assert_eq!(says(id, &seen), WindowVerdict::Fine, "{id}");
    }
}

#[test]
fn a_query_cache_is_never_larger_and_only_where_there_is_one() {
    assert!(proposals().iter().filter(|(name, _)| name.starts_with("query_cache")).all(|(_, value)| value == "OFF"));
    let gone = of_file("query_cache_size = 64M\nquery_cache_type = 1", "mysql-8.4");
    assert!(gone.findings.iter().all(|finding| finding.rule == "config.removed"), "{:#?}", gone.findings);
    assert!(judge("a server", &healthy()).findings.is_empty(), "MySQL has none to advise on");
}

#[test]
fn no_setting_is_to_be_larger_and_smaller() {
    for seen in SPEAKS.map(|(_, plant)| {
        let mut seen = healthy();
        plant(&mut seen);
        seen
    }) {
        let advice = judge("a server", &seen);
        let mut settings: Vec<&String> =
            advice.findings.iter().filter_map(|finding| finding.setting.as_ref()).collect();
        let all = settings.len();
        settings.dedup();
        settings.sort();
        settings.dedup();
        assert_eq!(settings.len(), all, "{advice:#?}");
    }
    assert!(proposals().iter().all(|(name, _)| *name != "key_buffer_size"));
}

#[test]
fn commits_in_groups_are_no_reason_for_a_log_buffer() {
    let mut seen = healthy();
    (seen.signals.storage.commits, seen.signals.storage.syncs) = (5000.0, Some(100.0));
    assert_eq!(says("redo.buffer", &seen), WindowVerdict::Fine, "nobody waited for it");
    let mut waits = with(&[("innodb_log_buffer_size", "8589934592")]);
    waits.counted.log_waits = Some(5.0);
    assert_eq!(says("redo.buffer", &waits), WindowVerdict::Fine, "8 GiB is enough, whoever waits");
}

#[test]
fn a_pool_is_not_cut_into_pieces_by_rule() {
    assert!(proposals().iter().all(|(name, _)| *name != "innodb_buffer_pool_instances"));
}

#[test]
fn what_background_threads_do_limits_nobody() {
    let mut seen = healthy();
    (seen.signals.storage.page_writes, seen.counted.flushing_varies) = (Some(20_000.0), Some(0.3));
    let advice = judge("a server", &seen);
    assert!(advice.findings.is_empty(), "20,000 pages a second are written, and no transaction waits: {advice:#?}");
}

#[test]
fn what_suits_most_is_not_demanded_of_all() {
    assert!(judge("a server", &healthy()).findings.is_empty());
    for lines in ["max_connections = 300", "table_definition_cache = 400", "innodb_flush_method = fsync"] {
        let advice = of_file(lines, "mysql-9.7");
        assert!(advice.findings.iter().all(|finding| finding.severity == Severity::Info), "{:#?}", advice.findings);
    }
    let resolves = of_file("bind_address = 0.0.0.0", "mysql-9.7");
    assert!(!format!("{resolves:?}").contains("skip_name_resolve"), "grants by host name need it");
}

#[test]
fn nothing_that_costs_safety_is_proposed_to_whom_has_not_allowed_it() {
    let flavour = healthy().release.flavour;
    for (rule, (id, plant)) in RULES.iter().zip(SPEAKS) {
        let mut seen = healthy();
        plant(&mut seen);
        seen.allowed.clear();
        let WindowVerdict::Found(found) = (rule.judge)(&seen) else { continue };
        for (name, value) in found.changes {
            let costs = classes(name, &value, flavour);
            assert!(!costs.iter().any(|class| class.costs_durability()), "{id}: {name} = {value}");
        }
    }
}

#[test]
fn another_size_than_usual_is_not_bad_by_itself() {
    for lines in ["innodb_doublewrite_pages = 64", "innodb_log_buffer_size = 64M", "innodb_io_capacity = 4000"] {
        let advice = of_file(lines, "mysql-9.7");
        assert!(advice.worst() < Some(Severity::Warn), "{:#?}", advice.findings);
    }
}

#[test]
fn what_is_gone_is_gone_when_the_server_says_so() {
    // Said to have left MariaDB in 10.0; its servers had it until 10.5.
    let advice = of_file("innodb_checksums = 1", "mariadb-10.11");
    let [finding] = &advice.findings[..] else { panic!("{:#?}", advice.findings) };
    assert!(finding.confirmed && finding.why.contains("10.5"), "{finding:#?}");
}

#[test]
fn a_reason_is_told_and_not_linked() {
    for (id, plant) in SPEAKS {
        let mut seen = healthy();
        plant(&mut seen);
        for finding in judge("a server", &seen).findings {
            assert!(!format!("{finding:?}").contains("http"), "{id}: {finding:#?}");
            assert!(!finding.why.is_empty() && !finding.source.is_empty() && !finding.found.is_empty(), "{id}");
        }
    }
}
