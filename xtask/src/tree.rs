//! The files of the repository, without what git, cargo and npm keep for themselves and what they built.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Folders, from the root of the repository.
const SKIPPED: &[&str] = &[".git", "target", "web/node_modules", "web/dist"];

pub struct File {
    /// From the root of the repository.
    pub path: String,
    /// None if it is no text.
    pub text: Option<String>,
}

pub fn files(root: &Path) -> anyhow::Result<Vec<File>> {
    let mut found = Vec::new();
    walk(root, root, &mut found)?;
    Ok(found)
}

fn walk(root: &Path, directory: &Path, found: &mut Vec<File>) -> anyhow::Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let place = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if SKIPPED.contains(&place.as_str()) || entry.file_type()?.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, found)?;
        } else {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {place}"))?;
            found.push(File { path: place, text: String::from_utf8(bytes).ok() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_all_but_what_was_built_and_knows_text() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["docs/deep", "docs/target", "target/debug", ".git", ".ci"] {
            let directory = root.path().join(directory);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("file"), "words").unwrap();
            fs::write(directory.join("binary"), [0xff, 0xfe]).unwrap();
        }
        let found = files(root.path()).unwrap();
        let mut places: Vec<_> = found.iter().map(|file| (file.path.clone(), file.text.is_some())).collect();
        places.sort_unstable();
        let expected = [".ci", "docs/deep", "docs/target"].map(|folder| {
            [("binary", false), ("file", true)].map(|(name, is_text)| (format!("{folder}/{name}"), is_text))
        });
        assert_eq!(places, expected.concat());
    }
}
