//! No statement has a name in quotes of its own: a name that others chose would get out of them.

use crate::Finding;
use crate::source::SourceFile;

/// What stands before a name in a statement, as statements are written here.
const BEFORE_NAMES: [&str; 12] = [
    "USE ",
    "FROM ",
    "TABLE ",
    "DATABASE ",
    "PROCEDURE ",
    "EXISTS ",
    "INTO ",
    "UPDATE ",
    "JOIN ",
    "VIEW ",
    "INDEX ",
    "SESSION.",
];

/// Names in statements of shipped code that are put between backticks by hand.
pub fn check(source: &SourceFile) -> Vec<Finding> {
    let quoted = |line: &str| {
        let places = line.match_indices("`{");
        places.into_iter().any(|(at, _)| BEFORE_NAMES.iter().any(|word| line[..at].ends_with(word)))
            || line.contains("`.`{")
            || line.contains("\"`{}`\"")
            || line.contains("}`.{")
    };
    let shipped = source.text.lines().enumerate().filter(|(at, _)| !source.is_test_line(at + 1));
    let found = shipped.filter(|(_, line)| quoted(line));
    found
        .map(|(at, _)| {
            let message = "puts a name between backticks; names go into statements by plimsoll_wire::text::identifier";
            Finding::new(format!("{}:{}", source.path, at + 1), message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_quoted_by_hand_is_found() {
        for statement in
            ["USE `{database}`", "DROP TABLE IF EXISTS `{table}`", "SELECT * FROM `{}`.t", "`a`.`{name}`", "`{}`"]
        {
            let text = format!("fn f() -> String {{\n    format!(\"{statement}\")\n}}\n");
            let found = check(&SourceFile::parse("a.rs", text.as_str(), false).expect("Rust"));
            assert_eq!(found.len(), 1, "{statement}");
            assert!(check(&SourceFile::parse("a.rs", text, true).expect("Rust")).is_empty(), "tests may");
        }
        let message = "fn f() -> String {\n    format!(\"there is no table `{name}`, of `{other}`\")\n}\n";
        assert!(check(&SourceFile::parse("a.rs", message, false).expect("Rust")).is_empty());
    }
}
