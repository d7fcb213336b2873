//! `[server]`, `[[variant]]` and `[[rung]]`: what each of them sets.

use super::config::{self, Files};
use super::load::load;
use super::reading::TableFields;
use super::value::{DocumentValue, Kind};
use super::workload::workload;
use crate::error::PlanError;
use crate::lab::{Action, Change, Layout, Storage, Where};
use crate::quantity;
use crate::target::Target;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What `[server]` may set.
const OF_SERVER: [&str; 13] = [
    "build",
    "config_file",
    "config",
    "target",
    "datadir",
    "lane",
    "layout",
    "cpus",
    "client_cpus",
    "memory",
    "env",
    "before",
    "after",
];
/// What a variant or a rung may set in addition.
const OF_VARIANT: [&str; 3] = ["name", "workload", "load"];
/// No machine has more.
const MOST_CPUS: usize = 4096;
const CPUS: &str = "a list of CPUs, each once: [0, 1] or \"0-3,5\"";

/// What variants and rungs are merged over, and the files that the plan names.
pub(super) struct Base<'p> {
    pub workload: &'p DocumentValue,
    pub load: &'p DocumentValue,
    pub files: &'p Files<'p>,
}

impl Base<'_> {
    /// What `[server]` sets.
    pub fn server(&self, table: &DocumentValue) -> Result<Change, PlanError> {
        self.change(table, table.fields(&OF_SERVER)?)
    }

    /// The name of a variant or a rung, and what it sets.
    pub fn named(&self, table: &DocumentValue) -> Result<(String, Change), PlanError> {
        let fields = table.fields(&[&OF_VARIANT[..], &OF_SERVER].concat())?;
        let name = fields.need("name", "what recordings and figures call it", DocumentValue::name)?;
        Ok((name, self.change(table, fields)?))
    }

    fn change(&self, table: &DocumentValue, fields: TableFields<'_>) -> Result<Change, PlanError> {
        let over = |base: &DocumentValue, value: &DocumentValue| {
            let mut whole = base.clone();
            whole.lay_over(value.clone());
            whole
        };
        Ok(Change {
            build: fields.read("build", build)?,
            target: fields.read("target", target)?,
            config: config::settings(&fields, self.files)?,
            storage: storage(&fields)?,
            layout: fields.read("layout", layout)?.unwrap_or_default(),
            cpus: fields.read("cpus", cpus)?,
            client_cpus: fields.read("client_cpus", cpus)?,
            memory: fields.read("memory", memory)?,
            env: fields.read("env", environment)?.unwrap_or_default(),
            workload: fields.read("workload", |value| workload(&over(self.workload, value)))?,
            load: fields.read("load", |value| load(&over(self.load, value)))?,
            before: fields.read("before", actions)?,
            after: fields.read("after", actions)?,
            lines: lines(table),
        })
    }
}

/// Where the values of a table stand, including those of nested tables: `layout` and `layout.redo`. Parameters
/// of the workload are named as [`crate::lab::PlannedWorkload::params`] names them.
pub(super) fn lines(table: &DocumentValue) -> BTreeMap<String, Where> {
    let mut lines = BTreeMap::new();
    let mut rest = vec![(String::new(), table)];
    while let Some((prefix, value)) = rest.pop() {
        let Kind::Table(entries) = &value.kind else { continue };
        for (key, value) in entries {
            let key = if prefix == "workload." { key.replace('_', "-") } else { key.clone() };
            let name = format!("{prefix}{key}");
            lines.insert(name.clone(), value.at.clone());
            rest.push((format!("{name}."), value));
        }
    }
    lines
}

pub(super) fn build(value: &DocumentValue) -> Result<String, PlanError> {
    match &value.kind {
        Kind::Text(build) if ["auto", "mariadb", "mysql"].contains(&build.as_str()) || build.contains('/') => {
            Ok(build.clone())
        }
        _ => Err(value.refuse("auto, mariadb, mysql or the path of a server binary")),
    }
}

pub(super) fn target(value: &DocumentValue) -> Result<String, PlanError> {
    match Target::parse(value.text()?) {
        Ok(Target::External(_)) => value.text().map(str::to_owned),
        Ok(Target::Private(_)) => Err(value.problem("a private server is the default; choose its `build` instead")),
        Err(PlanError::PasswordInUrl) => {
            Err(value
                .problem("the URL contains a password, which plans and recordings would show; put it into MYSQL_PWD"))
        }
        Err(error) => Err(value.problem(error)),
    }
}

fn storage(fields: &TableFields<'_>) -> Result<Option<Storage>, PlanError> {
    let directory = fields.read("datadir", path)?.map(Storage::Directory);
    let lane = fields.read("lane", |value| value.text().map(|name| Storage::Lane(name.to_owned())))?;
    match (directory, lane, fields.get("lane")) {
        (Some(_), Some(_), Some(value)) => {
            Err(value.problem("`datadir` already says where the data are stored; choose one"))
        }
        (directory, lane, _) => Ok(directory.or(lane)),
    }
}

pub(super) fn path(value: &DocumentValue) -> Result<PathBuf, PlanError> {
    match value.text()? {
        path if path.starts_with('/') => Ok(PathBuf::from(path)),
        _ => Err(value.refuse("an absolute path, such as /mnt/fc")),
    }
}

/// Where a part of the layout is stored: on another path, or in another directory on the storage of the data.
fn apart(value: &DocumentValue) -> Result<PathBuf, PlanError> {
    let text = value.text()?;
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    match text.starts_with('/') || text.strip_prefix("./").is_some_and(is_name) {
        true => Ok(PathBuf::from(text)),
        false => Err(value.refuse(
            "an absolute path, such as /mnt/fc, or ./NAME of lower-case letters and digits: another directory on the \
             storage of the data",
        )),
    }
}

pub(super) fn layout(value: &DocumentValue) -> Result<Layout, PlanError> {
    let fields = value.fields(&["redo", "doublewrite", "undo", "binlog", "tmp", "tables"])?;
    Ok(Layout {
        redo: fields.read("redo", apart)?,
        doublewrite: fields.read("doublewrite", apart)?,
        undo: fields.read("undo", apart)?,
        binlog: fields.read("binlog", apart)?,
        tmp: fields.read("tmp", apart)?,
        tables: fields.read("tables", tables)?.unwrap_or_default(),
    })
}

pub(super) fn tables(value: &DocumentValue) -> Result<BTreeMap<String, PathBuf>, PlanError> {
    let table = |(name, value): &(String, DocumentValue)| {
        // It is written between backticks in statements.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
        match !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
            true => Ok((name.clone(), apart(value)?)),
            false => Err(value.problem("a table name has up to 64 letters, digits, `_`, `-` and `$`")),
        }
    };
    value.entries()?.iter().map(table).collect()
}

pub(super) fn cpus(value: &DocumentValue) -> Result<Vec<usize>, PlanError> {
    let wrong = || value.refuse(CPUS);
    let mut cpus = Vec::new();
    for part in value.one_or_more()? {
        let text = part.scalar(["", ""])?;
        for range in text.split(',') {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.trim().parse().ok().filter(|cpu: &usize| *cpu < MOST_CPUS).ok_or_else(wrong);
            let (low, high) = (number(low)?, number(high)?);
            if low > high || cpus.len() > MOST_CPUS {
                return Err(wrong());
            }
            cpus.extend(low..=high);
        }
    }
    let all = cpus.len();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() == all { Ok(cpus) } else { Err(wrong()) }
}

fn memory(value: &DocumentValue) -> Result<u64, PlanError> {
    match value.parsed(quantity::size)? {
        0 => Err(value.refuse("a size above 0, such as 8G")),
        bytes => Ok(bytes),
    }
}

pub(super) fn environment(value: &DocumentValue) -> Result<BTreeMap<String, String>, PlanError> {
    let variable = |(name, value): &(String, DocumentValue)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(value.problem("the name of an environment variable has letters, digits and `_` only"));
        }
        match value.scalar(["false", "true"])? {
            text if text.contains('\0') => Err(value.refuse("a text without NUL")),
            text => Ok((name.clone(), text)),
        }
    };
    value.entries()?.iter().map(variable).collect()
}

fn actions(value: &DocumentValue) -> Result<Vec<Action>, PlanError> {
    if matches!(value.kind, Kind::List(_)) { value.list_of(action) } else { action(value).map(|action| vec![action]) }
}

fn action(value: &DocumentValue) -> Result<Action, PlanError> {
    match &value.kind {
        Kind::Text(_) => value.text().map(|command| Action::Command(command.to_owned())),
        Kind::Table(_) => {
            let prompt = |value: &DocumentValue| value.text().map(str::to_owned);
            value.fields(&["prompt"])?.need("prompt", "what a person is to do", prompt).map(Action::Prompt)
        }
        _ => Err(value.refuse("a command in quotes or { prompt = \"…\" }, or a list of them")),
    }
}
