//! How to open a server, and who is told.

use crate::ServerError;
use crate::confine::Confinement;
use plimsoll_host::process::Lifetime;
use plimsoll_model::OpeningStep;
use std::ops::ControlFlow;
use std::time::Duration;

/// Long, because a large redo log may have to be recovered; a server that fails ends at once by itself.
const READY_WITHIN: Duration = Duration::from_secs(300);

/// A disk that others keep busy may let a server wait for seconds, not for minutes.
const HUNG_AFTER: Duration = Duration::from_secs(120);

pub(crate) type OpeningProgress<'a> = Box<dyn FnMut(OpeningStep, Duration) -> ControlFlow<()> + 'a>;

/// How long a start may take, and how long it may do nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartPatience {
    pub ready_within: Duration,
    pub hung_after: Duration,
}

/// How to open a server: for whom, how long it lives, whom to tell.
pub struct Opening<'a> {
    pub(crate) holder: &'a str,
    pub(crate) lifetime: Lifetime,
    pub(crate) patience: StartPatience,
    pub(crate) confinement: Confinement,
    pub(crate) progress: OpeningProgress<'a>,
}

impl<'a> Opening<'a> {
    /// For `holder`, which is shown to a second Plimsoll (the command line, say); the server dies with us, and has 5
    /// minutes to become ready. One that does nothing for 2 minutes is given up earlier.
    pub fn new(holder: &'a str) -> Opening<'a> {
        let progress = Box::new(|_, _| ControlFlow::Continue(()));
        Opening {
            holder,
            lifetime: Lifetime::WithPlimsoll,
            patience: StartPatience { ready_within: READY_WITHIN, hung_after: HUNG_AFTER },
            confinement: Confinement::default(),
            progress,
        }
    }

    /// The server stays up until it is stopped (`server start`).
    pub fn keep_running(self) -> Opening<'a> {
        Opening { lifetime: Lifetime::UntilStopped, ..self }
    }

    pub fn ready_within(self, ready_within: Duration) -> Opening<'a> {
        Opening { patience: StartPatience { ready_within, ..self.patience }, ..self }
    }

    /// A server that has done nothing for so long while it started is given up: neither computed, nor read, nor written.
    pub fn hung_after(self, hung_after: Duration) -> Opening<'a> {
        Opening { patience: StartPatience { hung_after, ..self.patience }, ..self }
    }

    /// The server runs within these limits.
    pub fn confined(self, confinement: Confinement) -> Opening<'a> {
        Opening { confinement, ..self }
    }

    /// `progress` is called several times per second with the current step and how long it has taken; `Break` gives up
    /// with [`ServerError::Interrupted`] and leaves nothing running.
    pub fn watched_by(self, progress: impl FnMut(OpeningStep, Duration) -> ControlFlow<()> + 'a) -> Opening<'a> {
        Opening { progress: Box::new(progress), ..self }
    }
}

/// Passes progress on and turns the watcher's `Break` into an error.
pub(crate) struct OpeningWatch<'w, 'a> {
    pub name: String,
    pub progress: &'w mut OpeningProgress<'a>,
}

impl OpeningWatch<'_, '_> {
    pub(crate) fn tell(&mut self, step: OpeningStep, since: Duration) -> Result<(), ServerError> {
        match (self.progress)(step, since) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ServerError::Interrupted { name: self.name.clone() }),
        }
    }
}
