//! A command that a script gives to the shell.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

pub struct ShellCommand {
    pub text: Vec<u8>,
    /// What it finds on its standard input; if nothing, that of this program.
    pub input: Vec<u8>,
    /// Whether what it prints is kept for the script.
    pub is_read: bool,
}

impl ShellCommand {
    /// Its status as system(3) returns it, and what it has printed.
    ///
    /// # Errors
    /// There is no shell, or it cannot be spoken to.
    pub fn run(&self) -> io::Result<(i32, Vec<u8>)> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(OsStr::from_bytes(&self.text));
        shell.stdin(if self.input.is_empty() { Stdio::inherit() } else { Stdio::piped() });
        shell.stdout(if self.is_read { Stdio::piped() } else { Stdio::inherit() });
        let mut child = shell.spawn()?;
        let stdin = child.stdin.take();
        let done = thread::scope(|scope| {
            // It may print before it has read everything.
            scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(&self.input)));
            child.wait_with_output()
        })?;
        Ok((done.status.into_raw(), done.stdout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, input: &str, is_read: bool) -> (i32, String) {
        let command = ShellCommand { text: text.into(), input: input.into(), is_read };
        let (status, printed) = command.run().unwrap();
        (status, String::from_utf8(printed).unwrap())
    }

    #[test]
    fn a_command_has_a_status_and_what_it_has_printed() {
        assert_eq!(run("echo one; exit 3", "", true), (3 << 8, "one\n".to_owned()));
        assert_eq!(run("tr a b", "banana", true), (0, "bbnbnb".to_owned()));
        assert_eq!(run("exit 0", "", false), (0, String::new()));
    }
}
