//! What the application needs, against what the server is and does.

use super::super::{WindowFinding, WindowVerdict};
use super::{RECOVERY, SeenServer, redo_setting, sized};
use WindowVerdict::{Fine, Found, Unseen};
use plimsoll_model::advice::Severity;
use plimsoll_model::number::short;

/// A redo log is not made smaller than this for the sake of recovery, bytes.
const LEAST_REDO: f64 = 67_108_864.0;
const ISOLATION: &str = "transaction_isolation";

/// Transactions take longer than they may.
pub fn latency(seen: &SeenServer) -> WindowVerdict {
    let Some(needed) = &seen.needs.latency else { return Fine };
    let Some(measured) = seen.needed_ms else { return Unseen("the percentile of the latency that is needed") };
    if measured <= needed.limit_ms {
        return Fine;
    }
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Warn,
        changes: Vec::new(),
        found: format!("{} is needed, and it was {} ms", needed.text, short(measured)),
        advised: Some(
            "follow what limits, below, or offer it less: `find` in a plan searches for the load that meets it"
                .to_owned(),
        ),
        why: "Under this load the objective is not met.".to_owned(),
    })
}

/// Recovery from a crash takes longer than it may.
pub fn recovery(seen: &SeenServer) -> WindowVerdict {
    let Some(needed) = seen.needs.recovery_seconds else { return Fine };
    let Some(took) = seen.recovered_seconds else { return Unseen(RECOVERY) };
    if took <= needed {
        return Fine;
    }
    let name = redo_setting(seen.release);
    let half = seen.number(name).map(|bytes| bytes / 2.0).filter(|half| *half >= LEAST_REDO);
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Warn,
        changes: half.map(|half| (name, sized(half))).into_iter().collect(),
        found: format!("recovery took {} s, and {} s are what there is", short(took), short(needed)),
        advised: half.is_none().then(|| "put the data on faster storage, or keep a replica to switch to".to_owned()),
        why: "All redo since the last checkpoint is applied before the first answer; a smaller log holds less."
            .to_owned(),
    })
}

/// There are to be replicas, and nothing for them to follow.
pub fn replication(seen: &SeenServer) -> WindowVerdict {
    if seen.needs.replication != Some(true) {
        return Fine;
    }
    let Some(log) = seen.setting("log_bin") else { return Unseen("whether there is a binary log") };
    if log == "ON" {
        return Fine;
    }
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Critical,
        // As an option, the log has a name and no ON.
        changes: vec![("log_bin", "binlog".to_owned())],
        found: "replicas or recovery to a point in time are needed, and there is no binary log".to_owned(),
        advised: None,
        why: "What is not in it cannot be replicated, or restored after the last backup.".to_owned(),
    })
}

/// Transactions see something else than the application was written for.
pub fn isolation(seen: &SeenServer) -> WindowVerdict {
    let Some(needed) = &seen.needs.isolation else { return Fine };
    // Some servers have the variable under another name than the option, which has this one on all of them.
    let level = [ISOLATION, "tx_isolation"].into_iter().find_map(|name| seen.setting(name));
    let Some(level) = level else { return Unseen("the isolation level") };
    if level == needed {
        return Fine;
    }
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Warn,
        changes: vec![(ISOLATION, needed.clone())],
        found: format!("{needed} is needed, and sessions begin with {level}"),
        advised: None,
        why: "Unless each session sets it, statements mean something else, and lock other rows.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{change, healthy, needs, says};
    use super::*;

    #[test]
    fn what_is_needed_and_there_is_no_finding() {
        let mut seen = healthy();
        seen.needs = needs("latency = \"p99 < 20ms\"\nreplication = true\nisolation = \"REPEATABLE-READ\"");
        for id in ["needs.latency", "needs.replication", "needs.isolation"] {
            assert_eq!(says(id, &seen), Fine, "{id}");
        }
        seen.needed_ms = None;
        assert!(matches!(says("needs.latency", &seen), Unseen(_)));
    }

    #[test]
    fn a_level_is_an_option_of_one_name_whatever_the_variable_is_called() {
        let mut seen = healthy();
        seen.needs = needs("isolation = \"READ-COMMITTED\"");
        seen.settings.remove("transaction_isolation");
        seen.settings.insert("tx_isolation".to_owned(), "REPEATABLE-READ".to_owned());
        assert_eq!(change("needs.isolation", &seen), Some(("transaction_isolation", "READ-COMMITTED".to_owned())));
        seen.settings.insert("tx_isolation".to_owned(), "READ-COMMITTED".to_owned());
        assert_eq!(says("needs.isolation", &seen), Fine);
    }

    #[test]
    fn a_binary_log_is_advised_by_a_name() {
        let mut seen = healthy();
        seen.needs = needs("replication = true");
        seen.settings.insert("log_bin".to_owned(), "OFF".to_owned());
        assert_eq!(change("needs.replication", &seen), Some(("log_bin", "binlog".to_owned())), "ON is no file's name");
    }
}
