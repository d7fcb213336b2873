//! Whole inputs to begin with: those of `corpus/`, and what the repository has anyway.

use anyhow::Context;
use plimsoll_wire::frame;
use std::fs;
use std::path::{Path, PathBuf};

/// An input that is read to its end.
#[derive(Clone, Debug)]
pub struct CorpusEntry {
    /// Its file, from the root of the repository.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// A place of the repository.
pub fn path(place: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(place)
}

/// The files below a directory of the repository whose names end like this, in the order of their names.
///
/// # Errors
/// There is none, or one cannot be read.
pub fn files(directory: &str, endings: &[&str]) -> anyhow::Result<Vec<CorpusEntry>> {
    let mut found = Vec::new();
    collect(directory, endings, &mut found)?;
    found.sort_by(|one, other| one.name.cmp(&other.name));
    anyhow::ensure!(!found.is_empty(), "{directory} has no files that end in {}", endings.join(", "));
    Ok(found)
}

fn collect(directory: &str, endings: &[&str], found: &mut Vec<CorpusEntry>) -> anyhow::Result<()> {
    for entry in fs::read_dir(path(directory)).with_context(|| format!("cannot list {directory}"))? {
        let entry = entry?;
        let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&name, endings, found)?;
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {name}"))?;
            found.push(CorpusEntry { name, bytes });
        }
    }
    Ok(())
}

/// Packets as people write them, one in a line: `1: 05"hello" fb # a comment` is packet number 1, whose payload has the
/// byte 5, five letters and the byte 0xfb. Lengths of packets are filled in.
///
/// # Errors
/// A line is neither a packet nor a comment.
pub fn packets(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        packet(line.trim(), &mut bytes).with_context(|| format!("line {number}"))?;
    }
    Ok(bytes)
}

fn packet(line: &str, out: &mut Vec<u8>) -> anyhow::Result<()> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(());
    }
    let (sequence, payload) = line.split_once(':').context("a packet begins with its number and a colon")?;
    let start = frame::begin(out);
    let mut rest = payload.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        rest = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (text, after) = quoted.split_once('"').context("a text without its end")?;
                out.extend_from_slice(text.as_bytes());
                after
            }
            None => {
                let (byte, after) = rest.split_at_checked(2).context("half a byte")?;
                out.push(u8::from_str_radix(byte, 16).with_context(|| format!("`{byte}` is no byte"))?);
                after
            }
        }
        .trim_start();
    }
    frame::finish(out, start, sequence.parse::<u8>().context("a packet has a number")?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_are_written() {
        let bytes = packets("# two of them\n1: 05\"hello\" fbFF # and a comment\n\n2:\n").unwrap();
        assert_eq!(bytes, b"\x08\0\0\x01\x05hello\xfb\xff\0\0\0\x02");
        for wrong in ["05", "1: 0", "1: \"x", "1: zz", "x: 05"] {
            assert!(packets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_are_found_below_a_directory() {
        let all = files("crates/fuzz/src", &[".rs"]).unwrap();
        let names: Vec<&str> = all.iter().map(|entry| entry.name.as_str()).collect();
        assert!(names.is_sorted() && names.contains(&"crates/fuzz/src/target/mod.rs"), "{names:?}");
        assert!(files("crates/fuzz/src", &[".nothing"]).is_err());
    }
}
