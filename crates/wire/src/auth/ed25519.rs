//! MariaDB's `ed25519`: the scramble signed with a key whose expanded form is SHA512(password) itself
//! (MariaDB Knowledge Base, "Authentication Plugin - ed25519"), hence the hazardous interface.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha2::{Digest, Sha512};

pub fn proof(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    let expanded: [u8; 64] = Sha512::digest(password).into();
    let key = ExpandedSecretKey::from_bytes(&expanded);
    let public = VerifyingKey::from(&key);
    raw_sign::<Sha512>(&key, scramble, &public).to_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signature, Verifier};

    #[test]
    fn the_stored_public_key_verifies_the_signature() {
        let expanded: [u8; 64] = Sha512::digest(b"secret").into();
        let public = VerifyingKey::from(&ExpandedSecretKey::from_bytes(&expanded));
        let signature = Signature::from_slice(&proof(b"secret", &[8; 32])).unwrap();
        public.verify(&[8; 32], &signature).unwrap();
        assert!(public.verify(&[9; 32], &signature).is_err());
    }
}
