//! Option files: of a server, as a plan names them, and of a client, as `--defaults-file` does.

use super::{FuzzTarget, is_in, is_of};
use crate::change;
use crate::corpus::{self, CorpusEntry};
use plimsoll_load::seed::Rng;
use plimsoll_model::Flavour;
use plimsoll_plan::knowledge::translate;
use plimsoll_plan::lab::file;
use plimsoll_plan::{PlanError, defaults, option_file};

const NAME: &str = "my.cnf";
/// A plan that names the file.
const PLAN: &str = "name = \"options\"\nserver.config_file = \"my.cnf\"\nworkload.kind = \"tpcc\"\n";

/// What takes the place of values.
const WORDS: &[&str] = &[
    "",
    "-1",
    "0",
    "ON",
    "18446744073709551616",
    "99999999999999999999999999999999999999999G",
    "1e400",
    "\"",
    "'a # b' # c",
    "\"a\\\"\\\\\\s\\q",
    "/etc/passwd",
    "../../x",
    "evil.so",
    "10.0.0.1",
    "verify-identity",
    "\u{202e}\u{1b}[2J",
];

pub struct OptionFiles {
    entries: Vec<CorpusEntry>,
}

impl OptionFiles {
    pub fn open() -> anyhow::Result<OptionFiles> {
        let mut entries = Vec::new();
        for directory in ["crates/fuzz/corpus/options", "crates/plan/tests/fixtures", "plans"] {
            entries.extend(corpus::files(directory, &[".cnf"])?);
        }
        Ok(OptionFiles { entries })
    }
}

impl FuzzTarget for OptionFiles {
    fn name(&self) -> &'static str {
        "options"
    }

    fn entries(&self) -> &[CorpusEntry] {
        &self.entries
    }

    fn changed(&self, entry: usize, random: &mut Rng) -> Vec<u8> {
        change::of_text(&self.entries[entry].bytes, &self.entries, WORDS, random)
    }

    fn read(&mut self, _entry: usize, input: &[u8]) -> Result<bool, String> {
        let text = String::from_utf8_lossy(input);
        let of_server = server(&text)?;
        let of_client = client(&text)?;
        Ok(of_server && of_client)
    }
}

fn server(text: &str) -> Result<bool, String> {
    match option_file::parse(text, NAME) {
        // They are in the order of their lines.
        Ok(entries) => entries.last().map_or(Ok(()), |last| is_in(text, last.line))?,
        Err(PlanError::File { at, .. }) if at.file == NAME => is_in(text, at.line)?,
        Err(other) => return Err(format!("refused without a line: {other}")),
    }
    let plan = match file::read("plan.toml", PLAN, file::PlanChoices::of_seed(1), &|_| Ok(text.to_owned())) {
        Ok(plan) => plan,
        Err(PlanError::File { at, .. }) => return is_of(NAME, text, &at).map(|()| false),
        Err(other) => return Err(format!("refused without a line: {other}")),
    };
    let config = &plan.variants[0].config;
    for (flavour, version) in [(Flavour::MySql, (9, 4, 0)), (Flavour::MariaDb, (10, 11, 6))] {
        let translated = translate(config, flavour, version);
        // What an option file of old says is applied or left out, and never a mistake of the plan's.
        if let Some(mistake) = translated.mistake() {
            return Err(format!("it is taken for the plan's own: {mistake}"));
        }
        for (place, setting) in translated.settings.iter().enumerate() {
            if translated.settings[..place].iter().any(|before| before.name == setting.name) {
                return Err(format!("{} is set twice", setting.name));
            }
        }
    }
    Ok(true)
}

fn client(text: &str) -> Result<bool, String> {
    let Err(error) = defaults::parse(text, NAME) else { return Ok(true) };
    let PlanError::DefaultsFile { line, .. } = &error else {
        return Err(format!("refused without a line: {error}"));
    };
    is_in(text, *line)?;
    // The message holds what is in the file.
    match error.to_string().contains(char::is_control) {
        true => Err(format!("a message with control characters: {error:?}")),
        false => Ok(false),
    }
}
