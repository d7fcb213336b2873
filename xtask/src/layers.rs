//! Which crate stands on which: the one table of layers, and the rule that dependencies point downwards.

use crate::Finding;
use crate::metadata::Package;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// What ships. A crate may depend on those of a lower number.
    Ships(u8),
    /// Tools and tests: may depend on everything, and nothing that ships may depend on them.
    Dev,
}
use Layer::{Dev, Ships};

/// Every crate of the workspace. One that is not here has not been thought about yet, and that is a finding.
pub const LAYERS: &[(&str, Layer)] = &[
    ("plimsoll-model", Ships(0)),
    ("plimsoll-diagnosis", Ships(1)),
    ("plimsoll-document", Ships(1)),
    ("plimsoll-stats", Ships(1)),
    ("plimsoll-wire", Ships(1)),
    ("plimsoll-load", Ships(1)),
    ("plimsoll-plan", Ships(1)),
    ("plimsoll-report", Ships(1)),
    ("plimsoll-advice", Ships(2)),
    ("plimsoll-faults", Ships(2)),
    ("plimsoll-picture", Ships(2)),
    ("plimsoll-render", Ships(2)),
    ("plimsoll-schedule", Ships(2)),
    ("plimsoll-watch", Ships(2)),
    ("plimsoll-measures", Ships(3)),
    ("plimsoll-host", Ships(2)),
    ("plimsoll-engine", Ships(3)),
    ("plimsoll-workloads", Ships(3)),
    ("plimsoll-storage", Ships(3)),
    ("plimsoll-server", Ships(3)),
    ("plimsoll-record", Ships(3)),
    ("plimsoll-archive", Ships(4)),
    ("plimsoll-fleet", Ships(4)),
    ("plimsoll-follow", Ships(4)),
    ("plimsoll-lanes", Ships(4)),
    ("plimsoll-script", Ships(4)),
    ("plimsoll-sysbench", Ships(5)),
    ("plimsoll-analysis", Ships(5)),
    ("plimsoll-data", Ships(5)),
    ("plimsoll-evaluate", Ships(5)),
    ("plimsoll-lab", Ships(6)),
    ("plimsoll-live", Ships(6)),
    ("plimsoll", Ships(7)),
    ("plimsoll-testkit", Dev),
    ("plimsoll-fuzz", Dev),
    ("plimsoll-bench", Dev),
    ("xtask", Dev),
];

/// The edges within one layer that were agreed on.
pub const SIDEWAYS: &[(&str, &str)] = &[
    // Transactions are written against the engine's session.
    ("plimsoll-workloads", "plimsoll-engine"),
    // What is recorded and what is read from it is one kind of histogram.
    ("plimsoll-load", "plimsoll-stats"),
    // A report is a document.
    ("plimsoll-report", "plimsoll-document"),
];

/// The layers whose crates do nothing but compute: no files, sockets, environment, clock, threads or output.
const PURE_BELOW: u8 = 2;
/// The crates above them that do nothing else either.
const PURE: &[&str] = &["plimsoll-advice", "plimsoll-schedule", "plimsoll-watch", "plimsoll-measures"];

/// Which crates must not be reached, by whatever way: those who only read recordings can start nothing.
const OUT_OF_REACH: &[(&str, &[&str])] = &[("plimsoll-analysis", STARTING), ("plimsoll-live", STARTING)];
const STARTING: &[&str] = &["plimsoll-engine", "plimsoll-server", "plimsoll-data", "plimsoll-evaluate", "plimsoll-lab"];

fn layer_of(name: &str) -> Option<Layer> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

pub fn is_pure(name: &str) -> bool {
    PURE.contains(&name) || matches!(layer_of(name), Some(Ships(layer)) if layer < PURE_BELOW)
}

pub fn is_shipped(name: &str) -> bool {
    matches!(layer_of(name), Some(Ships(_)))
}

pub fn check(packages: &[Package]) -> Vec<Finding> {
    let out_of_reach = OUT_OF_REACH.iter().flat_map(|(from, to)| reached(from, to, packages));
    packages.iter().flat_map(|package| check_package(package, packages)).chain(out_of_reach).collect()
}

/// The crates of `unwanted` that `from` needs to be built, with the way to each.
fn reached(from: &str, unwanted: &[&str], packages: &[Package]) -> Vec<Finding> {
    let mut ways = vec![vec![from.to_owned()]];
    let mut seen = vec![from.to_owned()];
    let mut findings = Vec::new();
    while let Some(way) = ways.pop() {
        let last = way.last().map_or("", String::as_str);
        if unwanted.contains(&last) {
            findings.push(Finding::new(from, format!("must not reach {last}, and does: {}", way.join(" → "))));
            continue;
        }
        let Some(package) = packages.iter().find(|package| package.name == last) else { continue };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.ships()) {
            if !seen.contains(&dependency.name) {
                seen.push(dependency.name.clone());
                ways.push([way.clone(), vec![dependency.name.clone()]].concat());
            }
        }
    }
    findings
}

fn check_package(package: &Package, packages: &[Package]) -> Vec<Finding> {
    let Some(layer) = layer_of(&package.name) else {
        return vec![Finding::new(&package.name, "has no layer; add it to the table in xtask/src/layers.rs")];
    };
    let ours = |name: &str| packages.iter().any(|other| other.name == name);
    let shipped = package.dependencies.iter().filter(|dependency| dependency.ships() && ours(&dependency.name));
    shipped.filter_map(|dependency| refuse(&package.name, layer, &dependency.name)).collect()
}

/// The finding for one edge, if it is not allowed.
fn refuse(from: &str, layer: Layer, to: &str) -> Option<Finding> {
    let (Ships(from_layer), Some(to_layer)) = (layer, layer_of(to)) else { return None };
    let message = match to_layer {
        Ships(to_layer) if to_layer < from_layer || SIDEWAYS.contains(&(from, to)) => return None,
        Ships(to_layer) => {
            format!("is in layer {from_layer} and must not depend on {to} in layer {to_layer}")
        }
        Dev => format!("ships and must not depend on {to}, which is for development; make it a dev-dependency"),
    };
    Some(Finding::new(from, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency =
            |(name, kind): &(&str, Option<&str>)| Dependency { name: name.to_string(), kind: kind.map(String::from) };
        let dependencies = dependencies.iter().map(dependency).collect();
        Package { name: name.to_string(), dir: name.into(), dependencies }
    }

    /// The findings about `package` in a workspace of every known crate.
    fn findings(package: Package) -> Vec<String> {
        let mut packages = vec![package];
        packages.extend(LAYERS.iter().map(|(name, _)| self::package(name, &[])));
        check(&packages).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn downwards_and_agreed_edges_pass() {
        let down = package("plimsoll-lab", &[("plimsoll-engine", None), ("plimsoll-model", None), ("serde", None)]);
        assert!(findings(down).is_empty());
        assert!(findings(package("plimsoll-workloads", &[("plimsoll-engine", None)])).is_empty());
        assert!(findings(package("plimsoll-wire", &[("plimsoll-testkit", Some("dev"))])).is_empty());
        assert!(findings(package("plimsoll-testkit", &[("plimsoll-wire", None)])).is_empty());
    }

    #[test]
    fn upwards_is_found() {
        let found = findings(package("plimsoll-wire", &[("plimsoll-engine", None)]));
        assert_eq!(found, ["plimsoll-wire: is in layer 1 and must not depend on plimsoll-engine in layer 3"]);
        assert_eq!(findings(package("plimsoll-wire", &[("plimsoll-lab", Some("build"))])).len(), 1);
    }

    #[test]
    fn sideways_is_found_unless_agreed_and_only_in_that_direction() {
        assert_eq!(findings(package("plimsoll-engine", &[("plimsoll-workloads", None)])).len(), 1);
        assert_eq!(findings(package("plimsoll-stats", &[("plimsoll-wire", None)])).len(), 1);
    }

    #[test]
    fn a_shipped_crate_may_not_need_the_testkit() {
        let found = findings(package("plimsoll", &[("plimsoll-testkit", None)]));
        assert!(found[0].contains("make it a dev-dependency"), "{found:?}");
    }

    #[test]
    fn an_unknown_crate_is_found() {
        assert!(findings(package("plimsoll-novelty", &[]))[0].contains("has no layer"));
    }

    #[test]
    fn what_can_start_something_is_out_of_reach_of_readers_by_whatever_way() {
        let through = package("plimsoll-record", &[("plimsoll-server", None)]);
        let packages = [package("plimsoll-analysis", &[("plimsoll-record", None)]), through];
        let found: Vec<String> = check(&packages).iter().map(ToString::to_string).collect();
        let way = "plimsoll-analysis → plimsoll-record → plimsoll-server";
        assert!(
            found.contains(&format!("plimsoll-analysis: must not reach plimsoll-server, and does: {way}")),
            "{found:?}"
        );
        assert!(
            findings(package("plimsoll-live", &[("plimsoll-analysis", None), ("plimsoll-engine", Some("dev"))]))
                .is_empty()
        );
    }

    #[test]
    fn the_two_lowest_layers_are_pure_and_some_above() {
        assert!(is_pure("plimsoll-model") && is_pure("plimsoll-report"));
        assert!(is_pure("plimsoll-schedule") && is_pure("plimsoll-measures"));
        assert!(!is_pure("plimsoll-engine") && !is_pure("plimsoll-testkit") && !is_pure("serde"));
    }
}
