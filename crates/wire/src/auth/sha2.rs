//! `caching_sha2_password`: SHA256(password) xor SHA256(SHA256(SHA256(password)) ++ scramble), and where the
//! server does not remember the account, the password under its RSA key (OAEP, SHA1).

use crate::error::WireError;
use rsa::pkcs8::DecodePublicKey;
use rsa::{Oaep, RsaPublicKey};
use sha2::{Digest, Sha256};

pub fn proof(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(scramble).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The password, ended by a zero byte and masked with the scramble, under the server's public key.
pub fn encrypted(password: &[u8], scramble: &[u8], pem: &[u8]) -> Result<Vec<u8>, WireError> {
    let malformed = |found: String| WireError::Malformed { what: "RSA key", found };
    let pem = std::str::from_utf8(pem).map_err(|_| malformed("no text".to_owned()))?;
    let key = RsaPublicKey::from_public_key_pem(pem.trim()).map_err(|error| malformed(error.to_string()))?;
    if scramble.is_empty() {
        return Err(malformed("no scramble to mask the password with".to_owned()));
    }
    let ended = password.iter().chain(&[0]);
    let masked: Vec<u8> = ended.zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
    key.encrypt(&mut rand_core::OsRng, Oaep::new::<sha1::Sha1>(), &masked).map_err(|error| malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::RsaPrivateKey;
    use rsa::pkcs8::{EncodePublicKey, LineEnding};

    #[test]
    fn a_server_can_verify_the_proof() {
        let scramble = [3u8; 20];
        let stored = Sha256::digest(Sha256::digest(b"secret"));
        let mask = Sha256::new().chain_update(stored).chain_update(scramble).finalize();
        let once: Vec<u8> = proof(b"secret", &scramble).iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha256::digest(once), stored);
    }

    #[test]
    fn the_holder_of_the_key_can_read_the_password() {
        let key = RsaPrivateKey::new(&mut rand_core::OsRng, 1024).unwrap();
        let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let scramble = [5u8; 20];
        let sent = encrypted(b"secret", &scramble, pem.as_bytes()).unwrap();
        let opened = key.decrypt(Oaep::new::<sha1::Sha1>(), &sent).unwrap();
        let password: Vec<u8> = opened.iter().zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
        assert_eq!(password, b"secret\0");
    }
}
