//! `[[published]]`: what the source printed, to be shown beside what was measured; `[chosen]`: what it did not print.

use super::reading::{TableFields, meant};
use super::value::DocumentValue;
use crate::error::PlanError;
use crate::lab::{Printed, PublishedKind};
use plimsoll_model::text::escaped;

const KEYS: [&str; 18] = [
    "id",
    "place",
    "metric",
    "unit",
    "variant",
    "rung",
    "workload",
    "probe",
    "connections",
    "cpus",
    "value",
    "values",
    "range",
    "ordering",
    "text",
    "limit",
    "kind",
    "note",
];
/// The keys for what is stated; each statement has one of them.
const SAID: [&str; 5] = ["value", "values", "range", "ordering", "text"];

/// The names that a published number may refer to.
pub(super) struct PublishedNames<'n> {
    pub variants: Vec<&'n str>,
    pub rungs: Vec<&'n str>,
}

impl PublishedNames<'_> {
    pub fn published(&self, table: &DocumentValue) -> Result<Printed, PlanError> {
        let fields = table.fields(&KEYS)?;
        says_one_thing(&fields, table)?;
        let count = |key| fields.read(key, |value| value.count(1..=100_000)).map(|count| count.map(|n| n as usize));
        let kind = fields.read("kind", |value| value.choice(&PublishedKind::ALL.map(|kind| (kind.name(), kind))))?;
        let kind = kind.unwrap_or_default();
        Ok(Printed {
            id: fields.read("id", id)?,
            place: fields.text("place")?,
            metric: metric(&fields, kind)?,
            unit: fields.text("unit")?,
            variant: fields.read("variant", |value| known(value, "variant", &self.variants))?,
            rung: fields.read("rung", |value| known(value, "rung", &self.rungs))?,
            workload: fields.text("workload")?,
            probe: fields.text("probe")?,
            connections: count("connections")?,
            cpus: count("cpus")?,
            value: fields.read("value", DocumentValue::number)?,
            values: fields.read("values", |value| value.some_of(DocumentValue::number))?,
            range: fields.read("range", range)?,
            ordering: fields.read("ordering", |value| self.ordering(value))?,
            text: fields.text("text")?,
            limit: fields.read("limit", |value| limit(&fields, value))?,
            kind,
            note: fields.text("note")?,
        })
    }

    /// Variants or rungs from best to worst.
    fn ordering(&self, value: &DocumentValue) -> Result<Vec<String>, PlanError> {
        let of_rungs = |one: &DocumentValue| one.text().is_ok_and(|name| self.rungs.contains(&name));
        let rungs = value.list()?.iter().any(of_rungs);
        let order = value.some_of(|one| match rungs {
            true => known(one, "rung", &self.rungs),
            false => known(one, "variant", &self.variants),
        })?;
        match order.iter().enumerate().find(|(at, name)| order[..*at].contains(name)) {
            Some((_, name)) => Err(value.problem(format!("`{name}` occurs twice"))),
            None if order.len() < 2 => Err(value.problem("found one name; accepted are two or more, the best first")),
            None => Ok(order),
        }
    }
}

/// What the source did not print, and what was chosen instead and why.
pub(super) fn chosen(value: &DocumentValue) -> Result<Vec<(String, String)>, PlanError> {
    value.entries()?.iter().map(|(what, why)| Ok((what.clone(), why.text()?.to_owned()))).collect()
}

fn says_one_thing(fields: &TableFields<'_>, table: &DocumentValue) -> Result<(), PlanError> {
    let given: Vec<_> = SAID.into_iter().filter(|key| fields.get(key).is_some()).collect();
    match given[..] {
        [_] => Ok(()),
        _ => {
            let found = if given.is_empty() { "nothing".to_owned() } else { given.join(" and ") };
            Err(table.problem(format!("found {found}; accepted is one of {}", SAID.join(", "))))
        }
    }
}

/// Required for results; for anything else it only names the subject.
fn metric(fields: &TableFields<'_>, kind: PublishedKind) -> Result<String, PlanError> {
    let text = |value: &DocumentValue| value.text().map(str::to_owned);
    match kind.is_result() {
        true => fields.need("metric", "what was measured, such as nopm", text),
        false => Ok(fields.read("metric", text)?.unwrap_or_default()),
    }
}

/// `NA1`: letters, then digits.
fn id(value: &DocumentValue) -> Result<String, PlanError> {
    let text = value.text()?;
    let digits = text.trim_start_matches(|c: char| c.is_ascii_uppercase());
    match digits.len() < text.len() && !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()) {
        true => Ok(text.to_owned()),
        false => Err(value.refuse("upper-case letters and a number, such as NA1")),
    }
}

fn known(value: &DocumentValue, what: &str, names: &[&str]) -> Result<String, PlanError> {
    let name = value.text()?;
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let meant = meant(name, names.iter().copied());
    Err(value.problem(format!("the plan has no {what} `{}`{meant}; there is {there}", escaped(name))))
}

/// What the plan judges words by; a number or a range of the source needs no such limit.
fn limit(fields: &TableFields<'_>, value: &DocumentValue) -> Result<(f64, f64), PlanError> {
    match fields.get("text") {
        Some(_) => range(value),
        None => Err(value.problem("a limit of the plan's own judges a `text`; use `range` for what the source prints")),
    }
}

fn range(value: &DocumentValue) -> Result<(f64, f64), PlanError> {
    match value.some_of(DocumentValue::number)?[..] {
        [low, high] if low <= high => Ok((low, high)),
        _ => Err(value.problem("accepted are two numbers, the lower one first")),
    }
}
