//! What has to be true of two variants that take turns on one running server.

use super::{Setting, Variant, Where};
use crate::knowledge::is_live;
use std::collections::BTreeMap;

/// Why one cannot be made of the other on a running server, and where that stands; `None` if it can.
pub fn obstacle(one: &Variant, other: &Variant) -> Option<(Where, String)> {
    let (a, b) = (without_live(one), without_live(other));
    if a == b {
        return None;
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
