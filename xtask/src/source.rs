//! Rust files of a package, parsed, and which of their lines are test code.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::Context;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};

use crate::metadata::Package;

pub struct SourceFile {
    /// From the root of the repository.
    pub path: String,
    pub text: String,
    pub file: syn::File,
    /// The whole file is test code: it lies below `tests/` or `examples/`, or is a module declared with `#[cfg(test)]`.
    pub is_test: bool,
    test_lines: Vec<RangeInclusive<usize>>,
}

impl SourceFile {
    pub fn parse(path: impl Into<String>, text: impl Into<String>, is_test: bool) -> anyhow::Result<Self> {
        let (path, text) = (path.into(), text.into());
        let file = syn::parse_file(&text).with_context(|| format!("{path} is no valid Rust"))?;
        let mut finder = TestCode::default();
        finder.visit_file(&file);
        let is_test = is_test || file.attrs.iter().any(is_cfg_test);
        Ok(Self { path, text, file, is_test, test_lines: finder.lines })
    }

    /// Every Rust file of the package, in the order of their paths.
    pub fn of_package(root: &Path, package: &Package) -> anyhow::Result<Vec<Self>> {
        let mut paths = BTreeSet::new();
        collect(&package.dir, &package.dir.join("target"), &mut paths)?;
        let mut test_modules = Vec::new();
        let mut sources = Vec::new();
        for path in paths {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            // Examples are programs of their own, beside the crate that they show.
            let beside = ["tests", "examples"].iter().any(|folder| path.starts_with(package.dir.join(folder)));
            let source = Self::parse(name, text, beside)?;
            let directory = module_directory(&path);
            test_modules.extend(source.test_module_names().into_iter().map(|module| directory.join(module)));
            sources.push((path, source));
        }
        // `#[cfg(test)] mod x;` makes x.rs and all below x/ test code.
        for (path, source) in &mut sources {
            source.is_test |= test_modules.iter().any(|module| path.with_extension("").starts_with(module));
        }
        Ok(sources.into_iter().map(|(_, source)| source).collect())
    }

    /// Whether this line, counted from 1, is test code.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.is_test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    fn test_module_names(&self) -> Vec<String> {
        let modules = self.file.items.iter().filter_map(|item| match item {
            Item::Mod(module) if module.content.is_none() && module.attrs.iter().any(is_cfg_test) => Some(module),
            _ => None,
        });
        modules.map(|module| module.ident.to_string()).collect()
    }
}

/// All `.rs` files below, without what cargo built.
fn collect(directory: &Path, built: &Path, paths: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && path != built {
            collect(&path, built, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.insert(path);
        }
    }
    Ok(())
}

/// Where the modules that this file declares lie.
fn module_directory(path: &Path) -> PathBuf {
    let is_root = ["lib.rs", "main.rs", "mod.rs"].iter().any(|name| path.ends_with(name));
    if is_root { path.parent().unwrap_or(path).to_path_buf() } else { path.with_extension("") }
}

#[derive(Default)]
struct TestCode {
    lines: Vec<RangeInclusive<usize>>,
}

impl TestCode {
    fn note(&mut self, attributes: &[Attribute], item: &impl Spanned) {
        if attributes.iter().any(|attribute| is_cfg_test(attribute) || is_test_attribute(attribute)) {
            let span = item.span();
            self.lines.push(span.start().line..=span.end().line);
        }
    }
}

impl<'ast> Visit<'ast> for TestCode {
    fn visit_item(&mut self, item: &'ast Item) {
        self.note(attributes(item), item);
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.attrs, item);
        visit::visit_impl_item_fn(self, item);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]` or `#[cfg(all(test, …))]`; `any(test, …)` and `not(test)` also ship.
fn is_cfg_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let condition = list.tokens.to_string().replace(' ', "");
    let all = condition.strip_prefix("all(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(&condition);
    list.path.is_ident("cfg") && all.split(',').any(|word| word == "test")
}

/// `#[test]` and its relatives, such as `#[tokio::test]`.
fn is_test_attribute(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_test_code_from_code() {
        let text = "fn ships() {}\n#[cfg(test)]\nmod tests {\n    fn helper() {}\n}\n#[test]\nfn alone() {}\n#[cfg(not(test))]\nfn also_ships() {}\n";
        let source = SourceFile::parse("a.rs", text, false).unwrap();
        let test_lines: Vec<_> = (1..=9).filter(|line| source.is_test_line(*line)).collect();
        assert_eq!(test_lines, [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn knows_conditions_that_also_ship() {
        for (condition, ships) in [
            ("test", false),
            ("all(test, unix)", false),
            ("all(unix, test)", false),
            ("not(test)", true),
            ("all(unix, not(test))", true),
            ("any(test, unix)", true),
        ] {
            let source = SourceFile::parse("a.rs", format!("#[cfg({condition})]\nfn f() {{}}\n"), false).unwrap();
            assert_eq!(source.is_test_line(2), !ships, "{condition}");
        }
    }

    #[test]
    fn follows_test_modules_into_their_files() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("crates/a");
        for (path, text) in [
            ("src/lib.rs", "mod shipped;\n#[cfg(test)]\nmod cases;\n"),
            ("src/cases.rs", "fn a() {}\n"),
            ("src/cases/more.rs", "fn b() {}\n"),
            ("src/shipped.rs", "#[cfg(test)]\nmod tests;\n"),
            ("src/shipped/tests.rs", "fn c() {}\n"),
            ("tests/it.rs", "fn d() {}\n"),
            ("src/target/mod.rs", "fn e() {}\n"),
            ("target/generated.rs", "not Rust at all"),
        ] {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let package = Package { name: "a".into(), dir, dependencies: Vec::new() };
        let sources = SourceFile::of_package(root.path(), &package).unwrap();
        let shipped: Vec<_> = sources.iter().filter(|source| !source.is_test).map(|source| &*source.path).collect();
        assert_eq!(shipped, ["crates/a/src/lib.rs", "crates/a/src/shipped.rs", "crates/a/src/target/mod.rs"]);
        assert_eq!(sources.len(), 7);
    }
}
