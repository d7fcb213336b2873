//! Programs that a test writes itself.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that can be run at once.
///
/// A process of its own writes it. While this one had it open, another thread might fork, and what is open for writing
/// in that child is not executed (execve(2), ETXTBSY).
///
/// # Panics
/// If it cannot be written.
pub fn write_script(path: &Path, text: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path);
    let mut writer = shell.stdin(Stdio::piped()).spawn().expect("a shell can be started");
    let written = writer.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    let ended = writer.wait().expect("a child can be waited for");
    assert!(matches!(written, Some(Ok(()))) && ended.success(), "cannot write {}: {written:?}", path.display());
}
