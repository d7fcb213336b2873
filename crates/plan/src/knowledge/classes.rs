//! The values: what each costs in safety.
//!
//! The rows of [`super::settings`] say it. A class says what is in effect, not what is usual: without a binary log nothing can be recovered to a point in time,
//! although that is MariaDB's default and private servers run that way. A comparison looks at how its variants differ.

use super::settings::facts;
use super::{is_off, normal, unswitched};
use plimsoll_model::durability::Risks;
use plimsoll_model::{Class, Flavour};
use std::collections::BTreeMap;

/// Everything that the value costs in safety; nothing if it is as safe as servers can be.
pub fn classes(name: &str, value: &str, flavour: Flavour) -> Risks {
    let name = normal(name);
    let (name, value) = unswitched(&name, value.trim());
    // The one value that vendors read differently: in MariaDB, 3 is a flush at each step of a group commit.
    if (name, value, flavour) == ("innodb_flush_log_at_trx_commit", "3", Flavour::MariaDb) {
        return Risks::new();
    }
    facts(name).into_iter().flat_map(|facts| facts.risks(value)).collect()
}

/// The most harmful of [`classes`], or [`Class::D0`].
pub fn class(name: &str, value: &str, flavour: Flavour) -> Class {
    classes(name, value, flavour).last().copied().unwrap_or(Class::D0)
}

/// What a server with these variables costs in durability: the classes above [`Class::I`] of all of them.
pub fn risks(variables: &BTreeMap<String, String>, flavour: Flavour) -> Risks {
    risks_by_variable(variables, flavour).into_values().flatten().collect()
}

/// The same by variable; those that cost nothing are left out. How the binary log is written does not count if there is
/// none, nor does what only a replica does.
pub fn risks_by_variable(variables: &BTreeMap<String, String>, flavour: Flavour) -> BTreeMap<String, Risks> {
    let no_log = variables.get("log_bin").is_none_or(|value| is_off(value));
    let of_log = |name: &str| name.starts_with("binlog_") || name == "sync_binlog";
    let idle = |name: &str| no_log && of_log(name) || name.ends_with("_preserve_commit_order");
    let counted = variables.iter().filter(|(name, _)| !idle(name));
    let costly = |(name, value): (&String, &String)| {
        let risks = classes(name, value, flavour).into_iter().filter(|class| class.costs_durability()).collect();
        (name.clone(), risks)
    };
    counted.map(costly).filter(|(_, risks): &(String, Risks)| !risks.is_empty()).collect()
}
