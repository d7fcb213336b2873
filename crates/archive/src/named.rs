//! Whom and which machines a recording names: what is taken out of it wherever it stands.

use plimsoll_record::RecordError;
use plimsoll_record::read::{RecordingView, TrialView};
use regex_lite::Regex;
use serde_json::Value;
use std::collections::BTreeSet;

/// Variables of a server that are names of hosts.
const HOSTS: [&str; 4] = ["hostname", "report_host", "wsrep_node_name", "wsrep_node_incoming_address"];

/// Hosts of servers, of brokers and of agents, and whoever has a home directory in what was recorded.
///
/// # Errors
/// If what was sampled cannot be read.
pub(crate) fn names(view: &RecordingView) -> Result<BTreeSet<String>, RecordError> {
    let mut named = Named::new();
    named.document(&serde_json::to_value(&view.manifest).unwrap_or_default());
    named.document(&serde_json::to_value(&view.summary).unwrap_or_default());
    named.document(&serde_json::to_value(&view.lab).unwrap_or_default());
    for event in &view.events {
        named.document(&serde_json::to_value(event).unwrap_or_default());
    }
    for trial in &view.trials {
        named.trial(trial)?;
    }
    // A number is no name, and would be missed.
    named.names.retain(|name| name.contains(char::is_alphabetic));
    Ok(named.names)
}

/// What was found so far, and how names are found in texts.
struct Named {
    names: BTreeSet<String>,
    /// Its first group are the hosts of an address.
    url: Regex,
    /// Its first group is the name of a home directory.
    home: Regex,
}

impl Named {
    fn new() -> Named {
        Named {
            names: BTreeSet::new(),
            url: pattern(r"(?i)[a-z][a-z0-9+.-]*://(?:[^\s/@\x22'`]*@)?([^\s/?#@\x22'`]+)"),
            home: pattern(r"/home/([^/\s\x22'`,:;()\[\]{}<>|=]+)"),
        }
    }

    fn trial(&mut self, trial: &TrialView) -> Result<(), RecordError> {
        let hosts = HOSTS.iter().filter_map(|name| trial.settings.get(*name)?.effective.clone());
        self.names.extend(hosts);
        self.document(&serde_json::to_value(&trial.facts).unwrap_or_default());
        self.document(&serde_json::to_value(&trial.outcome).unwrap_or_default());
        self.document(&serde_json::to_value(&trial.settings).unwrap_or_default());
        for sample in trial.series()?.agents {
            self.text(sample.lost.as_deref().unwrap_or_default());
            self.names.insert(sample.agent);
        }
        Ok(())
    }

    fn document(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(all) => all.iter().for_each(|value| self.document(value)),
            Value::Object(fields) => {
                // A machine without an agent is a kind of CPU.
                if let Some(agent) = fields.get("agent").and_then(Value::as_str) {
                    let machine = fields.get("machine").and_then(Value::as_str);
                    self.names.extend([agent].into_iter().chain(machine).map(str::to_owned));
                }
                fields.values().for_each(|value| self.document(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        for found in self.url.captures_iter(text) {
            self.names.extend(found[1].split(',').map(host));
        }
        self.names.extend(self.home.captures_iter(text).map(|found| plain(&found[1])));
    }
}

/// `db1` of `db1:3306`, `fe80::1` of `[fe80::1]:3306`.
fn host(place: &str) -> String {
    let bracketed = place.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let host = bracketed.or_else(|| place.rsplit_once(':')).map_or(place, |(host, _)| host);
    plain(host)
}

/// Without what ends a sentence.
fn plain(name: &str) -> String {
    name.trim_end_matches(['.', ';', ':', ')']).to_owned()
}

/// A pattern of ours, or one that is made of escaped names.
#[expect(clippy::expect_used, reason = "a test compiles each")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(document: &Value) -> Vec<String> {
        let mut named = Named::new();
        named.document(document);
        named.names.into_iter().collect()
    }

    #[test]
    fn addresses_and_home_directories_are_found_in_texts() {
        for (text, names) in [
            ("mysql://bench@db9.example:3306/sbtest?ssl-mode=required", &["db9.example"][..]),
            ("TLS://broker:4222?key=/home/mara/key is gone", &["broker", "mara"]),
            ("gcomm://db1,db2:4567", &["db1", "db2"]),
            ("mysql://[fe80::1]:3306/", &["fe80::1"]),
            ("(see https://db.example.)", &["db.example"]),
            ("read/write 3.5 : 1", &[]),
        ] {
            assert_eq!(found(&Value::from(text)), names, "{text}");
        }
    }

    #[test]
    fn machines_of_agents_are_names_and_kinds_of_machines_are_none() {
        let document = serde_json::json!({
            "host": {"machine": "x86_64"},
            "points": [{"agents": [{"agent": "berta", "machine": "node-b", "cpus": 1.0}]}],
        });
        assert_eq!(found(&document), ["berta", "node-b"]);
    }
}
