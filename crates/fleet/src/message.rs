//! What coordinator and agents say to each other. All of it is hostile until it has been read here.

use crate::error::FleetError;
use plimsoll_load::lines;
use plimsoll_model::samples::HostSample;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bytes of one message: a broker takes 1 MiB (NATS, `max_payload`).
pub const MOST_BYTES: usize = 1 << 20;
/// Bytes of text in one message; a longer text goes in several.
pub const PART_BYTES: usize = 512 << 10;

/// Which program this is: agents and coordinator are of one build, or they do not work together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetBuild {
    pub version: String,
    /// How a load is told: the version of its lines, and the bounds of its histograms.
    pub digest: String,
}

impl FleetBuild {
    /// Of this program, whose version this is.
    pub fn of(version: &str) -> FleetBuild {
        FleetBuild { version: version.to_owned(), digest: lines::digest() }
    }
}

impl std::fmt::Display for FleetBuild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.version, self.digest)
    }
}

/// What an agent says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Drawn anew each time that it is started.
    pub incarnation: u64,
    pub build: FleetBuild,
    /// The name of its machine.
    pub machine: String,
    /// Which boot of which machine: two of one machine have the same.
    pub boot: String,
    pub cpus: u32,
    /// Queries per second that one loop reaches there, where that was measured.
    pub ceiling: Option<f64>,
    /// The trial whose load it has.
    pub trial: Option<String>,
}

/// That an agent lives, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    pub incarnation: u64,
    pub trial: Option<String>,
    /// How many letters of that trial it has written.
    pub written: u64,
    /// Why it could not tell what its load did.
    pub trouble: Option<AgentTrouble>,
}

/// What ended a load of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTrouble {
    pub trial: String,
    pub why: String,
}

/// What an agent is told to do, and answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentOrder {
    /// To connect and prepare: a part of the text of its assignment, and whether more follows.
    Prepare { trial: String, text: String, more: bool },
    /// To begin at this time of its own clock, nanoseconds.
    Start { trial: String, at_ns: u64 },
    /// To tell again what it has told of a trial, from this letter on.
    Again { trial: String, from: u64 },
    /// To let go of what it has told of a trial: it is recorded.
    Recorded { trial: String },
    /// To make itself ready for a job: a part of what it is, and whether more follows.
    Job { job: String, text: String, more: bool },
    /// To do a piece of it, and to answer when that is done.
    Piece { job: String, number: u64, text: String },
    /// To say whether it is at that piece.
    IsAt { job: String, number: u64 },
    /// To forget a job.
    JobIsOver { job: String },
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentAnswer {
    Done,
    /// A piece of a job is done, and this came of it.
    Counted(u64),
    /// It is at this trial or job, and will not be for ever.
    Busy(String),
    Refused(String),
}

impl AgentAnswer {
    /// That an agent has done what it was told.
    ///
    /// # Errors
    /// Why it has not.
    pub fn done(answer: Result<AgentAnswer, String>) -> Result<(), String> {
        match answer? {
            AgentAnswer::Done | AgentAnswer::Counted(_) => Ok(()),
            AgentAnswer::Busy(why) | AgentAnswer::Refused(why) => Err(why),
        }
    }

    /// What it is busy with, where an agent did not do what it was told for that reason.
    ///
    /// # Errors
    /// It refuses, or did not answer.
    pub fn busy_with(agent: &str, answer: Result<AgentAnswer, String>) -> Result<Option<String>, FleetError> {
        match answer {
            Ok(AgentAnswer::Done | AgentAnswer::Counted(_)) => Ok(None),
            Ok(AgentAnswer::Busy(with)) => Ok(Some(with)),
            Ok(AgentAnswer::Refused(why)) => Err(FleetError::Refused(format!("the agent {agent} refuses: {why}"))),
            Err(why) => Err(FleetError::Environment(format!("the agent {agent}: {why}"))),
        }
    }
}

/// What all agents are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Call {
    /// To say who they are.
    Who,
    /// That somebody follows this trial.
    Followed { trial: String },
    /// To end the window now.
    Stop { trial: String },
    /// To close the connections, whatever they are at.
    Finish { trial: String },
    /// To leave.
    Leave,
}

/// A part of what a load tells: one letter of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToldLetter {
    pub trial: String,
    pub incarnation: u64,
    /// Counts from 0 in each trial.
    pub number: u64,
    pub text: String,
    /// Whether the next letter goes on with the text of this one.
    pub more: bool,
}

/// What an agent's machine did in a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSecond {
    /// Its end, nanoseconds since the load began.
    pub end_ns: u64,
    /// Transactions of the agent's loops that ended in it.
    pub transactions: u64,
    /// The longest that the broker took to acknowledge a letter since the second before, microseconds.
    pub stored_us: u64,
    /// CPU that the processes of the load have used so far, and how long they waited for one, microseconds.
    pub cpu_us: u64,
    pub waited_us: Option<u64>,
    pub host: Option<HostSample>,
}

/// What the text of one letter or several says.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// As [`lines::head`] writes it.
    Head(String),
    /// As [`lines::write`] writes it.
    Event(String),
    Machine(Box<MachineSecond>),
}

impl Word {
    pub fn text(&self) -> String {
        match self {
            Word::Head(line) => format!("head {line}"),
            Word::Event(line) => format!("event {line}"),
            Word::Machine(second) => format!("machine {}", to_json(second)),
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// It says nothing that is known.
    pub fn read(text: &str) -> Result<Word, String> {
        match text.split_once(' ') {
            Some(("head", line)) => Ok(Word::Head(line.to_owned())),
            Some(("event", line)) => Ok(Word::Event(line.to_owned())),
            Some(("machine", line)) => serde_json::from_str(line)
                .map(|second| Word::Machine(Box::new(second)))
                .map_err(|error| error.to_string()),
            _ => Err("a word that no load says".to_owned()),
        }
    }
}

/// A message as bytes.
pub fn write(message: &impl Serialize) -> Vec<u8> {
    to_json(message).into_bytes()
}

fn to_json(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("it has neither keys that are no text nor numbers that JSON lacks")
}

/// A message of somebody else.
///
/// # Errors
/// It is none that is known.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    if body.len() > MOST_BYTES {
        return Err(format!("a message of {} bytes; {MOST_BYTES} are the most", body.len()));
    }
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

/// A text in parts that go into one message each, and whether another follows.
pub fn parts(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let left = rest.take()?;
        let end = left.floor_char_boundary(PART_BYTES);
        let (part, after) = left.split_at(end);
        rest = (!after.is_empty()).then_some(after);
        Some((part, rest.is_some()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_is_what_was_said() {
        let second = MachineSecond {
            end_ns: 7,
            transactions: 3,
            stored_us: 5,
            cpu_us: u64::MAX,
            waited_us: None,
            host: Some(HostSample::default()),
        };
        for word in [Word::Head("{}".to_owned()), Word::Event("a b\n".to_owned()), Word::Machine(Box::new(second))] {
            assert_eq!(Word::read(&word.text()), Ok(word));
        }
        for none in ["", "head", "tail {}", "machine {}"] {
            assert!(Word::read(none).is_err(), "{none}");
        }
    }

    #[test]
    fn a_message_of_another_kind_is_an_error() {
        let told = write(&Call::Who);
        assert_eq!(read::<Call>(&told), Ok(Call::Who));
        assert!(read::<AgentOrder>(&told).is_err() && read::<ToldLetter>(&told).is_err());
        assert!(read::<Call>(&vec![b' '; MOST_BYTES + 1]).unwrap_err().contains("1048577 bytes"));
        assert!(read::<Heartbeat>(br#"{"incarnation":1,"trial":null,"written":2,"trouble":null,"more":3}"#).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn parts_are_the_text_again(letters in 0usize..3, rest in "[é€x]{0,40}") {
            let text = "€".repeat(letters * PART_BYTES / 3) + &rest;
            let all: Vec<(&str, bool)> = parts(&text).collect();
            prop_assert_eq!(&all.iter().map(|(part, _)| *part).collect::<String>(), &text);
            prop_assert!(all.iter().all(|(part, _)| part.len() <= PART_BYTES));
            prop_assert!(all.iter().rev().skip(1).all(|(_, more)| *more) && all.last().is_some_and(|(_, more)| !more));
        }
    }
}
