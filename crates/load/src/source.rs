//! Where load comes from, as a value: whoever follows a load hears of it here and nowhere else.
//!
//! A source has loops, each of which counts on its own; where they run, against which endpoints and by which clock is
//! theirs alone. Who tells of them may tell of several at once. Every time that is told counts from the start of the load.
//! A load goes this way: every teller tells [`LoadEvent::Ready`], then [`LoadSource::start`]; every teller tells
//! [`LoadEvent::Drained`] or is lost, then [`LoadSource::finish`].

use crate::recorder::LoopTotals;
use crate::tally::{Names, Tally};
use crate::window::Limit;
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_model::samples::AgentSample;
use plimsoll_model::summary::AgentPoint;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What is known of a load before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFacts {
    /// Names of what is counted, in the order that tallies have them.
    pub names: Names,
    pub loops: usize,
    /// How many tell of it, each for loops of its own and on its own.
    pub tellers: usize,
    /// Transactions have a due time, so their response counts from it.
    pub open_loop: bool,
    pub warmup_ns: u64,
    pub limit: Limit,
}

/// Who is at the other end of a connection, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its process, if it is one of the machine that follows the load.
    pub pid: Option<u32>,
    /// What it says of itself in its greeting.
    pub version: Option<String>,
}

impl Peer {
    /// Whether there is none.
    pub fn is_nobody(&self) -> bool {
        *self == Peer::default()
    }
}

/// What a teller says once its loops have all their connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readiness {
    /// What serves them.
    pub server: Peer,
    /// The first two columns of what one of its connections was asked.
    pub answer: Vec<(String, String)>,
}

impl Readiness {
    /// Adds what another loop says.
    pub fn add(&mut self, other: Readiness) {
        if self.server.is_nobody() {
            self.server = other.server;
        }
        self.answer.extend(other.answer);
    }
}

/// What a teller tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadEvent {
    /// All its connections are made and prepared.
    Ready(Readiness),
    Interval(Box<Tally>),
    /// The last that it tells: no transaction is under way any more.
    Drained(LoopTotals),
    /// Why it does no more work than it has begun.
    Failed(String),
    /// One of the tellers is gone for good: it has told of no second that begins at this time or later.
    #[serde(skip)]
    Lost {
        agent: String,
        why: String,
        from_ns: u64,
    },
    /// What some loops and their machine did in a second, where they have one of their own.
    #[serde(skip)]
    Machine(Box<AgentSample>),
}

/// What the processes that make a load have used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub cpu: Duration,
    /// How long their threads were ready and had no CPU.
    pub waited: Option<Duration>,
}

/// A load of this machine, which begins when it is told to.
pub trait LocalLoad: LoadSource {
    /// Lets it begin at this time, or at once if it has passed.
    fn start_at(&mut self, at: Instant);
}

/// A load that its loops are ready for, or getting ready.
pub trait LoadSource {
    fn facts(&self) -> &LoadFacts;

    /// Lets the load begin once all tellers are ready: so long from now. Where it cannot, that is told as a failure; where
    /// somebody interrupts it meanwhile, it does not begin, and its tellers have ended.
    fn start(&mut self, is_interrupted: &dyn Fn() -> bool) -> Duration;

    /// What comes next; `None` if nothing came within `wait`. To be called again and again until the load is over.
    fn next(&mut self, wait: Duration) -> Option<LoadEvent>;

    /// Tellers that are gone although nobody told them to be, and that will tell nothing any more.
    fn ended(&self) -> usize;

    /// What its processes have used; `None` where that is not known.
    fn spent(&self) -> Option<Spent>;

    /// What was agreed with the agents that make it, once it has been started; nothing where it is made on this machine
    /// alone.
    fn agreed(&self) -> Option<AgreedLoad> {
        None
    }

    /// What each agent has had of it so far; nothing where it is made on this machine alone.
    fn agents(&self) -> Vec<AgentPoint> {
        Vec::new()
    }

    /// Gives back the memory of a tally that was told and is no longer needed.
    fn recycle(&mut self, tally: Tally);

    /// Ends the window now; the loops drain.
    fn stop(&mut self);

    /// What it has told could not be recorded: whoever else has it keeps it.
    fn was_not_recorded(&mut self) {}

    /// Ends the loops, whatever they are at.
    fn finish(self)
    where
        Self: Sized;

    /// Lets go of it: where its loops go on without us and keep what they tell, whoever comes next collects it.
    fn leave(self)
    where
        Self: Sized,
    {
        self.finish();
    }
}
