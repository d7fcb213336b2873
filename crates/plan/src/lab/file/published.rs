//! `[[published]]`: numbers of the source, to be shown beside what was measured.

use super::reading::{Fields, meant};
use super::value::Value;
use crate::error::PlanError;
use crate::lab::{Published, PublishedKind};

const KEYS: [&str; 13] = [
    "place",
    "metric",
    "unit",
    "variant",
    "rung",
    "workload",
    "connections",
    "cpus",
    "value",
    "range",
    "ordering",
    "kind",
    "note",
];
const KINDS: [(&str, PublishedKind); 3] =
    [("printed", PublishedKind::Printed), ("derived", PublishedKind::Derived), ("claim", PublishedKind::Claim)];

/// The names that a published number may speak of.
pub(super) struct Names<'n> {
    pub variants: Vec<&'n str>,
    pub rungs: Vec<&'n str>,
}

impl Names<'_> {
    pub fn published(&self, table: &Value) -> Result<Published, PlanError> {
        let fields = table.fields(&KEYS)?;
        one_number(&fields, table)?;
        let count = |key| fields.read(key, |value| value.count(1..=100_000)).map(|count| count.map(|n| n as usize));
        Ok(Published {
            place: fields.text("place")?,
            metric: fields
                .need("metric", "what was measured, such as nopm", |value| value.text().map(str::to_owned))?,
            unit: fields.text("unit")?,
            variant: fields.read("variant", |value| known(value, "variant", &self.variants))?,
            rung: fields.read("rung", |value| known(value, "rung", &self.rungs))?,
            workload: fields.text("workload")?,
            connections: count("connections")?,
            cpus: count("cpus")?,
            value: fields.read("value", Value::number)?,
            range: fields.read("range", range)?,
            ordering: fields.read("ordering", |value| self.ordering(value))?,
            kind: fields.read("kind", |value| value.choice(&KINDS))?.unwrap_or_default(),
            note: fields.text("note")?,
        })
    }

    /// Variants or rungs from best to worst.
    fn ordering(&self, value: &Value) -> Result<Vec<String>, PlanError> {
        let of_rungs = |one: &Value| one.text().is_ok_and(|name| self.rungs.contains(&name));
        let rungs = value.list()?.iter().any(of_rungs);
        let order = value.some_of(|one| match rungs {
            true => known(one, "rung", &self.rungs),
            false => known(one, "variant", &self.variants),
        })?;
        match order.iter().enumerate().find(|(at, name)| order[..*at].contains(name)) {
            Some((_, name)) => Err(value.problem(format!("`{name}` is there twice"))),
            None if order.len() < 2 => Err(value.problem("found one name; accepted are two or more, the best first")),
            None => Ok(order),
        }
    }
}

fn one_number(fields: &Fields<'_>, table: &Value) -> Result<(), PlanError> {
    let given: Vec<_> = ["value", "range", "ordering"].into_iter().filter(|key| fields.get(key).is_some()).collect();
    match given[..] {
        [_] => Ok(()),
        _ => {
            let found = if given.is_empty() { "nothing".to_owned() } else { given.join(" and ") };
            Err(table.problem(format!("found {found}; accepted is one of value, range, ordering")))
        }
    }
}

fn known(value: &Value, what: &str, names: &[&str]) -> Result<String, PlanError> {
    let name = value.text()?;
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let meant = meant(name, names.iter().copied());
    Err(value.problem(format!("the plan has no {what} `{}`{meant}; there is {there}", name.escape_debug())))
}

fn range(value: &Value) -> Result<(f64, f64), PlanError> {
    match value.some_of(Value::number)?[..] {
        [low, high] if low <= high => Ok((low, high)),
        _ => Err(value.problem("accepted are two numbers, the lower one first")),
    }
}
