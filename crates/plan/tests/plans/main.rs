//! The plans of this repository: that they are complete, and that each has what its source prints, as listed in
//! `plans/published.toml`.

mod list;

use list::{List, numbers};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::lab::{Printed, file};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many things each source prints.
const SOURCES: [(&str, usize); 5] = [("NA", 64), ("PE", 30), ("BO", 24), ("SU", 30), ("PU", 30)];
/// Of those whose source printed nothing that they repeat.
const WITHOUT_SOURCE: [&str; 7] = [
    "defaults-durability",
    "filesystems-durability",
    "filesystems-here",
    "netapp-durability",
    "netapp-nfs-durability",
    "pure-durability",
    "tune-small",
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans")
}

fn list() -> List {
    let text = std::fs::read_to_string(directory().join("published.toml")).expect("the list");
    toml::from_str(&text).expect("a list")
}

/// The plans by their names.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(directory()).expect("plans").map(|entry| entry.expect("a file").path());
    let plans = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut names: Vec<String> = plans.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| name != "published");
    names.sort();
    names
}

fn plan(name: &str, preset: Option<&str>) -> LabPlan {
    let path = format!("{name}.toml");
    let text = std::fs::read_to_string(directory().join(&path)).expect("a plan");
    let option_file = |file: &str| std::fs::read_to_string(directory().join(file)).map_err(|error| error.to_string());
    file::read(&path, &text, file::PlanChoices { preset, seed: 1, ..Default::default() }, &option_file)
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_list_has_every_number_of_every_source_once() {
    let list = list();
    for (ids, count) in SOURCES {
        assert!(list.source.iter().any(|of| of.ids == ids && !of.title.is_empty()), "{ids}");
        let wanted: BTreeSet<String> = (1..=count).map(|number| format!("{ids}{number}")).collect();
        let found: Vec<&str> = list
            .number
            .iter()
            .map(|of| of.id.as_str())
            .filter(|id| id.trim_end_matches(char::is_numeric) == ids)
            .collect();
        assert_eq!(found.len(), count, "{ids}");
        assert_eq!(found.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), wanted);
    }
    let plans = names();
    for of in &list.number {
        let says = !of.numbers.is_empty() || !of.derived.is_empty() || of.text.is_some();
        assert!(says && !of.what.is_empty(), "{} says nothing", of.id);
        assert!([0, 1, of.numbers.len()].contains(&of.connections.len()), "{}", of.id);
        assert!(!of.plans.is_empty() && of.plans.iter().all(|plan| plans.contains(plan)), "{}: {:?}", of.id, of.plans);
        assert_eq!(of.place.is_none(), of.numbers.is_empty() && !of.derived.is_empty(), "{}: its place", of.id);
    }
}

#[test]
fn every_plan_says_what_it_is_and_has_a_small_preset() {
    for name in names() {
        let full = plan(&name, None);
        assert_eq!(full.name, name, "a plan is called as its file is");
        assert!(full.title.is_some(), "{name} has no title");
        assert!(full.source.is_some() || WITHOUT_SOURCE.contains(&name.as_str()), "{name} has no source");
        assert!(!full.chosen.is_empty(), "{name} says nothing of what was chosen");
        let small = plan(&name, Some("small"));
        assert_eq!(small.published, full.published, "{name}: what was printed does not depend on the preset");
    }
}

#[test]
fn every_plan_carries_what_its_source_prints() {
    let list = list();
    let problems = names().into_iter().flat_map(|name| {
        let problems = list.problems(&name, &plan(&name, Some("small")));
        problems.into_iter().map(move |problem| format!("{name}: {problem}"))
    });
    let problems: Vec<String> = problems.collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What the check would be worth nothing without.
#[test]
fn a_number_that_was_changed_dropped_or_added_is_found() {
    let list = list();
    for name in names() {
        let whole = plan(&name, None);
        let problems = |published| list.problems(&name, &LabPlan { published, ..whole.clone() });
        let found = |published: Vec<Printed>| problems(published) != problems(whole.published.clone());
        for (at, of) in whole.published.iter().enumerate().filter(|(_, of)| !said(of).is_empty()) {
            let about = format!("{name}: {:?} {}", of.id, of.metric);
            let mut changed = whole.published.clone();
            change(&mut changed[at]);
            assert!(found(changed), "{about} was changed");
            // The same may be said of several variants.
            let others = whole.published.iter().filter(|other| (&other.id, said(other)) != (&of.id, said(of)));
            assert!(found(others.cloned().collect()), "{about} was dropped");
            if let Some(next) = next_of(&whole.published, at) {
                let mut swapped = whole.published.clone();
                (swapped[at].value, swapped[next].value) = (swapped[next].value, swapped[at].value);
                assert!(found(swapped), "{about} was swapped with the next of its id");
            }
            let another = Printed { id: of.id.clone(), value: Some(4711.5), kind: of.kind, ..Printed::default() };
            assert!(found(whole.published.iter().cloned().chain([another]).collect()), "{about} got another");
        }
    }
}

/// The next entry of the same id and kind, if both say one number, and not the same.
fn next_of(all: &[Printed], at: usize) -> Option<usize> {
    let of = &all[at];
    let is_alike = |(_, next): &(usize, &Printed)| (&next.id, next.kind) == (&of.id, of.kind);
    let (place, next) = all.iter().enumerate().skip(at + 1).find(is_alike)?;
    (of.value.is_some() && next.value.is_some() && next.value != of.value).then_some(place)
}

/// The numbers that an entry says.
fn said(of: &Printed) -> Vec<f64> {
    let range = of.range.into_iter().flat_map(|(low, high)| [low, high]);
    let in_text = of.text.as_deref().map(numbers).into_iter().flatten();
    of.value.into_iter().chain(of.values.iter().flatten().copied()).chain(range).chain(in_text).collect()
}

fn change(of: &mut Printed) {
    let changed = |number: f64| number + 4711.5;
    of.value = of.value.map(changed);
    of.range = of.range.map(|(low, high)| (low, changed(high)));
    if let Some(text) = &mut of.text {
        text.push_str(", 4711.5");
    }
    if let Some(last) = of.values.as_mut().and_then(|values| values.last_mut()) {
        *last = changed(*last);
    }
}

#[test]
fn numbers_are_found_in_texts() {
    for (text, found) in [
        ("flush at commit 1, 90 % dirty pages, O_DIRECT", vec![1.0, 90.0]),
        ("1,000,000 and 2.6 GB; −9 %, ≥ 1 GB, ≥16", vec![1e6, 2.6, -9.0, 1.0, 16.0]),
        ("5.0.56, crc32, 2.6.9-42.ELsmp", vec![]),
        ("500M × 2, 22G", vec![500.0, 2.0, 22.0]),
        ("0 / 1–2 (first 12)", vec![0.0, 1.0, 2.0, 12.0]),
    ] {
        assert_eq!(numbers(text), found, "{text}");
    }
}

/// Nobody needs to read a plan of this repository before running it: with any preset, it does nothing that needs
/// permission.
#[test]
fn no_plan_and_no_option_file_asks_for_leave() {
    for name in names() {
        for preset in [None, Some("small")] {
            let asks = plan(&name, preset).asks(&Given::default());
            assert!(asks.iter().all(|asked| !asked.what.needs_permission()), "{name}: {asks:#?}");
        }
    }
    // Those that no plan names, too.
    let files = std::fs::read_dir(directory()).expect("plans").map(|entry| entry.expect("a file").path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "cnf")) {
        let text = std::fs::read_to_string(&path).expect("an option file");
        let with = "name = \"a\"\nworkload.kind = \"tpcc\"\nserver.config_file = \"x\"\n";
        let plan = file::read("p", with, file::PlanChoices::of_seed(1), &|_| Ok(text.clone())).expect("a plan");
        assert_eq!(plan.asks(&Given::default()), [], "{}", path.display());
    }
}

/// A lab of any of these can be gone on with.
#[test]
fn every_plan_is_read_from_a_recording_as_it_was_written() {
    for name in names() {
        for preset in [None, Some("small")] {
            let plan = plan(&name, preset).on("mysql");
            let written = serde_json::to_string(&plan).expect("JSON");
            let read = serde_json::from_str(&written).expect("the same plan");
            assert_eq!(file::recorded(read), Ok(plan), "{name}");
        }
    }
}
