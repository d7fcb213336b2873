//! Files and functions stay short enough to be read in one go, and crates small enough to be known.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Signature};

use crate::Finding;
use crate::source::SourceFile;

/// Lines of code that ships in one file.
const FILE_LINES: usize = 500;
/// Lines of one file with its tests, or of tests alone.
const TEST_FILE_LINES: usize = 700;
/// Lines of one function from its `fn` to its closing brace; tests may be longer.
const FUNCTION_LINES: usize = 60;
/// Lines of code that ships in one crate: all of `src`, comments and empty lines too, but not the tests in it.
const CRATE_LINES: usize = 12_000;

/// A file (`crates/a/src/b.rs`) or function (`crates/a/src/b.rs: name`) that may be longer, and why.
pub struct Allowed {
    pub place: &'static str,
    pub reason: &'static str,
}

/// An entry that is no longer needed is a finding too.
pub const ALLOWED: &[Allowed] = &[];

pub fn check<'a>(sources: impl Iterator<Item = &'a SourceFile> + Clone, allowed: &[Allowed]) -> Vec<Finding> {
    let mut findings: Vec<_> = sources.clone().flat_map(check_source).collect();
    findings.extend(check_crates(sources));
    for Allowed { place, reason } in allowed {
        let before = findings.len();
        findings.retain(|finding| finding.place != *place);
        if findings.len() == before {
            findings.push(Finding::new(place, format!("is short again; remove it from ALLOWED (“{reason}”)")));
        }
    }
    findings
}

fn check_source(source: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = source.text.lines().count();
    let shipped = shipped_lines(source);
    if shipped > FILE_LINES {
        findings
            .push(Finding::new(&source.path, format!("has {shipped} lines without tests; {FILE_LINES} are enough")));
    } else if lines > TEST_FILE_LINES {
        findings
            .push(Finding::new(&source.path, format!("has {lines} lines; {TEST_FILE_LINES} are enough with tests")));
    }
    let mut functions = Functions { source, findings };
    functions.visit_file(&source.file);
    functions.findings
}

/// How many lines of the file are no test code.
fn shipped_lines(source: &SourceFile) -> usize {
    (1..=source.text.lines().count()).filter(|line| !source.is_test_line(*line)).count()
}

fn check_crates<'a>(sources: impl Iterator<Item = &'a SourceFile>) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources {
        if let Some((package, _)) = source.path.split_once("/src/") {
            *crates.entry(package).or_default() += shipped_lines(source);
        }
    }
    let too_long = crates.into_iter().filter(|(_, lines)| *lines > CRATE_LINES);
    let finding = |(package, lines)| {
        Finding::new(package, format!("has {lines} lines without tests; {CRATE_LINES} are enough for a crate"))
    };
    too_long.map(finding).collect()
}

struct Functions<'a> {
    source: &'a SourceFile,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, block: &Block) {
        let (first, last) = (signature.span().start().line, block.span().end().line);
        let lines = last + 1 - first;
        if lines > FUNCTION_LINES && !self.source.is_test_line(first) {
            let place = format!("{}: {}", self.source.path, signature.ident);
            let message = format!("has {lines} lines from line {first} on; {FUNCTION_LINES} are enough");
            self.findings.push(Finding::new(place, message));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str, is_test: bool, allowed: &[Allowed]) -> Vec<String> {
        let source = SourceFile::parse("a.rs", text, is_test).unwrap();
        check([source].iter(), allowed).iter().map(ToString::to_string).collect()
    }

    /// A function of exactly so many lines.
    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_is_too_long_from_61_lines_on() {
        assert!(findings(&function(60), false, &[]).is_empty());
        assert_eq!(findings(&function(61), false, &[]), ["a.rs: long: has 61 lines from line 1 on; 60 are enough"]);
    }

    #[test]
    fn methods_and_provided_methods_count() {
        for wrapper in ["impl S", "trait T", "mod inner"] {
            assert_eq!(findings(&format!("{wrapper} {{\n{}}}\n", function(61)), false, &[]).len(), 1, "{wrapper}");
        }
    }

    #[test]
    fn test_functions_may_be_longer() {
        assert!(findings(&format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(99)), false, &[]).is_empty());
        assert!(findings(&format!("#[test]\n{}", function(99)), false, &[]).is_empty());
        assert!(findings(&function(99), true, &[]).is_empty());
    }

    #[test]
    fn a_file_is_too_long_from_501_lines_on() {
        assert!(findings(&"// line\n".repeat(500), false, &[]).is_empty());
        assert_eq!(findings(&"// line\n".repeat(501), false, &[]).len(), 1);
    }

    #[test]
    fn tests_have_200_lines_more() {
        assert!(findings(&"// line\n".repeat(700), true, &[]).is_empty());
        assert_eq!(findings(&"// line\n".repeat(701), true, &[]).len(), 1);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// line\n".repeat(197));
        assert!(findings(&("// line\n".repeat(500) + &tests), false, &[]).is_empty());
        assert_eq!(findings(&("// line\n".repeat(501) + &tests), false, &[]).len(), 1);
    }

    #[test]
    fn a_crate_is_too_long_from_12001_lines_on_without_its_tests() {
        let found = |files: usize, more: &str| -> Vec<String> {
            let file = |at: usize| (format!("crates/a/src/f{at}.rs"), "// line\n".repeat(500));
            let tests = ("crates/a/tests/it.rs".to_owned(), "// line\n".repeat(600));
            let more = ("crates/a/src/more.rs".to_owned(), more.to_owned());
            let files = (0..files).map(file).chain([tests, more]);
            let parse = |(path, text): (String, String)| SourceFile::parse(path, text, false).unwrap();
            check_crates(files.map(parse).collect::<Vec<_>>().iter()).iter().map(ToString::to_string).collect()
        };
        assert!(found(24, "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n").is_empty());
        let message = "crates/a: has 12001 lines without tests; 12000 are enough for a crate";
        assert_eq!(found(24, "// line\n"), [message]);
    }

    #[test]
    fn what_is_allowed_passes_and_is_found_when_it_is_no_longer_needed() {
        let allowed = [Allowed { place: "a.rs: long", reason: "one long match" }];
        assert!(findings(&function(61), false, &allowed).is_empty());
        assert!(findings(&function(9), false, &allowed)[0].contains("remove it"));
    }
}
