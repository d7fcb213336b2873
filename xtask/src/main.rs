//! The checks that keep this repository livable: `cargo xtask check`, or one of them by its name. `cargo xtask test` runs
//! the tests.
//!
//! Each check is a function from what it looks at to a list of findings, so that its tests can hand it planted faults:
//! a check that cannot fail is worthless. The checks only read; `make fmt` is the one that changes files.
//! Begin with [`CHECKS`], then `layers.rs`, which holds the table of crates.

mod arguments;
mod docs;
mod documents;
mod identifiers;
mod items;
mod layers;
mod metadata;
mod modules;
mod names;
mod programs;
mod purity;
mod sizes;
mod source;
mod table;
mod tree;
mod values;
mod words;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use items::Declared;
use metadata::Workspace;

/// One thing that is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    place: String,
    message: String,
}

impl Finding {
    fn new(place: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { place: place.to_string(), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

type Check = fn(&Workspace) -> anyhow::Result<Vec<Finding>>;

/// Every check, cheapest first. `check` runs all of them and shows everything that is wrong, not only the first.
const CHECKS: [(&str, &str, Check); 13] = [
    ("fmt", "code is formatted", fmt_check),
    ("layers", "crates depend downwards only, and the pure ones are pure", layer_check),
    ("table", "ARCHITECTURE.md has every crate in its layer", table_check),
    ("modules", "no modules import each other in a circle", module_check),
    ("names", "no two public types have the same name", name_check),
    ("arguments", "no function hides its arguments in a tuple", argument_check),
    ("values", "no JSON value passes from crate to crate", value_check),
    ("sizes", "files, functions and crates stay short", size_check),
    ("docs", "each crate begins with what it is", doc_check),
    ("documents", "what documents name exists", document_check),
    ("identifiers", "names go into statements by one function", identifier_check),
    ("words", "no file names a place that only its author has", word_check),
    ("clippy", "no warnings", clippy_check),
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the tests, with the arguments that follow, or checks. True if nothing was found.
fn run(arguments: &[String]) -> anyhow::Result<bool> {
    let workspace = Workspace::load()?;
    match arguments {
        [command, arguments @ ..] if command == "test" => programs::run(&workspace, arguments),
        [name] => check(&workspace, name),
        _ => Err(usage()),
    }
}

fn usage() -> anyhow::Error {
    anyhow::anyhow!(
        "usage: cargo xtask check|{}, or cargo xtask test [ARGUMENTS]",
        CHECKS.map(|(check, ..)| check).join("|")
    )
}

/// Runs the named check, or all of them for `check`. True if nothing was found.
fn check(workspace: &Workspace, name: &str) -> anyhow::Result<bool> {
    let chosen: Vec<_> = CHECKS.iter().filter(|(check, ..)| name == *check || name == "check").collect();
    anyhow::ensure!(!chosen.is_empty(), usage());
    let mut clean = true;
    for (check, promise, function) in chosen {
        let findings = function(workspace).with_context(|| format!("check {check}"))?;
        for finding in &findings {
            eprintln!("{check}: {finding}");
        }
        println!("{} {check}: {promise}", if findings.is_empty() { "ok    " } else { "FAILED" });
        clean &= findings.is_empty();
    }
    Ok(clean)
}

fn fmt_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    cargo(&workspace.root, &["fmt", "--all", "--check"], "not formatted; run `make fmt`")
}

fn clippy_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"];
    cargo(&workspace.root, &arguments, "clippy has warnings")
}

fn cargo(root: &Path, arguments: &[&str], complaint: &str) -> anyhow::Result<Vec<Finding>> {
    let status = metadata::cargo().args(arguments).current_dir(root).status().context("cannot start cargo")?;
    Ok(if status.success() { Vec::new() } else { vec![Finding::new("workspace", complaint)] })
}

fn layer_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let pure = workspace.sources()?.filter(|(package, _)| layers::is_pure(&package.name));
    let impure = pure.flat_map(|(_, sources)| sources).flat_map(purity::check);
    Ok(layers::check(&workspace.packages).into_iter().chain(impure).collect())
}

fn table_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let text = std::fs::read_to_string(workspace.root.join(table::DOCUMENT));
    Ok(table::check(&text.with_context(|| format!("cannot read {}", table::DOCUMENT))?))
}

fn module_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let shipped = workspace.shipped_sources()?;
    Ok(shipped.flat_map(|(package, sources)| modules::check(&package.name, sources)).collect())
}

fn name_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    Ok(names::check(&declared(workspace)?))
}

fn argument_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    Ok(workspace.sources()?.flat_map(|(_, sources)| sources).flat_map(arguments::check).collect())
}

fn value_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let shipped = workspace.shipped_sources()?;
    let passing = shipped.filter(|(package, _)| !values::WRITERS.contains(&package.name.as_str()));
    Ok(passing.flat_map(|(_, sources)| sources).flat_map(values::check).collect())
}

fn size_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    Ok(sizes::check(workspace.sources()?.flat_map(|(_, sources)| sources), sizes::ALLOWED))
}

fn identifier_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    Ok(workspace.shipped_sources()?.flat_map(|(_, sources)| sources).flat_map(identifiers::check).collect())
}

fn doc_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let sources = || Ok::<_, anyhow::Error>(workspace.sources()?.flat_map(|(_, sources)| sources));
    let roots = sources()?.filter(|source| is_root(&source.path));
    let beginnings = roots.flat_map(|source| docs::check(&source.path, &source.text));
    Ok(beginnings.chain(sources()?.flat_map(docs::examples)).collect())
}

fn document_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let files = workspace.files()?;
    let packages = workspace.packages.iter().map(|package| package.name.as_str());
    let known = documents::Known::new(files, &declared(workspace)?, packages);
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    Ok(documents.flat_map(|document| documents::check(document, &known)).collect())
}

fn word_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let files = workspace.files()?;
    let texts = files.iter().filter_map(|file| Some((&file.path, file.text.as_ref()?)));
    Ok(texts.flat_map(|(path, text)| words::check(path, text)).collect())
}

/// All that the workspace declares.
fn declared(workspace: &Workspace) -> anyhow::Result<Vec<Declared>> {
    Ok(workspace.sources()?.flat_map(|(package, sources)| items::of_package(&package.name, sources)).collect())
}
