//! A server's option file, `my.cnf`, as the servers' manuals describe it ("Using Option Files" of MySQL, "Configuring
//! MariaDB with Option Files"): groups, options, comments, quotes and escapes.

use crate::error::PlanError;
use crate::knowledge::Release;
use crate::origin::Where;
use plimsoll_model::Flavour;
use plimsoll_model::text::escaped;

/// Groups that servers of both vendors read, and those that only MariaDB's do.
const OF_BOTH: [&str; 2] = ["mysqld", "server"];
const OF_MARIADB: [&str; 4] = ["mariadb", "mariadbd", "client-server", "galera"];
/// Those of which there is one for each series as well.
const WITH_SERIES: [&str; 3] = ["mysqld", "mariadb", "mariadbd"];

/// Most bytes in the name of an option: no server has a longer one.
const LONGEST_NAME: usize = 128;

/// An option: a line `name = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionLine {
    pub group: String,
    /// As written, with its dashes and capitals.
    pub name: String,
    /// `None` for a switch without a value.
    pub value: Option<String>,
    /// From 1.
    pub line: usize,
}

impl OptionLine {
    /// Whether a server reads the option's group: `[mysqld]`, `[server]`, `[mariadb]` and so on, also followed by any
    /// version: `[mysqld-5.7]`. Others belong to `mysqldump`, `mysqld_safe` and the rest.
    pub fn is_of_server(&self) -> bool {
        let version = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        let behind = |group: &str| self.group.strip_prefix(group).and_then(|rest| rest.strip_prefix('-'));
        OF_BOTH.iter().chain(&OF_MARIADB).any(|group| self.group == *group || behind(group).is_some_and(version))
    }
}

/// Whether a server of this release reads a group (MySQL manual, "Using Option Files"; MariaDB documentation, "Option Groups"). Servers
/// do not look at the case of its name (`find_type` of both vendors).
pub fn is_read_by(group: &str, release: Release) -> bool {
    let of_vendor = match release.flavour {
        Flavour::MySql => &[][..],
        Flavour::MariaDb => &OF_MARIADB,
    };
    let group = group.to_ascii_lowercase();
    let series = format!("-{}.{}", release.version.0, release.version.1);
    let plain = group.strip_suffix(&series);
    let of_series = |known: &str| plain == Some(known) && WITH_SERIES.contains(&known);
    OF_BOTH.iter().chain(of_vendor).any(|known| *known == group || of_series(known))
}

/// What a line of an option file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineContent<'t> {
    Group(&'t str),
    /// Name, as written, and value.
    Setting(&'t str, Option<String>),
    /// `!include` or `!includedir`.
    Include,
    Unreadable,
}

/// The lines of an option file with their numbers, from 1, without those that are empty or only a comment.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str, LineContent<'_>)> {
    let numbered = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let told = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', ';']));
    told.map(|(number, line)| (number, line, content(line)))
}

fn content(line: &str) -> LineContent<'_> {
    if line.starts_with('!') {
        return LineContent::Include;
    }
    if let Some(name) = line.strip_prefix('[') {
        // What stands behind the name is nobody's business.
        let name = name.split_once(']').map(|(name, _)| name.trim_end()).filter(|name| !name.is_empty());
        return name.map_or(LineContent::Unreadable, LineContent::Group);
    }
    option(uncommented(line)).map_or(LineContent::Unreadable, |(name, value)| LineContent::Setting(name, value))
}

/// Reads the text of an option file, the options of all its groups; `file` names it in errors.
///
/// # Errors
/// [`PlanError::File`] with file and line for what is neither a group, an option nor a comment, for an option before
/// the first group, and for `!include` and `!includedir`.
pub fn parse(text: &str, file: &str) -> Result<Vec<OptionLine>, PlanError> {
    let mut entries = Vec::new();
    let mut group: Option<&str> = None;
    for (line, written, content) in lines(text) {
        let problem = |problem: String| PlanError::File { at: Where { file: file.to_owned(), line }, problem };
        match content {
            LineContent::Group(name) => group = Some(name),
            LineContent::Setting(name, value) => {
                let group = group.ok_or_else(|| {
                    problem(format!("`{name}` stands before the first group; put a line such as [mysqld] above it"))
                })?;
                entries.push(OptionLine { group: group.to_owned(), name: name.to_owned(), value, line });
            }
            LineContent::Include => {
                return Err(problem(format!(
                    "found `{}`; a plan has to name every file that it needs, so that others can repeat it: put the \
                     settings of that file here",
                    escaped(written)
                )));
            }
            LineContent::Unreadable => return Err(problem(unreadable(uncommented(written)))),
        }
    }
    Ok(entries)
}

fn unreadable(line: &str) -> String {
    let line: String = line.chars().take(80).collect();
    format!("found `{}`; accepted is [group], name, name = value, or a comment after #", escaped(&line))
}

fn option(line: &str) -> Option<(&str, Option<String>)> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(unquoted(value.trim()))),
        None => (line, None),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(plain)).then_some((name, value))
}

/// The line without its comment, which begins with a `#` outside quotes, as for the servers.
fn uncommented(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return line[..at].trim_end(),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c && !escaped => quote = None,
            _ => {}
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

/// A value without the quotes around it, its escapes resolved.
fn unquoted(value: &str) -> String {
    let quoted = |quote| value.strip_prefix(quote).and_then(|value: &str| value.strip_suffix(quote));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('b') => plain.push('\u{8}'),
            Some('s') => plain.push(' '),
            Some(c @ ('\\' | '"' | '\'')) => plain.push(c),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_their_group_value_and_line() {
        let text = "# comment\n; another\n\n[mysqld_safe]\nopen_files_limit=16384\n[mysqld ] # here\n\
                    skip-name-resolve\nInnodb-Buffer_Pool_Size = 22G   # most of it\r\n\
                    innodb_data_file_path=sys/system:11M; dat3/misc:13M\nempty =\n\
                    innodb_monitor_enable='%'\ninit_connect = \"SET @a = '#', @b = \\\"x\\\"\" # run by all\n\
                    tmpdir=/a\\sb\\q\\\\c\n";
        let entries = parse(text, "my.cnf").unwrap();
        let short: Vec<_> = entries.iter().map(|e| (e.line, e.name.as_str(), e.value.as_deref())).collect();
        assert_eq!(
            short,
            [
                (5, "open_files_limit", Some("16384")),
                (7, "skip-name-resolve", None),
                (8, "Innodb-Buffer_Pool_Size", Some("22G")),
                (9, "innodb_data_file_path", Some("sys/system:11M; dat3/misc:13M")),
                (10, "empty", Some("")),
                (11, "innodb_monitor_enable", Some("%")),
                (12, "init_connect", Some("SET @a = '#', @b = \"x\"")),
                (13, "tmpdir", Some("/a b\\q\\c")),
            ]
        );
        assert_eq!((entries[0].group.as_str(), entries[1].group.as_str()), ("mysqld_safe", "mysqld"));
    }

    #[test]
    fn groups_of_servers_are_told_from_others() {
        let of_server =
            |group: &str| parse(&format!("[{group}]\nx=1"), "my.cnf").unwrap().iter().all(OptionLine::is_of_server);
        for group in
            ["mysqld", "server", "mariadb", "mariadbd", "mysqld-8.4", "mariadb-10.11", "client-server", "galera"]
        {
            assert!(of_server(group), "{group}");
        }
        for group in ["client", "mysql", "mysqldump", "mysqld_safe", "mysqld1", "mysqld-", "client-mariadb", "MYSQLD"] {
            assert!(!of_server(group), "{group}");
        }
    }

    #[test]
    fn a_server_reads_groups_of_its_own_vendor_and_series() {
        let read = |group: &str, release: &str| is_read_by(group, Release::parse(release).unwrap());
        for group in ["mysqld", "MYSQLD", "server", "mysqld-9.7", "Mysqld-9.7"] {
            assert!(read(group, "mysql-9.7"), "{group}");
        }
        for group in ["mysqld-8.4", "server-9.7", "mariadb", "mysqld1", "mysqld-", "client"] {
            assert!(!read(group, "mysql-9.7"), "{group}");
        }
        for group in ["mariadb", "mariadbd-10.11", "mysqld-10.11", "client-server", "galera"] {
            assert!(read(group, "mariadb-10.11.6"), "{group}");
        }
        for group in ["client-server-10.11", "galera-10.11", "mariadb-11.8", "client-mariadb"] {
            assert!(!read(group, "mariadb-10.11.6"), "{group}");
        }
    }

    #[test]
    fn a_group_ends_with_its_first_bracket() {
        for line in ["[mysqld] ; main", "[mysqld ] # here", "[mysqld]]", "[mysqld]x=1"] {
            assert_eq!(content(line), LineContent::Group("mysqld"), "{line}");
        }
        assert_eq!(content("[mysqld # here]"), LineContent::Group("mysqld # here"));
    }

    #[test]
    fn what_is_no_option_is_refused_with_its_line() {
        for (text, line, words) in [
            ("[mysqld]\n!include /etc/my.cnf\n", 2, "put the settings of that file here"),
            ("!includedir /etc/mysql/conf.d", 1, "put the settings of that file here"),
            ("\nport=1\n[mysqld]", 2, "before the first group"),
            ("[mysqld]\ninnodb open files=4096", 2, "found `innodb open files=4096`; accepted is [group], name"),
            ("[mysqld\nx=1", 1, "found `[mysqld`"),
            ("[]", 1, "found `[]`"),
            ("[mysqld]\n= 3", 2, "found `= 3`"),
        ] {
            let PlanError::File { at, problem } = parse(text, "my.cnf").unwrap_err() else { panic!("{text}") };
            assert_eq!((at.file.as_str(), at.line), ("my.cnf", line), "{problem}");
            assert!(problem.contains(words), "{problem}");
        }
    }
}
