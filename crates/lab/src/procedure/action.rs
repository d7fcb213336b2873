//! What a plan wants done outside of the database: commands of the user's own, and things that a person does by hand.

use super::UnderWay;
use super::limits;
use crate::error::LabError;
use crate::watch::{Event, Watcher};
use plimsoll_plan::lab::Action;
use plimsoll_server::process::{Lifetime, scrub, spawn};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(10);
/// As many last lines of what a command printed stand in the message that it failed.
const TOLD: usize = 8;

impl UnderWay<'_> {
    /// Does all of them in turn. What commands print goes to `<when>-<place>.txt` in the trial's directory.
    pub fn actions(&mut self, actions: &[Action], when: &str, datadir: Option<&Path>) -> Result<(), LabError> {
        for (index, action) in actions.iter().enumerate() {
            match action {
                Action::Command(line) => self.command(line, &format!("{when}-{}", index + 1), datadir)?,
                Action::Prompt(text) => self.by_hand(text)?,
            }
        }
        Ok(())
    }

    fn by_hand(&mut self, text: &str) -> Result<(), LabError> {
        match self.watch.done_by_hand(text) {
            _ if self.watch.interrupted() => Err(LabError::Interrupted),
            true => Ok(()),
            false => Err(LabError::Environment(format!("nobody was there who could do this by hand: {text}"))),
        }
    }

    /// Runs `sh -c <line>` in a scrubbed environment that says which trial it is for.
    pub fn command(&mut self, line: &str, name: &str, datadir: Option<&Path>) -> Result<(), LabError> {
        self.watch.tell(Event::Doing(line));
        let path = self.writer.directory().join(format!("{name}.txt"));
        let failed = |what: String| {
            let printed = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = printed.lines().collect();
            let told = lines[lines.len().saturating_sub(TOLD)..].join("\n");
            LabError::Environment(format!("the command `{line}` {what}; it printed:\n{told}"))
        };
        let unable = |error: std::io::Error| LabError::Environment(format!("cannot run `{line}`: {error}"));
        let output = File::create(&path).map_err(unable)?;
        let mut command = Command::new("sh");
        scrub(&mut command, self.writer.directory(), &std::env::temp_dir());
        command.args(["-c", line]).env("PLIMSOLL_VARIANT", &self.trial.label);
        command.env("PLIMSOLL_TRIAL", self.trial.index.to_string());
        if let Some(datadir) = datadir {
            command.env("PLIMSOLL_DATADIR", datadir);
        }
        command.stdout(output.try_clone().map_err(unable)?).stderr(output);
        let mut child = spawn(command, Lifetime::WithPlimsoll).map_err(unable)?;
        let begun = Instant::now();
        loop {
            match child.try_wait().map_err(unable)? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(failed(format!("failed ({status})"))),
                None if self.watch.interrupted() => {
                    end(&mut child);
                    return Err(LabError::Interrupted);
                }
                None if begun.elapsed() > limits::COMMAND => {
                    end(&mut child);
                    return Err(failed(format!("took longer than {} s", limits::COMMAND.as_secs())));
                }
                None => thread::sleep(LOOK),
            }
        }
    }
}

/// Kills a command with everything that it started in its session.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It is ours and was not waited for, so its number is still its own.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
