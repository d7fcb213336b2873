//! Machines for agents, as far as one machine can play them: network namespaces, each with an address on one bridge.

use anyhow::ensure;
use std::process::{Command, Stdio};

/// Of this machine on the bridge; the namespaces have those behind it.
const HERE: [u8; 4] = [10, 213, 0, 1];

/// Gone when dropped.
pub struct Namespaces {
    bridge: String,
    count: usize,
}

impl Namespaces {
    /// `None` where they cannot be made: without root, or without ip(8).
    ///
    /// # Errors
    /// If the first can be made, and not all of them.
    pub fn make(count: usize) -> anyhow::Result<Option<Namespaces>> {
        ensure!(count <= 250, "{count} namespaces have no addresses; 250 have");
        let bridge = format!("plb{}", std::process::id());
        let made = Namespaces { bridge, count };
        let Namespaces { bridge, .. } = &made;
        let steps = [
            format!("link add {bridge} type bridge"),
            format!("addr add {}/16 dev {bridge}", made.here()),
            format!("link set {bridge} up"),
        ];
        if !steps.iter().all(|step| ip(step)) {
            return Ok(None);
        }
        for (number, name) in made.names().iter().enumerate() {
            let steps = [
                format!("netns add {name}"),
                format!("link add {name} type veth peer name far netns {name}"),
                format!("link set {name} master {bridge} up"),
                format!("-n {name} addr add {}/16 dev far", address(number as u8 + 1)),
                format!("-n {name} link set far up"),
                format!("-n {name} link set lo up"),
            ];
            ensure!(steps.iter().all(|step| ip(step)), "the namespace {name} cannot be made");
        }
        Ok(Some(made))
    }

    /// Where they reach this machine.
    pub fn here(&self) -> String {
        address(0)
    }

    pub fn names(&self) -> Vec<String> {
        (1..=self.count).map(|number| format!("{}n{number}", self.bridge)).collect()
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in self.names() {
            ip(&format!("netns del {name}"));
        }
        ip(&format!("link del {}", self.bridge));
    }
}

fn address(number: u8) -> String {
    let [a, b, c, d] = HERE;
    format!("{a}.{b}.{c}.{}", d + number)
}

/// ip(8), in silence: what cannot be made is said by whoever wanted it.
fn ip(words: &str) -> bool {
    let done = Command::new("ip").args(words.split(' ')).stdout(Stdio::null()).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}
