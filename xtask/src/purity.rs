//! The pure crates compute and nothing else: no files, sockets, environment, clock, threads or output outside tests.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{ItemUse, UseTree};

use crate::Finding;
use crate::source::SourceFile;

/// Paths that reach outside. A path is found wherever these names follow each other.
const PATHS: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "net"],
    &["std", "process"],
    &["std", "env"],
    &["Instant", "now"],
    &["SystemTime", "now"],
    &["thread", "spawn"],
    &["thread", "sleep"],
];
const MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

pub fn check(source: &SourceFile) -> Vec<Finding> {
    let mut found = BTreeSet::new();
    // Tokens rather than the syntax tree: they also show what stands in the arguments of macros.
    let tokens = source.text.parse::<TokenStream>().map(flatten).unwrap_or_default();
    for at in 0..tokens.len() {
        let name = |index: usize| tokens.get(at + index).map_or("", |token| token.text.as_str());
        for path in PATHS {
            if name(0) == path[0] && name(1) == ":" && name(2) == ":" && name(3) == path[1] {
                found.insert((tokens[at].line, path.join("::")));
            }
        }
        if MACROS.contains(&name(0)) && name(1) == "!" {
            found.insert((tokens[at].line, format!("{}!", name(0))));
        }
    }
    let mut imports = Imports::default();
    imports.visit_file(&source.file);
    found.extend(imports.found);
    let place = |line| format!("{}:{line}", source.path);
    let shipped = found.into_iter().filter(|(line, _)| !source.is_test_line(*line));
    shipped.map(|(line, what)| Finding::new(place(line), format!("a pure crate must not use {what}"))).collect()
}

struct Token {
    text: String,
    line: usize,
}

fn flatten(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                // The brackets keep what is inside from joining what is outside.
                tokens.push(Token { text: "(".into(), line });
                tokens.extend(flatten(group.stream()));
                tokens.push(Token { text: ")".into(), line });
            }
            TokenTree::Literal(_) => tokens.push(Token { text: "literal".into(), line }),
            other => tokens.push(Token { text: other.to_string(), line }),
        }
    }
    tokens
}

/// Finds `use std::{fs, time::Duration}`, which the tokens alone do not spell out.
#[derive(Default)]
struct Imports {
    found: Vec<(usize, String)>,
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.follow(&item.tree, "");
    }
}

impl Imports {
    fn follow(&mut self, tree: &UseTree, prefix: &str) {
        let (ident, rest) = match tree {
            UseTree::Path(path) => (&path.ident, Some(&path.tree)),
            UseTree::Name(name) => (&name.ident, None),
            UseTree::Rename(rename) => (&rename.ident, None),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.follow(tree, prefix)),
            _ => return,
        };
        let path = format!("{prefix}::{ident}");
        let forbidden = PATHS.iter().map(|path| path.join("::")).find(|known| path.ends_with(&format!("::{known}")));
        self.found.extend(forbidden.map(|known| (ident.span().start().line, known)));
        if let Some(rest) = rest {
            self.follow(rest, &path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        check(&SourceFile::parse("a.rs", text, false).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_way_out_is_found() {
        for code in [
            "fn f() { std::fs::read(p); }",
            "use std::net::TcpStream;",
            "use ::std::process;",
            "fn f() { let home = std::env::var(x); }",
            "fn f() { Instant::now(); }",
            "fn f() { std::time::SystemTime::now(); }",
            "fn f() { std::thread::spawn(g); }",
            "fn f() { println!(); }",
            "fn f() { eprintln!(); }",
            "use std::{collections::BTreeMap, fs};",
            "use std::{io, thread::{sleep, Thread}};",
            "fn f() { format!(\"{}\", std::env::args().count()); }",
        ] {
            assert_eq!(findings(code).len(), 1, "{code}");
        }
    }

    #[test]
    fn a_finding_names_its_line() {
        assert_eq!(findings("fn f() {\n    dbg!(1);\n}"), ["a.rs:2: a pure crate must not use dbg!"]);
    }

    #[test]
    fn tests_comments_and_likenesses_pass() {
        for code in [
            "// std::fs is not for us",
            "/// Never calls `Instant::now`, println! or std::net.\nfn f() {}",
            "const S: &str = \"std::fs println!\";",
            "#[cfg(test)]\nmod tests {\n    use std::fs;\n    fn f() { println!(); }\n}",
            "fn f(now: Instant) { plan::env(); write!(out, x); fs(); }",
        ] {
            assert!(findings(code).is_empty(), "{code}: {:?}", findings(code));
        }
    }
}
