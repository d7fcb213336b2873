//! What has to be true of two variants that take turns on one running server.

use super::{Setting, Variant, Where};
use crate::knowledge::{is_live, normal, without_fixed_default};
use std::collections::BTreeMap;

/// Why one cannot be made of the other on a running server, and where that stands; `None` if it can.
pub fn obstacle(one: &Variant, other: &Variant) -> Option<(Where, String)> {
    let (a, b) = (without_live(one), without_live(other));
    if a == b {
        return unnamed(one, other);
    }
    let is_in = |side: &Variant, setting: &Setting| side.config.contains(&unplaced(setting));
    let differs = |setting: &&Setting| !(is_live(&setting.name) || is_in(&a, setting) && is_in(&b, setting));
    if let Some(setting) = other.config.iter().chain(&one.config).find(differs) {
        let problem = format!(
            "{} is not known to take effect at once on a running server, but `{}` and `{}` differ in it; leave \
             switchback out",
            setting.name, one.name, other.name
        );
        return Some((setting.at.clone(), problem));
    }
    let problem = format!("`{}` and `{}` differ in more than settings; leave switchback out", one.name, other.name);
    Some((other.at("name"), problem))
}

/// A setting that differs, and that or another of which a running server cannot be given the default back.
fn unnamed(one: &Variant, other: &Variant) -> Option<(Where, String)> {
    let value = |side: &Variant, name: &str| {
        side.config.iter().find(|setting| normal(&setting.name) == normal(name)).map(|setting| setting.value.clone())
    };
    one.config.iter().chain(&other.config).find_map(|setting| {
        let name = without_fixed_default(&setting.name)?;
        let differs = value(one, &setting.name) != value(other, &setting.name);
        let is_named = value(one, name).is_some() && value(other, name).is_some();
        let problem = format!(
            "a running server cannot be given back the default of {name}, which depends on other settings; set {name} in \
             both `{}` and `{}`, or leave switchback out",
            one.name, other.name
        );
        (differs && !is_named).then(|| (setting.at.clone(), problem))
    })
}

/// What has to be the same.
fn without_live(of: &Variant) -> Variant {
    Variant {
        name: String::new(),
        config: of.config.iter().filter(|setting| !is_live(&setting.name)).map(unplaced).collect(),
        lines: BTreeMap::new(),
        ..of.clone()
    }
}

/// Without the place where it stands.
fn unplaced(setting: &Setting) -> Setting {
    Setting { at: Where { file: String::new(), line: 0 }, from_file: false, ..setting.clone() }
}
