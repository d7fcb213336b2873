//! One server under its load, and what each advisor says of it: MySQLTuner and pt-variable-advisor are asked while it works,
//! Plimsoll's rules look at the recording of the same minute.

use super::situation::Situation;
use crate::arena::Arena;
use crate::peers;
use crate::peers::advisors::{Advised, Advisor, mysqltuner, plimsoll, variable_advisor};
use anyhow::Context;
use plimsoll_plan::knowledge::release::Release;
use plimsoll_plan::lab::file::draft::DraftAsks;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Loading, a look, and asking.
const PATIENCE: Duration = Duration::from_secs(1200);
/// How often the peers are asked, seconds: what was said last counts, when the server has counted longest.
const EVERY: u32 = 15;

/// What all advisors say of a server in this situation.
///
/// # Errors
/// If the server could not be looked at, or on Ctrl-C.
pub fn advised(arena: &Arena, situation: &Situation) -> anyhow::Result<Vec<(Advisor, Advised)>> {
    // Not below the home, whose path may be too long for a socket.
    let place = tempfile::tempdir().context("making a directory for the server's socket")?;
    let script = place.path().join("ask.sh");
    fs::write(&script, asking(arena, place.path()))?;
    let collector =
        format!("\n[[collector]]\nname = \"peers\"\ncommand = \"sh {}\"\nevery = \"{EVERY}s\"\n", script.display());
    let plan = situation.draft(arena, DraftAsks::Look)?.text() + &collector;
    let mut lab = peers::plimsoll::lab(arena, "look", &plan)?;
    lab.env("XDG_RUNTIME_DIR", place.path());
    let summary = peers::plimsoll::summary_of_lab(arena, lab, PATIENCE)?;
    let mut advise = arena.plimsoll_alone("advise");
    advise.arg(summary.recording.context("the summary names no recording")?).arg("--json");
    let own = plimsoll::read(&arena.run(advise, PATIENCE)?.stdout)?;
    let release = Release::of(arena.build().flavour, &arena.build().version);
    let said = |advisor: Advisor| {
        let path = printed(place.path(), advisor);
        let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match (advisor, text) {
            (Advisor::Plimsoll, _) => own.clone(),
            (_, Err(_)) => Advised::Nothing("it is not here, or did not end in time".to_owned()),
            (Advisor::Mysqltuner | Advisor::LatestMysqltuner, Ok(text)) => mysqltuner::read(&text),
            (Advisor::Percona, Ok(text)) => variable_advisor::read(&text, release),
        }
    };
    Ok(Advisor::ALL.map(|advisor| (advisor, said(advisor))).to_vec())
}

/// Where what an advisor printed is kept.
fn printed(place: &Path, advisor: Advisor) -> PathBuf {
    place.join(format!("{}.txt", advisor.slug()))
}

/// A script that asks the peers of the one server whose socket is below `place`.
fn asking(arena: &Arena, place: &Path) -> String {
    let ask = |advisor: Advisor, command: &str| {
        let path = printed(place, advisor);
        format!("  {command} >new.txt 2>&1 </dev/null; mv new.txt {}\n", path.display())
    };
    let latest = arena.tools().mysqltuner.as_ref().map(|script| {
        let command = format!("perl {} --defaults-file client.cnf --nocolor", script.display());
        ask(Advisor::LatestMysqltuner, &command)
    });
    let own =
        ask(Advisor::Mysqltuner, "command -v mysqltuner >/dev/null && mysqltuner --defaults-file client.cnf --nocolor");
    let variables =
        ask(Advisor::Percona, "command -v pt-variable-advisor >/dev/null && pt-variable-advisor \"S=$socket,u=root\"");
    format!(
        "cd {} || exit\nfor socket in plimsoll/*.sock; do\n  \
         printf '[client]\\nuser=root\\nsocket=%s\\n' \"$PWD/$socket\" >client.cnf\n{variables}{}{own}done\necho 1\n",
        place.display(),
        latest.unwrap_or_default()
    )
}
