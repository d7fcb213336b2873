//! What a crate declares outside its tests: modules, types, functions, constants, and the parts of types.

use syn::spanned::Spanned;
use syn::{Fields, Ident, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

use crate::modules;
use crate::source::SourceFile;

pub struct Declared {
    /// The crate without `plimsoll-`, its modules, the item; then the variant, field or method, if it is one.
    pub path: Vec<String>,
    /// A struct, enum, union, trait or alias that is visible outside its module.
    pub is_public_type: bool,
}

/// All that the crate declares, re-exports among it; these are all its sources.
pub fn of_package(package: &str, sources: &[SourceFile]) -> Vec<Declared> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        let Some(module) = modules::module(&source.path) else { continue };
        let at = [vec![short(package).to_owned()], module].concat();
        Collector { source, found: &mut found }.items(&source.file.items, &at);
    }
    found
}

/// What a crate is called in documents and folders.
pub fn short(package: &str) -> &str {
    package.strip_prefix("plimsoll-").unwrap_or(package)
}

struct Collector<'a> {
    source: &'a SourceFile,
    found: &'a mut Vec<Declared>,
}

impl Collector<'_> {
    fn items(&mut self, items: &[Item], at: &[String]) {
        for item in items.iter().filter(|item| !self.source.is_test_line(item.span().start().line)) {
            self.item(item, at);
        }
    }

    fn item(&mut self, item: &Item, at: &[String]) {
        match item {
            Item::Mod(item) => {
                let inside = self.add(at, &item.ident);
                self.items(item.content.as_ref().map_or(&[], |(_, items)| items), &inside);
            }
            Item::Struct(item) => {
                let inside = self.add_type(at, &item.ident, &item.vis);
                self.fields(&item.fields, &inside);
            }
            Item::Enum(item) => {
                let inside = self.add_type(at, &item.ident, &item.vis);
                for variant in &item.variants {
                    let inside = self.add(&inside, &variant.ident);
                    self.fields(&variant.fields, &inside);
                }
            }
            Item::Trait(item) => {
                let inside = self.add_type(at, &item.ident, &item.vis);
                item.items.iter().filter_map(trait_part).for_each(|part| drop(self.add(&inside, part)));
            }
            Item::Impl(item) => {
                if let Type::Path(of) = &*item.self_ty
                    && let Some(last) = of.path.segments.last()
                {
                    let inside = [at, &[last.ident.to_string()]].concat();
                    item.items.iter().filter_map(impl_part).for_each(|part| drop(self.add(&inside, part)));
                }
            }
            Item::Union(item) => drop(self.add_type(at, &item.ident, &item.vis)),
            Item::Type(item) => drop(self.add_type(at, &item.ident, &item.vis)),
            Item::Fn(item) => drop(self.add(at, &item.sig.ident)),
            Item::Const(item) => drop(self.add(at, &item.ident)),
            Item::Static(item) => drop(self.add(at, &item.ident)),
            Item::Macro(item) => item.ident.iter().for_each(|ident| drop(self.add(at, ident))),
            Item::Use(item) if is_public(&item.vis) => self.re_exports(&item.tree, at),
            _ => {}
        }
    }

    /// Notes the item, and returns its path.
    fn add(&mut self, at: &[String], ident: &Ident) -> Vec<String> {
        let path = [at, &[ident.to_string()]].concat();
        self.found.push(Declared { path: path.clone(), is_public_type: false });
        path
    }

    fn add_type(&mut self, at: &[String], ident: &Ident, visibility: &Visibility) -> Vec<String> {
        let path = [at, &[ident.to_string()]].concat();
        self.found.push(Declared { path: path.clone(), is_public_type: is_public(visibility) });
        path
    }

    fn fields(&mut self, fields: &Fields, inside: &[String]) {
        for ident in fields.iter().filter_map(|field| field.ident.as_ref()) {
            self.add(inside, ident);
        }
    }

    fn re_exports(&mut self, tree: &UseTree, at: &[String]) {
        match tree {
            UseTree::Path(path) => self.re_exports(&path.tree, at),
            UseTree::Name(name) => drop(self.add(at, &name.ident)),
            UseTree::Rename(rename) => drop(self.add(at, &rename.rename)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.re_exports(tree, at)),
            UseTree::Glob(_) => {}
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

fn trait_part(item: &TraitItem) -> Option<&Ident> {
    match item {
        TraitItem::Fn(item) => Some(&item.sig.ident),
        TraitItem::Const(item) => Some(&item.ident),
        TraitItem::Type(item) => Some(&item.ident),
        _ => None,
    }
}

fn impl_part(item: &ImplItem) -> Option<&Ident> {
    match item {
        ImplItem::Fn(item) => Some(&item.sig.ident),
        ImplItem::Const(item) => Some(&item.ident),
        ImplItem::Type(item) => Some(&item.ident),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Vec<(String, bool)> {
        let source = SourceFile::parse("crates/x/src/a/mod.rs", text, false).unwrap();
        let found = of_package("plimsoll-x", &[source]);
        found.into_iter().map(|declared| (declared.path.join("::"), declared.is_public_type)).collect()
    }

    #[test]
    fn items_and_their_parts_have_paths() {
        let text = "mod b { pub(super) enum E { One { field: u8 } } }\nfn f() {}\nconst C: u8 = 1;\npub use b::E as Else;\n\
                    trait T { fn asked(&self); }\nimpl S { fn done() {} }\nmacro_rules! m { () => {} }\nstruct S;";
        let paths: Vec<String> = declared(text).into_iter().map(|(path, _)| path).collect();
        let expected = "b b::E b::E::One b::E::One::field f C Else T T::asked S::done m S";
        assert_eq!(paths, expected.split(' ').map(|path| format!("x::a::{path}")).collect::<Vec<_>>());
    }

    #[test]
    fn types_are_public_if_others_see_them_and_tests_declare_nothing() {
        let text = "pub struct A;\npub(crate) trait B {}\npub(super) type C = A;\nstruct D;\npub fn e() {}\n\
                    #[cfg(test)]\nmod tests {\n    pub struct F;\n}\n";
        let public: Vec<String> =
            declared(text).into_iter().filter_map(|(path, is_public)| is_public.then_some(path)).collect();
        assert_eq!(public, ["x::a::A", "x::a::B", "x::a::C"]);
    }
}
