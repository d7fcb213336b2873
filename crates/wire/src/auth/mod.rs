//! Proving who we are: one state machine over the methods that a server may ask for.
//!
//! `mysql_clear_password` and `mysql_old_password` are refused: they give the password, or as good as
//! the password, to whoever asks.

mod ed25519;
mod native;
mod sha2;

use crate::bytes::Fields;
use crate::error::{ServerMessage, WireError, printable};
use crate::response::parse_error;

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
const ED25519: &str = "client_ed25519";
/// Methods in which the socket itself says who we are; the answer is empty.
const SOCKET: [&str; 2] = ["auth_socket", "unix_socket"];

/// The method in use, with what it needs to remember between packets.
pub struct Authentication<'a> {
    password: &'a [u8],
    /// True where nobody can listen: TLS, or a Unix socket.
    private: bool,
    plugin: String,
    scramble: Vec<u8>,
    waits_for_key: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this payload as the next packet.
    Send(Vec<u8>),
    /// Nothing to send; read the next packet.
    Wait,
    Accepted,
    Refused(ServerMessage),
}

impl<'a> Authentication<'a> {
    pub fn new(password: &'a [u8], private: bool, plugin: &str, scramble: &[u8]) -> Authentication<'a> {
        Authentication {
            password,
            private,
            plugin: plugin.to_owned(),
            scramble: scramble.to_vec(),
            waits_for_key: false,
        }
    }

    /// The method that our login names. A server that greets with a method we do not have
    /// is answered with one that we have; it then asks for the one the account needs.
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
            "mysql_clear_password" => Err(self.refuse("would send the password in clear; it is never answered")),
            "mysql_old_password" => Err(self.refuse("can be broken by anyone who listens; it is never answered")),
            _ => Err(self.refuse(
                "is not one of mysql_native_password, caching_sha2_password, ed25519, auth_socket and unix_socket",
            )),
        }
    }

    fn refuse(&self, reason: &'static str) -> WireError {
        WireError::Authentication { plugin: self.plugin.clone(), reason }
    }

    /// Takes the server's next packet.
    pub fn step(&mut self, payload: &[u8]) -> Result<Step, WireError> {
        let mut fields = Fields::new(payload, "authentication packet");
        match fields.u8()? {
            0x00 => Ok(Step::Accepted),
            0xff => Ok(Step::Refused(parse_error(payload)?)),
            0xfe => {
                // A lone 0xfe is the request of servers before 4.1.
                self.plugin = match payload.len() {
                    1 => "mysql_old_password".to_owned(),
                    _ => printable(fields.terminated()),
                };
                let scramble = fields.rest();
                self.scramble = scramble.strip_suffix(&[0]).unwrap_or(scramble).to_vec();
                self.waits_for_key = false;
                self.proof().map(Step::Send)
            }
            0x01 => self.more(fields.rest()),
            other => Err(WireError::Malformed { what: "authentication packet", found: format!("type {other:#x}") }),
        }
    }

    /// What caching_sha2_password goes on with: done from the cache, or the password itself, which is sent
    /// only where nobody can listen, else encrypted with the server's key.
    fn more(&mut self, data: &[u8]) -> Result<Step, WireError> {
        match data {
            [3] if self.plugin == SHA2 => Ok(Step::Wait),
            [4] if self.plugin == SHA2 && self.private => Ok(Step::Send([self.password, &[0]].concat())),
            [4] if self.plugin == SHA2 => {
                self.waits_for_key = true;
                Ok(Step::Send(vec![2]))
            }
            pem if self.waits_for_key => {
                self.waits_for_key = false;
                sha2::encrypted(self.password, &self.scramble, pem).map(Step::Send)
            }
            other => Err(WireError::Malformed { what: "authentication packet", found: printable(other) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_and_old_passwords_are_never_given() {
        for plugin in ["mysql_clear_password", "mysql_old_password", "dialog"] {
            let mut authentication = Authentication::new(b"secret", true, NATIVE, &[1; 20]);
            let switch = [&[0xfe], plugin.as_bytes(), &[0], &[1; 20], &[0]].concat();
            match authentication.step(&switch) {
                Err(WireError::Authentication { plugin: named, .. }) => assert_eq!(named, plugin),
                other => panic!("{plugin}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_password_itself_is_sent_only_where_nobody_listens() {
        let full = [1, 4];
        let mut private = Authentication::new(b"secret", true, SHA2, &[1; 20]);
        assert_eq!(private.step(&full), Ok(Step::Send(b"secret\0".to_vec())));
        let mut open = Authentication::new(b"secret", false, SHA2, &[1; 20]);
        assert_eq!(open.step(&full), Ok(Step::Send(vec![2])));
        assert!(open.step(&[1, b'x']).is_err(), "garbage is no key");
    }

    #[test]
    fn a_socket_method_is_answered_with_nothing() {
        let mut authentication = Authentication::new(b"", true, NATIVE, &[1; 20]);
        let switch = [&[0xfe], "auth_socket".as_bytes(), &[0]].concat();
        assert_eq!(authentication.step(&switch), Ok(Step::Send(Vec::new())));
    }
}
