//! What passes between crates is a type: no public item holds a JSON value, whose parts only its readers know.
//!
//! The program, documents and their renderings write JSON for others, so theirs are no values that pass on.

use std::collections::BTreeSet;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Item, Path, UseTree, Visibility};

use crate::Finding;
use crate::source::SourceFile;

/// Packages that write JSON documents for other programs.
pub const WRITERS: [&str; 3] = ["plimsoll", "plimsoll-render", "plimsoll-document"];

/// Types of JSON whose parts are not known.
const UNTYPED: [&str; 2] = ["Value", "Map"];

pub fn check(source: &SourceFile) -> Vec<Finding> {
    let mut names = Imported::default();
    names.visit_file(&source.file);
    let mut items = PublicItems { source, names: names.of_json, findings: Vec::new() };
    items.visit_file(&source.file);
    items.findings
}

/// What a file calls the types of JSON.
#[derive(Default)]
struct Imported {
    of_json: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Imported {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let UseTree::Path(path) = &item.tree
            && path.ident == "serde_json"
        {
            self.add(&path.tree);
        }
    }
}

impl Imported {
    fn add(&mut self, tree: &UseTree) {
        let is_untyped = |name: &syn::Ident| UNTYPED.iter().any(|untyped| name == untyped);
        match tree {
            UseTree::Name(name) if is_untyped(&name.ident) => drop(self.of_json.insert(name.ident.to_string())),
            UseTree::Rename(name) if is_untyped(&name.ident) => drop(self.of_json.insert(name.rename.to_string())),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(tree)),
            _ => {}
        }
    }
}

struct PublicItems<'a> {
    source: &'a SourceFile,
    names: BTreeSet<String>,
    findings: Vec<Finding>,
}

impl PublicItems<'_> {
    fn judge(&mut self, name: impl ToString, visit: impl FnOnce(&mut Json)) {
        let mut json = Json { names: &self.names, line: None };
        visit(&mut json);
        if let Some(line) = json.line
            && !self.source.is_test_line(line)
        {
            let place = format!("{}: {}", self.source.path, name.to_string());
            self.findings.push(Finding::new(place, "shows a JSON value to other crates; give what it holds a type"));
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

impl<'ast> Visit<'ast> for PublicItems<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(item) if is_public(&item.vis) => {
                self.judge(&item.sig.ident, |json| json.visit_signature(&item.sig))
            }
            Item::Struct(item) if is_public(&item.vis) => {
                for field in item.fields.iter().filter(|field| is_public(&field.vis)) {
                    self.judge(&item.ident, |json| json.visit_field(field));
                }
            }
            Item::Enum(item) if is_public(&item.vis) => {
                item.variants.iter().for_each(|variant| self.judge(&item.ident, |json| json.visit_variant(variant)));
            }
            Item::Type(item) if is_public(&item.vis) => self.judge(&item.ident, |json| json.visit_type(&item.ty)),
            Item::Trait(item) if is_public(&item.vis) => self.judge(&item.ident, |json| json.visit_item_trait(item)),
            Item::Impl(item) if item.trait_.is_none() => {
                for part in &item.items {
                    if let syn::ImplItem::Fn(function) = part
                        && is_public(&function.vis)
                    {
                        self.judge(&function.sig.ident, |json| json.visit_signature(&function.sig));
                    }
                }
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }
}

/// The first line on which a type of JSON is named.
struct Json<'a> {
    names: &'a BTreeSet<String>,
    line: Option<usize>,
}

impl<'ast> Visit<'ast> for Json<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let is_json = match segments.as_slice() {
            [name] => self.names.contains(name),
            [krate, name] => krate == "serde_json" && UNTYPED.contains(&name.as_str()),
            _ => false,
        };
        if is_json {
            self.line.get_or_insert(path.span().start().line);
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        check(&SourceFile::parse("a.rs", text, false).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_json_value_that_other_crates_see_is_found_by_whatever_name() {
        for code in [
            "pub struct S { pub a: serde_json::Value }",
            "use serde_json::Value;\npub struct S { pub a: BTreeMap<String, Value> }",
            "use serde_json::{Value as Json, json};\npub fn f(a: &Json) {}",
            "pub fn f() -> serde_json::Map<String, u8> { todo!() }",
            "use serde_json::Value;\npub enum E { A(Value) }",
            "use serde_json::Value;\npub type T = Option<Value>;",
            "use serde_json::Value;\npub trait T { fn f(&self) -> Value; }",
            "use serde_json::Value;\nimpl S { pub fn f(&self, a: Value) {} }",
            "pub mod inner { pub fn f(a: serde_json::Value) {} }",
        ] {
            assert_eq!(findings(code).len(), 1, "{code}");
        }
        let message = "a.rs: f: shows a JSON value to other crates; give what it holds a type";
        assert_eq!(findings("pub fn f(a: serde_json::Value) {}"), [message]);
    }

    #[test]
    fn values_within_a_crate_others_of_the_name_and_tests_pass() {
        for code in [
            "use serde_json::Value;\nfn f(a: Value) {}\nstruct S { a: Value }\npub(crate) fn g(a: Value) {}",
            "use serde_json::Value;\npub struct S { a: Value }\npub fn f() { let a: Value = todo!(); }",
            "use crate::value::Value;\npub fn f(a: Value) {}",
            "use serde_json::Value;\nimpl Display for S { fn f(a: Value) {} }",
            "#[cfg(test)]\nmod tests {\n    pub fn f(a: serde_json::Value) {}\n}",
        ] {
            assert_eq!(findings(code), [""; 0], "{code}");
        }
    }
}
