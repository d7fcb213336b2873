//! Plan files: read, or refused with a line; what is read can be recorded, and asks for what it needs.

use super::{FuzzTarget, is_of};
use crate::change;
use crate::corpus::{self, CorpusEntry};
use plimsoll_load::seed::Rng;
use plimsoll_model::Flavour;
use plimsoll_plan::knowledge::translate;
use plimsoll_plan::lab::file;
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::{LabPlan, PlanError};
use std::collections::BTreeMap;

const NAME: &str = "plan.toml";
/// No plan: what the plans' sources print.
const NO_PLAN: &str = "plans/published.toml";
const SEED: u64 = 7;

/// What takes the place of values: other types, too much, too little, bits of syntax.
const WORDS: &[&str] = &[
    "",
    "-1",
    "0",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "-9223372036854775808",
    "1e400",
    "nan",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[[\"a\"]]",
    "[1, 2, 3]",
    "{ commands = [\"true\"] }",
    "{ reload = true }",
    "{ events = 1 }",
    "2026-01-02",
    "\"once\"",
    "\"p99.99999 < 1ns\"",
    "\"1..100000+1,1..100000+1\"",
    "\"0-4095\"",
    "\"720h\"",
    "\"16777215T\"",
    "\"ext4,iops=0,delay=99999h\"",
    "\"mysql://u:p@db.example:1/x`y\"",
    "\"../../../../etc/passwd\"",
    "\"\\u202e\\u001b[2J\\u0000\"",
];

pub struct Plans {
    entries: Vec<CorpusEntry>,
    /// The option files that they name.
    files: BTreeMap<String, String>,
}

impl Plans {
    pub fn open() -> anyhow::Result<Plans> {
        let mut entries = corpus::files("crates/fuzz/corpus/plans", &[".toml"])?;
        entries.extend(corpus::files("plans", &[".toml"])?.into_iter().filter(|entry| entry.name != NO_PLAN));
        let named = |entry: CorpusEntry| {
            let name = entry.name.trim_start_matches("plans/").to_owned();
            (name, String::from_utf8_lossy(&entry.bytes).into_owned())
        };
        let files = corpus::files("plans", &[".cnf"])?.into_iter().map(named).collect();
        Ok(Plans { entries, files })
    }

    fn plan(&self, text: &str, preset: Option<&str>) -> Result<LabPlan, PlanError> {
        let there_is_none = || "no such file".to_owned();
        file::read(NAME, text, file::PlanChoices { preset, ..file::PlanChoices::of_seed(SEED) }, &|name| {
            self.files.get(name).cloned().ok_or_else(there_is_none)
        })
    }
}

impl FuzzTarget for Plans {
    fn name(&self) -> &'static str {
        "plans"
    }

    fn entries(&self) -> &[CorpusEntry] {
        &self.entries
    }

    fn changed(&self, entry: usize, random: &mut Rng) -> Vec<u8> {
        change::of_text(&self.entries[entry].bytes, &self.entries, WORDS, random)
    }

    fn read(&mut self, _entry: usize, input: &[u8]) -> Result<bool, String> {
        let text = String::from_utf8_lossy(input);
        let mut read = false;
        for preset in [None, Some("small")] {
            match self.plan(&text, preset) {
                Ok(plan) => {
                    goes_on(&plan)?;
                    read = true;
                }
                Err(PlanError::File { at, .. }) => is_of(NAME, &text, &at)?,
                Err(other) => return Err(format!("refused without a line: {other}")),
            }
        }
        Ok(read)
    }
}

/// What is done with a plan before anything starts, and with one that stands in a recording.
fn goes_on(plan: &LabPlan) -> Result<(), String> {
    let asked = plan.asks(&Given::default());
    if let Some(nowhere) = asked.iter().find(|asked| asked.at.line == 0) {
        return Err(format!("{nowhere:?} is asked for without its line"));
    }
    for variant in &plan.variants {
        translate(&variant.config, Flavour::MySql, (9, 4, 0));
        translate(&variant.config, Flavour::MariaDb, (10, 11, 6));
    }
    let recorded = serde_json::to_string(plan).map_err(|error| format!("it cannot be recorded: {error}"))?;
    let read = serde_json::from_str(&recorded).map_err(|error| format!("it cannot be read again: {error}"))?;
    file::recorded(read).map(drop).map_err(|error| format!("refused once it is recorded: {error}"))
}
