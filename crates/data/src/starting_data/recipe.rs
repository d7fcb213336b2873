//! Everything that decides the contents of a dataset.

use crate::DataError;
use plimsoll_host::facts;
use plimsoll_model::{Build, NamedScalars};
use plimsoll_plan::lab::{Setting, Variant};
use plimsoll_server::snapshot::digest;
use plimsoll_server::{Settings, baseline};
use plimsoll_workloads::chosen::ChosenWorkload;
use plimsoll_workloads::dataset::Dataset;
use plimsoll_workloads::tpcc::load::FAMILY;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Settings that need not be given when a data directory is created, but change what loading writes into it.
const SHAPE_TABLES: [&str; 13] = [
    "character_set_server",
    "collation_server",
    "default_storage_engine",
    "default_table_encryption",
    "innodb_compression_algorithm",
    "innodb_compression_default",
    "innodb_default_row_format",
    "innodb_encrypt_tables",
    "innodb_file_per_table",
    "innodb_fill_factor",
    "innodb_stats_persistent",
    "innodb_stats_persistent_sample_pages",
    "sql_generate_invisible_primary_key",
];

/// Of the tables of order entry; a stored dataset of other tables is not taken for one of these.
const LAYOUT_OF_ORDERS: u32 = 2;

/// Digits of the digest in a dataset's name.
const DIGITS: usize = 16;

/// Server build, settings that are fixed with the data, data parameters of the workload, seed and load date.
pub struct Recipe {
    pub build: Build,
    /// The variant's settings that decide what the data are.
    pub fixed: Vec<Setting>,
    pub data: Box<dyn Dataset>,
    binary: BinaryIdentity,
}

/// What tells a server's binary from another at the same path, which is another build even if it reports the same
/// version: when it was changed, seconds and nanoseconds, and its size, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BinaryIdentity(i64, i64, u64);

impl BinaryIdentity {
    /// Of the file that is there now.
    ///
    /// # Errors
    /// [`DataError::Environment`] if it is gone.
    pub fn of(build: &Build) -> Result<BinaryIdentity, DataError> {
        let facts = fs::metadata(&build.binary)
            .map_err(|error| DataError::Environment(format!("cannot examine {}: {error}", build.binary.display())))?;
        Ok(BinaryIdentity(facts.mtime(), facts.mtime_nsec(), facts.len()))
    }
}

impl Recipe {
    /// The recipe of the data that `variant` starts from on the server `build`.
    ///
    /// # Errors
    /// [`DataError::Workload`] if the workload has no such data; [`DataError::Environment`] if the binary is gone.
    pub fn of(build: &Build, variant: &Variant) -> Result<Recipe, DataError> {
        let typed = variant.workload.typed();
        let chosen = ChosenWorkload::new(&variant.workload.kind, &typed, None)?;
        let mut asked = Settings::default();
        for setting in &variant.config {
            asked.set(&setting.name, &setting.value, "")?;
        }
        let fixed_early: Vec<&str> = asked.fixed_at_initialisation().map(|setting| setting.name.as_str()).collect();
        let decides = |name: &str| fixed_early.contains(&name) || SHAPE_TABLES.contains(&name);
        let mut fixed: Vec<Setting> = variant.config.iter().filter(|s| decides(&s.name)).cloned().collect();
        fixed.sort_by(|one, other| one.name.cmp(&other.name));
        let binary = BinaryIdentity::of(build)?;
        Ok(Recipe { build: build.clone(), fixed, data: chosen.dataset(variant.workload.seed), binary })
    }

    /// The dataset's name: server, family of data, and a digest of the whole recipe.
    pub fn id(&self) -> String {
        let mut all = json!({
            "build": self.build,
            "binary": self.binary,
            "fixed": self.fixed_values(),
            "family": self.data.family(),
            "parameters": self.parameters(),
            "seed": self.data.seed(),
        });
        if self.data.family() == FAMILY {
            all["layout"] = LAYOUT_OF_ORDERS.into();
        }
        let digest = digest::of_text(&all.to_string());
        format!("{}-{}-{}", self.build.flavour, self.data.family().to_ascii_lowercase(), &digest[..DIGITS])
    }

    /// By name.
    pub fn fixed_values(&self) -> BTreeMap<String, String> {
        self.fixed.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect()
    }

    /// The parameters that shape the data, the load date among them.
    pub fn parameters(&self) -> NamedScalars {
        self.data.parameters()
    }

    /// The settings of the server that loads: Plimsoll's baseline, and what is fixed with the data.
    ///
    /// # Errors
    /// [`DataError::Server`] for a setting that only Plimsoll may set.
    pub fn settings(&self) -> Result<Settings, DataError> {
        let mut settings = baseline(&self.build, facts::memory_bytes());
        for setting in &self.fixed {
            settings.set(&setting.name, &setting.value, &setting.at.to_string())?;
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;
    use plimsoll_plan::lab::file;

    fn variant(text: &str) -> Variant {
        let text = format!("name = \"test\"\n{text}");
        file::read("test.toml", &text, file::PlanChoices::of_seed(1), &|_| Err(String::new()))
            .unwrap()
            .variants
            .remove(0)
    }

    fn id(text: &str) -> String {
        let build = Build { flavour: Flavour::MySql, version: "9.7.0".to_owned(), binary: "/bin/true".into() };
        Recipe::of(&build, &variant(text)).unwrap().id()
    }

    #[test]
    fn what_decides_the_data_decides_the_name_and_nothing_else_does() {
        let base = "[workload]\nkind = \"tpcc\"\nwarehouses = 2\n";
        let same = [
            format!("{base}isolation = \"read-committed\"\n"),
            format!("{base}[server]\nconfig = {{ innodb_buffer_pool_size = \"1G\" }}\n"),
            format!("{base}[load]\nconnections = [4]\n"),
        ];
        for text in &same {
            assert_eq!(id(base), id(text), "{text}");
        }
        let other = [
            base.replace('2', "3"),
            format!("{base}seed = 7\n"),
            format!("{base}load_date = \"2025-01-01\"\n"),
            format!("{base}[server]\nconfig = {{ innodb_page_size = \"4K\" }}\n"),
            format!("{base}[server]\nconfig = {{ innodb_file_per_table = \"OFF\" }}\n"),
        ];
        for text in &other {
            assert_ne!(id(base), id(text), "{text}");
        }
        assert!(id(base).starts_with("mysql-tpcc-"), "{}", id(base));
    }

    #[test]
    fn the_load_date_is_pinned() {
        let build = Build { flavour: Flavour::MySql, version: "9.7.0".to_owned(), binary: "/bin/true".into() };
        let recipe = Recipe::of(&build, &variant("[workload]\nkind = \"tpcc\"\n")).unwrap();
        assert_eq!(recipe.parameters()["load_date"], "2026-01-01".into());
    }
}
