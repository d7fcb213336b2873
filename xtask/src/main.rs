//! The checks that keep this repository livable: `cargo xtask check`, or one of them by its name.
//!
//! Each check is a function from what it looks at to a list of findings, so that its tests can hand it planted faults:
//! a check that cannot fail is worthless. This program only reads; `make fmt` is the one that changes files.
//! Begin with [`CHECKS`], then `layers.rs`, which holds the table of crates.

mod docs;
mod identifiers;
mod layers;
mod metadata;
mod modules;
mod purity;
mod sizes;
mod source;
mod words;

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;

use metadata::Workspace;
use source::Source;

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
const CHECKS: [(&str, &str, Check); 8] = [
    ("fmt", "code is formatted", fmt_check),
    ("layers", "crates depend downwards only, and the pure ones are pure", layer_check),
    ("modules", "no modules import each other in a circle", module_check),
    ("sizes", "files and functions stay short", size_check),
    ("docs", "each crate begins with what it is", doc_check),
    ("identifiers", "names go into statements by one function", identifier_check),
    ("words", "no file names a place that only its author has", word_check),
    ("clippy", "no warnings", clippy_check),
];

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the named check, or all of them for `check`. True if nothing was found.
fn run(name: Option<&str>) -> anyhow::Result<bool> {
    let chosen: Vec<_> = CHECKS.iter().filter(|(check, ..)| name == Some(check) || name == Some("check")).collect();
    if chosen.is_empty() {
        anyhow::bail!("usage: cargo xtask check|{}", CHECKS.map(|(check, ..)| check).join("|"));
    }
    let workspace = Workspace::load()?;
    let mut clean = true;
    for (check, promise, function) in chosen {
        let findings = function(&workspace).with_context(|| format!("check {check}"))?;
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
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program).args(arguments).current_dir(root).status().context("cannot start cargo")?;
    Ok(if status.success() { Vec::new() } else { vec![Finding::new("workspace", complaint)] })
}

fn layer_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = layers::check(&workspace.packages);
    for package in workspace.packages.iter().filter(|package| layers::is_pure(&package.name)) {
        for source in Source::of_package(&workspace.root, package)? {
            findings.extend(purity::check(&source));
        }
    }
    Ok(findings)
}

fn module_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in workspace.packages.iter().filter(|package| layers::is_shipped(&package.name)) {
        findings.extend(modules::check(&package.name, &Source::of_package(&workspace.root, package)?));
    }
    Ok(modules::without_known(findings, modules::KNOWN))
}

fn size_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut sources = Vec::new();
    for package in &workspace.packages {
        sources.extend(Source::of_package(&workspace.root, package)?);
    }
    Ok(sizes::check(&sources, sizes::ALLOWED))
}

fn identifier_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in workspace.packages.iter().filter(|package| layers::is_shipped(&package.name)) {
        for source in Source::of_package(&workspace.root, package)? {
            findings.extend(identifiers::check(&source));
        }
    }
    Ok(findings)
}

fn doc_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        for path in ["src/lib.rs", "src/main.rs"].map(|file| package.dir.join(file)).iter().filter(|path| path.exists())
        {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            findings.extend(docs::check(&workspace.relative(path), &text));
        }
    }
    Ok(findings)
}

fn word_check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    words::check_tree(&workspace.root)
}
