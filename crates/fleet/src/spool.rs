//! What an agent's load has told, on its own disk until the coordinator has recorded it: a broker acknowledges before it
//! syncs, so that it is never the only one who has it.

use crate::message::{ToldLetter, Word, parts};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Whose spool it is: agents of one home have one directory.
#[derive(Clone, Copy, Debug)]
pub struct SpoolOwner<'o> {
    pub agent: &'o str,
    pub trial: &'o str,
}

impl SpoolOwner<'_> {
    /// A trial's name is a stranger's: nothing of it leads elsewhere.
    fn name(self, incarnation: u64) -> String {
        format!("{}{incarnation}.jsonl", self.prefix())
    }

    /// What the names of its files begin with, and nobody else's.
    fn prefix(self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        format!("{}.{}.", self.trial.chars().map(plain).take(80).collect::<String>(), self.agent)
    }
}

/// The letters of one trial, as one file: one line of JSON each.
#[derive(Debug)]
pub struct Spool {
    file: File,
    trial: String,
    incarnation: u64,
    /// Where each letter begins, and where the next will.
    begins: Vec<u64>,
}

impl Spool {
    /// Of a trial that begins.
    ///
    /// # Errors
    /// The operating system's.
    pub fn create(directory: &Path, of: SpoolOwner<'_>, incarnation: u64) -> io::Result<Spool> {
        fs::create_dir_all(directory)?;
        let path = directory.join(of.name(incarnation));
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Spool { file, trial: of.trial.to_owned(), incarnation, begins: vec![0] })
    }

    /// How many letters there are.
    pub fn written(&self) -> u64 {
        self.begins.len() as u64 - 1
    }

    /// Writes a word, in as many letters as it takes.
    ///
    /// # Errors
    /// The operating system's; nothing of the word counts then.
    pub fn write(&mut self, word: &Word) -> io::Result<()> {
        let (text, mut lines, mut begins) = (word.text(), Vec::new(), Vec::new());
        let before = self.begins.last().copied().unwrap_or_default();
        for (number, (part, more)) in (self.written()..).zip(parts(&text)) {
            let (trial, text) = (self.trial.clone(), part.to_owned());
            let told = ToldLetter { trial, incarnation: self.incarnation, number, text, more };
            lines.extend_from_slice(&crate::message::write(&told));
            lines.push(b'\n');
            begins.push(before + lines.len() as u64);
        }
        if let Err(error) = self.file.write_all(&lines) {
            // Half a line would end up in front of the next.
            self.file.set_len(before)?;
            return Err(error);
        }
        self.begins.extend(begins);
        Ok(())
    }

    /// The letter of this number, as it is sent; `None` if there is none yet.
    ///
    /// # Errors
    /// The operating system's.
    pub fn letter(&self, number: u64) -> io::Result<Option<Vec<u8>>> {
        let at = number as usize;
        let (Some(from), Some(to)) = (self.begins.get(at), self.begins.get(at + 1)) else { return Ok(None) };
        let mut line = vec![0; (to - from - 1) as usize];
        self.file.read_exact_at(&mut line, *from)?;
        Ok(Some(line))
    }
}

/// The letters that a trial of an earlier incarnation of an agent, or of this one, has left behind; those of half a line are
/// none.
pub fn left_of(directory: &Path, of: SpoolOwner<'_>) -> io::Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for path in files(directory, of)? {
        let lines = BufReader::new(File::open(path)?).split(b'\n');
        all.extend(lines.map_while(Result::ok).filter(|line| crate::message::read::<ToldLetter>(line).is_ok()));
    }
    Ok(all)
}

/// Removes what a trial of an agent has left behind.
pub fn remove_of(directory: &Path, of: SpoolOwner<'_>) {
    for path in files(directory, of).unwrap_or_default() {
        let _ = fs::remove_file(path);
    }
}

fn files(directory: &Path, of: SpoolOwner<'_>) -> io::Result<Vec<PathBuf>> {
    let prefix = of.prefix();
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix) && name.ends_with(".jsonl")) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{PART_BYTES, read};

    fn of(trial: &str) -> SpoolOwner<'_> {
        SpoolOwner { agent: "a1", trial }
    }

    #[test]
    fn letters_are_what_was_written_and_outlive_the_agent() {
        let home = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(home.path(), of("t-1"), 7).unwrap();
        let long = "x".repeat(PART_BYTES + 5);
        for text in ["one", &long, "three"] {
            spool.write(&Word::Event(text.to_owned())).unwrap();
        }
        assert_eq!(spool.written(), 4);
        let letter = |number| read::<ToldLetter>(&spool.letter(number).unwrap().unwrap()).unwrap();
        assert_eq!((letter(0).text.as_str(), letter(0).more, letter(3).number), ("event one", false, 3));
        assert!(letter(1).more && !letter(2).more && letter(1).incarnation == 7);
        assert_eq!(spool.letter(4).unwrap(), None);
        let left = left_of(home.path(), of("t-1")).unwrap();
        assert_eq!((left.len(), &left[3]), (4, &spool.letter(3).unwrap().unwrap()));
        assert!(
            left_of(home.path(), of("t-10")).unwrap().is_empty() && left_of(home.path(), of("t")).unwrap().is_empty()
        );
        let other = SpoolOwner { agent: "a10", trial: "t-1" };
        assert!(left_of(home.path(), other).unwrap().is_empty());
        remove_of(home.path(), other);
        assert_eq!(left_of(home.path(), of("t-1")).unwrap().len(), 4);
        remove_of(home.path(), of("t-1"));
        assert!(left_of(home.path(), of("t-1")).unwrap().is_empty());
    }

    #[test]
    fn half_a_letter_is_none_and_a_trial_leads_nowhere_else() {
        let home = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(home.path(), of("../../t/\u{0}"), 1).unwrap();
        let path = home.path().join(of("../../t/\u{0}").name(1));
        assert_eq!(path.parent(), Some(home.path()));
        spool.write(&Word::Event("one".to_owned())).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
        assert_eq!(left_of(home.path(), of("../../t/\u{0}")).unwrap().len(), 1);
        assert!(Spool::create(home.path(), of("../../t/\u{0}"), 1).is_err(), "one incarnation has a trial once");
    }
}
