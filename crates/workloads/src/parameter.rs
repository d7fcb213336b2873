//! Parameters as data: one table row per parameter gives its name, default, meaning, users and place.
//!
//! Parsing, validation, help texts and the printed form all come from that row, so they cannot disagree. A workload
//! family has one table of [`ParameterSpec`]; `P` is the struct of typed values that its workloads read.

use crate::error::{Error, nearest};
use plimsoll_model::text::escaped;
use plimsoll_model::{NamedScalars, Scalar};

/// One parameter of a family of workloads.
#[derive(Debug)]
pub struct ParameterSpec<P: 'static> {
    /// kebab-case, as on the command line.
    pub name: &'static str,
    pub default: &'static str,
    pub help: &'static str,
    /// Names of the workloads that use it.
    pub workloads: &'static [&'static str],
    /// Whether it decides what `load` creates. The others only shape what `run` sends.
    pub shapes_data: bool,
    pub slot: ParameterSlot<P>,
}

/// Where a value is kept in `P`, and which values are accepted.
#[derive(Debug)]
pub enum ParameterSlot<P: 'static> {
    /// A whole number in `low..=high`.
    Count { field: fn(&mut P) -> &mut u64, low: u64, high: u64 },
    /// A real number in `low..=high`, or strictly between if `open`.
    Number { field: fn(&mut P) -> &mut f64, low: f64, high: f64, open: bool },
    /// on/off, true/false, 1/0.
    Switch { field: fn(&mut P) -> &mut bool },
    /// One of a few names. `set` is called with one of `accepted` only.
    Choice { accepted: &'static [&'static str], set: fn(&mut P, &str), get: fn(&P) -> &'static str },
    /// Letters, digits and underscores, at least one.
    Word { field: fn(&mut P) -> &mut String },
    /// Any text without control characters.
    Text { field: fn(&mut P) -> &mut String },
    /// A text with its own grammar, described by `accepted`. `set` returns false, and changes nothing, if it is
    /// invalid.
    Parsed { accepted: &'static str, set: fn(&mut P, &str) -> bool, get: fn(&P) -> String },
}

impl<P: Clone> ParameterSpec<P> {
    /// snake_case, as in TOML and JSON.
    pub fn snake_name(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Name, and help with the default, as a command line shows them.
    pub fn shown(&self) -> (&'static str, String) {
        let default = if self.default.is_empty() { "none" } else { self.default };
        (self.name, format!("{} [default: {default}]", self.help))
    }

    pub fn is_used_by(&self, workload: &str) -> bool {
        self.workloads.contains(&workload)
    }

    /// The values that are accepted, in words.
    pub fn accepted(&self) -> String {
        match &self.slot {
            ParameterSlot::Count { low, high, .. } => format!("a whole number from {low} to {high}"),
            ParameterSlot::Number { low, high, open: true, .. } => format!("a number between {low} and {high}"),
            ParameterSlot::Number { low, high, open: false, .. } => format!("a number from {low} to {high}"),
            ParameterSlot::Switch { .. } => "on or off".to_owned(),
            ParameterSlot::Choice { accepted, .. } => format!("one of {}", accepted.join(", ")),
            ParameterSlot::Word { .. } => "letters, digits and underscores".to_owned(),
            ParameterSlot::Text { .. } => "text without control characters".to_owned(),
            ParameterSlot::Parsed { accepted, .. } => (*accepted).to_owned(),
        }
    }

    /// Sets the value from its text; false if it is not accepted, and then nothing changed.
    pub fn set(&self, parameters: &mut P, text: &str) -> bool {
        let text = text.trim();
        match &self.slot {
            ParameterSlot::Count { field, low, high } => {
                store(field(parameters), text.parse().ok().filter(|value| (*low..=*high).contains(value)))
            }
            ParameterSlot::Number { field, low, high, open } => {
                let inside = |v: &f64| if *open { v > low && v < high } else { v >= low && v <= high };
                store(field(parameters), text.parse().ok().filter(inside))
            }
            ParameterSlot::Switch { field } => store(field(parameters), switch(text)),
            ParameterSlot::Choice { accepted, set, .. } => {
                let known = accepted.contains(&text);
                if known {
                    set(parameters, text);
                }
                known
            }
            ParameterSlot::Word { field } => {
                let word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                store(field(parameters), word.then(|| text.to_owned()))
            }
            ParameterSlot::Text { field } => {
                store(field(parameters), (!text.chars().any(char::is_control)).then(|| text.to_owned()))
            }
            ParameterSlot::Parsed { set, .. } => set(parameters, text),
        }
    }

    /// The value as it is typed on the command line.
    pub fn text(&self, parameters: &P) -> String {
        match self.value(parameters) {
            Scalar::Switch(on) => if on { "on" } else { "off" }.to_owned(),
            other => other.to_string(),
        }
    }

    /// The value as recordings have it.
    pub fn value(&self, parameters: &P) -> Scalar {
        let mut parameters = parameters.clone();
        match &self.slot {
            ParameterSlot::Count { field, .. } => (*field(&mut parameters)).into(),
            ParameterSlot::Number { field, .. } => (*field(&mut parameters)).into(),
            ParameterSlot::Switch { field } => (*field(&mut parameters)).into(),
            ParameterSlot::Choice { get, .. } => get(&parameters).into(),
            ParameterSlot::Word { field } | ParameterSlot::Text { field } => field(&mut parameters).as_str().into(),
            ParameterSlot::Parsed { get, .. } => get(&parameters).into(),
        }
    }
}

fn store<T>(place: &mut T, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            *place = value;
            true
        }
        None => false,
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// Applies (name, text) pairs to `parameters`; `-` and `_` in names are the same, a later pair wins.
pub fn apply<P: Clone>(
    specs: &'static [ParameterSpec<P>],
    workload: &'static str,
    pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    parameters: &mut P,
) -> Result<(), Error> {
    for (name, text) in pairs {
        let spec = find(specs, workload, name.as_ref())?;
        if !spec.set(parameters, text.as_ref()) {
            let found = escaped(text.as_ref());
            return Err(Error::BadValue { workload, name: spec.name, found, accepted: spec.accepted() });
        }
    }
    Ok(())
}

/// The parameters that `workload` uses with their values, by snake_case name.
pub fn printable<P: Clone>(specs: &[ParameterSpec<P>], workload: &str, parameters: &P) -> NamedScalars {
    let used = specs.iter().filter(|spec| spec.is_used_by(workload));
    used.map(|spec| (spec.snake_name(), spec.value(parameters))).collect()
}

/// What the marker of loaded data says, as (name, text) pairs, as far as `workload` uses it.
pub fn of_data<P: Clone>(specs: &[ParameterSpec<P>], workload: &str, loaded: &NamedScalars) -> Vec<(String, String)> {
    let used = |name: &str| specs.iter().any(|spec| spec.snake_name() == name && spec.is_used_by(workload));
    loaded.iter().filter(|(name, _)| used(name)).map(|(name, value)| (name.clone(), value.to_string())).collect()
}

fn find<P: Clone>(
    specs: &'static [ParameterSpec<P>],
    workload: &'static str,
    name: &str,
) -> Result<&'static ParameterSpec<P>, Error> {
    let kebab = name.replace('_', "-");
    let used = || specs.iter().filter(|spec| spec.is_used_by(workload)).map(|spec| spec.name);
    let accepted = || used().collect::<Vec<_>>().join(", ");
    match specs.iter().find(|spec| spec.name == kebab) {
        Some(spec) if spec.is_used_by(workload) => Ok(spec),
        Some(spec) => Err(Error::UnusedParameter {
            workload,
            name: spec.name,
            owners: spec.workloads.join(", "),
            accepted: accepted(),
        }),
        None => Err(Error::UnknownParameter {
            workload,
            name: name.to_owned(),
            nearest: nearest(&kebab, used()),
            accepted: accepted(),
        }),
    }
}
