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

/// A server's RSA key, under which a password can be sent that only the server can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(RsaPublicKey);

impl PublicKey {
    /// Reads the text of a PEM file (`-----BEGIN PUBLIC KEY-----`), as servers have and send it.
    ///
    /// # Errors
    /// What is wrong, if it is not a public key.
    pub fn from_pem(pem: &[u8]) -> Result<PublicKey, String> {
        let pem = std::str::from_utf8(pem).map_err(|_| "no text".to_owned())?;
        // MySQL's own file ends in a zero byte.
        let pem = pem.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        RsaPublicKey::from_public_key_pem(pem).map(PublicKey).map_err(|error| error.to_string())
    }

    /// The password, ended by a zero byte and masked with the scramble, under this key.
    pub(super) fn encrypt(&self, password: &[u8], scramble: &[u8]) -> Result<Vec<u8>, WireError> {
        let malformed = |found: String| WireError::Malformed { what: "RSA key", found };
        if scramble.is_empty() {
            return Err(malformed("no scramble to mask the password with".to_owned()));
        }
        let ended = password.iter().chain(&[0]);
        let masked: Vec<u8> = ended.zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
        let sent = self.0.encrypt(&mut rand_core::OsRng, Oaep::new::<sha1::Sha1>(), &masked);
        sent.map_err(|error| malformed(error.to_string()))
    }
}

#[cfg(test)]
pub(super) mod tests {
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

    /// A pair of keys, and the public one as servers have it.
    pub fn key() -> (RsaPrivateKey, String) {
        let key = RsaPrivateKey::new(&mut rand_core::OsRng, 1024).unwrap();
        let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        (key, pem)
    }

    #[test]
    fn the_holder_of_the_key_can_read_the_password() {
        let (key, pem) = key();
        let scramble = [5u8; 20];
        let sent = PublicKey::from_pem(pem.as_bytes()).unwrap().encrypt(b"secret", &scramble).unwrap();
        assert!(PublicKey::from_pem(format!("{pem}\0").as_bytes()).is_ok(), "as MySQL writes it");
        let opened = key.decrypt(Oaep::new::<sha1::Sha1>(), &sent).unwrap();
        let password: Vec<u8> = opened.iter().zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect();
        assert_eq!(password, b"secret\0");
    }
}
