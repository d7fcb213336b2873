//! What is taken out of a recording that strangers may read: host names, users, addresses, paths.
//!
//! The structure of the files stays, and every number. Texts are cleaned by what is known of this recording (the names of its
//! servers' hosts, of its broker and its agents, and of whoever has a home directory in it) and by what looks like an address
//! or a path anywhere.

use crate::known::KnownNames;
use crate::named::{self, pattern};
use plimsoll_record::RecordError;
use plimsoll_record::read::RecordingView;
use regex_lite::{Captures, Regex};
use serde_json::Value;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// What stands in place of what was taken out.
const NAME: &str = "anonymous";
const ADDRESS: &str = "address";
const PLACE: &str = "/…";
/// A name in an address, in letters of any script: `\w` of these patterns means those of ASCII.
const WORD: &str = r"[^\s\x22'`,:;()\[\]{}<>|=/@]+";
/// Addresses in a plan that are read again, by the names of their fields, and what stands in their place.
const READ_AGAIN: [(&str, &str); 2] = [("broker", "tls://anonymous?key=anonymous"), ("listen", "anonymous:1")];
/// Names that say nothing of anybody, among them words that the files of a recording are made of.
const ANYBODY: [&str; 27] = [
    "",
    "root",
    "mysql",
    "mariadb",
    "localhost",
    "user",
    "linux",
    "agent",
    "client",
    "data",
    "database",
    "db",
    "done",
    "failed",
    "host",
    "interrupted",
    "lab",
    "load",
    "measure",
    "quickstart",
    "run",
    "running",
    "server",
    "storage",
    "sysbench",
    "target",
    "trial",
];

/// Takes names out of texts.
#[derive(Debug)]
pub struct Scrubber {
    names: KnownNames,
    url: Regex,
    account: Regex,
    remote: Regex,
    path: Regex,
    address: Regex,
}

impl Scrubber {
    /// For a recording, and for whoever exports it here.
    ///
    /// # Errors
    /// If what was sampled cannot be read.
    pub fn of(view: &RecordingView) -> Result<Scrubber, RecordError> {
        let mut names = named::names(view)?;
        let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let who = ["USER", "LOGNAME", "SUDO_USER"].into_iter().filter_map(|name| std::env::var(name).ok());
        names.extend(who.chain([here]));
        Ok(Scrubber::knowing(names))
    }

    /// One that knows these names.
    pub fn knowing(names: impl IntoIterator<Item = String>) -> Scrubber {
        let told = |name: &String| !ANYBODY.contains(&name.to_ascii_lowercase().as_str());
        Scrubber {
            names: KnownNames::new(names.into_iter().filter(told).collect()),
            url: pattern(r"(?i)\b([a-z][a-z0-9+.-]*)://[^\s\x22'`]+"),
            account: pattern(&format!(r"'[^'\s]*'@'[^'\s]*'|{WORD}@{WORD}")),
            remote: pattern(&format!(r"{WORD}:/[^\s\x22'`,;()\[\]{{}}<>|=]*")),
            path: pattern(r"(^|[^\w.)/…])/[^/\s\x22'`,:;()\[\]{}<>|=][^\s\x22'`,:;()\[\]{}<>|=]*"),
            address: pattern(r"[0-9A-Fa-f.:]*[.:][0-9A-Fa-f.:]*[0-9A-Fa-f]"),
        }
    }

    /// A text without them.
    pub fn text(&self, text: &str) -> String {
        let text = self.url.replace_all(text, format!("$1://{NAME}"));
        let text = self.account.replace_all(&text, NAME);
        let text = self.remote.replace_all(&text, |found: &Captures<'_>| match found[0].contains("://") {
            true => found[0].to_owned(),
            false => format!("{NAME}:{PLACE}"),
        });
        let text = self.path.replace_all(&text, format!("$1{PLACE}"));
        let text = self.address.replace_all(&text, |found: &Captures<'_>| without_address(&found[0]));
        self.names.replaced(&text, NAME)
    }

    /// The content of a file of a recording without them; what is no JSON, line by line.
    pub fn file(&self, path: &Path, content: &str) -> String {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => self.json(content).unwrap_or_else(|| self.text(content)),
            Some("hlog") => by_line(content, |line| self.of_histograms(line)),
            _ => by_line(content, |line| self.json(line).unwrap_or_else(|| self.text(line))),
        }
    }

    /// A line of a log of histograms: behind the tag are numbers and a histogram in Base64, in which anything looks like a path.
    fn of_histograms(&self, line: &str) -> String {
        match line.split_once(',') {
            Some((tag, histogram)) if tag.starts_with("Tag=") => format!("{},{histogram}", self.text(tag)),
            _ => self.text(line),
        }
    }

    fn json(&self, text: &str) -> Option<String> {
        let value = self.value(serde_json::from_str(text).ok()?);
        serde_json::to_string(&value).ok()
    }

    /// Keys are Plimsoll's own, or names of variables.
    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(all) => Value::Array(all.into_iter().map(|value| self.value(value)).collect()),
            Value::Object(fields) => {
                let field = |(name, value): (String, Value)| (self.text(&name), self.field(&name, value));
                Value::Object(fields.into_iter().map(field).collect())
            }
            other => other,
        }
    }

    fn field(&self, name: &str, value: Value) -> Value {
        match READ_AGAIN.iter().find(|(of, _)| *of == name) {
            Some((_, form)) if value.is_string() => Value::String((*form).to_owned()),
            _ => self.value(value),
        }
    }
}

/// Each line cleaned; the last keeps its missing end, which says that it was torn.
fn by_line(content: &str, clean: impl Fn(&str) -> String) -> String {
    let line = |line: &str| match line.strip_suffix('\n') {
        Some(whole) => clean(whole) + "\n",
        None => clean(line),
    };
    content.split_inclusive('\n').map(line).collect()
}

/// In place of what may be an address, and what stands behind it as a port.
fn without_address(text: &str) -> String {
    let host = text.rsplit_once(':').map_or(text, |(host, _)| host);
    match text.parse::<Ipv6Addr>().is_ok() || host.parse::<Ipv4Addr>().is_ok() {
        true => ADDRESS.to_owned(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(text: &str) -> String {
        Scrubber::knowing(["db7".to_owned(), "db7.example.com".to_owned(), "mara".to_owned()]).text(text)
    }

    #[test]
    fn what_names_people_machines_and_places_goes() {
        for (text, left) in [
            ("mysql://mara@db7.example.com:3306/sbtest?ssl-mode=required", "mysql://anonymous"),
            ("tls://broker.example:4222?key=/home/mara/key", "tls://anonymous"),
            ("gcomm://db1,db2", "gcomm://anonymous"),
            ("db7.example.com has 4 CPUs", "anonymous has 4 CPUs"),
            ("DB7 is gone", "anonymous is gone"),
            ("/home/mara/plans/a.toml, line 7", "/…, line 7"),
            ("the socket /run/mysqld/mysqld.sock: refused", "the socket /…: refused"),
            ("10.1.2.3:3306 does not answer", "address does not answer"),
            ("fe80::1 and 2001:db8::8a2e:370:7334", "address and address"),
            ("'bench'@'10.%' may not", "anonymous may not"),
            ("filer:/export/db on nfs4", "anonymous:/… on nfs4"),
            ("datadir=/srv/a", "datadir=/…"),
            ("/home/jürgen/a and jürgen@größe.example", "/… and anonymous"),
            ("größe:/export/db on nfs4", "anonymous:/… on nfs4"),
        ] {
            assert_eq!(scrubbed(text), left);
        }
    }

    #[test]
    fn numbers_times_and_words_of_the_field_stay() {
        for text in [
            "10.11.19-MariaDB-0+deb12u1",
            "2026-11-25T13:27:23.079792505Z",
            "12:30:15 of 60 s",
            "300 queries/s, read/write 3.5 : 1",
            "Linux 6.1.0-18-amd64",
            "c16-rate200",
            "oltp_read_write",
            "0.95",
            "utf8mb4_0900_ai_ci",
        ] {
            assert_eq!(scrubbed(text), text);
        }
    }

    #[test]
    fn histograms_stay_and_their_tags_are_cleaned() {
        let scrubber = Scrubber::knowing(["mara".to_owned()]);
        let log = "#[of mara]\nTag=txn.mara.service,0.000,1.000,2.5,HISTF+/X/a+/b=\nTag=txn.a.service,1.000,1.0";
        let cleaned = scrubber.file(Path::new("latency.hlog"), log);
        let left =
            "#[of anonymous]\nTag=txn.anonymous.service,0.000,1.000,2.5,HISTF+/X/a+/b=\nTag=txn.a.service,1.000,1.0";
        assert_eq!(cleaned, left);
    }

    #[test]
    fn addresses_that_are_read_again_keep_their_form() {
        let scrubber = Scrubber::knowing(["load".to_owned()]);
        let plan = r#"{"fleet":{"broker":"nats://db7:4222","listen":"10.1.2.3:3306"},"kind":"load"}"#;
        let left = r#"{"fleet":{"broker":"tls://anonymous?key=anonymous","listen":"anonymous:1"},"kind":"load"}"#;
        assert_eq!(scrubber.file(Path::new("manifest.json"), plan), left);
    }

    #[test]
    fn names_that_say_nothing_are_no_names() {
        let scrubber = Scrubber::knowing(["root".to_owned(), "mysql".to_owned(), String::new()]);
        assert_eq!(scrubber.text("root on mysql"), "root on mysql");
    }
}
