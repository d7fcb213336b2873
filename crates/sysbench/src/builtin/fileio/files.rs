//! The files of the test: `test_file.0` and so on in the current directory, and no others.

use super::size;
use crate::console;
use crate::halt::Halt;
use crate::options::OptionSet;
use plimsoll_storage::files::FileSet;
use plimsoll_storage::layout::{Content, FileLayout, Open};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub const NAME: &str = "test_file";
/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;
const ASK_FOR_PREPARE: &str = "WARNING: Did you forget to run the prepare step?";

/// How files are opened beside being read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraFlags {
    pub sync: bool,
    pub dsync: bool,
    pub direct: bool,
}

impl ExtraFlags {
    fn read(options: &OptionSet) -> Result<ExtraFlags, Halt> {
        let mut flags = ExtraFlags::default();
        for flag in options.list("file_extra_flags") {
            match flag.as_str() {
                "sync" => flags.sync = true,
                "dsync" => flags.dsync = true,
                "direct" => flags.direct = true,
                other => return Err(Halt::Fatal(format!("Invalid value for file-extra-flags: {other}"))),
            }
        }
        Ok(flags)
    }

    pub fn text(self) -> String {
        let named = [(self.sync, "sync "), (self.dsync, "dsync "), (self.direct, "directio ")];
        let text: String = named.iter().filter(|(is_on, _)| *is_on).map(|(_, name)| *name).collect();
        if text.is_empty() { "(none)".to_owned() } else { text }
    }

    /// For open(2). A link is never followed.
    fn bits(self) -> i32 {
        let asked = [(self.sync, libc::O_SYNC), (self.dsync, libc::O_DSYNC), (self.direct, libc::O_DIRECT)];
        asked.iter().filter(|(is_on, _)| *is_on).fold(libc::O_NOFOLLOW, |bits, (_, flag)| bits | flag)
    }
}

pub struct TestFiles {
    pub count: u32,
    /// Bytes of all files together.
    pub total: u64,
    pub flags: ExtraFlags,
}

impl TestFiles {
    /// What the options say of them.
    ///
    /// # Errors
    /// What is wrong with one.
    pub fn read(options: &OptionSet) -> Result<TestFiles, Halt> {
        let (count, total) = (options.number("file_num"), options.number("file_total_size"));
        if !(1.0..=f64::from(i32::MAX)).contains(&count) {
            return Err(Halt::Fatal(format!("Invalid value for file-num: {count}")));
        }
        if total < 1.0 {
            return Err(Halt::Fatal(format!("Invalid value for file-total-size: {total}")));
        }
        Ok(TestFiles { count: count as u32, total: total as u64, flags: ExtraFlags::read(options)? })
    }

    /// Bytes of one file.
    pub fn each(&self) -> u64 {
        self.total / u64::from(self.count)
    }

    fn names(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|number| format!("{NAME}.{number}"))
    }

    pub fn prepare(&self) -> Result<(), Halt> {
        let say = |line: String| console::say(&line);
        say(format!("{} files, {}Kb each, {}Mb total", self.count, self.each() >> 10, self.total >> 20));
        say("Creating files for the test...".to_owned());
        say(format!("Extra file open flags: {}", self.flags.text()));
        let begun = Instant::now();
        let mut written = 0;
        for (number, name) in (0u32..).zip(self.names()) {
            let mut how = OpenOptions::new();
            let file = opened(how.read(true).write(true).create(true).mode(0o600), libc::O_NOFOLLOW, &name)?;
            let length = length(&file, &name)?;
            let what = match length {
                0 => "Creating file",
                short if short < self.each() => "Extending existing file",
                _ => "Reusing existing file",
            };
            say(format!("{what} {name}"));
            written += extend(&file, number, length, self.each())
                .map_err(|error| Halt::Fatal(format!("Failed to write file '{name}': {}", errno(&error))))?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        match written {
            0 => say("No bytes written.".to_owned()),
            bytes => say(format!(
                "{bytes} bytes written in {seconds:.2} seconds ({:.2} MiB/sec).",
                bytes as f64 / (1 << 20) as f64 / seconds
            )),
        }
        Ok(())
    }

    pub fn remove(&self) -> Result<(), Halt> {
        console::say("Removing test files...");
        for name in self.names() {
            match fs::symlink_metadata(&name) {
                Ok(found) if !found.is_file() => {
                    return Err(Halt::Fatal(format!("'{name}' is no file of the test; it stays")));
                }
                Ok(_) => fs::remove_file(&name)
                    .map_err(|error| Halt::Fatal(format!("Cannot remove file '{name}' {}", errno(&error))))?,
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Opens them for a test, or creates them anew, with `new_length` bytes, for the one that writes new files.
    ///
    /// # Errors
    /// One is not there or too short, or what is there is no file.
    pub fn open(&self, layout: &FileLayout, new_length: Option<u64>) -> Result<FileSet, Halt> {
        let files = self.names().map(|name| match new_length {
            Some(length) => self.created(&name, length),
            None => self.existing(&name),
        });
        let files = files.collect::<Result<Vec<File>, Halt>>()?;
        let open = Open { direct: self.flags.direct, dsync: self.flags.dsync };
        let paths = self.names().map(PathBuf::from).collect();
        Ok(FileSet { layout: layout.clone(), open, files, paths, directory: Path::new(".").to_owned() })
    }

    fn existing(&self, name: &str) -> Result<File, Halt> {
        let mut options = OpenOptions::new();
        let file = opened(options.read(true).write(true), self.flags.bits(), name)?;
        let length = length(&file, name)?;
        if length < self.each() {
            return Err(Halt::Fatal(format!(
                "Size of file '{name}' is {}B, but at least {}B is expected.\nWARNING: Did you run 'prepare' with \
                 different --file-total-size or --file-num values?",
                size(length),
                size(self.each())
            )));
        }
        Ok(file)
    }

    /// A new file in place of the one that is there.
    fn created(&self, name: &str, length: u64) -> Result<File, Halt> {
        let failed = |error: io::Error| Halt::Fatal(format!("'{name}': {error}"));
        match fs::symlink_metadata(name) {
            Ok(found) if !found.is_file() => return Err(Halt::Fatal(format!("'{name}' is no regular file"))),
            Ok(_) => fs::remove_file(name).map_err(failed)?,
            // Creating it tells what is wrong, if anything is.
            Err(_) => {}
        }
        let mut options = OpenOptions::new();
        let file = opened(options.read(true).write(true).create_new(true).mode(0o600), self.flags.bits(), name)?;
        file.set_len(length).map_err(failed)?;
        Ok(file)
    }
}

fn opened(options: &mut OpenOptions, flags: i32, name: &str) -> Result<File, Halt> {
    options.custom_flags(flags).open(name).map_err(|error| {
        let hint = if error.kind() == io::ErrorKind::NotFound { format!("\n{ASK_FOR_PREPARE}") } else { String::new() };
        Halt::Fatal(format!("Cannot open file '{name}' {}{hint}", errno(&error)))
    })
}

/// The length of a file of the test.
fn length(file: &File, name: &str) -> Result<u64, Halt> {
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Err(Halt::Fatal(format!("'{name}' is no regular file"))),
        Err(error) => Err(Halt::Fatal(format!("'{name}': {error}"))),
    }
}

fn errno(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    format!("errno = {} ({words})", error.raw_os_error().unwrap_or_default())
}

/// Writes a file from its end to its full length; the bytes written.
fn extend(file: &File, number: u32, from: u64, to: u64) -> io::Result<u64> {
    let mut piece = vec![0; PIECE];
    let mut at = from;
    while at < to {
        let bytes = &mut piece[..(to - at).min(PIECE as u64) as usize];
        Content::Random.fill(1, number, at, bytes);
        file.write_all_at(bytes, at)?;
        at += bytes.len() as u64;
    }
    file.sync_all()?;
    Ok(to.saturating_sub(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_the_test_creates_takes_the_place_of_the_old_one_and_of_nothing_else() {
        let directory = std::env::temp_dir().join(format!("plimsoll-test-files-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let name = |name: &str| directory.join(name).to_str().unwrap().to_owned();
        let files = TestFiles { count: 1, total: 8, flags: ExtraFlags::default() };
        let (old, link) = (name("old"), name("link"));
        fs::write(&old, "old text").unwrap();
        symlink(&old, &link).unwrap();
        assert_eq!(files.existing(&old).unwrap().metadata().unwrap().len(), 8);
        let refused = files.created(&link, 0).unwrap_err();
        assert_eq!(refused, Halt::Fatal(format!("'{link}' is no regular file")));
        let lengths = [0, 8].map(|length| files.created(&old, length).unwrap().metadata().unwrap().len());
        let text = fs::read(&old).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!((lengths, text), ([0, 8], vec![0; 8]));
    }
}
