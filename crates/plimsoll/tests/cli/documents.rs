//! Every command that README, docs/ and plans/ show is executed, in a size that a test can afford.
//!
//! `documents/substitutions.toml` is the one table that says how commands are shortened, shrunk and mapped, and which
//! are executed elsewhere or in another way. A command that fails, or that the table does not cover, fails the test
//! with its file and line; so does an entry of the table that no document needs any more.

mod desk;
mod find;
mod table;

use crate::harness::Lab;
use crate::lanes::Shore;
use desk::{Desk, Season};
pub use find::root;
use find::{commands_in, commands_of, documents};
use std::fs;
use std::path::Path;
use table::{Table, Used};

/// Documents with a server and a test of their own; one test plays all others.
const OF_THEIR_OWN: [&str; 3] = ["README.md", "docs/lab.md", "docs/storage.md"];

/// Plays documents on one desk, one after the other.
fn play(documents: &[String], season: Season) {
    let Some(lab) = Lab::mariadb() else { return };
    let table = Table::read();
    let desk = Desk::with(lab, &table);
    let wrong: Vec<String> =
        documents.iter().flat_map(|document| desk.play(&commands_of(document), &table, season)).collect();
    assert!(wrong.is_empty(), "{} commands are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A plan of the repository with the paths of a desk in this directory.
pub fn mapped(plan: &str, directory: &Path) -> String {
    let text = Table::read().mapped(plan, &mut Used::default());
    text.replace("{DESK}", &directory.display().to_string())
}

fn others() -> Vec<String> {
    documents().into_iter().filter(|document| !OF_THEIR_OWN.contains(&document.as_str())).collect()
}

#[test]
fn the_commands_of_the_readme_work() {
    play(&["README.md".to_owned()], Season::Short);
}

#[test]
fn the_commands_of_the_lab_work() {
    play(&["docs/lab.md".to_owned()], Season::Short);
}

#[test]
fn the_commands_of_storage_evaluations_work() {
    play(&["docs/storage.md".to_owned()], Season::Short);
}

#[test]
fn the_commands_of_all_other_documents_work() {
    play(&others(), Season::Short);
}

#[test]
#[ignore = "builds lanes, which are mounted; make test-all"]
fn the_long_commands_of_all_documents_work() {
    let Some(_lanes_are_ours) = Shore::networked() else { return };
    play(&documents(), Season::Long);
}

#[test]
fn no_entry_of_the_table_is_stale() {
    let (table, mut used) = (Table::read(), Used::default());
    for document in documents() {
        let commands = commands_of(&document);
        table.before(&document, None, &mut used);
        for typed in &commands {
            table.played(typed, &mut used);
            table.before(&document, Some(&typed.text), &mut used);
        }
    }
    for (_, shown) in find::files_shown() {
        table.shortened(&shown, &mut used);
    }
    for plan in documents().iter().filter(|document| document.ends_with(".toml")) {
        table.mapped(&fs::read_to_string(root().join(plan)).expect("a plan"), &mut used);
    }
    table.shortened(&fs::read_to_string(root().join("Makefile")).expect("the Makefile"), &mut used);
    let stale = table.stale(&used);
    assert!(stale.is_empty(), "no document has what these entries are for: {stale:#?}");
}

/// A document with what must not pass.
const PLANTED: &str = "\
Stale in a sentence: `plimsoll rum oltp_read_write`, and `make no-such-target`; `plimsoll workloads` is not.
```
plimsoll run oltp_read_write --no-such-option 7
for i in 1 2; do
    plimsoll workloads no_such_workload
done
plimsoll workloads oltp_read_write   # this is right, `plimsoll lane upp` is not
frobnicate --all
plimsoll workloads no_such_workload && plimsoll workloads
```
";

#[test]
fn a_stale_command_fails() {
    let Some(lab) = Lab::mariadb() else { return };
    let table = Table::read();
    let desk = Desk::with(lab, &table);
    let wrong = desk.play(&commands_in("planted.md", PLANTED), &table, Season::Short);
    let places: Vec<&str> = wrong.iter().filter_map(|of| of.lines().next()).collect();
    let expected = [
        "planted.md:1: plimsoll rum oltp_read_write",
        "planted.md:1: make no-such-target",
        "planted.md:3: plimsoll run oltp_read_write --no-such-option 7",
        "planted.md:4: for i in 1 2; do",
        "planted.md:7: plimsoll lane upp",
        "planted.md:8: frobnicate --all",
        "planted.md:9: plimsoll workloads no_such_workload && plimsoll workloads",
    ];
    assert_eq!(places, expected, "{wrong:#?}");
}
