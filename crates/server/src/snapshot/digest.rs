//! Verifies copies: size and SHA-256 of every file.

use super::tree;
use crate::ServerError;
use crate::error::DuringServer;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const BUFFER: usize = 1 << 20;

/// The content of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    pub bytes: u64,
    /// SHA-256, in hexadecimal.
    pub sha256: String,
}

/// Reads all files below `tree`. Returns their contents by their paths in it. `go_on` is asked before each one.
///
/// # Errors
/// [`HostError::Io`] naming the file; [`ServerError::Interrupted`].
pub fn of(tree: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<BTreeMap<String, Contents>, ServerError> {
    let mut all = BTreeMap::new();
    for (name, _) in tree::files(tree)? {
        if !go_on() {
            return Err(ServerError::Interrupted { name: tree.display().to_string() });
        }
        all.insert(name.to_string_lossy().into_owned(), of_file(&tree.join(&name))?);
    }
    Ok(all)
}

fn of_file(path: &Path) -> Result<Contents, ServerError> {
    let mut file = File::open(path).during("open", path)?;
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; BUFFER]);
    loop {
        let read = file.read(&mut buffer).during("read", path)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
    tree::forget(&file);
    Ok(Contents { bytes, sha256: hex(&hash.finalize()) })
}

/// SHA-256 of a text, in hexadecimal.
pub fn of_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Verifies that `copy` has the same files with the same contents as `original`. Returns these contents.
///
/// # Errors
/// [`ServerError::NotEqual`] names the first file that differs; else as [`of`].
pub fn prove(
    original: &Path,
    copy: &Path,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<BTreeMap<String, Contents>, ServerError> {
    let (ours, theirs) = (of(original, go_on)?, of(copy, go_on)?);
    let names = ours.keys().chain(theirs.keys());
    let found = names.into_iter().find_map(|name| match (ours.get(name), theirs.get(name)) {
        (Some(one), Some(other)) if one == other => None,
        (Some(one), Some(other)) if one.bytes == other.bytes => Some(format!("`{name}` has different contents")),
        (Some(one), Some(other)) => Some(format!("`{name}` has {} bytes, not {}", other.bytes, one.bytes)),
        (Some(_), None) => Some(format!("`{name}` is missing")),
        (None, _) => Some(format!("`{name}` is not in the original")),
    });
    match found {
        None => Ok(ours),
        Some(found) => Err(ServerError::NotEqual { original: original.to_owned(), copy: copy.to_owned(), found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir(tree.path().join("db")).unwrap();
        fs::write(tree.path().join("db/t.ibd"), "abc").unwrap();
        fs::write(tree.path().join("ibdata1"), "").unwrap();
        tree
    }

    #[test]
    fn digests_are_those_of_the_standard() {
        let contents = of(tree().path(), &mut || true).unwrap();
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(contents["db/t.ibd"], Contents { bytes: 3, sha256: abc.to_owned() });
    }

    #[test]
    fn a_copy_that_was_tampered_with_is_not_equal() {
        let original = tree();
        assert!(prove(original.path(), tree().path(), &mut || true).is_ok());
        for (name, text, expected) in [
            ("db/t.ibd", Some("abd"), "`db/t.ibd` has different contents"),
            ("ibdata1", Some("x"), "`ibdata1` has 1 bytes, not 0"),
            ("ibdata1", None, "`ibdata1` is missing"),
            ("db/u.ibd", Some(""), "`db/u.ibd` is not in the original"),
        ] {
            let copy = tree();
            let path = copy.path().join(name);
            text.map_or_else(|| fs::remove_file(&path), |text| fs::write(&path, text)).unwrap();
            let message = prove(original.path(), copy.path(), &mut || true).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
