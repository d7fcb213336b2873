//! A load in another process, as it is told on a socket: orders go there, lines come back.

use plimsoll_load::lines;
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::Duration;

/// How often orders are looked for.
const LOOK: Duration = Duration::from_millis(5);

/// The side that gives orders.
pub struct ToldLoad {
    pub facts: LoadFacts,
    orders: UnixStream,
    told: Receiver<String>,
    drained: usize,
    is_gone: bool,
}

impl ToldLoad {
    /// Waits for the first line, which says how many loops there are.
    ///
    /// # Errors
    /// None comes, or one of another load.
    pub fn begin(orders: UnixStream, facts: LoadFacts, patience: Duration) -> Result<ToldLoad, String> {
        let reader = orders.try_clone().map_err(|error| error.to_string())?;
        let told = lines_of(BufReader::new(reader));
        let head = told.recv_timeout(patience).map_err(|_| "it tells nothing of itself".to_owned())?;
        let loops = lines::read_head(&head, &facts.names).map_err(|error| error.to_string())?;
        Ok(ToldLoad { facts: LoadFacts { loops, tellers: loops, ..facts }, orders, told, drained: 0, is_gone: false })
    }

    pub fn order(&mut self, word: &str) {
        // One that is gone needs no orders.
        let _ = writeln!(self.orders, "{word}");
    }

    /// As [`LoadSource::next`].
    pub fn next(&mut self, wait: Duration) -> Option<LoadEvent> {
        match self.told.recv_timeout(wait) {
            Ok(line) => {
                let event = lines::read(&line, self.facts.names.shape());
                let event = event.unwrap_or_else(|error| LoadEvent::Failed(error.to_string()));
                self.drained += usize::from(matches!(event, LoadEvent::Drained(_)));
                Some(event)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.is_gone = true;
                None
            }
        }
    }

    /// Whether nothing more will be told.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// As [`LoadSource::ended`].
    pub fn ended(&self) -> usize {
        if self.is_gone { self.facts.loops - self.drained } else { 0 }
    }
}

/// The lines that come, one by one, until the other side has closed.
pub fn lines_of(reader: BufReader<UnixStream>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = reader.lines().map_while(Result::ok);
        lines.for_each(|line| drop(sender.send(line)));
    });
    receiver
}

/// The side that takes orders: tells what a load has to tell until it is to finish. `each` is called each time that
/// something may have been told, before it is.
///
/// # Errors
/// It cannot tell even who it is.
pub fn tell(
    load: &mut impl LoadSource,
    orders: &Receiver<String>,
    outside: &mut UnixStream,
    mut each: impl FnMut(Option<&LoadEvent>),
) -> io::Result<()> {
    writeln!(outside, "{}", lines::head(load.facts()))?;
    loop {
        match orders.try_recv().as_deref() {
            Ok("start") => drop(load.start(&|| false)),
            Ok("stop") => load.stop(),
            Ok(_) | Err(TryRecvError::Disconnected) => return Ok(()),
            Err(TryRecvError::Empty) => {}
        }
        let event = load.next(LOOK);
        each(event.as_ref());
        if let Some(event) = event {
            // Where nobody listens any more, the next order does not come either.
            let _ = writeln!(outside, "{}", lines::write(&event));
        }
    }
}
