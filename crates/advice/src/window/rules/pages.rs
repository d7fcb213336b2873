//! Pages: those that have to be read, and those that have to be written before work can go on.

use super::super::{WindowFinding, WindowVerdict, share_words};
use super::{MUCH, RECOVERY, RunsOut, SeenServer, WORTH, larger, power_of_two, redo_setting, sized};
use WindowVerdict::{Fine, Found, Unseen};
use plimsoll_model::advice::Severity;
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::number::{binary_size, short, whole_percent};

/// A redo log should hold what is written in this time, seconds: half an hour.
const HELD: f64 = 1800.0;
/// Age of the checkpoint, a share of its maximum, from which on flushing is forced.
const FORCED: f64 = 0.75;
/// A redo log that comes round more often than this, seconds, is small where transactions wait for pages. MySQL flushes early, so
/// that the age of a small one stays below [`FORCED`].
const ROUND: f64 = 60.0;
/// Largest redo log that is advised, bytes: recovery reads all of it.
const MOST_REDO: f64 = 34_359_738_368.0;
/// From here on seconds differ too much: standard deviation ÷ mean.
const UNEVEN: f64 = 1.0;
/// Largest share of dirty pages, and of the checkpoint's age, at which nothing is urgent.
const IDLE: f64 = 0.2;
/// I/O capacities: what is much already, and what is sensible at the most, pages per second.
const MUCH_CAPACITY: f64 = 1000.0;
const MOST_CAPACITY: f64 = 20_000.0;
/// A pool grows by a factor of four, and to this at once, bytes.
const SOON: f64 = 1_073_741_824.0;
/// In which a pool is sized, bytes.
const STEP: f64 = 134_217_728.0;
/// Most pages that a cleaner should look at in each round.
const MOST_SCAN: f64 = 8192.0;

/// The redo log is written over before its pages could be flushed at leisure.
pub fn redo_small(seen: &SeenServer) -> WindowVerdict {
    let name = redo_setting(seen.release);
    let storage = &seen.signals.storage;
    let (Some(written), Some(age)) = (storage.redo_written, storage.checkpoint_age) else {
        return Unseen("redo written and the age of the checkpoint");
    };
    let Some(capacity) = seen.number(name) else { return Unseen("the size of the redo log") };
    let share = seen.share(Bottleneck::PageFlush);
    let comes_round = share >= MUCH && written * ROUND > capacity;
    if age < FORCED && !comes_round {
        return Fine;
    }
    let wanted = power_of_two((written * HELD).max(2.0 * capacity)).min(MOST_REDO);
    if wanted <= capacity {
        return Fine;
    }
    match (seen.needs.recovery_seconds, seen.recovered_seconds) {
        (Some(_), None) => return Unseen(RECOVERY),
        // A larger log would take even longer to recover from.
        (Some(needed), Some(took)) if took > needed => return Fine,
        _ => {}
    }
    Found(WindowFinding {
        worth: share,
        severity: if share >= WORTH { Severity::Warn } else { Severity::Info },
        changes: vec![(name, sized(wanted))],
        found: format!(
            "the age of the checkpoint reached {} of its maximum; {} of redo a second fill {} in {} s",
            whole_percent(age),
            binary_size(written),
            binary_size(capacity),
            short(capacity / written.max(1.0))
        ),
        advised: None,
        why: "Pages are flushed in a hurry when the log comes round. A larger log takes longer to recover from."
            .to_owned(),
    })
}

/// Pages are read because the buffer pool does not hold them, and there is memory left.
pub fn pool_small(seen: &SeenServer) -> WindowVerdict {
    if seen.signals.storage.misses.is_none() {
        return Unseen("pages that were read");
    }
    let share = seen.share(Bottleneck::ReadIo);
    if share < WORTH || seen.swaps() {
        return Fine;
    }
    let Some(left) = seen.memory_left else { return Unseen("memory of the server's machine") };
    let Some(pool) = seen.number("innodb_buffer_pool_size") else { return Unseen("the size of the buffer pool") };
    let found = format!("{}; the buffer pool has {}", share_words(seen, Bottleneck::ReadIo), binary_size(pool));
    let severity = if share >= MUCH { Severity::Warn } else { Severity::Info };
    // Half of what is left stays for connections, the page cache and the rest of the machine.
    let wanted = ((pool + left / 2.0).min((4.0 * pool).max(SOON)) / STEP).floor() * STEP;
    if wanted <= 1.1 * pool {
        return Found(WindowFinding {
            worth: share,
            severity,
            changes: Vec::new(),
            found: format!("{found}, and {} of memory are left", binary_size(left)),
            advised: Some("give the machine more memory, or statements indexes that read less".to_owned()),
            why: "Pages are read again because nothing keeps them.".to_owned(),
        });
    }
    Found(WindowFinding {
        worth: share,
        severity,
        changes: vec![("innodb_buffer_pool_size", sized(wanted))],
        found: format!("{found}, and {} of memory are left", binary_size(left)),
        advised: None,
        why: "Pages are read again because the pool does not keep them; half of what is left stays free.".to_owned(),
    })
}

/// Threads find no free page.
pub fn wait_free(seen: &SeenServer) -> WindowVerdict {
    let free_pages = RunsOut {
        setting: "innodb_lru_scan_depth",
        bound_by: None,
        factor: 2.0,
        least: 0.0,
        most: MOST_SCAN,
        above: 0.0,
        severity: Severity::Warn,
        worth: seen.share(Bottleneck::PageFlush),
        why: "It has to free one itself, and waits for the page to be written.",
    };
    let found = |waits| format!("{} times a second a thread found no free page", short(waits));
    free_pages.judge(seen, "Innodb_buffer_pool_wait_free", seen.signals.storage.free_waits, found)
}

/// Pages are flushed by fits and starts, because the log comes round.
pub fn furious(seen: &SeenServer) -> WindowVerdict {
    let (Some(varies), Some(age)) = (seen.counted.flushing_varies, seen.signals.storage.checkpoint_age) else {
        return Unseen("pages flushed each second, and the age of the checkpoint");
    };
    if varies <= UNEVEN || age < FORCED {
        return Fine;
    }
    let Some(value) = larger(seen, "innodb_io_capacity", 2.0, MOST_CAPACITY) else { return Fine };
    Found(WindowFinding {
        worth: seen.share(Bottleneck::PageFlush),
        severity: Severity::Info,
        changes: vec![("innodb_io_capacity", value)],
        found: format!(
            "seconds differ in the pages flushed by {} of their mean, and the age of the checkpoint reached {}",
            whole_percent(varies),
            whole_percent(age)
        ),
        advised: None,
        why: "Flushing more at leisure leaves less to be flushed in a hurry.".to_owned(),
    })
}

/// Pages are flushed that would be changed again before they have to be.
pub fn eager(seen: &SeenServer) -> WindowVerdict {
    let storage = &seen.signals.storage;
    let (Some(age), Some(dirty), Some(written)) = (storage.checkpoint_age, storage.dirty, storage.page_writes) else {
        return Unseen("dirty pages, pages written and the age of the checkpoint");
    };
    let Some(capacity) = seen.number("innodb_io_capacity").filter(|capacity| *capacity >= MUCH_CAPACITY) else {
        return Fine;
    };
    if age > IDLE || dirty > IDLE || written < capacity / 2.0 {
        return Fine;
    }
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Info,
        changes: vec![("innodb_io_capacity", format!("{:.0}", capacity / 2.0))],
        found: format!(
            "{} pages a second are written while {} of the pool are dirty and the age of the checkpoint is at {}",
            short(written),
            whole_percent(dirty),
            whole_percent(age)
        ),
        advised: None,
        why: "A page that is changed again soon is written for nothing; flash wears.".to_owned(),
    })
}

/// Reads miss the pool, and a page cache lies between, or does not.
pub fn flush_method(seen: &SeenServer) -> WindowVerdict {
    let share = seen.share(Bottleneck::ReadIo);
    let Some(left) = seen.memory_left else { return Unseen("memory of the server's machine") };
    let pool = seen.number("innodb_buffer_pool_size").unwrap_or(f64::INFINITY);
    if share < MUCH {
        return Fine;
    }
    let (value, why) = match seen.setting("innodb_flush_method") {
        Some("O_DIRECT") if left > pool => {
            ("fsync", "The page cache would keep what the pool does not, in memory that is left.")
        }
        Some("fsync") if left < pool => ("O_DIRECT", "Pages are kept twice, in the pool and in the page cache."),
        _ => return Fine,
    };
    Found(WindowFinding {
        // A larger pool does it better.
        worth: share / 2.0,
        severity: Severity::Info,
        changes: vec![("innodb_flush_method", value.to_owned())],
        found: format!("{}; {} of memory are left", share_words(seen, Bottleneck::ReadIo), binary_size(left)),
        advised: None,
        why: why.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{change, healthy, limited_by, needs, says};
    use super::*;

    #[test]
    fn a_redo_log_that_comes_round_is_enlarged_to_half_an_hour_and_no_further() {
        let mut seen = limited_by(Bottleneck::PageFlush);
        seen.signals.storage.checkpoint_age = Some(0.9);
        seen.signals.storage.redo_written = Some(3e6);
        assert_eq!(change("redo.small", &seen), Some(("innodb_redo_log_capacity", "8G".to_owned())));
        seen.signals.storage.checkpoint_age = Some(0.6);
        assert_eq!(says("redo.small", &seen), Fine, "it takes minutes to come round");
        seen.signals.storage.redo_written = Some(3e7);
        assert_eq!(change("redo.small", &seen), Some(("innodb_redo_log_capacity", "32G".to_owned())));
        seen.settings.insert("innodb_redo_log_capacity".to_owned(), "34359738368".to_owned());
        assert_eq!(says("redo.small", &seen), Fine);
        seen.signals.storage.redo_written = None;
        assert!(matches!(says("redo.small", &seen), Unseen(_)));
    }

    #[test]
    fn a_redo_log_is_not_enlarged_where_recovery_takes_too_long_already() {
        let mut seen = limited_by(Bottleneck::PageFlush);
        (seen.signals.storage.checkpoint_age, seen.signals.storage.redo_written) = (Some(0.9), Some(3e6));
        seen.needs = needs("recovery = \"2m\"");
        assert!(matches!(says("redo.small", &seen), Found(_)), "recovery takes 3 s");
        seen.recovered_seconds = Some(300.0);
        assert_eq!(says("redo.small", &seen), Fine);
        assert_eq!(change("needs.recovery", &seen), Some(("innodb_redo_log_capacity", "512M".to_owned())));
        seen.recovered_seconds = None;
        assert_eq!(says("redo.small", &seen), Unseen(RECOVERY));
    }

    #[test]
    fn a_pool_grows_within_the_memory_that_is_left() {
        let mut seen = limited_by(Bottleneck::ReadIo);
        assert_eq!(change("mem.pool-small", &seen), Some(("innodb_buffer_pool_size", "4G".to_owned())));
        seen.memory_left = Some(1e9);
        assert_eq!(change("mem.pool-small", &seen), Some(("innodb_buffer_pool_size", "1408M".to_owned())));
        seen.settings.insert("innodb_buffer_pool_size".to_owned(), "10485760".to_owned());
        assert_eq!(change("mem.pool-small", &seen), Some(("innodb_buffer_pool_size", "384M".to_owned())));
        seen.memory_left = Some(8e9);
        assert_eq!(change("mem.pool-small", &seen), Some(("innodb_buffer_pool_size", "1G".to_owned())));
        seen.signals.host.swapped_bytes = Some(1e7);
        assert_eq!(says("mem.pool-small", &seen), Fine, "a machine that swaps has no memory for it");
        seen.signals.host.swapped_bytes = Some(0.0);
        seen.memory_left = Some(1e7);
        let Found(found) = says("mem.pool-small", &seen) else { panic!() };
        assert!(found.changes.is_empty(), "there is none left");
        seen.memory_left = None;
        assert!(matches!(says("mem.pool-small", &seen), Unseen(_)), "of a server elsewhere it is not known");
    }

    #[test]
    fn who_finds_no_free_page_needs_a_cleaner_that_looks_further() {
        let mut seen = healthy();
        seen.signals.storage.free_waits = Some(12.0);
        assert_eq!(change("mem.wait-free", &seen), Some(("innodb_lru_scan_depth", "2048".to_owned())));
        seen.settings.insert("innodb_lru_scan_depth".to_owned(), "8192".to_owned());
        assert_eq!(says("mem.wait-free", &seen), Fine);
    }
}
