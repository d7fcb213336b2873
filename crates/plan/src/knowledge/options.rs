//! Which options servers take in an option file: `options.txt`, which says how it was made.

use super::release::Release;
use super::unswitched;
use plimsoll_model::Flavour;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::LazyLock;

/// The servers of the columns, in their order: vendor and series.
const SERVERS: [(Flavour, (u32, u32)); 5] = [
    (Flavour::MySql, (5, 7)),
    (Flavour::MySql, (8, 0)),
    (Flavour::MySql, (9, 7)),
    (Flavour::MariaDb, (10, 11)),
    (Flavour::MariaDb, (11, 8)),
];
/// A name that differs in more characters than this is another name.
const MOST_TYPOS: usize = 3;

/// What a server does with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionFate {
    Taken,
    /// Taken, with a line in the error log that it does nothing.
    Ignored,
    /// Taken, with a line in the error log that it will go, and maybe what to write instead.
    Deprecated(Option<&'static str>),
    /// The server does not start.
    Unknown,
}

struct OptionRow {
    letters: &'static [u8],
    instead: Option<&'static str>,
}

static OPTIONS: LazyLock<BTreeMap<&str, OptionRow>> = LazyLock::new(|| {
    let lines = include_str!("options.txt").lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, OptionRow { letters: words.next()?.as_bytes(), instead: words.next() }))
    });
    rows.collect()
});

/// What this release does with an option, `name` as variables are written; `None` if no server of its series was asked.
pub fn fate(name: &str, release: Release) -> Option<OptionFate> {
    let of_release = |server: &(Flavour, (u32, u32))| *server == (release.flavour, release.series());
    let at = SERVERS.iter().position(of_release).filter(|_| release.was_asked())?;
    Some(of_letter(letter(name, at), row(name)))
}

fn of_letter(letter: u8, row: Option<&'static OptionRow>) -> OptionFate {
    match letter {
        b'y' => OptionFate::Taken,
        b'~' => OptionFate::Ignored,
        b'd' => OptionFate::Deprecated(row.and_then(|row| row.instead)),
        _ => OptionFate::Unknown,
    }
}

/// What a server does with a name, or with the setting behind it if the name is a switch.
fn letter(name: &str, at: usize) -> u8 {
    let of = |name: &str| OPTIONS.get(name).map(|row| row.letters[at]).filter(|letter| *letter != b'.');
    of(name).or_else(|| of(unswitched(name, "").0)).unwrap_or(b'.')
}

/// Whether the list of this MySQL, or of the one before it, is without a name, and so is that of a later one; InnoDB's are in
/// none of them.
pub fn is_missing_from_lists(name: &str, release: Release) -> bool {
    let columns: &[usize] = match (release.flavour, release.series()) {
        (Flavour::MySql, (5, 7)) => &[0],
        (Flavour::MySql, (8, 0)) => &[1],
        (Flavour::MySql, (8, _)) => &[1, 2],
        _ => return false,
    };
    let is_innodbs = unswitched(name, "").0.starts_with("innodb");
    !is_innodbs && columns.iter().all(|at| letter(name, *at) == b'.')
}

/// All names, in their order.
pub fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.keys().copied()
}

/// Whether any server is known to take it.
pub fn is_known(name: &str) -> bool {
    row(name).is_some()
}

fn row(name: &str) -> Option<&'static OptionRow> {
    OPTIONS.get(name).or_else(|| OPTIONS.get(unswitched(name, "").0))
}

/// The servers that take it and do something with it: `MySQL 8.0`, `MariaDB 10.11`.
pub fn takers(name: &str) -> Vec<String> {
    let takes = |letter: &u8| matches!(letter, b'y' | b'd');
    let of_row = |row: &'static OptionRow| SERVERS.iter().zip(row.letters).filter(move |(_, letter)| takes(letter));
    let words =
        |(flavour, (major, minor)): &(Flavour, (u32, u32))| format!("{} {major}.{minor}", super::vendor(*flavour));
    row(name).into_iter().flat_map(of_row).map(|(server, _)| words(server)).collect()
}

/// Whether a server takes the beginning of an option's name for the option: MariaDB's does, MySQL's no longer does.
pub fn takes_beginnings(flavour: Flavour) -> bool {
    flavour == Flavour::MariaDb
}

/// The one option that begins with `name`.
pub fn unabbreviated(name: &str, release: Release) -> Option<&'static str> {
    if is_known(name) {
        return None;
    }
    let taken = |full: &&str| matches!(fate(full, release), None | Some(OptionFate::Taken | OptionFate::Deprecated(_)));
    let from = OPTIONS.range::<str, _>((Bound::Included(name), Bound::Unbounded)).map(|(full, _)| *full);
    let mut longer = from.take_while(|full| full.starts_with(name)).filter(taken);
    let first = longer.next()?;
    longer.next().is_none().then_some(first)
}

/// The option of this vendor that is spelt most alike, if it is spelt alike at all.
pub fn nearest(name: &str, release: Release) -> Option<&'static str> {
    let of_vendor = |row: &OptionRow| {
        SERVERS.iter().zip(row.letters).any(|((flavour, ..), letter)| *flavour == release.flavour && *letter != b'.')
    };
    let alike = OPTIONS
        .iter()
        .filter(|(_, row)| of_vendor(row))
        .map(|(known, _)| (strsim::damerau_levenshtein(name, known), *known));
    alike.min().filter(|(typos, known)| *typos <= MOST_TYPOS && *typos * 4 <= known.len()).map(|(_, known)| known)
}

/// Names of options that may stand several times, each adding to the others.
pub fn adds_up(name: &str) -> bool {
    const LISTS: [&str; 9] = [
        "plugin_load_add",
        "early_plugin_load",
        "binlog_do_db",
        "binlog_ignore_db",
        "ignore_db_dirs",
        "ignore_db_dir",
        "performance_schema_instrument",
        "performance_schema_consumer",
        "optimizer_switch",
    ];
    LISTS.contains(&name) || name.starts_with("replicate_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        Release::parse(text).unwrap()
    }

    #[test]
    fn every_line_has_a_letter_for_each_server() {
        assert!(OPTIONS.len() > 1000);
        for (name, row) in OPTIONS.iter() {
            assert_eq!(row.letters.len(), SERVERS.len(), "{name}");
            assert!(row.letters.iter().all(|letter| b"y~d.".contains(letter)), "{name}");
            assert!(row.letters.iter().any(|letter| *letter != b'.'), "{name}");
            assert!(row.instead.is_none_or(|instead| OPTIONS.contains_key(instead)), "{name}: {:?}", row.instead);
        }
    }

    #[test]
    fn a_server_takes_ignores_or_does_not_know_an_option() {
        let mysql = release("mysql-9.7");
        assert_eq!(fate("innodb_thread_concurrency", mysql), Some(OptionFate::Taken));
        assert_eq!(fate("innodb_thread_concurrency", release("mariadb-10.11")), Some(OptionFate::Ignored));
        assert_eq!(fate("query_cache_size", mysql), Some(OptionFate::Unknown));
        assert_eq!(fate("slave_net_timeout", mysql), Some(OptionFate::Deprecated(Some("replica_net_timeout"))));
        assert_eq!(fate("skip_log_bin", mysql), Some(OptionFate::Taken), "a switch");
        assert_eq!(fate("query_cache_size", release("mysql-8.4")), None, "not asked");
        assert!(is_missing_from_lists("query_cache_size", release("mysql-8.4")), "gone before and after");
        assert!(!is_missing_from_lists("default_authentication_plugin", release("mysql-8.4")), "there before");
        assert!(!is_missing_from_lists("innodb_log_file_size", release("mysql-8.4")), "the lists are without InnoDB's");
        assert_eq!(takers("query_cache_size"), ["MySQL 5.7", "MariaDB 10.11", "MariaDB 11.8"]);
    }

    #[test]
    fn names_are_abbreviated_or_misspelt() {
        let mysql = release("mysql-9.7");
        assert_eq!(unabbreviated("thread_cache", mysql), Some("thread_cache_size"));
        assert_eq!(unabbreviated("innodb_max_dirty_pages", mysql), None, "two begin so");
        assert_eq!(nearest("inodb_bufer_pool_size", mysql), Some("innodb_buffer_pool_size"));
        assert_eq!(nearest("completely_different", mysql), None);
    }
}
