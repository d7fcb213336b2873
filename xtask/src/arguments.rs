//! Arguments are named: no function takes several as one tuple, which would only hide how many they are.
//!
//! A pair of one type under one name is a value of its own: a range, or a corner of a figure. Trait implementations take
//! what their trait says; tests may hand over the rows of a table.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{FnArg, Pat, Signature, Type, TypeTuple};

use crate::Finding;
use crate::source::SourceFile;

pub fn check(source: &SourceFile) -> Vec<Finding> {
    let mut signatures = Signatures { source, findings: Vec::new() };
    signatures.visit_file(&source.file);
    signatures.findings
}

struct Signatures<'a> {
    source: &'a SourceFile,
    findings: Vec<Finding>,
}

impl Signatures<'_> {
    fn judge(&mut self, signature: &Signature) {
        let line = signature.span().start().line;
        if signature.inputs.iter().any(hides_arguments) && !self.source.is_test_line(line) {
            let place = format!("{}: {}", self.source.path, signature.ident);
            self.findings.push(Finding::new(place, "takes a tuple; name each argument, or what they are together"));
        }
    }
}

impl<'ast> Visit<'ast> for Signatures<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.judge(&item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        for part in &item.items {
            if let syn::ImplItem::Fn(function) = part {
                if item.trait_.is_none() {
                    self.judge(&function.sig);
                }
                self.visit_block(&function.block);
            }
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.judge(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }
}

fn hides_arguments(argument: &FnArg) -> bool {
    let FnArg::Typed(argument) = argument else { return false };
    is_tuple(&argument.pat) || tuple(&argument.ty).is_some_and(|tuple| !is_pair(tuple))
}

fn is_tuple(pattern: &Pat) -> bool {
    match pattern {
        Pat::Tuple(_) => true,
        Pat::Reference(reference) => is_tuple(&reference.pat),
        _ => false,
    }
}

fn tuple(of: &Type) -> Option<&TypeTuple> {
    match of {
        Type::Tuple(tuple) if !tuple.elems.is_empty() => Some(tuple),
        Type::Reference(reference) => tuple(&reference.elem),
        _ => None,
    }
}

fn is_pair(tuple: &TypeTuple) -> bool {
    let parts: Vec<_> = tuple.elems.iter().map(|part| part.span().source_text()).collect();
    parts.len() == 2 && parts[0].is_some() && parts[0] == parts[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        check(&SourceFile::parse("a.rs", text, false).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tuple_of_arguments_is_found_wherever_a_function_takes_it() {
        for code in [
            "fn f((a, b): (f64, f64)) {}",
            "fn f(&(a, b): &(f64, f64)) {}",
            "fn f(both: (f64, u8)) {}",
            "fn f(both: &mut (f64, u8)) {}",
            "fn f(all: (f64, f64, f64)) {}",
            "impl S { fn f(&self, (a, b): (f64, f64)) {} }",
            "trait T { fn f(&self, both: (f64, u8)); }",
            "impl T for S { fn f(&self) { fn g((a, b): (u8, u8)) {} } }",
        ] {
            assert_eq!(findings(code).len(), 1, "{code}");
        }
        let message = "a.rs: f: takes a tuple; name each argument, or what they are together";
        assert_eq!(findings("fn f((a, b): (u8, u8)) {}"), [message]);
    }

    #[test]
    fn named_arguments_pairs_closures_foreign_traits_and_tests_pass() {
        for code in [
            "fn f(a: f64, b: u8, nothing: ()) -> (f64, u8) { (a, b) }",
            "fn f(range: (f64, f64)) {}",
            "fn f(all: &[(f64, u8)]) { all.iter().map(|(a, b): (f64, u8)| a); }",
            "impl From<(f64, u8)> for S { fn from((a, b): (f64, u8)) -> S { S } }",
            "#[cfg(test)]\nmod tests {\n    fn f((a, b): (f64, u8)) {}\n}",
        ] {
            assert!(findings(code).is_empty(), "{code}: {:?}", findings(code));
        }
    }
}
