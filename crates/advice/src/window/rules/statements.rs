//! What statements do: locks, sorts, temporary tables.

use super::super::{WindowFinding, WindowVerdict, share_words};
use super::{MUCH, RunsOut, SeenServer};
use WindowVerdict::{Fine, Found};
use plimsoll_model::Flavour;
use plimsoll_model::advice::Severity;
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::number::{short, whole_percent};

/// So many a second are worth mentioning.
const MANY: f64 = 1.0;
/// Deadlocks for each commit, from which on they are worth mentioning.
const FEW_DEADLOCKS: f64 = 0.001;
/// Changes in the history list: many in any case, and many if they grow.
const LONG_HISTORY: f64 = 1e6;
const GROWING_HISTORY: f64 = 1e5;
/// Rows that a statement reads on average, from which on something scans.
const MANY_ROWS: f64 = 1000.0;
/// Above it, allocation costs more than it saves, bytes.
const MOST_SORT: f64 = 4_194_304.0;
const MOST_TEMPORARY: f64 = 268_435_456.0;
/// The default of servers, bytes.
const LEAST_TEMPORARY: f64 = 16_777_216.0;
/// What bounds a temporary table in memory; where that is a MEMORY table, the smaller of both.
const TEMPORARY: &str = "tmp_table_size";
const MEMORY: &str = "max_heap_table_size";

/// Transactions wait for rows that others have changed.
pub fn row_locks(seen: &SeenServer) -> WindowVerdict {
    let share = seen.share(Bottleneck::RowLocks);
    if share < MUCH {
        return Fine;
    }
    Found(WindowFinding {
        worth: share,
        severity: Severity::Warn,
        changes: Vec::new(),
        found: share_words(seen, Bottleneck::RowLocks),
        advised: Some("make transactions shorter, and let them lock rows in one order".to_owned()),
        why: "No setting makes two transactions change one row at the same time.".to_owned(),
    })
}

/// Transactions end in deadlocks.
pub fn deadlocks(seen: &SeenServer) -> WindowVerdict {
    let Some(deadlocks) = seen.signals.locks.deadlocks else { return WindowVerdict::Unseen("deadlocks") };
    let commits = seen.signals.storage.commits;
    if deadlocks <= FEW_DEADLOCKS * commits || deadlocks == 0.0 {
        return Fine;
    }
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Warn,
        changes: Vec::new(),
        found: format!("{} deadlocks a second, among {} commits", short(deadlocks), short(commits)),
        advised: Some("let transactions take their rows in one order, and try again those that lose".to_owned()),
        why: "What the loser has done is thrown away. READ COMMITTED locks less, and means something else.".to_owned(),
    })
}

/// Old versions of rows are kept because somebody may still read them.
pub fn history(seen: &SeenServer) -> WindowVerdict {
    let Some(length) = seen.counted.history else { return WindowVerdict::Unseen("the length of the history list") };
    let is_long = length > LONG_HISTORY || seen.counted.history_grows && length > GROWING_HISTORY;
    if !is_long {
        return Fine;
    }
    let grows = if seen.counted.history_grows { ", and it grew all the time" } else { "" };
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Warn,
        changes: Vec::new(),
        found: format!("{} changes are kept for readers{grows}", short(length)),
        advised: Some("find and end the oldest transaction; if there is none, innodb_purge_threads".to_owned()),
        why: "Every read of a changed row goes through its old versions.".to_owned(),
    })
}

/// Statements look at far more rows than anybody could want.
pub fn scans(seen: &SeenServer) -> WindowVerdict {
    let (Some(rows), Some(questions)) = (seen.counted.rows_read, seen.counted.questions) else {
        return WindowVerdict::Unseen("rows read and statements");
    };
    let each = rows / questions.max(1.0);
    if each <= MANY_ROWS {
        return Fine;
    }
    Found(WindowFinding {
        worth: seen.share(Bottleneck::Cpu),
        severity: Severity::Info,
        changes: Vec::new(),
        found: format!("a statement reads {} rows on average", short(each)),
        advised: Some("look for those that read whole tables, and give them an index".to_owned()),
        why: "No buffer makes a row cheaper than not reading it.".to_owned(),
    })
}

/// Sorts do not fit into their memory.
pub fn sorts(seen: &SeenServer) -> WindowVerdict {
    let memory = RunsOut {
        setting: "sort_buffer_size",
        bound_by: None,
        factor: 2.0,
        least: 0.0,
        most: MOST_SORT,
        above: MANY,
        severity: Severity::Info,
        worth: 0.0,
        why: "An index that is in the order asked for helps more; each sort takes the memory.",
    };
    let found = |passes| format!("sorts took {} merge passes a second", short(passes));
    memory.judge(seen, "Sort_merge_passes", seen.counted.sort_merge_passes, found)
}

/// Temporary tables go to disk.
pub fn temporary_tables(seen: &SeenServer) -> WindowVerdict {
    let of_memory = seen.number(MEMORY).filter(|_| are_memory_tables(seen));
    let is_smaller = of_memory.zip(seen.number(TEMPORARY)).is_some_and(|(of_memory, own)| of_memory < own);
    let (setting, other) = if is_smaller { (MEMORY, TEMPORARY) } else { (TEMPORARY, MEMORY) };
    let memory = RunsOut {
        setting,
        bound_by: of_memory.map(|_| other),
        factor: 2.0,
        least: LEAST_TEMPORARY,
        most: MOST_TEMPORARY,
        above: MANY,
        severity: Severity::Info,
        worth: 0.0,
        why: "Look at the statements first: columns of BLOB and TEXT go to disk whatever the size.",
    };
    let all = seen.counted.tmp_tables;
    let found = |on_disk: f64| {
        let share = whole_percent(on_disk / all.unwrap_or(on_disk).max(on_disk));
        format!("{} temporary tables a second went to disk, {share} of them", short(on_disk))
    };
    memory.judge(seen, "Created_tmp_disk_tables", seen.counted.tmp_disk_tables.filter(|_| all.is_some()), found)
}

/// Whether temporary tables in memory are MEMORY tables, and not TempTable's.
fn are_memory_tables(seen: &SeenServer) -> bool {
    match seen.release.flavour {
        Flavour::MariaDb => true,
        Flavour::MySql => {
            seen.release.version < (8, 0, 0) || seen.setting("internal_tmp_mem_storage_engine") == Some("MEMORY")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{change, changes, healthy, limited_by, says};
    use super::*;

    #[test]
    fn rows_that_are_waited_for_are_no_setting() {
        let Found(found) = says("lock.rows", &limited_by(Bottleneck::RowLocks)) else { panic!() };
        assert_eq!((found.changes, found.worth), (Vec::new(), 0.7));
    }

    #[test]
    fn buffers_grow_by_rate_and_never_without_end() {
        let mut seen = healthy();
        seen.counted.sort_merge_passes = Some(50.0);
        (seen.counted.tmp_tables, seen.counted.tmp_disk_tables) = (Some(100.0), Some(20.0));
        assert_eq!(change("sort.merge", &seen), Some(("sort_buffer_size", "512K".to_owned())));
        assert_eq!(change("tmp.disk", &seen), Some(("tmp_table_size", "32M".to_owned())));
        seen.settings.insert("sort_buffer_size".to_owned(), "4194304".to_owned());
        seen.settings.insert("tmp_table_size".to_owned(), "268435456".to_owned());
        assert_eq!([says("sort.merge", &seen), says("tmp.disk", &seen)], [Fine, Fine]);
        // A share alone is no reason: one in an hour is 100 %, too.
        (seen.counted.tmp_tables, seen.counted.tmp_disk_tables) = (Some(0.001), Some(0.001));
        assert_eq!(says("tmp.disk", &seen), Fine);
    }

    /// What is advised for temporary tables, where the two bounds are so.
    fn of_bounds(release: &str, temporary: &str, memory: &str) -> Vec<(&'static str, String)> {
        let mut seen = healthy();
        seen.release = plimsoll_plan::knowledge::Release::parse(release).unwrap();
        seen.settings.insert(TEMPORARY.to_owned(), temporary.to_owned());
        seen.settings.insert(MEMORY.to_owned(), memory.to_owned());
        (seen.counted.tmp_tables, seen.counted.tmp_disk_tables) = (Some(100.0), Some(20.0));
        changes("tmp.disk", &seen)
    }

    #[test]
    fn of_two_bounds_the_smaller_grows_and_the_other_if_it_would_be_the_smaller_then() {
        let (small, large) = ("16777216", "67108864");
        let to = |name: &'static str, value: &str| (name, value.to_owned());
        assert_eq!(of_bounds("mariadb-10.11", small, small), [to(TEMPORARY, "32M"), to(MEMORY, "32M")]);
        assert_eq!(of_bounds("mariadb-10.11", small, large), [to(TEMPORARY, "32M")]);
        assert_eq!(of_bounds("mariadb-10.11", large, small), [to(MEMORY, "32M")]);
        assert_eq!(of_bounds("mysql-5.7", small, "20971520"), [to(TEMPORARY, "32M"), to(MEMORY, "32M")]);
        assert_eq!(of_bounds("mysql-9.7", small, small), [to(TEMPORARY, "32M")], "TempTable has one bound");
        assert_eq!(of_bounds("mariadb-10.11", "0", small), [to(TEMPORARY, "16M")], "twice nothing is nothing");
    }

    #[test]
    fn a_machine_that_swaps_has_no_memory_for_statements() {
        let mut seen = healthy();
        seen.counted.sort_merge_passes = Some(50.0);
        (seen.counted.tmp_tables, seen.counted.tmp_disk_tables) = (Some(100.0), Some(20.0));
        seen.signals.host.swapped_bytes = Some(1e7);
        assert_eq!([says("sort.merge", &seen), says("tmp.disk", &seen)], [Fine, Fine]);
        seen.is_here = false;
        assert!(matches!(says("sort.merge", &seen), Found(_)), "another machine swaps");
    }
}
