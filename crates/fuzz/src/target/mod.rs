//! What is attacked: each target has inputs to begin with, changes them in its way, and knows what has to hold.

mod loads;
mod options;
mod packets;
mod plans;
mod recordings;

use crate::corpus::CorpusEntry;
use clap::ValueEnum;
use plimsoll_load::seed::Rng;
use plimsoll_plan::lab::Where;

pub trait FuzzTarget: Send {
    /// As it is typed.
    fn name(&self) -> &'static str;

    /// Whole inputs, at least one.
    fn entries(&self) -> &[CorpusEntry];

    /// An input that is made of an entry; a pure function of its place and what is drawn.
    fn changed(&self, entry: usize, random: &mut Rng) -> Vec<u8>;

    /// Reads an input that was made of an entry: true if to its end, false if it was refused as it should be.
    ///
    /// # Errors
    /// What does not hold, in words.
    fn read(&mut self, entry: usize, input: &[u8]) -> Result<bool, String>;
}

/// The targets by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetKind {
    /// What a server sends: greetings, answers to a login, answers to commands.
    Packets,
    /// Plan files.
    Plans,
    /// Option files of servers and clients.
    Options,
    /// Files of recordings, which are read and reported.
    Recordings,
    /// What a source of load in another process tells.
    Loads,
}

impl TargetKind {
    /// The target with its inputs to begin with.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn open(self) -> anyhow::Result<Box<dyn FuzzTarget>> {
        Ok(match self {
            TargetKind::Packets => Box::new(packets::Packets::open()?),
            TargetKind::Plans => Box::new(plans::Plans::open()?),
            TargetKind::Options => Box::new(options::OptionFiles::open()?),
            TargetKind::Recordings => Box::new(recordings::Recordings::open()?),
            TargetKind::Loads => Box::new(loads::Loads::open()?),
        })
    }
}

/// A message about a text names a line of it. One past its end is where it ends too early.
fn is_in(text: &str, line: usize) -> Result<(), String> {
    let lines = text.lines().count() + 1;
    match (1..=lines).contains(&line) {
        true => Ok(()),
        false => Err(format!("refused with line {line} of {lines}")),
    }
}

/// The same, if it is this text that the message is about: what it names has its own lines.
fn is_of(file: &str, text: &str, at: &Where) -> Result<(), String> {
    if at.file == file { is_in(text, at.line) } else { Ok(()) }
}
