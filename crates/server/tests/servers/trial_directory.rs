//! Directories of labs: locked, emptied, removed, also after a kill; and the places that they lie in.

use crate::place::{NAME, Place, home_at, on_each_server, on_one_server};
use plimsoll_host::process::Identity;
use plimsoll_server::registry::{self, Cleaned, ServerState};
use plimsoll_server::{Opening, ServerError, TrialDirectory};
use plimsoll_testkit::servers::{self, wait_until};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A lab with a server on the other disk is killed; gives the directory that it worked in.
fn killed_lab(place: &Place) -> PathBuf {
    let lab = place.another_plimsoll("lab");
    let pid = lab.said.parse().unwrap_or_else(|_| panic!("{}", lab.said));
    let info = registry::list(&place.home).unwrap().remove(0);
    assert!(matches!(&info.state, ServerState::Running { held_by: Some(_), .. }), "{info:?}");
    assert!(matches!(place.directory("us"), Err(ServerError::Locked { .. })));
    let cleaning = registry::clean(&place.home);
    assert!(cleaning.cleaned.is_empty() && cleaning.left.len() == 1, "{cleaning:?}");
    lab.kill();
    assert!(wait_until(LONG, || Identity::of(pid).is_none()), "it dies with its lab");
    info.home.servers().join("lab")
}

#[test]
fn a_lab_that_was_killed_leaves_nothing_that_clean_does_not_remove() {
    on_each_server(|place| {
        let directory = killed_lab(place);
        let precious = place.disk().join("precious");
        fs::write(&precious, "").unwrap();
        fs::create_dir_all(directory.join("parts/redo")).unwrap();
        symlink(place.disk(), directory.join("parts/redo/link")).unwrap();
        symlink(&precious, directory.join("link")).unwrap();

        let cleaning = registry::clean(&place.home);
        assert!(
            cleaning.cleaned.contains(&Cleaned::Path(directory.clone())) && cleaning.left.is_empty(),
            "{cleaning:?}"
        );
        let left: Vec<_> = fs::read_dir(place.disk()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [precious], "the place is gone, and no link was followed");
        assert!(fs::read_dir(place.home.path().join("places")).unwrap().next().is_none(), "its note too");
        assert!(registry::clean(&place.home).cleaned.is_empty());
    });
}

#[test]
fn the_next_lab_takes_what_a_killed_one_has_left() {
    on_one_server(|place| {
        let path = killed_lab(place);
        fs::remove_file(path.join("data/plimsoll-data.json")).unwrap();
        let directory = place.directory("us").unwrap();
        assert!(path.join("rig").exists() && !directory.data().exists());
        let server = directory.open(&place.build, &place.settings(), Opening::new("us")).unwrap();
        assert!(server.is_alive());
        server.stop(LONG).unwrap();
        directory.remove().unwrap();
        assert!(!path.exists());
    });
}

#[test]
fn a_removal_that_was_cut_short_goes_on() {
    let base = servers::home();
    let home = home_at(base.path());
    let directory = TrialDirectory::take(&home, "lab", "us").unwrap();
    let path = directory.directory().path().to_owned();
    drop(directory);
    let markers = ["server.json", "lock", "rig"];
    for gone in 0..=markers.len() {
        fs::create_dir_all(&path).unwrap();
        for (place, name) in markers.iter().enumerate().skip(gone) {
            let text = if place == 0 { r#"{"plimsoll_server": 1, "process": null}"# } else { "" };
            fs::write(path.join(name), text).unwrap();
        }
        let cleaning = registry::clean(&home);
        assert_eq!(cleaning.cleaned, [Cleaned::Path(path.clone())], "{cleaning:?}");
        assert!(!path.exists());
    }
}

#[test]
fn what_was_killed_as_it_began_is_removed() {
    let base = servers::home();
    let home = home_at(base.path());
    let path = home.servers().join("begun");
    let half = format!("server.json.{}.new", "0123456789abcdef".repeat(2));
    for begun in [&[][..], &["lock"], &["lock", "rig"], &["lock", &half]] {
        fs::create_dir_all(&path).unwrap();
        begun.iter().for_each(|name| fs::write(path.join(name), "").unwrap());
        let cleaning = registry::clean(&home);
        assert_eq!(cleaning.cleaned, [Cleaned::Path(path.clone())], "{cleaning:?}");
        assert!(!path.exists());
    }
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("thesis.txt"), "precious").unwrap();
    assert_eq!(registry::clean(&home).left.len(), 1);
    assert!(path.join("thesis.txt").exists());
}

#[test]
fn a_server_that_was_made_by_hand_is_no_rig() {
    on_one_server(|place| {
        place.open(Opening::new("a person")).unwrap().stop(LONG).unwrap();
        assert!(matches!(TrialDirectory::take(&place.home, NAME, "us"), Err(ServerError::Foreign { .. })));
        registry::clean(&place.home);
        assert!(place.path().join("data/plimsoll-data.json").exists());
    });
}

#[test]
fn a_place_is_forgotten_when_it_is_gone_and_not_when_its_disk_is_not_mounted() {
    let Some(disk) = servers::tmpfs(1 << 20) else { return };
    let base = servers::home();
    let home = home_at(base.path());
    let here = home.below(base.path()).unwrap();
    let there = home.below(disk.path()).unwrap();
    fs::create_dir_all(here.datasets().join("kept")).unwrap();
    fs::create_dir_all(there.datasets().join("kept")).unwrap();
    drop(disk);
    assert_eq!(home.places().unwrap(), std::slice::from_ref(&here));
    assert!(registry::clean(&home).cleaned.is_empty(), "one holds data, the other is not mounted");

    fs::remove_dir_all(here.path()).unwrap();
    assert_eq!(registry::clean(&home).cleaned.len(), 1, "the note of the one that somebody removed");
    let notes = fs::read_dir(home.path().join("places")).unwrap();
    assert_eq!(notes.count(), 1, "the other disk may come back");
}
