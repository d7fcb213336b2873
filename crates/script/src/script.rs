//! A script and what it was told, as a value.

use crate::dialect::Dialect;
use plimsoll_workloads::distribution::{Distribution, DistributionName};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A script, read and ready to be run by any number of virtual machines.
#[derive(Clone, Debug)]
pub struct Script {
    /// As messages name it.
    pub name: String,
    /// Its text, without a first line for the shell.
    pub text: Vec<u8>,
    /// Where it lies; scripts require their neighbours.
    pub directory: PathBuf,
    /// Its options as typed, by their names with underscores.
    pub options: Vec<(String, String)>,
    /// What `sysbench.rand.default` draws from, and its kin under the names of their shapes.
    pub distribution: Distribution,
    /// How it is treated if it is to be run as sysbench runs it; as Plimsoll does otherwise.
    pub dialect: Option<Arc<Dialect>>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path, options: Vec<(String, String)>, distribution: Distribution) -> io::Result<Script> {
        let name = path.display().to_string();
        let directory = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        Ok(Script { text: without_shebang(fs::read(path)?), name, directory, options, distribution, dialect: None })
    }
}

impl Script {
    /// A script by its text, whose neighbours lie in the current directory.
    pub fn from_text(name: &str, text: Vec<u8>, distribution: Distribution) -> Script {
        let (name, directory) = (name.to_owned(), PathBuf::new());
        Script { text: without_shebang(text), name, directory, options: Vec::new(), distribution, dialect: None }
    }

    /// What a shape draws from: with the parameters that were given where it is the default's, else with sysbench's own.
    pub fn shaped(&self, shape: DistributionName) -> Distribution {
        if self.distribution.shape() == shape { self.distribution } else { shape.with_defaults() }
    }
}

/// A first line that begins with `#` is for the shell; it is emptied, so that the others keep their numbers.
fn without_shebang(text: Vec<u8>) -> Vec<u8> {
    if text.first() != Some(&b'#') {
        return text;
    }
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    text[end..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_the_shell_is_emptied_and_the_others_keep_their_numbers() {
        assert_eq!(without_shebang(b"#!/usr/bin/env sysbench\nprint(1)\n".to_vec()), b"\nprint(1)\n");
        assert_eq!(without_shebang(b"print('#')".to_vec()), b"print('#')");
        assert_eq!(without_shebang(b"#".to_vec()), b"");
    }
}
