//! `mysql_native_password`: SHA1(password) xor SHA1(scramble ++ SHA1(SHA1(password))).

use sha1::{Digest, Sha1};

pub fn proof(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(scramble).chain_update(twice).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server stores SHA1(SHA1(password)) and takes the proof apart with it.
    #[test]
    fn a_server_can_verify_the_proof() {
        let scramble = [9u8; 20];
        let stored = Sha1::digest(Sha1::digest(b"secret"));
        let mask = Sha1::new().chain_update(scramble).chain_update(stored).finalize();
        let once: Vec<u8> = proof(b"secret", &scramble).iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha1::digest(once), stored);
        assert!(proof(b"", &scramble).is_empty());
    }
}
