//! What cargo knows of this workspace: its packages, where they are, and what each depends on.

use std::cell::OnceCell;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::layers;
use crate::source::SourceFile;
use crate::tree::{self, File};

pub struct Workspace {
    pub root: PathBuf,
    /// Where cargo puts what it builds.
    pub target: PathBuf,
    pub packages: Vec<Package>,
    /// Those of each package, once they were asked for.
    sources: OnceCell<Vec<Vec<SourceFile>>>,
    files: OnceCell<Vec<File>>,
}

#[derive(Debug, Clone)]
pub struct Package {
    pub name: String,
    pub dir: PathBuf,
    pub dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `None` for a normal dependency, else `"dev"` or `"build"`.
    pub kind: Option<String>,
}

impl Dependency {
    /// Whether it ships: needed to build the package itself and not only its tests.
    pub fn ships(&self) -> bool {
        self.kind.as_deref() != Some("dev")
    }
}

#[derive(Deserialize)]
struct Metadata {
    workspace_root: PathBuf,
    target_directory: PathBuf,
    packages: Vec<RawPackage>,
}

#[derive(Deserialize)]
struct RawPackage {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

/// The cargo that runs this program, or that of the path.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Workspace {
    /// Asks `cargo metadata`, without the network.
    pub fn load() -> anyhow::Result<Self> {
        // Of the clone it was started in, as `cargo run` says: with a shared target directory this very program may
        // have been built in another.
        let directory = env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
        let output = cargo()
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(directory)
            .output()
            .context("cannot start cargo metadata")?;
        anyhow::ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        Self::parse(&output.stdout)
    }

    fn parse(json: &[u8]) -> anyhow::Result<Self> {
        let metadata: Metadata = serde_json::from_slice(json).context("cargo metadata is not as expected")?;
        let package = |raw: RawPackage| {
            let dir = raw.manifest_path.parent().unwrap_or(Path::new("")).to_path_buf();
            Package { name: raw.name, dir, dependencies: raw.dependencies }
        };
        let packages = metadata.packages.into_iter().map(package).collect();
        Ok(Self {
            root: metadata.workspace_root,
            target: metadata.target_directory,
            packages,
            sources: OnceCell::new(),
            files: OnceCell::new(),
        })
    }

    /// Every package with its Rust files, which are read once.
    pub fn sources(&self) -> anyhow::Result<impl Iterator<Item = (&Package, &[SourceFile])> + Clone> {
        if self.sources.get().is_none() {
            let read: anyhow::Result<Vec<_>> =
                self.packages.iter().map(|package| SourceFile::of_package(&self.root, package)).collect();
            drop(self.sources.set(read?));
        }
        let sources = self.sources.get().into_iter().flatten();
        Ok(self.packages.iter().zip(sources.map(Vec::as_slice)))
    }

    /// Every file of the repository, which are read once.
    pub fn files(&self) -> anyhow::Result<&[File]> {
        if self.files.get().is_none() {
            drop(self.files.set(tree::files(&self.root)?));
        }
        Ok(self.files.get().map_or(&[], Vec::as_slice))
    }

    /// The packages that ship, each with its Rust files.
    pub fn shipped_sources(&self) -> anyhow::Result<impl Iterator<Item = (&Package, &[SourceFile])> + Clone> {
        Ok(self.sources()?.filter(|(package, _)| layers::is_shipped(&package.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_cargo_prints() {
        let json = br#"{"workspace_root":"/r","target_directory":"/t","packages":[{"name":"a","manifest_path":"/r/crates/a/Cargo.toml",
            "dependencies":[{"name":"b","kind":null},{"name":"c","kind":"dev"}]}]}"#;
        let workspace = Workspace::parse(json).unwrap();
        let package = &workspace.packages[0];
        assert_eq!(package.dir, Path::new("/r/crates/a"));
        assert_eq!(package.dependencies.iter().map(Dependency::ships).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn sees_this_very_workspace() {
        assert!(Workspace::load().unwrap().packages.iter().any(|package| package.name == "xtask"));
    }
}
