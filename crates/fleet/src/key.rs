//! The key by which a broker knows us: an nkey, named by its file and never shown.

use crate::error::FleetError;
use plimsoll_plan::broker::BrokerAddress;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The length of a seed (github.com/nats-io/nkeys).
const SEED_BYTES: usize = 58;

/// The seed of the key that we are known by; `None` where the broker trusts everybody on its machine.
///
/// # Errors
/// Its file cannot be read, others can read it, or it has no seed in it.
pub fn seed(address: &BrokerAddress) -> Result<Option<String>, FleetError> {
    let Some(path) = address.key() else { return Ok(None) };
    let refuse = |why: &str| FleetError::Refused(format!("the key {}: {why}", path.display()));
    let facts = fs::metadata(path).map_err(|error| refuse(&error.to_string()))?;
    if facts.permissions().mode() & 0o077 != 0 {
        return Err(refuse("others may read it; `chmod 600` ends that"));
    }
    let text = fs::read_to_string(path).map_err(|error| refuse(&error.to_string()))?;
    let is_seed = |line: &&str| line.starts_with("SU") && line.len() == SEED_BYTES;
    let seed = text.lines().map(str::trim).find(is_seed).map(str::to_owned);
    seed.map(Some).ok_or_else(|| refuse("it has no seed of a user (SU…) in it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_others_may_read_or_that_is_none_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a1.nk");
        let address = BrokerAddress::parse(&format!("tls://b.example?key={}", path.display())).unwrap();
        let why = |address: &BrokerAddress| seed(address).unwrap_err().to_string();
        assert!(why(&address).contains("No such file"), "{}", why(&address));
        let seed = format!("SU{}", "A".repeat(56));
        fs::write(&path, format!("# a1\n{seed}\n")).unwrap();
        let give = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        give(0o644);
        assert!(why(&address).contains("others may read it"), "{}", why(&address));
        give(0o600);
        assert_eq!(super::seed(&address), Ok(Some(seed)));
        fs::write(&path, "nothing").unwrap();
        assert!(why(&address).contains("no seed"), "{}", why(&address));
    }
}
