//! What a variant or a rung sets: part of a [`Variant`], laid over another one.

use super::{Action, Layout, Load, PlannedWorkload, Setting, Storage, Variant, Where};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that a variant may set; what is `None` stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub build: Option<String>,
    pub target: Option<String>,
    pub config: Vec<Setting>,
    pub storage: Option<Storage>,
    /// Merged over the one before, key by key.
    pub layout: Layout,
    pub cpus: Option<Vec<usize>>,
    pub client_cpus: Option<Vec<usize>>,
    pub memory: Option<u64>,
    pub env: BTreeMap<String, String>,
    /// Replaced as a whole: what the file gives is merged over `[workload]` and `[load]` when it is read.
    pub workload: Option<PlannedWorkload>,
    pub load: Option<Load>,
    pub before: Option<Vec<Action>>,
    pub after: Option<Vec<Action>>,
    pub lines: BTreeMap<String, Where>,
}

impl Variant {
    /// This variant, called `name`, with `change` on top.
    pub fn with(&self, name: &str, change: &Change) -> Variant {
        let change = change.clone();
        let mut changed = self.clone();
        changed.name = name.to_owned();
        for setting in change.config {
            set(&mut changed.config, setting);
        }
        changed.layout.lay_over(change.layout);
        changed.env.extend(change.env);
        changed.lines.extend(change.lines);
        replace(&mut changed.build, change.build);
        replace(&mut changed.storage, change.storage);
        replace(&mut changed.workload, change.workload);
        replace(&mut changed.load, change.load);
        replace(&mut changed.before, change.before);
        replace(&mut changed.after, change.after);
        changed.target = change.target.or(changed.target);
        changed.cpus = change.cpus.or(changed.cpus);
        changed.client_cpus = change.client_cpus.or(changed.client_cpus);
        changed.memory = change.memory.or(changed.memory);
        changed
    }
}

/// Adds a setting, or replaces the one of its name.
pub fn set(config: &mut Vec<Setting>, setting: Setting) {
    match config.iter_mut().find(|known| known.name == setting.name) {
        Some(known) => *known = setting,
        None => config.push(setting),
    }
}

fn replace<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

impl Layout {
    fn lay_over(&mut self, other: Layout) {
        let Layout { redo, doublewrite, undo, binlog, tmp, tables } = other;
        for (place, value) in [
            (&mut self.redo, redo),
            (&mut self.doublewrite, doublewrite),
            (&mut self.undo, undo),
            (&mut self.binlog, binlog),
            (&mut self.tmp, tmp),
        ] {
            *place = value.or(place.take());
        }
        self.tables.extend(tables);
    }
}
