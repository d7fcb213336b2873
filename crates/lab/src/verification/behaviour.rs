//! What the server's counters show about its settings, from before the load to after it.

use crate::error::LabError;
use plimsoll_data::target::OpenTarget;
use plimsoll_model::statements::StatementCounts;
use plimsoll_plan::knowledge::value::{same_value, truth};
use std::collections::BTreeMap;

/// A sync of the redo log serves at most the commits of all connections. If there are fewer syncs than that by this
/// factor, commits are not synced.
const FAR_FEWER: u64 = 20;
/// Fewer commits or pages than this show nothing.
const ENOUGH: u64 = 100;

/// The rows that a server has changed.
const CHANGED_ROWS: [&str; 3] = ["innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"];

/// An observed effect of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) what: String,
    /// It is impossible if the setting is in effect.
    pub(super) contradicts: bool,
}

fn agrees(what: String) -> Option<Shown> {
    Some(Shown { what, contradicts: false })
}

/// The server's counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    counters: BTreeMap<String, u64>,
}

impl Sight {
    /// Asks the server for its counters.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn of(target: &mut OpenTarget) -> Result<Sight, LabError> {
        let rows = target
            .control
            .rows("SHOW GLOBAL STATUS LIKE 'Innodb\\_%'")
            .map_err(|failure| LabError::sql("asking the server for its counters", &failure))?;
        Ok(rows.pairs().collect())
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Sight {
    fn from_iter<T: IntoIterator<Item = (&'a str, &'a str)>>(pairs: T) -> Sight {
        let number = |(name, value): (&str, &str)| Some((name.to_ascii_lowercase(), value.parse().ok()?));
        Sight { counters: pairs.into_iter().filter_map(number).collect() }
    }
}

/// What the server did under a load.
#[derive(Clone, Copy, Debug)]
pub struct ObservedBehaviour<'a> {
    pub before: &'a Sight,
    pub after: &'a Sight,
    /// All statements that were sent in between.
    pub sent: &'a StatementCounts,
    pub connections: usize,
    /// What the server writes to its redo log is durable without a sync.
    pub writes_through: bool,
}

/// Whether a server with these variables opens its redo log so that what it writes there is durable without a sync, or
/// asks for none.
pub fn writes_through(variables: &BTreeMap<String, String>) -> bool {
    let method = variables.get("innodb_flush_method").map(String::as_str).unwrap_or_default();
    let is_on = |value: &String| truth(value) == Some(true);
    ["O_DSYNC", "nosync"].iter().any(|name| method.eq_ignore_ascii_case(name))
        || variables.get("innodb_log_file_write_through").is_some_and(is_on)
}

impl ObservedBehaviour<'_> {
    /// What was observed of `name` = `value`; `None` if nothing can be observed here.
    pub(super) fn shows(&self, name: &str, value: &str) -> Option<Shown> {
        match name {
            "innodb_flush_log_at_trx_commit" => self.commits(value.trim()),
            "innodb_doublewrite" => self.doublewrite(!same_value(value, "OFF")),
            "innodb_redo_log_capacity" => {
                let capacity = self.after.counters.get("innodb_redo_log_capacity_resized")?;
                Some(Shown {
                    what: format!("the redo log was created with {capacity} bytes"),
                    contradicts: value.parse::<u64>().is_ok_and(|asked| asked != *capacity),
                })
            }
            _ => None,
        }
    }

    /// How much a counter grew; `None` if the server has no such counter.
    fn grew(&self, counter: &str) -> Option<u64> {
        let at = |sight: &Sight| sight.counters.get(counter).copied();
        Some(at(self.after)?.saturating_sub(at(self.before)?))
    }

    /// Commits that wrote: with autocommit each statement that writes is one. One that changes no row writes nothing, so
    /// they are no more than the rows that the server changed, where it counts them.
    fn writing_commits(&self) -> u64 {
        let StatementCounts { commit, insert, update, delete, call, .. } = *self.sent;
        let writes = insert + update + delete + call;
        let commits = if commit > 0 { commit.min(writes) } else { writes };
        let changed: Option<u64> = CHANGED_ROWS.into_iter().map(|counter| self.grew(counter)).sum();
        changed.map_or(commits, |changed| commits.min(changed))
    }

    /// 1 syncs the redo log for each group of commits, 0 and 2 once a second. MySQL counts the syncs of the log;
    /// MariaDB since 10.8 counts only all syncs, including data files, which are at least as many.
    fn commits(&self, value: &str) -> Option<Shown> {
        let commits = self.writing_commits();
        let of_log = self.grew("innodb_os_log_fsyncs");
        let (syncs, whose) = match of_log {
            Some(syncs) => (syncs, "syncs of the redo log"),
            None => (self.grew("innodb_data_fsyncs")?, "syncs of all files"),
        };
        if commits < ENOUGH {
            return agrees(format!("{commits} commits wrote: too few to show"));
        }
        let least = commits / self.connections.max(1) as u64;
        let each = syncs as f64 / commits as f64;
        let synced = !matches!(value, "0" | "2");
        let what = match synced {
            true => {
                format!("{each:.3} {whose} per commit that wrote; at best, {} connections share one", self.connections)
            }
            false => format!("{each:.3} {whose} per commit that wrote; one a second is expected"),
        };
        let too_few = synced && !self.writes_through && syncs < least / FAR_FEWER;
        // Only MySQL's own count of the log can be too high: data files are synced with any setting.
        let too_many = !synced && of_log.is_some() && syncs >= commits;
        Some(Shown { what, contradicts: too_few || too_many })
    }

    fn doublewrite(&self, on: bool) -> Option<Shown> {
        let pages = self.grew("innodb_dblwr_pages_written")?;
        let flushed = self.grew("innodb_buffer_pool_pages_flushed")?;
        let what = format!("{pages} pages written to the doublewrite buffer, {flushed} pages flushed");
        match on {
            true if flushed < ENOUGH => agrees(format!("{what}: too few to show")),
            // MariaDB writes nothing twice if the storage writes whole pages or none.
            true if pages == 0 => agrees(format!("{what}: it does not show")),
            true => agrees(what),
            false => Some(Shown { what, contradicts: pages > 0 }),
        }
    }
}
