//! Network interfaces (Linux, `Documentation/ABI/testing/sysfs-class-net`).

use super::{number, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceFacts {
    /// Megabits per second; virtual interfaces have none.
    pub speed_mbit: Option<u64>,
    pub mtu_bytes: Option<u64>,
    pub duplex: Option<String>,
}

/// The interfaces that are up, by name, including the loopback, whose state is unknown.
pub(super) fn interfaces(directory: &Path) -> BTreeMap<String, InterfaceFacts> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| interface(&directory.join(&name)).map(|facts| (name, facts))).collect()
}

fn interface(directory: &Path) -> Option<InterfaceFacts> {
    let is_up = matches!(text(directory.join("operstate")).as_deref(), Some("up" | "unknown"));
    // An unknown value is -1, or cannot be read.
    let count = |name: &str| number(directory.join(name)).and_then(|count| u64::try_from(count).ok());
    is_up.then(|| InterfaceFacts {
        speed_mbit: count("speed"),
        mtu_bytes: count("mtu"),
        duplex: text(directory.join("duplex")).filter(|duplex| duplex != "unknown"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::write;

    #[test]
    fn interfaces_that_are_up_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        write(&directory.join("eth0"), &[("operstate", "up\n"), ("speed", "25000\n"), ("mtu", "9000\n")]);
        write(&directory.join("eth0"), &[("duplex", "full\n")]);
        write(&directory.join("lo"), &[("operstate", "unknown\n"), ("mtu", "65536\n"), ("speed", "-1\n")]);
        write(&directory.join("eth1"), &[("operstate", "down\n"), ("mtu", "1500\n")]);
        let found = interfaces(directory);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["eth0", "lo"]);
        let eth0 = InterfaceFacts { speed_mbit: Some(25_000), mtu_bytes: Some(9000), duplex: Some("full".to_owned()) };
        assert_eq!(found["eth0"], eth0);
        assert_eq!((found["lo"].speed_mbit, found["lo"].mtu_bytes), (None, Some(65536)));
        assert!(interfaces(Path::new("/no/such/place")).is_empty());
    }
}
