//! Which targets an agent may load: what an agent is asked for is somebody else's, and so may the server be.

use crate::error::PlanError;
use crate::target::{Target, Url};
use std::fmt;

const ACCEPTED: &str = "private (servers of this user's own Plimsoll), or mysql://USER@HOST:PORT/DATABASE, or mysql://USER@localhost/DATABASE?socket=PATH, with * for any database and without USER@ for any user";

/// Targets that somebody allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedTarget {
    /// Private servers of the same user on the same machine.
    Private,
    /// One server; `None` in the database is any.
    External(Url),
}

impl AllowedTarget {
    /// Reads one, as `--allow-target` has it.
    ///
    /// # Errors
    /// [`PlanError::Value`] with what is accepted.
    pub fn parse(text: &str) -> Result<AllowedTarget, PlanError> {
        let refuse = || PlanError::value("allow-target", text, ACCEPTED);
        if text == "private" {
            return Ok(AllowedTarget::Private);
        }
        let (place, options) = text.split_once('?').unwrap_or((text, ""));
        let (server, database) = place.rsplit_once('/').ok_or_else(refuse)?;
        let any = database == "*";
        let mark = if options.is_empty() { "" } else { "?" };
        let written = format!("{server}/{}{mark}{options}", if any { "" } else { database });
        // It is read before it is shown: there may be a password in it.
        match Target::parse(&written)? {
            // How a connection is protected is the agent's own affair.
            Target::External(_)
                if !options.is_empty() && (!options.starts_with("socket=") || options.contains('&')) =>
            {
                Err(refuse())
            }
            // Without a database it would say less than it seems to.
            Target::External(url) if any || url.database.is_some() => Ok(AllowedTarget::External(url)),
            _ => Err(refuse()),
        }
    }

    /// Whether this user's load of this database on this server is among them.
    pub fn allows(&self, user: &str, url: &Url, database: &str) -> bool {
        let AllowedTarget::External(allowed) = self else { return false };
        allowed.place() == url.place()
            && allowed.user.as_deref().is_none_or(|allowed| allowed == user)
            && allowed.database.as_deref().is_none_or(|allowed| allowed == database)
    }
}

impl fmt::Display for AllowedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllowedTarget::Private => f.write_str("private"),
            AllowedTarget::External(url) if url.database.is_some() => f.write_str(&url.describe()),
            AllowedTarget::External(url) => {
                f.write_str(&Url { database: Some("*".to_owned()), ..url.clone() }.describe())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        let Ok(Target::External(url)) = Target::parse(text) else { panic!("{text}") };
        url
    }

    #[test]
    fn what_is_written_down_is_allowed_and_nothing_else() {
        let cases = [
            ("mysql://bench@db1:3306/*", "bench", "mysql://db1/x", "sbtest", true),
            ("mysql://bench@db1/*", "bench", "mysql://DB1:3306/x", "mysql", true),
            ("mysql://db1:3306/sbtest", "anybody", "mysql://db1/x", "sbtest", true),
            ("mysql://db1:3306/sbtest", "anybody", "mysql://db1/x", "mysql", false),
            ("mysql://bench@db1:3306/*", "root", "mysql://db1/x", "sbtest", false),
            ("mysql://bench@db1:3306/*", "bench", "mysql://db1:3307/x", "sbtest", false),
            ("mysql://bench@db1:3306/*", "bench", "mysql://db11/x", "sbtest", false),
            ("mysql://bench@db1:3306/*", "bench", "mysql://db1/x?socket=/run/s", "sbtest", false),
            ("mysql://bench@localhost/*?socket=/run/s", "bench", "mysql://localhost/x?socket=/run/s", "x", true),
            ("mysql://bench@localhost/x?socket=/run/s", "bench", "mysql://localhost/y?socket=/run/s", "y", false),
            ("mysql://bench@localhost/*?socket=/run/s", "bench", "mysql://localhost/x?socket=/run/t", "x", false),
            ("mysql://bench@localhost/*?socket=/run/s", "bench", "mysql://localhost/x", "x", false),
            ("private", "root", "mysql://localhost/x?socket=/run/s", "sbtest", false),
        ];
        for (allowed, user, target, database, expected) in cases {
            let found = AllowedTarget::parse(allowed).unwrap().allows(user, &url(target), database);
            assert_eq!(found, expected, "{allowed} {user} {target} {database}");
        }
    }

    #[test]
    fn what_says_less_than_it_seems_to_is_refused() {
        for text in [
            "",
            "*",
            "mysql://db1",
            "mysql://db1/",
            "private:mysql",
            "db1:3306/*",
            "mysql://a:secret@db1/*",
            "mysql://db1/*?ssl-mode=disabled",
            "mysql://db1/*?socket=/s&ssl-mode=disabled",
            "mysql://a:secret@db1/*?ssl-mode=disabled",
            "mysql://db1/*?password=secret",
        ] {
            let found = AllowedTarget::parse(text).unwrap_err().to_string();
            assert!(!found.contains("secret"), "{text}: {found}");
        }
        let socket = "mysql://bench@localhost/*?socket=/run/s";
        let (six, escaped) = ("mysql://bench@[fd00::5]:3306/*", "mysql://bench@localhost/*?socket=/a%26b/s");
        for text in ["private", "mysql://bench@db1:3306/*", "mysql://db1:3306/sbtest", six, socket, escaped] {
            assert_eq!(AllowedTarget::parse(text).unwrap().to_string(), text);
        }
    }
}
