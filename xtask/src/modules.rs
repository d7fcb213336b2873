//! No module imports one that imports it, on whatever way round: a circle cannot be read from its beginning.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, Macro, UseTree};

use crate::Finding;
use crate::source::SourceFile;

/// A module by the names on the way to it; the root of a crate has none.
type Module = Vec<String>;
/// Which of its siblings a module imports, by the module that they lie in.
type Siblings = BTreeMap<Module, BTreeMap<String, BTreeSet<String>>>;

/// The circles among the modules of one crate, of which these are all the sources. Modules below two siblings count as
/// these siblings.
pub fn check(package: &str, sources: &[SourceFile]) -> Vec<Finding> {
    let shipped: Vec<(Module, &SourceFile)> = sources
        .iter()
        .filter(|source| !source.is_test)
        .filter_map(|source| Some((module(&source.path)?, source)))
        .collect();
    let known: BTreeSet<&Module> = shipped.iter().map(|(module, _)| module).collect();
    let mut siblings = Siblings::new();
    for (from, source) in &shipped {
        for path in imports(source, from) {
            let mut to = path.as_slice();
            while !to.is_empty() && !known.contains(&to.to_vec()) {
                to = &to[..to.len() - 1];
            }
            note(&mut siblings, from, to);
        }
    }
    let finding = |(parent, graph): (&Module, &BTreeMap<String, BTreeSet<String>>)| {
        let place = [&[package.to_owned()], parent.as_slice()].concat().join("::");
        circles(graph).into_iter().map(move |circle| {
            Finding::new(format!("{place}: {}", circle.join(", ")), "these modules import each other in a circle")
        })
    };
    siblings.iter().flat_map(finding).collect()
}

/// `crates/lab/src/io/plan.rs` → io, plan. None for what is no module of the library or program itself.
pub fn module(path: &str) -> Option<Module> {
    let (_, inside) = path.split_once("src/")?;
    let mut names: Module = inside.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    Some(names)
}

/// Notes the import where the ways to the two modules part. A module and what lies below it are one.
fn note(siblings: &mut Siblings, from: &Module, to: &[String]) {
    let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
    if let (Some(one), Some(other)) = (from.get(common), to.get(common)) {
        let graph = siblings.entry(from[..common].to_vec()).or_default();
        graph.entry(one.clone()).or_default().insert(other.clone());
    }
}

/// Every path of this crate that the module names outside tests, from the root of the crate.
fn imports(source: &SourceFile, module: &Module) -> Vec<Module> {
    let mut paths = Paths { source, module: module.clone(), found: Vec::new() };
    paths.visit_file(&source.file);
    paths.found
}

struct Paths<'a> {
    source: &'a SourceFile,
    /// That of the file, or one that is written within it.
    module: Module,
    found: Vec<Module>,
}

impl Paths<'_> {
    /// `names` as they stand in the code, which begin with `crate`, `self` or `super` if they are of this crate.
    fn add(&mut self, names: &[String], line: usize) {
        if self.source.is_test_line(line) {
            return;
        }
        let ups = names.iter().take_while(|name| *name == "super").count();
        let rooted = match names.first().map(String::as_str) {
            Some("crate") => names[1..].to_vec(),
            Some("self") => [self.module.as_slice(), &names[1..]].concat(),
            Some("super") if ups <= self.module.len() => {
                [&self.module[..self.module.len() - ups], &names[ups..]].concat()
            }
            _ => return,
        };
        self.found.push(rooted);
    }

    fn follow(&mut self, tree: &UseTree, before: &[String]) {
        let (ident, rest) = match tree {
            UseTree::Path(path) => (&path.ident, Some(&path.tree)),
            UseTree::Name(name) => (&name.ident, None),
            UseTree::Rename(rename) => (&rename.ident, None),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.follow(tree, before)),
            UseTree::Glob(glob) => return self.add(before, glob.span().start().line),
        };
        let names = [before, &[ident.to_string()]].concat();
        match rest {
            Some(rest) => self.follow(rest, &names),
            None => self.add(&names, ident.span().start().line),
        }
    }

    /// Finds the paths among the tokens that a macro gets, which are no syntax tree.
    fn search(&mut self, tokens: TokenStream) {
        let (mut names, mut line, mut colons) = (Vec::<String>::new(), 0, 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) if colons == 2 => {
                    names.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    self.add(&names, line);
                    (names, line, colons) = (Vec::new(), other.span().start().line, 0);
                    match other {
                        TokenTree::Ident(ident) => names.push(ident.to_string()),
                        TokenTree::Group(group) => self.search(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.add(&names, line);
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.follow(&item.tree, &[]);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.search(called.tokens.clone());
        visit::visit_macro(self, called);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.add(&names, line);
        visit::visit_path(self, path);
    }
}

/// Sets of nodes that can all be reached from each other, each sorted; those of one node are no circle.
fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|node| (node, reached_from(graph, node))).collect();
    let is_mutual = |one: &String, other: &String| reached[one].contains(other) && reached[other].contains(one);
    let circle_of = |node: &&String| -> Vec<String> {
        graph.keys().filter(|other| *other == *node || is_mutual(node, other)).cloned().collect()
    };
    graph.keys().map(|node| circle_of(&node)).filter(|circle| circle.len() > 1).collect()
}

fn reached_from<'g>(graph: &'g BTreeMap<String, BTreeSet<String>>, node: &'g String) -> BTreeSet<&'g String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![node]);
    while let Some(next) = open.pop() {
        open.extend(graph.get(next).into_iter().flatten().filter(|other| seen.insert(*other)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let parse =
            |(path, text): &(&str, &str)| SourceFile::parse(format!("crates/x/src/{path}"), *text, false).unwrap();
        let sources: Vec<SourceFile> = files.iter().map(parse).collect();
        check("x", &sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        for (one, other) in [
            ("use crate::b::B;", "use crate::a::A;"),
            ("use crate::{b::{self, B}, c};", "use super::a;"),
            ("fn f() -> super::b::B { todo!() }", "fn g() { crate::a::deeper::h() }"),
            ("use crate::b::*;", "use super::a::{self as other, *};"),
            ("fn f() { format!(\"{}\", crate::b::f()) }", "fn g() { vec![(1, x: super::a::A { y: 1 })]; }"),
            ("mod inner { use super::super::b::B; }", "mod inner { fn g() { super::super::a::h() } }"),
        ] {
            let found = findings(&[("lib.rs", "mod a; mod b;"), ("a.rs", one), ("b.rs", other), ("c.rs", "")]);
            assert_eq!(found, ["x: a, b: these modules import each other in a circle"], "{one} {other}");
        }
    }

    #[test]
    fn a_longer_circle_and_one_further_down_are_found() {
        let long = [("a.rs", "use crate::b;"), ("b/mod.rs", "use crate::c;"), ("c.rs", "use crate::a::A;")];
        assert_eq!(findings(&long), ["x: a, b, c: these modules import each other in a circle"]);
        let deep = [("io/plan.rs", "use super::limits;"), ("io/limits.rs", "use super::plan::P;")];
        assert_eq!(findings(&deep), ["x::io: limits, plan: these modules import each other in a circle"]);
        let beside =
            [("io/plan.rs", "use crate::run::R;"), ("run.rs", "use crate::io::limits::L;"), ("io/limits.rs", "")];
        assert_eq!(findings(&beside), ["x: io, run: these modules import each other in a circle"]);
    }

    #[test]
    fn one_direction_a_module_with_its_parts_and_tests_pass() {
        let tests = "use crate::b;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n";
        let files = [("a.rs", tests), ("b.rs", "use crate::c;"), ("c.rs", "fn f() {}")];
        assert!(findings(&files).is_empty(), "{:?}", findings(&files));
        let nested = [("a/mod.rs", "mod b;\nuse b::B;"), ("a/b.rs", "use super::A;\nuse crate::a::C;")];
        assert!(findings(&nested).is_empty(), "{:?}", findings(&nested));
        let below = [("a/mod.rs", "mod inner { use super::b; }"), ("a/b.rs", ""), ("b.rs", "use crate::a;")];
        assert!(findings(&below).is_empty(), "{:?}", findings(&below));
        let in_tests = [("a.rs", "use crate::b;"), ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n")];
        assert!(findings(&in_tests).is_empty(), "{:?}", findings(&in_tests));
    }
}
