//! Embeds a script that `scripts/build-web` has built, if it has. The build scripts of the report and of the dashboard
//! share this code. Without the script there is nothing to embed, and cargo builds anyway: it never runs Node.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Copies `web/dist/<name>` to `OUT_DIR/script.js`, prepared by `prepare`, and sets `PLIMSOLL_SCRIPT_HASH` for the
/// compiler to what a content security policy calls it. Without the script the copy is empty and `PLIMSOLL_SCRIPT_HASH`
/// is not set.
///
/// # Panics
/// If the copy cannot be written, or the script contains what would end the element around it.
pub fn embed(name: &str, prepare: fn(&str) -> String) {
    let built = root().join("web/dist");
    let source = built.join(name);
    let script = fs::read_to_string(&source).ok();
    // A missing file would make cargo rebuild each time; its folder always exists.
    let watched = if script.is_some() { &source } else { &built };
    println!("cargo::rerun-if-changed={}", watched.display());

    let script = script.map(|text| prepare(&text));
    if let Some(text) = &script {
        println!("cargo::rustc-env=PLIMSOLL_SCRIPT_HASH=sha256-{}", STANDARD.encode(Sha256::digest(text)));
    }
    let copy = Path::new(&variable("OUT_DIR")).join("script.js");
    fs::write(&copy, script.unwrap_or_default()).unwrap_or_else(|error| panic!("{}: {error}", copy.display()));
}

fn root() -> PathBuf {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).map(Path::to_path_buf).unwrap_or(package)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
