//! The list of everything that the sources print, and a plan compared with it.

use plimsoll_plan::lab::{LabPlan, Printed, PublishedKind};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    pub source: Vec<Source>,
    pub number: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub ids: String,
    pub title: String,
}

/// What a source says in one place; the file's head tells what the fields are.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Listed {
    pub id: String,
    pub what: String,
    pub numbers: Vec<f64>,
    pub derived: Vec<f64>,
    pub connections: Vec<usize>,
    pub unit: Option<String>,
    pub place: Option<String>,
    pub kind: PublishedKind,
    pub text: Option<String>,
    pub words: Vec<String>,
    pub also: Vec<f64>,
    pub note: Option<String>,
    pub plans: Vec<String>,
}

impl List {
    /// What is not as it should be in the plan that is kept under this name.
    pub fn problems(&self, name: &str, plan: &LabPlan) -> Vec<String> {
        let of_plan: Vec<&Listed> = self.number.iter().filter(|of| of.plans.iter().any(|plan| plan == name)).collect();
        let known = |id: &str| of_plan.iter().any(|of| of.id == id);
        let mut problems: Vec<String> = of_plan.iter().flat_map(|of| of.problems(&plan.published)).collect();
        for published in &plan.published {
            match &published.id {
                Some(id) if known(id) => {}
                Some(id) => problems.push(format!("{id}: the list does not give it to this plan")),
                None => problems.push(format!("{}: it has no id", published.metric)),
            }
        }
        problems
    }
}

impl Listed {
    fn problems(&self, all: &[Printed]) -> Vec<String> {
        let of_id: Vec<&Printed> = all.iter().filter(|of| of.id.as_ref() == Some(&self.id)).collect();
        let id = &self.id;
        if of_id.is_empty() {
            return vec![format!("{id}: it is missing")];
        }
        let mut problems = Vec::new();
        for of in &of_id {
            let follows = match of.ordering {
                Some(_) => of.kind.is_result() && self.kind.is_result(),
                None => of.kind == PublishedKind::Derived && !self.derived.is_empty(),
            };
            if of.kind != self.kind && !follows {
                problems.push(format!("{id}: it is {}, not {}", self.kind.name(), of.kind.name()));
            }
        }
        let (derived, printed): (Vec<&Printed>, Vec<&Printed>) =
            of_id.iter().partition(|of| of.kind == PublishedKind::Derived);
        for (what, listed, published) in [("", &self.numbers, &printed), (" (derived)", &self.derived, &derived)] {
            problems.extend(self.differences(what, listed, published));
            let said = self.said(published);
            if let Some(number) = out_of_order(listed, &said) {
                problems.push(format!("{id}{what}: {number} is not where the list has it: {listed:?}, not {said:?}"));
            }
        }
        problems.extend(self.at_other_connections(&of_id));
        let has = |word: &String| {
            let mut texts = of_id.iter().flat_map(|of| [&of.text, &of.note]).flatten();
            texts.any(|text| text.contains(word))
        };
        problems.extend(self.words.iter().filter(|word| !has(word)).map(|word| format!("{id}: no text has {word}")));
        problems
    }

    /// Numbers of the list that the plan lacks, and those of the plan that the list lacks.
    fn differences(&self, what: &str, listed: &[f64], published: &[&Printed]) -> Vec<String> {
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        let key = |number: &f64| if *number == 0.0 { "0".to_owned() } else { number.to_string() };
        listed.iter().for_each(|number| *counts.entry(key(number)).or_default() -= 1);
        self.said(published).iter().for_each(|number| *counts.entry(key(number)).or_default() += 1);
        let in_text: Vec<f64> = published.iter().filter_map(|of| of.text.as_deref()).flat_map(numbers).collect();
        for number in &in_text {
            let count = counts.entry(key(number)).or_default();
            // What the values have already, a text may say again.
            if *count < 0 || !(listed.contains(number) || self.may_be_said(*number)) {
                *count += 1;
            }
        }
        for number in &self.also {
            counts.entry(key(number)).and_modify(|count| *count = (*count).min(0));
        }
        let differing = counts.into_iter().filter(|(_, count)| *count != 0);
        let told = differing.map(|(number, count)| match count {
            ..0 => format!("{}{what}: {number} is missing", self.id),
            _ => format!("{}{what}: {number} is not in the list, or not so often", self.id),
        });
        told.collect()
    }

    /// Conditions, and numbers in names.
    fn may_be_said(&self, number: f64) -> bool {
        self.also.contains(&number) || numbers(&self.what).contains(&number)
    }

    /// Numbers in values and ranges. What is said of several variants, the same of each, is one result.
    fn said(&self, published: &[&Printed]) -> Vec<f64> {
        let mut told: Vec<(&str, Vec<f64>)> = Vec::new();
        for of in published {
            // "Under 30" is a range from 0. A limit of the plan's own is no number of the source.
            let range = of.range.map(|(low, high)| match low == 0.0 && !self.numbers.contains(&0.0) {
                true => vec![high],
                false => vec![low, high],
            });
            let numbers: Vec<f64> = of
                .value
                .into_iter()
                .chain(of.values.clone().into_iter().flatten())
                .chain(range.into_iter().flatten())
                .collect();
            let again = of.kind.is_result() && told.contains(&(of.metric.as_str(), numbers.clone()));
            if !again {
                told.push((&of.metric, numbers));
            }
        }
        told.into_iter().flat_map(|(_, numbers)| numbers).collect()
    }

    /// Numbers that were measured with other connections than the plan says: each with its own, or all with the same.
    fn at_other_connections(&self, published: &[&Printed]) -> Vec<String> {
        let pairs = self.numbers.iter().zip(self.connections.iter().cycle());
        let is_there = |(number, connections): &(&f64, &usize)| {
            let says =
                |of: &&Printed| of.value == Some(**number) || of.values.iter().flatten().any(|one| one == *number);
            published.iter().any(|of| says(of) && of.connections == Some(**connections))
        };
        let wrong = pairs.filter(|pair| !is_there(pair));
        wrong.map(|(number, with)| format!("{}: {number} was measured with {with} connections", self.id)).collect()
    }
}

/// The first number that does not follow the one before it in the list; those that it does not have are another matter.
fn out_of_order(listed: &[f64], said: &[f64]) -> Option<f64> {
    let mut rest = listed.iter();
    said.iter().copied().filter(|number| listed.contains(number)).find(|number| !rest.any(|next| next == number))
}

/// The numbers in a text: with thousands set apart by commas or not, with a sign or an inequality before them and a
/// unit behind. Versions with two dots and names with letters in front are words.
pub fn numbers(text: &str) -> Vec<f64> {
    let text = text.replace('−', "-");
    let words = text.split(|c: char| c.is_whitespace() || "()/×=→…–;\"'±".contains(c));
    words.flat_map(by_commas).filter_map(|word| number(&word)).collect()
}

/// A word between commas; those that set thousands apart are left out.
fn by_commas(word: &str) -> Vec<String> {
    let is_group = |part: &str| part.len() == 3 && part.bytes().all(|c| c.is_ascii_digit());
    let mut parts: Vec<String> = Vec::new();
    for part in word.split(',') {
        match parts.last_mut() {
            Some(last) if is_group(part) && last.ends_with(|c: char| c.is_ascii_digit()) => last.push_str(part),
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

fn number(word: &str) -> Option<f64> {
    let word = word.trim_start_matches(['+', '~', '≈', '≥', '≤', '<', '>']).trim_end_matches(['.', ':', '%']);
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_plain = digits.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit() || c == '.');
    digits.parse().ok().filter(|_: &f64| is_plain && word.len() - digits.len() <= 2)
}
