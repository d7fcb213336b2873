//! One name, one thing: no two types that others see have the same name, wherever in the workspace they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::Finding;
use crate::items::Declared;

/// The names that more than one public type has, each with the modules that declare it.
pub fn check(declared: &[Declared]) -> Vec<Finding> {
    let mut modules: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for Declared { path, .. } in declared.iter().filter(|declared| declared.is_public_type) {
        if let Some((name, module)) = path.split_last() {
            modules.entry(name).or_default().insert(module.join("::"));
        }
    }
    let shared = modules.into_iter().filter(|(_, modules)| modules.len() > 1);
    let finding = |(name, modules): (&str, BTreeSet<String>)| {
        let modules: Vec<String> = modules.into_iter().collect();
        Finding::new(format!("{name} in {}", modules.join(", ")), format!("is one name for {} types", modules.len()))
    };
    shared.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items;
    use crate::source::SourceFile;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let mut declared = Vec::new();
        for (package, text) in files {
            let source = SourceFile::parse(format!("crates/{package}/src/lib.rs"), *text, false).unwrap();
            declared.extend(items::of_package(package, &[source]));
        }
        check(&declared).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_of_two_public_types_is_found_whatever_they_are() {
        for (one, other) in [
            ("pub struct State;", "pub enum State {}"),
            ("pub(crate) trait State {}", "pub(super) type State = u8;"),
            ("pub mod inner { pub union State { a: u8 } }", "pub struct State;"),
        ] {
            let found = findings(&[("one", one), ("other", other)]);
            assert_eq!(found.len(), 1, "{one} {other}");
            assert!(found[0].starts_with("State in one"), "{found:?}");
            assert!(found[0].ends_with(", other: is one name for 2 types"), "{found:?}");
        }
        assert_eq!(findings(&[("x", "pub mod a { pub struct S; }\npub mod b { pub struct S; }")]).len(), 1);
    }

    #[test]
    fn private_types_re_exports_parts_and_conditions_pass() {
        for (one, other) in [
            ("pub struct State;", "struct State;"),
            ("pub struct State;", "pub use one::State;"),
            ("pub struct State;", "pub enum Phase { State }"),
            ("#[cfg(unix)]\npub struct State;\n#[cfg(not(unix))]\npub struct State;", ""),
            ("pub struct State;", "#[cfg(test)]\nmod tests {\n    pub struct State;\n}"),
        ] {
            let found = findings(&[("one", one), ("other", other)]);
            assert!(found.is_empty(), "{one} {other}: {found:?}");
        }
    }
}
