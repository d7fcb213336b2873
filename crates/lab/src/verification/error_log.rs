//! What the error log says about a setting. Both vendors put the name into the line, with dashes or underscores.

/// What a line means for the setting that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The server no longer has it, but started nevertheless.
    Removed,
    /// The server did not do what was asked.
    Ignored,
    /// Deprecated, adjusted: the value that is read back decides.
    Noted,
}

/// Words of both vendors' messages, in the order in which they count.
const WORDS: [(&str, Said); 14] = [
    ("was removed", Said::Removed),
    ("is no longer supported", Said::Removed),
    ("ignored", Said::Ignored),
    ("ignoring", Said::Ignored),
    ("does nothing", Said::Ignored),
    ("has no effect", Said::Ignored),
    ("not used or needed", Said::Ignored),
    ("to be implemented", Said::Ignored),
    ("unknown variable", Said::Ignored),
    ("unknown option", Said::Ignored),
    ("adjusted", Said::Noted),
    ("deprecated", Said::Noted),
    ("changed limits", Said::Noted),
    ("could not increase", Said::Noted),
];

/// Settings that messages call by other names.
const ALSO: [(&str, &[&str]); 3] = [
    ("open_files_limit", &["max_open_files"]),
    ("large_pages", &["hugetlb", "large_page_aligned_alloc"]),
    ("innodb_use_native_aio", &["io_setup", "io_uring", "native aio"]),
];

/// The lines of `log` about `name`, without their time.
pub(super) fn lines_of(log: &str, name: &str) -> Vec<(Said, String)> {
    let also = ALSO.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, also)| also);
    let mut lines: Vec<(Said, String)> = Vec::new();
    for line in log.lines() {
        let plain = line.to_ascii_lowercase();
        let named = names(&plain.replace('-', "_"), name) || also.iter().any(|other| plain.contains(other));
        let Some(said) = named.then(|| said(&plain)).flatten() else { continue };
        let line = message(line);
        if !lines.iter().any(|(_, known)| known == line) {
            lines.push((said, line.to_owned()));
        }
    }
    lines
}

/// Whether the line has the name by itself, not as part of a longer one.
fn names(line: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].trim_end_matches("__").chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

fn said(line: &str) -> Option<Said> {
    let word = WORDS.iter().find(|(word, _)| line.contains(word)).map(|(_, said)| *said);
    word.or_else(|| (line.contains("[warning]") || line.contains("[error]")).then_some(Said::Noted))
}

/// From the level on: before it are the time and the thread.
fn message(line: &str) -> &str {
    line.find('[').map_or(line, |at| &line[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB 10.11 and MySQL 9.7 wrote them.
    const LOG: &str = "\
2026-11-22  9:04:26 0 [Warning] option 'innodb-log-buffer-size': unsigned value 100 adjusted to 2097152
2026-11-22  9:04:26 0 [Warning] option 'innodb-io-capacity-max': unsigned value 20 adjusted to 100
2026-11-22  9:04:26 0 [Warning] mariadbd: Couldn't allocate 130023424 bytes (Large/HugeTLB memory page size \
2097152); errno 12
2026-11-22  9:04:26 0 [Note] InnoDB: innodb_buffer_pool_size_max=308m, innodb_buffer_pool_size=300m
2026-11-22  9:04:27 0 [Warning] 'innodb-thread-concurrency' was removed. It does nothing now and exists only for \
compatibility with old my.cnf files.
2026-11-22  9:04:27 0 [Warning] 'binlog-order-commits' is MySQL 5.6 / 5.7 compatible option. \
Not used or needed in MariaDB.
2026-11-22T09:05:49.469453Z 0 [Warning] [MY-010142] [Server] Changed limits: table_open_cache: 9919 (requested 100000)
2026-11-22T09:05:49.469451Z 0 [Warning] [MY-010139] [Server] Changed limits: max_open_files: 20000 (requested 200161)
2026-11-22T09:05:49.469451Z 0 [Warning] [MY-000000] [Server] unknown variable 'loose_innodb_dblwr=1'.
";

    #[test]
    fn lines_are_found_by_the_whole_name_only() {
        let said = |name: &str| lines_of(LOG, name).iter().map(|(said, _)| *said).collect::<Vec<_>>();
        assert_eq!(said("innodb_log_buffer_size"), [Said::Noted]);
        assert_eq!(said("innodb_io_capacity"), []);
        assert_eq!(said("innodb_io_capacity_max"), [Said::Noted]);
        assert_eq!(said("innodb_buffer_pool_size"), []);
        assert_eq!(said("innodb_thread_concurrency"), [Said::Removed]);
        assert_eq!(said("thread_concurrency"), []);
        assert_eq!(said("binlog_order_commits"), [Said::Ignored]);
        assert_eq!(said("large_pages"), [Said::Noted]);
        assert_eq!(said("open_files_limit"), [Said::Noted]);
        assert_eq!(said("loose_innodb_dblwr"), [Said::Ignored]);
        let lines = lines_of(LOG, "table_open_cache");
        assert_eq!(
            lines[0].1,
            "[Warning] [MY-010142] [Server] Changed limits: table_open_cache: 9919 (requested 100000)"
        );
    }
}
