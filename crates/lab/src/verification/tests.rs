use super::*;
use plimsoll_model::statements::StatementCounts;
use plimsoll_plan::lab::Where;

fn setting(name: &str, value: &str) -> Setting {
    Setting {
        name: name.into(),
        value: value.into(),
        at: Where { file: "plan.toml".into(), line: 7 },
        from_file: false,
    }
}

fn verifications(name: &str, value: &str, effective: &str) -> Verifications {
    let mut verification = first_verification(&setting(name, value), Flavour::MySql, Some(&effective.to_owned()));
    verification.compare(value, Some(&effective.to_owned()));
    Verifications { verifications: vec![verification], ..Verifications::default() }
}

/// 200 single-row inserts on one connection, as MySQL 9.7 and MariaDB 10.11 counted them.
fn under_load(verifications: &mut Verifications, counters: &[(&str, u64)], writes_through: bool) {
    let zero: Sight = counters.iter().map(|(name, _)| (*name, "0")).collect();
    let numbers: Vec<(&str, String)> = counters.iter().map(|(name, count)| (*name, count.to_string())).collect();
    let after: Sight = numbers.iter().map(|(name, count)| (*name, count.as_str())).collect();
    let sent = StatementCounts { insert: 200, ..StatementCounts::default() };
    let observed = ObservedBehaviour { before: &zero, after: &after, sent: &sent, connections: 1, writes_through };
    behaviour(verifications, &observed);
}

fn verdict(name: &str, value: &str, counters: &[(&str, u64)]) -> VerificationVerdict {
    verdict_where(name, value, counters, false)
}

fn verdict_where(name: &str, value: &str, counters: &[(&str, u64)], writes_through: bool) -> VerificationVerdict {
    let mut verifications = verifications(name, value, value);
    under_load(&mut verifications, counters, writes_through);
    assert!(verifications.verifications[0].behaviour.is_some(), "{name} = {value}");
    assert_eq!(
        verifications.caveats.len(),
        usize::from(verifications.verifications[0].verdict != VerificationVerdict::InEffect)
    );
    verifications.verifications[0].verdict
}

#[test]
fn commits_that_are_not_synced_contradict_1() {
    let name = "innodb_flush_log_at_trx_commit";
    for (value, counters, expected) in [
        ("1", [("Innodb_os_log_fsyncs", 202), ("Innodb_data_fsyncs", 212)], VerificationVerdict::InEffect),
        ("1", [("Innodb_os_log_fsyncs", 1), ("Innodb_data_fsyncs", 5)], VerificationVerdict::NotApplied),
        ("2", [("Innodb_os_log_fsyncs", 1), ("Innodb_data_fsyncs", 5)], VerificationVerdict::InEffect),
        ("2", [("Innodb_os_log_fsyncs", 202), ("Innodb_data_fsyncs", 212)], VerificationVerdict::NotApplied),
    ] {
        assert_eq!(verdict(name, value, &counters), expected, "{value} {counters:?}");
    }
    // MariaDB counts syncs of all files only: too few of them show, too many do not.
    assert_eq!(verdict(name, "1", &[("Innodb_data_fsyncs", 201)]), VerificationVerdict::InEffect);
    assert_eq!(verdict(name, "1", &[("Innodb_data_fsyncs", 1)]), VerificationVerdict::NotApplied);
    assert_eq!(verdict(name, "2", &[("Innodb_data_fsyncs", 900)]), VerificationVerdict::InEffect);
}

#[test]
fn commits_that_need_no_sync_do_not_contradict_1() {
    let name = "innodb_flush_log_at_trx_commit";
    let (unsynced, rows) = (("Innodb_os_log_fsyncs", 1), |rows| ("Innodb_rows_inserted", rows));
    let none = [("Innodb_rows_updated", 0), ("Innodb_rows_deleted", 0)];
    assert_eq!(verdict_where(name, "1", &[unsynced], true), VerificationVerdict::InEffect);
    // Statements that change no row write nothing.
    let changing = |changed| verdict(name, "1", &[unsynced, rows(changed), none[0], none[1]]);
    assert_eq!(changing(3), VerificationVerdict::InEffect);
    assert_eq!(changing(200), VerificationVerdict::NotApplied);
}

#[test]
fn a_redo_log_may_be_written_through() {
    let is = |name: &str, value: &str| writes_through(&BTreeMap::from([(name.to_owned(), value.to_owned())]));
    assert!(is("innodb_flush_method", "O_DSYNC") && is("innodb_flush_method", "nosync"));
    assert!(is("innodb_log_file_write_through", "ON") && !is("innodb_log_file_write_through", "OFF"));
    assert!(!is("innodb_flush_method", "O_DIRECT") && !writes_through(&BTreeMap::new()));
}

#[test]
fn doublewrite_shows_in_the_pages_written_twice() {
    let name = "innodb_doublewrite";
    let seen = |pages, flushed| [("Innodb_dblwr_pages_written", pages), ("Innodb_buffer_pool_pages_flushed", flushed)];
    assert_eq!(verdict(name, "ON", &seen(279, 419)), VerificationVerdict::InEffect);
    assert_eq!(verdict(name, "ON", &seen(0, 421)), VerificationVerdict::InEffect, "as on storage with atomic writes");
    assert_eq!(verdict(name, "OFF", &seen(0, 421)), VerificationVerdict::InEffect);
    assert_eq!(verdict(name, "OFF", &seen(279, 419)), VerificationVerdict::NotApplied);
    assert_eq!(verdict(name, "ON", &seen(0, 3)), VerificationVerdict::InEffect);
}

#[test]
fn the_load_may_have_another_value_than_new_sessions() {
    let mut verifications = verifications("sort_buffer_size", "64K", "65536");
    verifications.shown_by.insert("sort_buffer_size".into(), "sort_buffer_size".into());
    let answer = |value: &str| BTreeMap::from([("sort_buffer_size".to_owned(), value.to_owned())]);
    in_the_load(&mut verifications, &answer("65536"));
    assert_eq!(
        (verifications.verifications[0].verdict, verifications.verifications[0].load.as_deref()),
        (VerificationVerdict::InEffect, Some("65536"))
    );
    in_the_load(&mut verifications, &answer("262144"));
    assert_eq!(verifications.verifications[0].verdict, VerificationVerdict::NotApplied);
    let why = &verifications.caveats[0].message;
    assert!(
        why.starts_with("sort_buffer_size = 64K (plan.toml, line 7) is not in effect: 64K was requested, the load")
    );
}

#[test]
fn what_the_server_said_outweighs_what_it_shows() {
    let mut verification = first_verification(&setting("innodb_page_cleaners", "4"), Flavour::MariaDb, None);
    hear(
        &mut verification,
        error_log::lines_of("0 [Warning] 'innodb-page-cleaners' was removed.", "innodb_page_cleaners"),
    );
    verification.compare("4", None);
    assert_eq!(verification.verdict, VerificationVerdict::Removed);
    assert_eq!(verification.remark.as_deref(), Some("[Warning] 'innodb-page-cleaners' was removed."));
}
