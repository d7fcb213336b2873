//! An option file with all that it includes, line by line, as a server would read it (MySQL manual, "Using Option Files";
//! MariaDB documentation, "Configuring MariaDB with Option Files").

use plimsoll_plan::option_file::{LineContent, lines};
use plimsoll_plan::origin::Where;

/// How deep servers follow includes (MySQL 9.7, `my_default`: ten levels).
const DEEPEST: usize = 10;
/// How many bytes of a line servers read at once, its end among them (the same).
const LONGEST: usize = 4096;
/// Most files that are read.
const MOST_FILES: usize = 1000;
/// The group of what stands below a group without a name: no server reads it.
pub const NAMELESS: &str = "[]";

/// Where option files come from.
pub trait ConfigSources {
    /// The bytes of a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read(&mut self, file: &str) -> Result<Vec<u8>, String>;

    /// The option files of a directory, in the order in which they are read.
    ///
    /// # Errors
    /// Why they cannot be listed.
    fn list(&mut self, directory: &str) -> Result<Vec<String>, String>;
}

/// An option as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenOption {
    pub at: Where,
    /// Of its group; empty before the first.
    pub group: String,
    pub name: String,
    pub value: Option<String>,
}

/// What is no option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    pub at: Where,
    /// Of its group; empty before the first.
    pub group: String,
    /// What stands there, shortened.
    pub found: String,
    /// What is wrong with it, in words that a full stop or more words may follow.
    pub why: String,
    pub effect: OddityEffect,
}

/// What servers do with a line that is no option (`my_default` of both vendors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OddityEffect {
    /// They do not start.
    Stops,
    /// Those that read its group do not start.
    StopsInGroup,
    /// They go on without it.
    PassedOver,
}

/// All that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    pub files: Vec<String>,
    pub lines: usize,
    /// In the order in which servers meet them: of two, the later counts.
    pub options: Vec<WrittenOption>,
    pub oddities: Vec<Oddity>,
}

/// Reads a file and what it includes.
///
/// # Errors
/// Why the file itself cannot be read. What it includes and cannot be read is an oddity.
pub fn read(file: &str, files: &mut dyn ConfigSources) -> Result<ReadOptions, String> {
    let mut reader = Reader { files, found: ReadOptions::default(), open: Vec::new(), group: String::new() };
    reader.file(file)?;
    Ok(reader.found)
}

struct Reader<'f> {
    files: &'f mut dyn ConfigSources,
    found: ReadOptions,
    /// The files that are being read, the outermost first.
    open: Vec<String>,
    /// The group in which the innermost of them is.
    group: String,
}

impl Reader<'_> {
    fn file(&mut self, file: &str) -> Result<(), String> {
        let bytes = self.files.read(file)?;
        self.found.files.push(file.to_owned());
        self.open.push(file.to_owned());
        let text = String::from_utf8_lossy(&bytes);
        self.found.lines += text.lines().count();
        // Each file begins without a group, and what includes it goes on in its own.
        let outer = std::mem::take(&mut self.group);
        for (line, written, content) in lines(&text) {
            let at = Where { file: file.to_owned(), line };
            if written.len() >= LONGEST {
                let why =
                    format!("It is a line of {} bytes: servers read at most {} at once", written.len(), LONGEST - 1);
                self.odd(&at, &unquotable(written), why, OddityEffect::PassedOver);
                continue;
            }
            match content {
                LineContent::Group(name) => self.group = name.to_owned(),
                LineContent::Setting(name, value) => {
                    let (group, name) = (self.group.clone(), name.to_owned());
                    self.found.options.push(WrittenOption { at, group, name, value });
                }
                LineContent::Include => self.include(&at, written),
                LineContent::Unreadable if written.starts_with('[') => self.odd_group(&at, written),
                LineContent::Unreadable => {
                    let why = "It is no option: accepted is [group], name or name = value".to_owned();
                    self.odd(&at, &unquotable(written), why, OddityEffect::StopsInGroup);
                }
            }
        }
        self.group = outer;
        self.open.pop();
        Ok(())
    }

    /// A group without a name or without an end.
    fn odd_group(&mut self, at: &Where, written: &str) {
        let (why, effect) = match written.contains(']') {
            true => ("It is a group without a name, which no server reads", OddityEffect::PassedOver),
            false => ("It begins a group and has no ]", OddityEffect::Stops),
        };
        self.odd(at, written, why.to_owned(), effect);
        self.group = NAMELESS.to_owned();
    }

    fn include(&mut self, at: &Where, written: &str) {
        let directive = written.strip_prefix('!').unwrap_or(written).trim_start();
        let (word, path) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let path = path.trim();
        let included = match (word, path) {
            ("include" | "includedir", "") => Err(("It names nothing to include".to_owned(), OddityEffect::Stops)),
            ("include", file) => Ok(vec![file.to_owned()]),
            ("includedir", directory) => {
                self.files.list(directory).map_err(|why| (format!("{directory} {why}"), OddityEffect::Stops))
            }
            _ => {
                let why = "Servers know no such directive: they know !include and !includedir".to_owned();
                Err((why, OddityEffect::PassedOver))
            }
        };
        let files = match included {
            Ok(files) => files,
            Err((why, effect)) => return self.odd(at, written, why, effect),
        };
        for file in files {
            let refused = if self.open.contains(&file) {
                Some(format!("{file} includes itself; servers stop after {DEEPEST} levels"))
            } else if self.open.len() > DEEPEST {
                Some(format!("Servers follow includes {DEEPEST} levels deep, and this is deeper"))
            } else if self.found.files.len() >= MOST_FILES {
                Some(format!("{MOST_FILES} files have been read; this is left out"))
            } else {
                self.file(&file).err().map(|why| format!("{file} {why}"))
            };
            if let Some(why) = refused {
                self.odd(at, written, why, OddityEffect::PassedOver);
            }
        }
    }

    fn odd(&mut self, at: &Where, written: &str, why: String, effect: OddityEffect) {
        let found = written.chars().take(80).collect();
        self.found.oddities.push(Oddity { at: at.clone(), group: self.group.clone(), found, why, effect });
    }
}

/// The first word of a line that is no option: what stands behind it may be a password, and so may a word that stands alone.
fn unquotable(written: &str) -> String {
    let (word, rest) = written.split_once(char::is_whitespace).unwrap_or(("", written));
    if rest.is_empty() { word.to_owned() } else { format!("{word} …").trim_start().to_owned() }
}
