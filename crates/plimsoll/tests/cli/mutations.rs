//! Random changes to the files of a recording, drawn from a number: the same number gives the same change.

use plimsoll_load::seed::Rng;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const SEED: u64 = 20_261_123;

/// In the place of a number.
const ABSURD: [&str; 12] = [
    "18446744073709551615",
    "9223372036854775808",
    "-9223372036854775808",
    "-1",
    "1e308",
    "-1e308",
    "1e999",
    "NaN",
    "Infinity",
    "340282366920938463463374607431768211456",
    "5e-324",
    "0",
];

/// In the place of any value.
const WRONG: [&str; 6] = ["\"\\u202e<script>\"", "[]", "{}", "null", "true", "[[[[{\"a\":[{}]}]]]]"];

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    AbsurdNumber,
    AbsurdTimes,
    HugeCounts,
    WrongType,
    LessOfAField,
    Truncated,
    Duplicated,
    Spliced,
    Flipped,
    Nested,
    Linked,
    Fifo,
    Directory,
    Removed,
    Endless,
    Reversed,
}

const KINDS: [Kind; 16] = [
    Kind::AbsurdNumber,
    Kind::AbsurdTimes,
    Kind::HugeCounts,
    Kind::WrongType,
    Kind::LessOfAField,
    Kind::Truncated,
    Kind::Duplicated,
    Kind::Spliced,
    Kind::Flipped,
    Kind::Nested,
    Kind::Linked,
    Kind::Fifo,
    Kind::Directory,
    Kind::Removed,
    Kind::Endless,
    Kind::Reversed,
];

/// One change of one file.
#[derive(Debug)]
pub struct Mutation {
    number: u64,
    kind: Kind,
    /// Within the recording.
    file: PathBuf,
}

impl Mutation {
    /// The `turn`th kind in the order of [`KINDS`], of a file that `number` decides.
    pub fn draw(turn: usize, number: u64, recording: &Path) -> Mutation {
        let kind = KINDS[turn % KINDS.len()];
        let mut files = Vec::new();
        collect(recording, &mut files);
        let is_series = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "ndjson" || ending == "hlog");
        let is_meant = |path: &PathBuf| match kind {
            Kind::AbsurdTimes | Kind::HugeCounts | Kind::Duplicated | Kind::Spliced | Kind::Reversed => is_series(path),
            _ => is_series(path) || path.extension().is_some_and(|ending| ending == "json"),
        };
        files.retain(is_meant);
        files.sort();
        let mut random = Rng::new(SEED, 0, number);
        let file = files[below(&mut random, files.len() as u64) as usize].clone();
        Mutation { number, kind, file: file.strip_prefix(recording).expect("it is in there").to_owned() }
    }

    pub fn apply(&self, recording: &Path) {
        let path = recording.join(&self.file);
        let mut random = Rng::new(SEED, 1, self.number);
        let text = fs::read_to_string(&path).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        let at = |random: &mut Rng| below(random, lines.len().max(1) as u64) as usize;
        let changed = match self.kind {
            Kind::AbsurdNumber => replaced(&text, &mut random, &ABSURD, is_number),
            Kind::WrongType => replaced(&text, &mut random, &WRONG, |_| true),
            Kind::AbsurdTimes => {
                let (before, after) = lines.split_at(lines.len() - lines.len() / 2);
                let late = everywhere(&after.join("\n"), |name| name == "t_ns", u64::MAX - 20_000_000_000);
                before.iter().flat_map(|line| [*line, "\n"]).collect::<String>() + &late
            }
            Kind::HugeCounts => everywhere(&text, |name| name != "t_ns" && name != "version", u64::MAX),
            Kind::LessOfAField => text.replacen(&field(&text, &mut random), "", 1),
            Kind::Truncated => text.chars().take(below(&mut random, text.len() as u64) as usize).collect(),
            Kind::Duplicated => lines.iter().flat_map(|line| [*line, "\n", line, "\n", line, "\n"]).collect(),
            Kind::Reversed => lines[..1].iter().chain(lines[1..].iter().rev()).flat_map(|line| [*line, "\n"]).collect(),
            Kind::Spliced => {
                let mut files = Vec::new();
                collect(recording, &mut files);
                files.sort();
                let other = fs::read(&files[below(&mut random, files.len() as u64) as usize]).expect("it is there");
                let other = String::from_utf8_lossy(&other);
                text.clone() + other.lines().nth(at(&mut random)).unwrap_or("{}") + "\n" + &text
            }
            Kind::Flipped => {
                let mut bytes = text.into_bytes();
                for _ in 0..1 + below(&mut random, 8) {
                    let place = below(&mut random, bytes.len() as u64) as usize;
                    bytes[place] ^= 1 << below(&mut random, 8);
                }
                return fs::write(&path, bytes).expect("written");
            }
            Kind::Nested => replaced(&text, &mut random, &["[".repeat(100_000).as_str()], |_| true),
            Kind::Linked => return link(&path),
            Kind::Fifo => {
                fs::remove_file(&path).expect("removed");
                return mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
            }
            Kind::Directory => {
                fs::remove_file(&path).expect("removed");
                return fs::create_dir(&path).expect("a directory");
            }
            Kind::Removed => return fs::remove_file(&path).expect("removed"),
            Kind::Endless => {
                let file = File::options().append(true).open(&path);
                return file.and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
            }
        };
        fs::write(&path, changed).expect("written");
    }
}

fn below(random: &mut Rng, end: u64) -> u64 {
    random.between(0, end.max(1) - 1)
}

/// All files below a directory.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        match entry.file_type().expect("a type").is_dir() {
            true => collect(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("copied")),
        }
    }
}

/// To what nobody outside the recording may be shown.
fn link(path: &Path) {
    fs::remove_file(path).expect("removed");
    std::os::unix::fs::symlink("/etc/passwd", path).expect("a link");
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

/// Places of values in JSON text: behind a colon, up to what ends a plain one.
fn values(text: &str) -> Vec<(usize, usize)> {
    let place = |(at, _): (usize, &str)| {
        let rest = &text[at + 1..];
        let from = at + 1 + (rest.len() - rest.trim_start_matches(' ').len());
        let length = text[from..].find([',', '}', ']', '\n']).unwrap_or(0);
        (length > 0).then_some((from, from + length))
    };
    text.match_indices(':').filter_map(place).collect()
}

/// One value that is meant, replaced by one of these.
fn replaced(text: &str, random: &mut Rng, by: &[&str], is_meant: impl Fn(&str) -> bool) -> String {
    let places: Vec<_> = values(text).into_iter().filter(|&(from, to)| is_meant(&text[from..to])).collect();
    let by = by[below(random, by.len() as u64) as usize];
    match places.len() {
        // A log of latencies has times and histograms instead.
        0 => text.replacen(",1.", &format!(",{by}."), 1),
        some => {
            let (from, to) = places[below(random, some as u64) as usize];
            format!("{}{by}{}", &text[..from], &text[to..])
        }
    }
}

/// Every whole number of these fields as this number; every time of a log as well.
fn everywhere(text: &str, is_meant: impl Fn(&str) -> bool + Copy, number: u64) -> String {
    fn change(value: &mut Value, name: &str, is_meant: impl Fn(&str) -> bool + Copy, number: u64) {
        match value {
            Value::Object(all) => all.iter_mut().for_each(|(name, value)| change(value, name, is_meant, number)),
            Value::Array(all) => all.iter_mut().for_each(|value| change(value, name, is_meant, number)),
            Value::Number(one) if one.is_u64() && is_meant(name) => *value = number.into(),
            _ => {}
        }
    }
    let line = |line: &str| match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            change(&mut value, "", is_meant, number);
            value.to_string() + "\n"
        }
        Err(_) => line.replacen(",0.", &format!(",{number}."), 1) + "\n",
    };
    text.lines().map(line).collect()
}

/// The name of a field, with its quotes.
fn field(text: &str, random: &mut Rng) -> String {
    let names: Vec<&str> = text.match_indices("\":").filter_map(|(at, _)| text[..at].rsplit('"').next()).collect();
    match names.len() {
        0 => "Tag=".to_owned(),
        some => format!("\"{}\":", names[below(random, some as u64) as usize]),
    }
}
