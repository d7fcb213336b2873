//! Identical starting data: a dataset is built once, kept, copied to where variants run, and restored before each
//! trial.
//!
//! [`recipe`] is everything that decides the contents of a dataset, and so its name; [`build`] builds one,
//! [`mod@restore`] puts it where the server of a trial will find it, [`layout`] knows which files go elsewhere and
//! which settings the server needs to find them; [`server`] is where one is built and checked.

mod build;
mod copy;
mod image;
pub mod layout;
pub mod recipe;
mod restore;
pub(crate) mod server;
pub(crate) mod small_redo;

use crate::DataError;
pub use layout::layout_settings;
use plimsoll_host::Home;
use plimsoll_lanes::Lane;
use plimsoll_model::Build;
use plimsoll_plan::lab::{Setting, Variant};
use plimsoll_plan::quantity;
use plimsoll_server::snapshot::store::{self, BUILT, Stored, StoredDescription};
use plimsoll_server::{ServerError, TrialDirectory};
use plimsoll_watch::{Event, Watcher};
use recipe::Recipe;
pub use restore::restore;
pub use server::checksums;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long another Plimsoll may take to make a dataset that is waited for.
const MADE_WITHIN: Duration = Duration::from_secs(24 * 3600);
const LOOK: Duration = Duration::from_millis(100);

/// The directories of a trial: one for the data, and one on each path of the layout, by that path.
#[derive(Debug)]
pub struct TrialDirectories {
    pub data: TrialDirectory,
    pub apart: Vec<(PathBuf, TrialDirectory)>,
    /// The lane that the data are on, if any.
    pub lane: Option<Lane>,
    /// Whether a lab has built that lane for itself: then nobody else keeps anything on it.
    pub lane_is_ours: bool,
}

impl TrialDirectories {
    /// The trial directory on a path of the layout; the data's if the path has none.
    fn on(&self, path: &Path) -> &TrialDirectory {
        self.apart.iter().find(|(on, _)| on == path).map_or(&self.data, |(_, directory)| directory)
    }

    /// Removes what a trial left. The server must be down.
    ///
    /// # Errors
    /// [`ServerError::Io`].
    pub fn clear(&self) -> Result<(), ServerError> {
        std::iter::once(&self.data)
            .chain(self.apart.iter().map(|(_, directory)| directory))
            .try_for_each(TrialDirectory::clear)
    }
}

/// The dataset that `variant` starts from, in the home or place where it runs: found there, copied from elsewhere and
/// verified, or built. `build` is the variant's server. No server may run in the trial directories.
///
/// # Errors
/// [`DataError::Refused`] if no dataset has the name that the plan gives, or two have it, or another build made it, or
/// its settings are not the plan's; otherwise those of servers and loading. Anything incomplete is removed. One that
/// another Plimsoll is making is waited for.
pub fn obtain(
    home: &Home,
    directories: &TrialDirectories,
    build: &Build,
    variant: &Variant,
    watcher: &mut dyn Watcher,
) -> Result<Stored, DataError> {
    once_made(watcher, |watcher| obtain_now(home, directories, build, variant, watcher))
}

/// Gets a dataset; as long as another Plimsoll makes or removes it, tries again.
fn once_made<T>(
    watcher: &mut dyn Watcher,
    mut get: impl FnMut(&mut dyn Watcher) -> Result<T, DataError>,
) -> Result<T, DataError> {
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        match get(watcher) {
            // One that exists was completed between our looking for it and our beginning it.
            Err(DataError::Server(ServerError::DatasetLocked { .. } | ServerError::DatasetExists { .. }))
                if begun.elapsed() < MADE_WITHIN => {}
            got => return got,
        }
        if !is_told {
            watcher.tell(Event::Doing("waiting for a dataset that another lab makes"));
            is_told = true;
        }
        if watcher.interrupted() {
            return Err(DataError::Interrupted);
        }
        thread::sleep(LOOK);
    }
}

fn obtain_now(
    home: &Home,
    directories: &TrialDirectories,
    build: &Build,
    variant: &Variant,
    watcher: &mut dyn Watcher,
) -> Result<Stored, DataError> {
    let place = directories.data.home();
    match &variant.workload.dataset {
        Some(name) => {
            let stored = at_hand(home, place, name, watcher)?.ok_or_else(|| {
                DataError::Refused(format!("{}: there is no dataset `{name}`", variant.at("workload.dataset")))
            })?;
            must_open(build, &stored)?;
            fixed(&stored, &variant.config)?;
            Ok(stored)
        }
        None => {
            let recipe = Recipe::of(build, variant)?;
            match at_hand(home, place, &recipe.id(), watcher)? {
                Some(stored) => Ok(stored),
                None => build::build(directories, &recipe, watcher),
            }
        }
    }
}

/// The dataset `id` in `place`, copied there if only the home or another place has it.
fn at_hand(home: &Home, place: &Home, id: &str, watcher: &mut dyn Watcher) -> Result<Option<Stored>, DataError> {
    let here = store::find(place, id)?;
    let copies: Vec<Stored> = store::list(home)?.into_iter().filter(|stored| stored.description.id == id).collect();
    must_be_one(&copies)?;
    match (here, copies.first()) {
        (Some(stored), _) => Ok(Some(stored)),
        (None, None) => Ok(None),
        (None, Some(original)) => {
            watcher.tell(Event::Doing(&format!("copying the dataset {id} to {}", place.path().display())));
            stopped(store::duplicate(original, place, &mut || !watcher.interrupted())).map(|(copy, _)| Some(copy))
        }
    }
}

/// Checks that one name means one dataset. The name of a built dataset says all that decides its contents, so it may
/// have been built twice.
fn must_be_one(copies: &[Stored]) -> Result<(), DataError> {
    let [first, others @ ..] = copies else { return Ok(()) };
    let made = |stored: &Stored| match stored.description.origin.as_str() {
        BUILT => None,
        _ => Some(stored.description.made.clone()),
    };
    let tells = |stored: &Stored| (made(stored), stored.description.checksums.clone());
    match others.iter().find(|other| tells(other) != tells(first)) {
        None => Ok(()),
        Some(other) => Err(DataError::Refused(format!(
            "two different datasets are called `{}`, {} and {}; save them under two names, or remove both with \
             `plimsoll datasets rm`",
            first.description.id,
            first.directory.display(),
            other.directory.display()
        ))),
    }
}

/// The settings that are fixed with the data of a dataset, except those that are `requested`.
///
/// # Errors
/// [`DataError::Refused`] if a different value is requested: no server would start with it.
pub fn fixed(stored: &Stored, requested: &[Setting]) -> Result<Vec<(String, String)>, DataError> {
    let mut settings = Vec::new();
    for (name, value) in &stored.description.fixed {
        match requested.iter().find(|setting| setting.name == *name) {
            None => settings.push((name.clone(), value.clone())),
            Some(asked) if same(&asked.value, value) => {}
            Some(Setting { value: asked, at, .. }) => {
                return Err(DataError::Refused(format!(
                    "{at}: {name}: found {asked}; accepted is {value}, with which the dataset `{}` was made",
                    stored.description.id
                )));
            }
        }
    }
    Ok(settings)
}

/// `16K` is `16384`.
fn same(asked: &str, value: &str) -> bool {
    let size = |text: &str| quantity::size(text).ok();
    asked.eq_ignore_ascii_case(value) || (size(asked).is_some() && size(asked) == size(value))
}

/// The table of a trial that differs from the dataset that it started from, by `checksums` of `database.table`; none if
/// none differs, or none can be compared.
pub fn unlike(stored: &Stored, checksums: &BTreeMap<String, String>) -> Option<String> {
    let StoredDescription { id, checksums: kept, .. } = &stored.description;
    let differing = |(table, sum): (&String, &String)| {
        let expected = kept.get(table).filter(|expected| *expected != sum)?;
        Some(format!("the table {table} has the checksum {sum}; in the dataset `{id}` it has {expected}"))
    };
    checksums.iter().find_map(differing)
}

fn must_open(build: &Build, stored: &Stored) -> Result<(), DataError> {
    let made_by = &stored.description.build;
    match build.may_open_data_of(made_by) {
        true => Ok(()),
        false => Err(DataError::Refused(format!(
            "the dataset `{}` was made by {made_by}, and {build} might be unable to open it; name the former as the \
             build of the variant",
            stored.description.id
        ))),
    }
}

/// A copy that was stopped counts as interrupted, like everything else.
fn stopped<T>(result: Result<T, ServerError>) -> Result<T, DataError> {
    result.map_err(|error| match error {
        ServerError::Interrupted { .. } => DataError::Interrupted,
        other => DataError::Server(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;
    use plimsoll_plan::lab::Where;

    fn stored(home: &Home, origin: &str, made: &str, sum: &str) -> Stored {
        let build = Build { flavour: Flavour::MySql, version: "9.7.0".to_owned(), binary: "/bin/true".into() };
        let description = StoredDescription {
            plimsoll_dataset: 1,
            id: "monday".to_owned(),
            build,
            fixed: [("innodb_page_size".to_owned(), "16384".to_owned())].into(),
            contents: Vec::new(),
            checksums: [("sbtest.sbtest1".to_owned(), sum.to_owned())].into(),
            bytes: 1,
            made: made.to_owned(),
            origin: origin.to_owned(),
        };
        Stored { home: home.clone(), directory: home.datasets().join(made), description }
    }

    fn home() -> (tempfile::TempDir, Home) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
        (directory, home)
    }

    /// Notes what it is told; interrupted from the start, or never.
    struct Told {
        interrupted: bool,
        texts: Vec<String>,
    }

    impl Watcher for Told {
        fn tell(&mut self, event: Event<'_>) {
            if let Event::Doing(text) = event {
                self.texts.push(text.to_owned());
            }
        }

        fn interrupted(&self) -> bool {
            self.interrupted
        }
    }

    #[test]
    fn what_another_lab_makes_is_waited_for() {
        let (_directory, home) = home();
        let mut making = Some(store::Making::begin(&home, "monday").unwrap());
        let mut looks = 0;
        let mut told = Told { interrupted: false, texts: Vec::new() };
        let got = once_made(&mut told, |_| {
            looks += 1;
            if looks == 3 {
                drop(making.take());
            }
            Ok(store::Making::begin(&home, "monday").map(drop)?)
        });
        got.unwrap();
        assert_eq!((looks, told.texts.len()), (3, 1));
        assert!(told.texts[0].contains("another lab"), "{:?}", told.texts);
        let _making = store::Making::begin(&home, "monday").unwrap();
        let mut told = Told { interrupted: true, texts: Vec::new() };
        let stopped = once_made(&mut told, |_| Ok(store::Making::begin(&home, "monday").map(drop)?));
        assert!(matches!(stopped, Err(DataError::Interrupted)));
        let other: Result<(), _> = once_made(&mut told, |_| Err(DataError::Refused("no".to_owned())));
        assert!(matches!(other, Err(DataError::Refused(_))));
    }

    #[test]
    fn two_datasets_of_one_name_are_told_apart() {
        let (_directory, home) = home();
        let copies = |origin: &str, (made, sum)| {
            must_be_one(&[stored(&home, origin, "8:00", "1"), stored(&home, origin, made, sum)])
        };
        copies("clone", ("8:00", "1")).unwrap();
        copies(BUILT, ("9:00", "1")).unwrap();
        for (origin, other) in [("clone", ("9:00", "1")), ("clone", ("8:00", "2")), (BUILT, ("9:00", "2"))] {
            let refused = copies(origin, other).unwrap_err().to_string();
            assert!(refused.contains(&format!("datasets/{}", other.0)), "{refused}");
        }
    }

    #[test]
    fn what_is_fixed_with_the_data_is_set_and_nothing_else_is_accepted() {
        let (_directory, home) = home();
        let stored = stored(&home, "clone", "8:00", "1");
        let asked = |value: &str| {
            let (name, value) = ("innodb_page_size".to_owned(), value.to_owned());
            fixed(&stored, &[Setting { name, value, at: Where::default(), from_file: false }])
        };
        assert_eq!(fixed(&stored, &[]).unwrap(), [("innodb_page_size".to_owned(), "16384".to_owned())]);
        assert!(asked("16K").unwrap().is_empty());
        let refused = asked("4K").unwrap_err().to_string();
        assert!(refused.contains("4K") && refused.contains("16384") && refused.contains("monday"), "{refused}");
    }

    #[test]
    fn a_table_that_is_not_as_it_was_is_named() {
        let (_directory, home) = home();
        let stored = stored(&home, "clone", "8:00", "1");
        let sums = |table: &str, sum: &str| [(table.to_owned(), sum.to_owned())].into();
        assert_eq!(unlike(&stored, &sums("sbtest.sbtest1", "1")), None);
        assert_eq!(unlike(&stored, &sums("sbtest.other", "2")), None, "the dataset does not know it");
        let found = unlike(&stored, &sums("sbtest.sbtest1", "2")).unwrap();
        assert!(found.contains("sbtest.sbtest1") && found.contains("monday"), "{found}");
    }
}
