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

fn proofs(name: &str, value: &str, effective: &str) -> Proofs {
    let mut proof = first_proof(&setting(name, value), Flavour::MySql, Some(&effective.to_owned()));
    proof.compare(value, Some(&effective.to_owned()));
    Proofs { proofs: vec![proof], ..Proofs::default() }
}

/// 200 single-row inserts on one connection, as MySQL 9.7 and MariaDB 10.11 counted them.
fn under_load(proofs: &mut Proofs, counters: &[(&str, u64)]) {
    let zero: Sight = counters.iter().map(|(name, _)| (*name, "0")).collect();
    let numbers: Vec<(&str, String)> = counters.iter().map(|(name, count)| (*name, count.to_string())).collect();
    let after: Sight = numbers.iter().map(|(name, count)| (*name, count.as_str())).collect();
    let sent = StatementCounts { insert: 200, ..StatementCounts::default() };
    behaviour(proofs, &Evidence { before: &zero, after: &after, sent: &sent, connections: 1 });
}

fn verdict(name: &str, value: &str, counters: &[(&str, u64)]) -> ProofVerdict {
    let mut proofs = proofs(name, value, value);
    under_load(&mut proofs, counters);
    assert!(proofs.proofs[0].behaviour.is_some(), "{name} = {value}");
    assert_eq!(proofs.caveats.len(), usize::from(proofs.proofs[0].verdict != ProofVerdict::InEffect));
    proofs.proofs[0].verdict
}

#[test]
fn commits_that_are_not_synced_contradict_1() {
    let name = "innodb_flush_log_at_trx_commit";
    for (value, counters, expected) in [
        ("1", [("Innodb_os_log_fsyncs", 202), ("Innodb_data_fsyncs", 212)], ProofVerdict::InEffect),
        ("1", [("Innodb_os_log_fsyncs", 1), ("Innodb_data_fsyncs", 5)], ProofVerdict::NotApplied),
        ("2", [("Innodb_os_log_fsyncs", 1), ("Innodb_data_fsyncs", 5)], ProofVerdict::InEffect),
        ("2", [("Innodb_os_log_fsyncs", 202), ("Innodb_data_fsyncs", 212)], ProofVerdict::NotApplied),
    ] {
        assert_eq!(verdict(name, value, &counters), expected, "{value} {counters:?}");
    }
    // MariaDB counts syncs of all files only: too few of them show, too many do not.
    assert_eq!(verdict(name, "1", &[("Innodb_data_fsyncs", 201)]), ProofVerdict::InEffect);
    assert_eq!(verdict(name, "1", &[("Innodb_data_fsyncs", 1)]), ProofVerdict::NotApplied);
    assert_eq!(verdict(name, "2", &[("Innodb_data_fsyncs", 900)]), ProofVerdict::InEffect);
}

#[test]
fn doublewrite_shows_in_the_pages_written_twice() {
    let name = "innodb_doublewrite";
    let seen = |pages, flushed| [("Innodb_dblwr_pages_written", pages), ("Innodb_buffer_pool_pages_flushed", flushed)];
    assert_eq!(verdict(name, "ON", &seen(279, 419)), ProofVerdict::InEffect);
    assert_eq!(verdict(name, "ON", &seen(0, 421)), ProofVerdict::InEffect, "as on storage with atomic writes");
    assert_eq!(verdict(name, "OFF", &seen(0, 421)), ProofVerdict::InEffect);
    assert_eq!(verdict(name, "OFF", &seen(279, 419)), ProofVerdict::NotApplied);
    assert_eq!(verdict(name, "ON", &seen(0, 3)), ProofVerdict::InEffect);
}

#[test]
fn the_load_may_have_another_value_than_new_sessions() {
    let mut proofs = proofs("sort_buffer_size", "64K", "65536");
    proofs.of_sessions.insert("sort_buffer_size".into(), "sort_buffer_size".into());
    let answer = |value: &str| BTreeMap::from([("sort_buffer_size".to_owned(), value.to_owned())]);
    in_the_load(&mut proofs, &answer("65536"));
    assert_eq!((proofs.proofs[0].verdict, proofs.proofs[0].load.as_deref()), (ProofVerdict::InEffect, Some("65536")));
    in_the_load(&mut proofs, &answer("262144"));
    assert_eq!(proofs.proofs[0].verdict, ProofVerdict::NotApplied);
    let why = &proofs.caveats[0].message;
    assert!(
        why.starts_with("sort_buffer_size = 64K (plan.toml, line 7) is not in effect: 64K was asked for, the load")
    );
}

#[test]
fn what_the_server_said_outweighs_what_it_shows() {
    let mut proof = first_proof(&setting("innodb_page_cleaners", "4"), Flavour::MariaDb, None);
    hear(&mut proof, error_log::lines_of("0 [Warning] 'innodb-page-cleaners' was removed.", "innodb_page_cleaners"));
    proof.compare("4", None);
    assert_eq!(proof.verdict, ProofVerdict::Removed);
    assert_eq!(proof.remark.as_deref(), Some("[Warning] 'innodb-page-cleaners' was removed."));
}
