//! Commits: what they wait for, and what they survive.

use super::super::{WindowFinding, WindowVerdict, share_words};
use super::{MUCH, RunsOut, SeenServer};
use crate::losses::severity;
use WindowVerdict::{Fine, Found, Unseen};
use plimsoll_model::advice::Severity;
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::number::short;
use plimsoll_plan::knowledge::{classes, risks_by_variable};

/// Most commits that share a sync before waiting for more is worth trying.
const ALONE: f64 = 2.0;
/// Fewer connections have nobody to share a sync with.
const CROWD: f64 = 4.0;
/// What syncs at each commit, its safe value, and the one that leaves the sync to once a second or to the system.
const SYNCS: [(&str, &str, &str); 2] = [("innodb_flush_log_at_trx_commit", "1", "2"), ("sync_binlog", "1", "0")];
/// Largest log buffer that is worth having, bytes.
const MOST_BUFFER: f64 = 268_435_456.0;

/// Values with which a crash loses something; a notice, whatever it gains.
pub fn integrity(seen: &SeenServer) -> WindowVerdict {
    if seen.settings.is_empty() {
        return Unseen("variables of the server");
    }
    let costly = risks_by_variable(&seen.settings, seen.release.flavour);
    // Without a binary log nothing can be recovered to a point in time; that alone is a choice, and private servers run so.
    let costly = costly.into_iter().filter(|(name, _)| name != "log_bin");
    // What was said to be acceptable is no finding.
    let costly = costly.filter(|(_, classes)| !classes.is_subset(&seen.allowed));
    let words = |(name, classes): &(String, plimsoll_model::durability::Risks)| {
        let worst = classes.last().map_or("", |class| class.words());
        format!("{name} = {} {worst}", seen.setting(name).unwrap_or_default())
    };
    let costly: Vec<_> = costly.collect();
    if costly.is_empty() {
        return Fine;
    }
    Found(WindowFinding {
        worth: 0.0,
        severity: severity(costly.iter().flat_map(|(_, classes)| classes)),
        changes: Vec::new(),
        found: costly.iter().map(words).collect::<Vec<_>>().join("; "),
        advised: Some("make them safe, unless that loss is acceptable".to_owned()),
        why: "What was measured is not what a safe server carries.".to_owned(),
    })
}

/// Commits wait for the sync of the log.
pub fn sync_bound(seen: &SeenServer) -> WindowVerdict {
    let share = seen.share(Bottleneck::CommitSync);
    if share < MUCH {
        return Fine;
    }
    let storage = &seen.signals.storage;
    let group = storage.syncs.filter(|syncs| *syncs > 0.0).map(|syncs| storage.commits / syncs);
    let logged = seen.setting("log_bin").is_some_and(|value| value == "ON");
    let alone = group.is_some_and(|group| group < ALONE) && logged;
    let found = share_words(seen, Bottleneck::CommitSync);
    let of_group = group.map(|group| format!("; {} commits share a sync", short(group))).unwrap_or_default();
    Found(WindowFinding {
        worth: share,
        severity: Severity::Warn,
        changes: Vec::new(),
        found: format!("{found}{of_group}"),
        advised: Some(match alone {
            true => "put the logs on storage that syncs faster (`plimsoll io` measures it), or let commits wait for each other".to_owned(),
            false => "put the logs on storage that syncs faster (`plimsoll io` measures it)".to_owned(),
        }),
        why: "No setting makes a sync faster; those that leave it out lose commits in a crash.".to_owned(),
    })
}

/// Commits of a binary log wait for a sync each, and could share one.
pub fn grouped(seen: &SeenServer) -> WindowVerdict {
    let (share, storage) = (seen.share(Bottleneck::CommitSync), &seen.signals.storage);
    let group = storage.syncs.filter(|syncs| *syncs > 0.0).map(|syncs| storage.commits / syncs);
    let is_alone = group.is_some_and(|group| group < ALONE) && seen.signals.load.connections >= CROWD;
    let is_logged = seen.setting("log_bin") == Some("ON");
    let waits_already = seen.number("binlog_group_commit_sync_delay") != Some(0.0);
    if share < MUCH || !is_alone || !is_logged || waits_already {
        return Fine;
    }
    Found(WindowFinding {
        worth: share / 2.0,
        severity: Severity::Info,
        changes: vec![("binlog_group_commit_sync_delay", "1000".to_owned())],
        found: format!(
            "{}; {} commits share a sync",
            share_words(seen, Bottleneck::CommitSync),
            short(group.unwrap_or(0.0))
        ),
        advised: None,
        why: "A commit that waits a millisecond shares its sync with others; a lone connection only waits.".to_owned(),
    })
}

/// Commits wait for a sync that whoever asks could do without.
pub fn relaxed(seen: &SeenServer) -> WindowVerdict {
    let share = seen.share(Bottleneck::CommitSync);
    if share < MUCH {
        return Fine;
    }
    let is_on = |name: &str| seen.setting("log_bin").is_some_and(|value| value == "ON") || name != "sync_binlog";
    let is_accepted = |name: &str, value: &str| {
        let costs = classes(name, value, seen.release.flavour);
        costs.iter().all(|class| seen.allowed.contains(class))
    };
    let mut left = SYNCS.into_iter().filter(|(name, safe, _)| seen.setting(name) == Some(safe) && is_on(name));
    let Some((name, _, value)) = left.find(|(name, _, value)| is_accepted(name, value)) else { return Fine };
    Found(WindowFinding {
        worth: share,
        severity: Severity::Warn,
        changes: vec![(name, value.to_owned())],
        found: share_words(seen, Bottleneck::CommitSync),
        advised: None,
        why: "The commits that it may cost were said to be acceptable.".to_owned(),
    })
}

/// Threads wait for room in the log buffer.
pub fn log_buffer(seen: &SeenServer) -> WindowVerdict {
    let buffer = RunsOut {
        setting: "innodb_log_buffer_size",
        bound_by: None,
        factor: 2.0,
        least: 0.0,
        most: MOST_BUFFER,
        above: 0.0,
        severity: Severity::Warn,
        worth: 0.0,
        why: "A transaction whose redo does not fit waits until others are written.",
    };
    let found = |waits| format!("{} times a second a thread waited for room in the log buffer", short(waits));
    buffer.judge(seen, "Innodb_log_waits", seen.counted.log_waits, found)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{change, healthy, limited_by, says};
    use super::*;

    #[test]
    fn what_a_crash_loses_is_told_by_its_class() {
        let mut seen = healthy();
        seen.settings.insert("innodb_flush_log_at_trx_commit".to_owned(), "2".to_owned());
        let Found(found) = says("integrity.commits", &seen) else { panic!() };
        assert_eq!(found.severity, Severity::Warn);
        let accepted = SeenServer { allowed: [plimsoll_model::Class::D1].into(), ..seen.clone() };
        assert_eq!(says("integrity.commits", &accepted), Fine, "it was said that it may cost that");
        assert!(found.found.starts_with("innodb_flush_log_at_trx_commit = 2 loses the last second"), "{}", found.found);
        seen.settings.insert("innodb_doublewrite".to_owned(), "OFF".to_owned());
        let Found(found) = says("integrity.commits", &seen) else { panic!() };
        assert_eq!(found.severity, Severity::Critical);
    }

    #[test]
    fn who_waits_for_syncs_needs_faster_syncs() {
        let mut seen = limited_by(Bottleneck::CommitSync);
        seen.signals.storage.syncs = Some(100.0);
        seen.signals.storage.commits = 120.0;
        let Found(found) = says("redo.fsync-bound", &seen) else { panic!() };
        assert!(found.found.contains("70 %") && found.found.contains("1.20 commits share a sync"), "{}", found.found);
        assert!(found.advised.as_ref().unwrap().contains("wait for each other"));
        seen.signals.storage.commits = 1200.0;
        let Found(found) = says("redo.fsync-bound", &seen) else { panic!() };
        assert!(!found.advised.unwrap().contains("wait for each other"));
    }

    #[test]
    fn a_sync_is_left_out_only_where_its_loss_is_acceptable() {
        use plimsoll_model::Class;
        let mut seen = limited_by(Bottleneck::CommitSync);
        assert_eq!(says("redo.relaxed", &seen), Fine, "nobody said so");
        seen.allowed = [Class::D1].into();
        assert_eq!(change("redo.relaxed", &seen), Some(("innodb_flush_log_at_trx_commit", "2".to_owned())));
        seen.settings.insert("innodb_flush_log_at_trx_commit".to_owned(), "2".to_owned());
        assert_eq!(says("redo.relaxed", &seen), Fine, "that of the binary log costs more");
        seen.allowed.insert(Class::D4);
        assert_eq!(change("redo.relaxed", &seen), Some(("sync_binlog", "0".to_owned())));
        seen.settings.insert("log_bin".to_owned(), "OFF".to_owned());
        assert_eq!(says("redo.relaxed", &seen), Fine, "there is none to sync");
    }

    #[test]
    fn a_log_buffer_grows_until_it_is_large() {
        let mut seen = healthy();
        seen.counted.log_waits = Some(3.0);
        assert_eq!(change("redo.buffer", &seen), Some(("innodb_log_buffer_size", "128M".to_owned())));
        seen.settings.insert("innodb_log_buffer_size".to_owned(), "268435456".to_owned());
        assert_eq!(says("redo.buffer", &seen), Fine, "it is large enough: something else is wrong");
        seen.counted.log_waits = None;
        assert_eq!(says("redo.buffer", &seen), Unseen("Innodb_log_waits"));
    }
}
