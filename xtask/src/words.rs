//! No file names a place that only its author has, and no module has a name that says nothing.

use crate::Finding;

/// What no file may contain. Each is put together here so that this file does not contain it either.
const FORBIDDEN: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("deb.deb", "ian.org"), concat!("snapshot.deb", "ian.org")];
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers"];

/// What is wrong with one file, by its path and its text.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for word in FORBIDDEN.iter().filter(|word| contains(line, word)) {
            findings.push(Finding::new(format!("{path}:{}", number + 1), format!("must not contain {word}")));
        }
    }
    let parts = path.trim_end_matches(".rs").split('/');
    if path.ends_with(".rs") && parts.into_iter().any(|part| EMPTY_NAMES.contains(&part)) {
        findings.push(Finding::new(path, "has a name that says nothing; name what is in it"));
    }
    findings
}

/// Whether the line contains the word. A path counts only where it begins: `$root/…` and `a/root/…` are relative.
fn contains(line: &str, word: &str) -> bool {
    let begins = |at: usize| {
        let before = line[..at].chars().next_back();
        !word.starts_with('/') || before.is_none_or(|c| !(c.is_alphanumeric() || "_-.})~*".contains(c)))
    };
    line.match_indices(word).any(|(at, _)| begins(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_words_are_found_with_their_line() {
        for word in FORBIDDEN {
            for line in [format!("see {word}x"), format!("\"{word}x\""), word.to_string(), format!("={word}x")] {
                let found = check("a.md", &format!("fine\n{line}\n"));
                assert_eq!(found, [Finding::new("a.md:2", format!("must not contain {word}"))], "{line}");
            }
        }
    }

    #[test]
    fn relative_paths_pass() {
        for path in FORBIDDEN.iter().filter(|word| word.starts_with('/')) {
            for before in ["$dir", "${dir}", "tree", "..", "crates/a"] {
                assert!(check("a.sh", &format!("{before}{path}x")).is_empty(), "{before}{path}");
            }
        }
    }

    #[test]
    fn names_that_say_nothing_are_found() {
        assert_eq!(check("crates/a/src/utils.rs", "").len(), 1);
        assert_eq!(check("crates/a/tests/common/mod.rs", "").len(), 1);
        assert!(check("crates/a/src/commonly.rs", "").is_empty());
        assert!(check("docs/common.md", "").is_empty());
    }
}
