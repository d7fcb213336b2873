//! `manifest.json`: what a recording is of, and how far it came.

use jiff::Timestamp;
use plimsoll_host::facts::HostFacts;
use plimsoll_plan::Plan;
use serde::{Deserialize, Serialize};

/// Version of the layout of a recording. Added fields and files do not raise it.
pub const SCHEMA_VERSION: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Also what a killed Plimsoll leaves; [`crate::read::is_being_written`] tells the two apart.
    Running,
    Done,
    Interrupted,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema_version: u32,
    /// Matches `[a-z0-9][a-z0-9./+-]*`; part of the directory's name.
    pub name: String,
    pub status: Status,
    /// Version of the Plimsoll that wrote it.
    pub tool_version: String,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// Why it failed; none of one that did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub seed: u64,
    /// As resolved: every default filled in. In JSON its `kind` and the `plan` itself.
    #[serde(flatten)]
    pub plan: Plan,
    /// The machine that measured.
    pub host: HostFacts,
}

impl Manifest {
    /// The manifest of a recording that starts now. `plan` and `host` are kept as they are, so no secrets in them.
    pub fn new(name: &str, tool_version: &str, started: Timestamp, plan: Plan, host: HostFacts) -> Manifest {
        Manifest {
            schema_version: SCHEMA_VERSION,
            name: name.to_owned(),
            status: Status::Running,
            tool_version: tool_version.to_owned(),
            started,
            ended: None,
            why: None,
            seed: plan.seed(),
            plan,
            host,
        }
    }
}

/// True if a recording, variant or point may be called so.
pub fn is_name(name: &str) -> bool {
    let begins = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 80 && name.starts_with(begins) && name.chars().all(is_name_of)
}

/// A text as the name of a recording, as far as it can be one: in lower case, with `-` for whatever a name cannot have.
/// `oltp_read_write` becomes `oltp-read-write`.
pub fn name_of(text: &str) -> String {
    let plain = |c: char| if is_name_of(c) { c } else { '-' };
    text.chars().map(|c| plain(c.to_ascii_lowercase())).collect()
}

fn is_name_of(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '/' | '+' | '-')
}

/// What texts have in common that may mean the same recording: `Group/Member`, `group_member` and the name of its
/// directory are the same.
pub fn folded(text: &str) -> String {
    name_of(text).replace('/', "-")
}

/// A name as part of a file name: `group/member` becomes `group_member`.
pub(crate) fn file_name(what: &'static str, name: &str) -> crate::Result<String> {
    if is_name(name) {
        Ok(name.replace('/', "_"))
    } else {
        Err(crate::RecordError::BadName { what, name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_names_and_those_that_mean_the_same_are_the_same() {
        assert_eq!(name_of("oltp_read_write"), "oltp-read-write");
        assert_eq!(name_of("A b\u{e9}/c.1+2"), "a-b-/c.1+2");
        for same in ["group/member", "group_member", "Group-Member", "GROUP/MEMBER"] {
            assert_eq!(folded(same), "group-member");
        }
    }

    #[test]
    fn names_are_plain_and_bounded() {
        for good in ["a", "fc", "0.5+x", "group/member", "oltp-read-write"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "/etc", ".hidden", "A", "a b", "a_b", "a\n", "é", &"x".repeat(81)] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert_eq!(file_name("variant", "group/../m").unwrap(), "group_.._m");
    }
}
