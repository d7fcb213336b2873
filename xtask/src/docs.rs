//! Each crate begins with what it does, what it must never do, and where to begin reading; no documentation has code in it
//! that nothing runs.

use crate::Finding;
use crate::source::SourceFile;

pub fn check(path: &str, text: &str) -> Vec<Finding> {
    if text.starts_with("//! ") {
        return Vec::new();
    }
    vec![Finding::new(path, "must begin with `//!`: what it does, what it must never do, where to begin reading")]
}

/// Examples in documentation: `make test` leaves out the tests that rustdoc makes of them, which would be minutes.
pub fn examples(source: &SourceFile) -> Vec<Finding> {
    let documentation = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(|text| text.trim().to_owned())
    };
    let texts = source.text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, documentation(line)?)));
    let fences = texts.filter(|(_, text)| text.starts_with("```"));
    // Every other fence ends what the one before it begins.
    let code = fences.step_by(2).filter(|(_, text)| text != "```text");
    let message = "begins an example that no test runs: write a test, or say that it is ```text";
    code.map(|(line, _)| Finding::new(format!("{}:{line}", source.path), message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_documentation_is_found_and_text_is_not() {
        let text = "//! ```text\n//! a\n//! ```\n/// ```\n/// let a = 1;\n/// ```\nfn a() {}\n// ```\n";
        let found = examples(&SourceFile::parse("lib.rs", text, false).expect("Rust"));
        assert_eq!(found.len(), 1, "{text}");
    }

    #[test]
    fn an_essay_passes_and_anything_else_is_found() {
        assert!(check("lib.rs", "//! Numbers.\n").is_empty());
        for text in ["", "// Numbers.\n", "\n//! Numbers.\n", "pub mod a;\n//! Late.\n"] {
            assert_eq!(check("lib.rs", text).len(), 1, "{text:?}");
        }
    }
}
