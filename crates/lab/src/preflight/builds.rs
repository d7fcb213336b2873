//! The servers of a plan: found and asked for their options once, and what they do with the plan's settings.

use super::Prepared;
use super::semi_sync::SemiSyncNames;
use crate::error::LabError;
use crate::error::refused;
use plimsoll_data::starting_data::recipe::BinaryIdentity;
use plimsoll_model::Build;
use plimsoll_model::secrets::is_secret;
use plimsoll_plan::knowledge::{Consequence, Translated, TranslatedSetting, translate};
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::lab::{Setting, Variant};
use plimsoll_server::ServerError;
use plimsoll_server::find::{self, Selector};
use plimsoll_server::options::{self, BuildOptions};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Parts of a layout, and the option that places each.
const PLACED_BY: [(&str, &str); 4] = [
    ("redo", "innodb_log_group_home_dir"),
    ("doublewrite", "innodb_doublewrite_dir"),
    ("undo", "innodb_undo_directory"),
    ("tmp", "tmpdir"),
];

#[derive(Default)]
pub(super) struct Builds {
    /// In a dry run, what the command line says: nothing else that the plan names is run. `None` runs everything.
    dry: Option<Given>,
    /// By their names in the plan, with what their binaries were when they were found.
    found: BTreeMap<String, FoundBuild>,
    /// By binary and plugins.
    options: BTreeMap<(PathBuf, Vec<String>), BuildOptions>,
}

struct FoundBuild {
    build: Build,
    identity: BinaryIdentity,
}

impl FoundBuild {
    fn of(build: Build) -> Result<FoundBuild, LabError> {
        Ok(FoundBuild { identity: BinaryIdentity::of(&build)?, build })
    }

    /// The build, unless an upgrade has put another in its place: trials of both would stand under one name.
    fn unchanged(&self) -> Result<Build, LabError> {
        match BinaryIdentity::of(&self.build)? == self.identity {
            true => Ok(self.build.clone()),
            false => Err(LabError::Environment(format!(
                "{} was replaced since this lab began: start a new one",
                self.build.binary.display()
            ))),
        }
    }
}

impl Builds {
    /// Builds that are inspected only if that runs nothing that the plan names.
    pub fn dry(given: &Given) -> Builds {
        Builds { dry: Some(given.clone()), ..Builds::default() }
    }

    /// Whether a variant has a private server that must not be run for an inspection.
    pub fn is_unseen(&self, variant: &Variant) -> bool {
        let foreign = self.dry.as_ref().is_some_and(|given| !given.may_run(&variant.build));
        foreign && variant.target.is_none() && !variant.workload.is_storage()
    }

    /// The build of a variant; `None` if its server is external, if it has none, or if it is not inspected.
    pub fn of(&mut self, variant: &Variant) -> Result<Option<Build>, LabError> {
        if variant.target.is_some() || variant.workload.is_storage() || self.is_unseen(variant) {
            return Ok(None);
        }
        if let Some(found) = self.found.get(&variant.build) {
            return found.unchanged().map(Some);
        }
        let found = variant.build.parse::<Selector>().and_then(|selector| find::find(&selector));
        let build = found.map_err(|error| match error {
            ServerError::NoBuild { .. } if variant.at("build").line > 0 => {
                LabError::Environment(format!("{}: {error}; in a plan `build` is that path", variant.at("build")))
            }
            ServerError::NoBuild { .. } => error.into(),
            mistaken => refused(variant.at("build"), format!("build: {mistaken}")),
        })?;
        self.found.insert(variant.build.clone(), FoundBuild::of(build.clone())?);
        Ok(Some(build))
    }

    /// What a current server makes of the variant's settings, mistakes included.
    pub fn translated(build: &Build, variant: &Variant) -> Translated {
        translate(&variant.config, build.flavour, build.numbers())
    }

    /// The variant's settings as its server takes them.
    pub fn prepare(&mut self, build: Build, variant: &Variant) -> Result<Prepared, LabError> {
        let (secrets, config): (Vec<Setting>, _) = variant.config.iter().cloned().partition(is_left_out);
        let translated = Builds::translated(&build, &Variant { config, ..variant.clone() });
        if let Some(mistake) = translated.mistake() {
            return Err(mistake.into());
        }
        let mut notes: Vec<String> = translated.lines.iter().map(note).collect();
        notes.extend(secrets.iter().map(|Setting { at, name, .. }| {
            format!("{at}: {name}: its name says that this is a secret, and recordings contain plans: left out")
        }));
        if self.dry.is_some() && loads_plugins(variant) {
            notes.push(
                "a dry run does not load the plan's plugins: settings may be theirs and are not checked".to_owned(),
            );
        }
        let mut requested = Vec::new();
        for setting in translated.settings {
            match (self.accepts(&build, variant, &setting)?, setting.from_file) {
                (true, _) => requested.push(setting),
                (false, true) => {
                    let Setting { name, at, .. } = setting;
                    notes.push(format!("{at}: {name}: {} {} does not know it: left out", build.flavour, build.version));
                }
                (false, false) => return Err(refused(setting.at.clone(), self.unknown(&build, variant, &setting)?)),
            }
        }
        Ok(Prepared { build: Some(build), requested, notes })
    }

    /// Whether this server would start with a setting.
    fn accepts(&mut self, build: &Build, variant: &Variant, setting: &Setting) -> Result<bool, LabError> {
        // Only a plugin can say what it knows.
        let unsaid = self.dry.is_some() && loads_plugins(variant);
        Ok(self.options(build, variant)?.accepts(&setting.name) || unsaid)
    }

    /// Says that it has no such option, and which ones may have been meant.
    fn unknown(&mut self, build: &Build, variant: &Variant, setting: &Setting) -> Result<String, LabError> {
        let options = self.options(build, variant)?;
        let meant = match &options.nearest(&setting.name)[..] {
            [] => String::new(),
            names => format!("; did you mean {}?", names.join(" or ")),
        };
        Ok(format!("{}: {} {} has no such setting{meant}", setting.name, build.flavour, build.version))
    }

    /// The options of a build with the plugins that the variant loads.
    fn options(&mut self, build: &Build, variant: &Variant) -> Result<&BuildOptions, LabError> {
        let mut plugins: Vec<String> = match self.dry {
            Some(_) => Vec::new(),
            None => plugins(variant).map(|plugin| plugin.trim().to_owned()).collect(),
        };
        let names = variant.config.iter().map(|setting| setting.name.as_str());
        plugins.extend(SemiSyncNames::of(build.flavour).library_of(names).map(str::to_owned));
        let key = (build.binary.clone(), plugins);
        if !self.options.contains_key(&key) {
            let names: Vec<&str> = key.1.iter().map(String::as_str).collect();
            self.options.insert(key.clone(), options::known(build, &names)?);
        }
        Ok(&self.options[&key])
    }

    /// Whether a build has a library with this option.
    pub fn has_library(build: &Build, library: &str, option: &str) -> Result<bool, LabError> {
        Ok(options::known(build, &[library])?.accepts(option))
    }

    /// Refuses parts of the layout that this server cannot have elsewhere.
    pub fn has_places_for(&mut self, prepared: &Prepared, variant: &Variant) -> Result<(), LabError> {
        let Some(build) = &prepared.build else { return Ok(()) };
        for (part, option) in PLACED_BY {
            let is_asked = variant.layout.directories().any(|(name, _)| name == part);
            if is_asked && !self.options(build, variant)?.accepts(option) {
                let problem = format!(
                    "layout.{part}: {} {} has no setting ({option}) for it; leave it out",
                    build.flavour, build.version
                );
                return Err(refused(variant.at(&format!("layout.{part}")), problem));
            }
        }
        Ok(())
    }
}

/// The plugins that the settings of a variant load.
fn plugins(variant: &Variant) -> impl Iterator<Item = &str> {
    let loads = |setting: &&Setting| ["plugin_load", "plugin_load_add"].contains(&setting.name.as_str());
    variant.config.iter().filter(loads).flat_map(|setting| setting.value.split(';'))
}

fn loads_plugins(variant: &Variant) -> bool {
    plugins(variant).next().is_some()
}

fn note(TranslatedSetting { at, name, what, .. }: &TranslatedSetting) -> String {
    format!("{at}: {name}: {what}")
}

/// A secret in an option file, whose value the plan does not have.
fn is_left_out(setting: &Setting) -> bool {
    setting.from_file && is_secret(&setting.name)
}

/// What a server no longer has of what is written between these lines, if anything.
pub(super) fn removed<'t>(translated: &'t Translated, within: &[Setting]) -> Option<&'t TranslatedSetting> {
    let of_these = |line: &&TranslatedSetting| within.iter().any(|setting| setting.at == line.at);
    translated.lines.iter().filter(|line| line.consequence == Consequence::Removed).find(of_these)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;
    use std::fs;

    #[test]
    fn a_binary_that_is_replaced_is_another_build() {
        let directory = tempfile::tempdir().unwrap();
        let binary = directory.path().join("mysqld");
        fs::write(&binary, "one").unwrap();
        let build = Build { flavour: Flavour::MySql, version: "9.7.0".to_owned(), binary: binary.clone() };
        let found = FoundBuild::of(build.clone()).unwrap();
        assert_eq!(found.unchanged().unwrap(), build);
        fs::write(&binary, "another").unwrap();
        let refused = found.unchanged().unwrap_err().to_string();
        assert!(refused.contains("was replaced since this lab began"), "{refused}");
        fs::remove_file(&binary).unwrap();
        assert!(found.unchanged().is_err());
    }
}
