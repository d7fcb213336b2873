//! Authentication: one state machine for the methods that a server may ask for.
//!
//! `mysql_clear_password` and `mysql_old_password` are refused: they give the password, or as good as
//! the password, to whoever asks. `caching_sha2_password` asks for it too, where the server does not remember the
//! account, and gets it as far as the connection is trusted: [`Trust`].

mod ed25519;
mod native;
mod sha2;

use crate::bytes::Fields;
use crate::error::{ServerMessage, WireError, printable};
use crate::response::parse_error;

pub use sha2::PublicKey;

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
const ED25519: &str = "client_ed25519";
/// Of the scrambles that a zero byte ends.
const SCRAMBLE_BYTES: usize = 20;
/// Methods in which the socket itself identifies us; the answer is empty.
const SOCKET: [&str; 2] = ["auth_socket", "unix_socket"];

/// Whether the password itself may be sent on a connection. Proofs made from a scramble may be sent on any.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// In clear text: nobody else can listen, and whoever answers is the intended server, or is accepted as such by
    /// choice.
    Private,
    /// Under this key, whoever answers.
    Key(&'a PublicKey),
    /// Under whichever key the other side sends.
    AnyKey,
    /// Not at all: anybody may be on the other side.
    Anybody,
}

/// The method in use, with what it needs to remember between packets.
pub struct Authentication<'a> {
    password: &'a [u8],
    trust: Trust<'a>,
    plugin: String,
    scramble: Vec<u8>,
    waits_for_key: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum AuthStep {
    /// Send this payload as the next packet.
    Send(Vec<u8>),
    /// Nothing to send; read the next packet.
    Wait,
    Accepted,
    Refused(ServerMessage),
}

impl<'a> Authentication<'a> {
    pub fn new(password: &'a [u8], trust: Trust<'a>, plugin: &str, scramble: &[u8]) -> Authentication<'a> {
        Authentication { password, trust, plugin: plugin.to_owned(), scramble: scramble.to_vec(), waits_for_key: false }
    }

    /// The method that our login names. A server that greets with a method that we do not support gets one that we do;
    /// it then asks for the one that the account needs.
    pub fn plugin(&self) -> &str {
        match self.plugin.as_str() {
            known @ (NATIVE | SHA2 | ED25519) => known,
            _ => NATIVE,
        }
    }

    /// The proof that goes with our login.
    pub fn first_proof(&mut self) -> Result<Vec<u8>, WireError> {
        self.plugin = self.plugin().to_owned();
        self.proof()
    }

    fn proof(&self) -> Result<Vec<u8>, WireError> {
        match self.plugin.as_str() {
            NATIVE => Ok(native::proof(self.password, &self.scramble)),
            SHA2 => Ok(sha2::proof(self.password, &self.scramble)),
            ED25519 => Ok(ed25519::proof(self.password, &self.scramble)),
            plugin if SOCKET.contains(&plugin) => Ok(Vec::new()),
            "mysql_clear_password" => {
                Err(self.refuse("would send the password in clear text; Plimsoll never does that"))
            }
            "mysql_old_password" => Err(self.refuse("can be broken by anyone who listens; Plimsoll never uses it")),
            _ => Err(self.refuse(
                "is not one of mysql_native_password, caching_sha2_password, ed25519, auth_socket and unix_socket",
            )),
        }
    }

    fn refuse(&self, reason: &'static str) -> WireError {
        WireError::Authentication { plugin: self.plugin.clone(), reason }
    }

    /// Processes the server's next packet.
    pub fn step(&mut self, payload: &[u8]) -> Result<AuthStep, WireError> {
        let mut fields = Fields::new(payload, "authentication packet");
        match fields.u8()? {
            0x00 => Ok(AuthStep::Accepted),
            0xff => Ok(AuthStep::Refused(parse_error(payload)?)),
            0xfe => {
                // A lone 0xfe is the request of servers before 4.1.
                self.plugin = match payload.len() {
                    1 => "mysql_old_password".to_owned(),
                    _ => printable(fields.terminated()),
                };
                // A zero follows a scramble of 20 bytes; ed25519's 32 random bytes may end with one of their own.
                let scramble = match fields.rest() {
                    [scramble @ .., 0] if scramble.len() == SCRAMBLE_BYTES => scramble,
                    whole => whole,
                };
                self.scramble = scramble.to_vec();
                self.waits_for_key = false;
                self.proof().map(AuthStep::Send)
            }
            0x01 => self.more(fields.rest()),
            other => Err(WireError::Malformed { what: "authentication packet", found: format!("type {other:#x}") }),
        }
    }

    /// The second step of caching_sha2_password: done from the cache, or the password itself.
    fn more(&mut self, data: &[u8]) -> Result<AuthStep, WireError> {
        match data {
            [3] if self.plugin == SHA2 => Ok(AuthStep::Wait),
            [4] if self.plugin == SHA2 => self.password_itself().map(AuthStep::Send),
            pem if self.waits_for_key => {
                self.waits_for_key = false;
                let malformed = |found| WireError::Malformed { what: "RSA key", found };
                let key = PublicKey::from_pem(pem).map_err(malformed)?;
                key.encrypt(self.password, &self.scramble).map(AuthStep::Send)
            }
            other => Err(WireError::Malformed { what: "authentication packet", found: printable(other) }),
        }
    }

    /// The password as far as the connection is trusted, or the request for a key to send it under.
    fn password_itself(&mut self) -> Result<Vec<u8>, WireError> {
        match self.trust {
            // It is no secret that there is no password: our proof was empty.
            _ if self.password.is_empty() => Ok(vec![0]),
            Trust::Private => Ok([self.password, &[0]].concat()),
            Trust::Key(key) => key.encrypt(self.password, &self.scramble),
            Trust::AnyKey => {
                self.waits_for_key = true;
                Ok(vec![2])
            }
            Trust::Anybody => Err(WireError::PasswordKept),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_and_old_passwords_are_never_given() {
        for plugin in ["mysql_clear_password", "mysql_old_password", "dialog"] {
            let mut authentication = Authentication::new(b"secret", Trust::Private, NATIVE, &[1; 20]);
            let switch = [&[0xfe], plugin.as_bytes(), &[0], &[1; 20], &[0]].concat();
            match authentication.step(&switch) {
                Err(WireError::Authentication { plugin: named, .. }) => assert_eq!(named, plugin),
                other => panic!("{plugin}: {other:?}"),
            }
        }
    }

    /// What is answered to a server that asks for the password itself.
    fn asked_for_all(password: &'static [u8], trust: Trust<'_>) -> Result<AuthStep, WireError> {
        let mut authentication = Authentication::new(password, trust, NATIVE, &[1; 20]);
        let switch = [&[0xfe], SHA2.as_bytes(), &[0], &[2; 20], &[0]].concat();
        assert!(
            matches!(authentication.step(&switch), Ok(AuthStep::Send(proof)) if proof.len() == 32 || password.is_empty())
        );
        authentication.step(&[1, 4])
    }

    #[test]
    fn the_password_itself_goes_as_far_as_the_trust() {
        let key = PublicKey::from_pem(sha2::tests::key().1.as_bytes()).unwrap();
        assert_eq!(asked_for_all(b"secret", Trust::Private), Ok(AuthStep::Send(b"secret\0".to_vec())));
        assert_eq!(asked_for_all(b"secret", Trust::AnyKey), Ok(AuthStep::Send(vec![2])));
        assert_eq!(asked_for_all(b"secret", Trust::Anybody), Err(WireError::PasswordKept));
        let Ok(AuthStep::Send(sent)) = asked_for_all(b"secret", Trust::Key(&key)) else { panic!("a key was given") };
        assert_eq!(sent.len(), 128, "under the key of 1024 bits, without asking for another");
        for trust in [Trust::Private, Trust::Key(&key), Trust::AnyKey, Trust::Anybody] {
            assert_eq!(asked_for_all(b"", trust), Ok(AuthStep::Send(vec![0])), "{trust:?}: nothing to keep");
        }
    }

    #[test]
    fn a_key_is_taken_only_where_one_was_asked_for() {
        let pem = [&[1], sha2::tests::key().1.as_bytes()].concat();
        let own = PublicKey::from_pem(&pem[1..]).unwrap();
        for trust in [Trust::Private, Trust::Key(&own), Trust::AnyKey, Trust::Anybody] {
            let mut authentication = Authentication::new(b"secret", trust, SHA2, &[1; 20]);
            assert!(authentication.step(&pem).is_err(), "{trust:?}");
            let _ = authentication.step(&[1, 4]);
            assert_eq!(authentication.step(&pem).is_ok(), matches!(trust, Trust::AnyKey), "{trust:?}");
            assert!(authentication.step(&pem).is_err(), "and once");
        }
        let mut asking = Authentication::new(b"secret", Trust::AnyKey, SHA2, &[1; 20]);
        assert_eq!(asking.step(&[1, 4]), Ok(AuthStep::Send(vec![2])));
        assert!(asking.step(&[1, b'x']).is_err(), "garbage is no key");
    }

    #[test]
    fn a_zero_is_cut_off_behind_a_scramble_and_not_from_one() {
        let mut nonce = [7_u8; 32];
        nonce[31] = 0;
        let mut ended = [1_u8; 21];
        ended[20] = 0;
        for (plugin, sent, proof) in [
            (ED25519, &nonce[..], ed25519::proof(b"secret", &nonce)),
            (NATIVE, &ended[..], native::proof(b"secret", &ended[..20])),
            (NATIVE, &ended[..20], native::proof(b"secret", &ended[..20])),
        ] {
            let mut authentication = Authentication::new(b"secret", Trust::Anybody, NATIVE, &[9; 20]);
            let switch = [&[0xfe], plugin.as_bytes(), &[0], sent].concat();
            assert_eq!(authentication.step(&switch), Ok(AuthStep::Send(proof)), "{plugin}");
        }
    }

    #[test]
    fn a_socket_method_is_answered_with_nothing() {
        let mut authentication = Authentication::new(b"", Trust::Private, NATIVE, &[1; 20]);
        let switch = [&[0xfe], "auth_socket".as_bytes(), &[0]].concat();
        assert_eq!(authentication.step(&switch), Ok(AuthStep::Send(Vec::new())));
    }
}
