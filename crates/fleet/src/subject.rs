//! Under which subjects a fleet speaks, and what an agent may be called.

use crate::error::FleetError;

/// The stream of what loads tell.
pub const STREAM: &str = "PLIMSOLL";
/// To all agents.
pub const ALL: &str = "plimsoll.all";
/// The longest name of an agent, bytes.
const LONGEST_NAME: usize = 64;

/// Orders to an agent, each of which it answers.
pub fn to(agent: &str) -> String {
    format!("plimsoll.to.{agent}")
}

/// What time it is there.
pub fn clock(agent: &str) -> String {
    format!("plimsoll.clock.{agent}")
}

/// Who it is.
pub fn hello(agent: &str) -> String {
    format!("plimsoll.hello.{agent}")
}

/// That it lives.
pub fn heartbeat(agent: &str) -> String {
    format!("plimsoll.hb.{agent}")
}

/// What its load tells; these alone are stored.
pub fn told(agent: &str) -> String {
    format!("plimsoll.told.{agent}")
}

/// Where what it asks is answered.
pub fn inbox(who: &str) -> String {
    format!("_INBOX_{who}")
}

/// Whose subject this is.
pub fn agent(subject: &str) -> &str {
    subject.rsplit('.').next().unwrap_or_default()
}

/// Checks what an agent is to be called: letters, digits, hyphens, underscores.
///
/// # Errors
/// [`FleetError::Refused`] with what is accepted.
pub fn check_name(name: &str) -> Result<(), FleetError> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    match is_plain && (1..=LONGEST_NAME).contains(&name.len()) {
        true => Ok(()),
        false => Err(FleetError::Refused(format!(
            "{name:?} is no name of an agent: 1 to {LONGEST_NAME} letters, digits, hyphens and underscores"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_subject() {
        for name in ["a1", "load-3_b", &"x".repeat(64)] {
            assert_eq!((check_name(name), agent(&told(name))), (Ok(()), name));
        }
        for name in ["", "a.b", "*", ">", "a b", "a\n", "é", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
