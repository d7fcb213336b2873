//! Pages in a browser: the tests of `web/test`, on pages of real recordings.

use crate::harness::{Lab, begin};
use plimsoll_render::script;
use plimsoll_testkit::servers::skip;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// No test in a browser takes longer, on the slowest machine.
const LONGEST: Duration = Duration::from_secs(600);

/// Why pages cannot be looked at here; `None` where they can.
#[track_caller]
pub fn no_browser() -> Option<&'static str> {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let needed = [
        (runs("node"), "no node; install nodejs and npm"),
        (runs("chromium"), "no chromium; install it"),
        (web().join("node_modules").is_dir(), "no web/node_modules; run scripts/build-web"),
        (script::BUNDLE.is_some(), "the script of pages is not built in; run scripts/build-web"),
    ];
    needed.into_iter().find(|(is_there, _)| !is_there).map(|(_, reason)| reason)
}

/// Runs a test of `web/test` on pages, which may be files or addresses.
#[track_caller]
pub fn in_browser(test: &str, pages: &[&str]) {
    let mut command = Command::new("node");
    command.arg(web().join("test").join(test)).args(pages);
    begin(command).end_within(LONGEST).exits(0);
}

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
}

/// Two load points, so that there is a curve as well as a timeline.
const SMALL: &str = "quickstart --time 1s --rounds 1 --connections 1,4 --table-size 2000";

#[test]
fn a_report_works_in_a_browser() {
    if let Some(reason) = no_browser() {
        return skip(reason);
    }
    let Some(lab) = Lab::mariadb() else { return };
    lab.does(&format!("{SMALL} --out {}", lab.home().join("out").display()));
    let recording = lab.recordings().pop().expect("quickstart leaves a recording");
    let page = |name: &str, options: &str| {
        let page = lab.home().join(name).display().to_string();
        lab.does(&format!("report {} -o {page} {options}", recording.display()));
        page
    };
    in_browser("report.mjs", &[&page("page.html", ""), &page("short.html", "--short")]);
}
