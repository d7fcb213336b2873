//! `plimsoll lab` trusts no setting: one that is misspelt, removed, clamped or unsafe gets its own answer.

use crate::harness::{Done, Lab};
use serde_json::Value;
use std::fs;
use std::path::Path;

const WORKLOAD: &str = "
[workload]
kind = \"oltp_update_index\"
tables = 1
table_size = 1000
[load]
connections = [2]
rate = 200
";

impl Lab {
    /// Runs a plan of one short trial with these settings.
    fn sets(&self, name: &str, config: &str, procedure: &str) -> Done {
        let text =
            format!("[server.config]\n{config}\n{WORKLOAD}[trials]\nwarmup = \"0s\"\nmeasure = \"1s\"\n{procedure}\n");
        self.ends(&format!("lab {} --json", self.plan(name, &text).display()))
    }
}

/// `outcome.json` of the one trial of a recording.
fn outcome(found: &Value) -> Value {
    let trials = Path::new(found["recording"].as_str().expect("a recording")).join("trials");
    let mut trials = fs::read_dir(trials).expect("trials").flatten();
    let text = fs::read_to_string(trials.next().expect("a trial").path().join("outcome.json"));
    serde_json::from_str(&text.expect("the trial came to its end")).expect("JSON")
}

fn verification<'v>(outcome: &'v Value, name: &str) -> &'v Value {
    let verifications = outcome["verifications"].as_array().expect("verifications");
    verifications
        .iter()
        .find(|verification| verification["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {outcome:#}"))
}

fn verdicts(lab: &Lab, removed: &str) {
    // Before anything starts, with file and line.
    let misspelt = lab.sets("misspelt", "innodb_bufer_pool_size = \"64M\"", "").exits(2);
    for part in ["misspelt.toml, line 5", "innodb_bufer_pool_size", "did you mean innodb_buffer_pool_size"] {
        assert!(misspelt.err.contains(part), "{part}: {}", misspelt.err);
    }
    let gone = lab.sets("gone", removed, "").exits(2);
    assert!(gone.err.contains("gone.toml, line 5") && gone.err.contains("removed it in"), "{}", gone.err);

    // What the server makes of too many tables, only the running server shows.
    let settings = "table_open_cache = 100000\ninnodb_doublewrite = \"OFF\"\nsort_buffer_size = \"512K\"";
    let strict = lab.sets("strict", settings, "");
    assert_ne!(strict.status.code(), Some(0));
    let said = format!("{}{}", strict.out, strict.err);
    assert!(said.contains("table_open_cache = 100000 (") && said.contains("not in effect"), "{said}");

    let lenient = lab.sets("lenient", settings, "lenient = true").exits(0).json();
    let outcome = outcome(&lenient);
    assert_eq!(verification(&outcome, "table_open_cache")["verdict"], "not_applied");
    let doublewrite = verification(&outcome, "innodb_doublewrite");
    assert_eq!((&doublewrite["verdict"], &doublewrite["class"]), (&"in_effect".into(), &"d2".into()));
    let risks = outcome["risks"].as_array().expect("risks");
    assert!(risks.contains(&"d2".into()), "{risks:?}");
    // A new session and the load's own have it.
    let sorting = verification(&outcome, "sort_buffer_size");
    assert_eq!((&sorting["verdict"], &sorting["load"]), (&"in_effect".into(), &"524288".into()));
}

#[test]
fn each_mistake_gets_its_verdict_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    verdicts(&lab, "innodb_buffer_pool_instances = 4");
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn each_mistake_gets_its_verdict_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    verdicts(&lab, "query_cache_size = \"1M\"");
}
