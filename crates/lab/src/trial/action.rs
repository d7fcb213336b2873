//! What a plan wants done outside of the database: the user's own commands, and things that a person does by hand.

use super::UnderWay;
use super::limits;
use crate::command;
use crate::error::LabError;
use plimsoll_plan::lab::Action;
use plimsoll_watch::{Event, Watcher};
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(10);
/// The number of last lines of a command's output in the message that it failed.
const TOLD: usize = 8;

impl UnderWay<'_> {
    /// Does all of them in turn. What commands print goes to `<when>-<place>.txt` in the trial's directory.
    pub fn actions(&mut self, actions: &[Action], when: &str, datadir: Option<&Path>) -> Result<(), LabError> {
        for (index, action) in actions.iter().enumerate() {
            match action {
                Action::Command(line) => {
                    self.command(line, &format!("{when}-{}", index + 1), datadir, limits::COMMAND)?;
                }
                Action::Prompt(text) => self.by_hand(text)?,
            }
        }
        Ok(())
    }

    fn by_hand(&mut self, text: &str) -> Result<(), LabError> {
        match self.watch.done_by_hand(text) {
            _ if self.watch.interrupted() => Err(LabError::Interrupted),
            true => Ok(()),
            false => Err(LabError::Environment(format!("nobody was there to do this by hand: {text}"))),
        }
    }

    /// Runs `sh -c <line>` in a scrubbed environment that says which trial it is for, and ends it after `limit`.
    pub fn command(&mut self, line: &str, name: &str, datadir: Option<&Path>, limit: Duration) -> Result<(), LabError> {
        self.watch.tell(Event::Doing(line));
        let path = self.writer.directory().join(format!("{name}.txt"));
        let failed = |what: String| {
            let printed = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = printed.lines().collect();
            // In one line, since a reason has only one.
            let told = match &lines[lines.len().saturating_sub(TOLD)..] {
                [] => "nothing".to_owned(),
                last => last.join(" | "),
            };
            LabError::Environment(format!("the command `{line}` {what}; it printed {told}"))
        };
        let unable = |error: std::io::Error| LabError::Environment(format!("cannot run `{line}`: {error}"));
        let output = File::create(&path).map_err(unable)?;
        let mut shell = command::shell(line, self.writer.directory());
        shell.env("PLIMSOLL_VARIANT", &self.trial.label).env("PLIMSOLL_TRIAL", self.trial.index.to_string());
        if let Some(datadir) = datadir {
            shell.env("PLIMSOLL_DATADIR", datadir);
        }
        shell.stdout(output.try_clone().map_err(unable)?).stderr(output);
        let mut child = command::start(shell).map_err(unable)?;
        let begun = Instant::now();
        while !command::has_ended(&child) {
            let too_late = begun.elapsed() > limit;
            if too_late || self.watch.interrupted() {
                command::end(&mut child).map_err(unable)?;
                return Err(match too_late {
                    true => failed(format!("took longer than {} s", limit.as_secs())),
                    false => LabError::Interrupted,
                });
            }
            thread::sleep(LOOK);
        }
        match command::end(&mut child).map_err(unable)? {
            status if status.success() => Ok(()),
            status => Err(failed(format!("failed ({status})"))),
        }
    }
}
