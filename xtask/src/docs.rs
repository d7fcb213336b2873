//! Each crate begins with what it does, what it must never do, and where to begin reading.

use crate::Finding;

pub fn check(path: &str, text: &str) -> Vec<Finding> {
    if text.starts_with("//! ") {
        return Vec::new();
    }
    vec![Finding::new(path, "must begin with `//!`: what it does, what it must never do, where to begin reading")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_essay_passes_and_anything_else_is_found() {
        assert!(check("lib.rs", "//! Numbers.\n").is_empty());
        for text in ["", "// Numbers.\n", "\n//! Numbers.\n", "pub mod a;\n//! Late.\n"] {
            assert_eq!(check("lib.rs", text).len(), 1, "{text:?}");
        }
    }
}
