//! What a login may do, by SHOW GRANTS. A server shows a login only what it has some right to, and is silent about the
//! rest; only the grants tell whether an empty answer means that nothing is there. What is not understood counts as not
//! granted.

use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_model::Flavour;

/// The grants of a login on all databases and on whole databases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    grants: Vec<Grant>,
    /// What MySQL's partial revokes take away.
    revokes: Vec<Grant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    privileges: Vec<String>,
    /// A pattern of database names; none for all databases.
    database: Option<String>,
}

impl Grants {
    /// The grants of this connection's login, with its active roles.
    ///
    /// # Errors
    /// If the server does not say, such as one without logins.
    pub fn of_login(control: &mut Control) -> Result<Grants, Failure> {
        let mut ask = "SHOW GRANTS".to_owned();
        // MariaDB's answer includes the active role; MySQL before 8.0 has no roles.
        if control.flavour() == Flavour::MySql
            && let Ok(rows) = control.rows("SELECT CURRENT_ROLE()")
            && let Some(roles) = rows.single().filter(|roles| *roles != "NONE")
        {
            ask = format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}");
        }
        let rows = control.rows(&ask)?;
        Ok(Grants::read(rows.rows.iter().filter_map(|row| row.first()?.as_deref())))
    }

    fn read<'l>(lines: impl Iterator<Item = &'l str>) -> Grants {
        let mut all = Grants::default();
        for line in lines {
            if let Some(grant) = line.strip_prefix("GRANT ").and_then(|rest| Grant::read(rest, " TO ")) {
                all.grants.push(grant);
            } else if let Some(revoke) = line.strip_prefix("REVOKE ").and_then(|rest| Grant::read(rest, " FROM ")) {
                all.revokes.push(revoke);
            }
        }
        all
    }

    /// Whether one of these is granted on all databases, without an exception.
    pub fn anywhere(&self, privileges: &[&str]) -> bool {
        let global = |grant: &&Grant| grant.database.is_none();
        self.revokes.is_empty() && self.grants.iter().filter(global).any(|grant| grant.has(privileges))
    }

    /// Whether one of these is granted on this whole database. The server takes the most specific of several patterns,
    /// so all of them must grant it, unless one is the name itself.
    pub fn in_database(&self, database: &str, privileges: &[&str]) -> bool {
        let of = |pattern: &dyn Fn(&str) -> bool| -> Vec<&Grant> {
            self.grants.iter().filter(|grant| grant.database.as_deref().is_some_and(pattern)).collect()
        };
        let exact = of(&|pattern| is_exactly(pattern, database));
        let matching = of(&|pattern| matches(pattern, database));
        match exact.is_empty() {
            false => exact.iter().any(|grant| grant.has(privileges)),
            true => !matching.is_empty() && matching.iter().all(|grant| grant.has(privileges)),
        }
    }
}

impl Grant {
    /// Reads what follows the verb; none for a grant of a role, or on a table, a routine or a proxy.
    fn read(text: &str, before_whom: &str) -> Option<Grant> {
        let (privileges, rest) = cut(text, " ON ")?;
        let (scope, _) = cut(rest, before_whom)?;
        let (database, table) = cut(scope, ".")?;
        if table != "*" {
            return None;
        }
        let privileges = privileges.split(',').map(|name| name.trim().to_uppercase()).collect();
        let database = if database == "*" { None } else { Some(unquoted(database)) };
        Some(Grant { privileges, database })
    }

    fn has(&self, wanted: &[&str]) -> bool {
        let all = ["ALL", "ALL PRIVILEGES"];
        self.privileges.iter().any(|name| all.contains(&name.as_str()) || wanted.contains(&name.as_str()))
    }
}

/// Cuts at the first `separator` that is not within quotes.
fn cut<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            None if text[at..].starts_with(separator) => return Some((&text[..at], &text[at + separator.len()..])),
            None if matches!(c, '`' | '"' | '\'') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

fn unquoted(name: &str) -> String {
    for quote in ['`', '"'] {
        if let Some(inner) = name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.replace(&format!("{quote}{quote}"), &quote.to_string());
        }
    }
    name.to_owned()
}

/// A part of a name pattern: `%`, `_`, or a literal character, which `\` makes of any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Any,
    One,
    This(char),
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        parts.push(match c {
            '%' => Part::Any,
            '_' => Part::One,
            '\\' => Part::This(rest.next().unwrap_or('\\')),
            c => Part::This(c),
        });
    }
    parts
}

/// Whether a pattern matches only this name.
fn is_exactly(pattern: &str, name: &str) -> bool {
    parts(pattern).into_iter().eq(name.chars().map(Part::This))
}

fn matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // Whether the parts so far can match this many characters of the name.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for part in parts(pattern) {
        if part == Part::Any {
            let first = reached.iter().position(|reached| *reached).unwrap_or(reached.len());
            reached[first..].fill(true);
            continue;
        }
        for at in (0..name.len()).rev() {
            reached[at + 1] = reached[at] && (part == Part::One || part == Part::This(name[at]));
        }
        reached[0] = false;
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_database(lines: &[&str], database: &str) -> bool {
        Grants::read(lines.iter().copied()).in_database(database, &["EVENT"])
    }

    #[test]
    fn privileges_on_databases_are_found_however_they_are_written() {
        for line in [
            "GRANT ALL PRIVILEGES ON `a\\_b`.* TO `u`@`%`",
            "GRANT SELECT, EVENT ON \"a_b\".* TO \"u\"@\"%\" WITH GRANT OPTION",
            "GRANT EVENT ON a_b.* TO u@localhost",
            "GRANT EVENT ON `a%`.* TO `u`@`%` IDENTIFIED BY PASSWORD '*1 ON *.* TO '",
        ] {
            assert!(in_database(&[line], "a_b"), "{line}");
            assert!(!Grants::read([line].into_iter()).anywhere(&["EVENT"]), "{line}");
        }
        for line in [
            "GRANT SELECT, DROP ON `a_b`.* TO `u`@`%`",
            "GRANT SELECT (`x EVENT`, `EVENT ON *.* TO `) ON `a_b`.`t` TO `u`@`%`",
            "GRANT EVENT ON `a_b`.`*` TO `u`@`%`",
            "GRANT EVENT ON `axb\\_`.* TO `u`@`%`",
            "GRANT EXECUTE ON PROCEDURE `a_b`.`EVENT` TO `u`@`%`",
            "GRANT PROXY ON ''@'%' TO 'root'@'localhost'",
            "GRANT `EVENT`@`%` TO `u`@`%`",
            "EVENT",
        ] {
            assert!(!in_database(&[line], "a_b"), "{line}");
        }
    }

    #[test]
    fn patterns_are_those_of_like() {
        for (pattern, name, found) in [
            ("", "", true),
            ("%", "", true),
            ("_", "", false),
            ("a%c", "abbc", true),
            ("a%c", "abbd", false),
            ("%a%a%a%a%a%a%a%a%a%b", &"a".repeat(64), false),
            ("a\\%", "ab", false),
            ("a\\%", "a%", true),
            ("ä_", "äö", true),
        ] {
            assert_eq!(matches(pattern, name), found, "{pattern} {name}");
        }
    }

    #[test]
    fn the_name_itself_goes_before_patterns() {
        let lines = ["GRANT ALL PRIVILEGES ON `a%`.* TO u", "GRANT DROP ON `a\\_b`.* TO u"];
        assert!(!in_database(&lines, "a_b") && in_database(&lines, "axb"));
        assert!(!in_database(&["GRANT ALL ON `a%`.* TO u", "GRANT DROP ON `a_b`.* TO u"], "a_b"), "either may hold");
    }

    #[test]
    fn what_is_revoked_in_part_is_not_held_everywhere() {
        let grants = |lines: &[&str]| Grants::read(lines.iter().copied()).anywhere(&["EVENT"]);
        assert!(grants(&["GRANT SELECT, EVENT ON *.* TO `u`@`%`"]));
        assert!(!grants(&["GRANT SELECT, EVENT ON *.* TO `u`@`%`", "REVOKE EVENT ON `mysql`.* FROM `u`@`%`"]));
    }
}
