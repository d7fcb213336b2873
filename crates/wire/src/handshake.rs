//! How a connection begins: the server's greeting, and our answer to it.

use crate::bytes::{Fields, put_counted};
use crate::capability as cap;
use crate::error::{ServerMessage, WireError, printable};
use crate::frame;
use crate::response::parse_error;
use plimsoll_model::Flavour;

/// utf8mb4_general_ci: the one number that every member of the family knows.
const UTF8MB4: u8 = 45;
/// The largest packet we announce: 1 GiB, the protocol's own limit.
const MAX_PACKET: u32 = 1 << 30;

/// A server's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// As sent by the server, without MariaDB's `5.5.5-` prefix.
    pub version: String,
    pub connection_id: u32,
    pub capabilities: u64,
    pub plugin: String,
    pub scramble: Vec<u8>,
}

impl Greeting {
    pub fn flavour(&self) -> Flavour {
        Flavour::from_version_text(&self.version)
    }
}

/// Reads the greeting; a server that is full answers with an error instead.
pub fn parse_greeting(payload: &[u8]) -> Result<Result<Greeting, ServerMessage>, WireError> {
    let mut fields = Fields::new(payload, "greeting");
    match fields.u8()? {
        10 => {}
        0xff => return parse_error(payload).map(Err),
        other => {
            return Err(WireError::Malformed { what: "greeting", found: format!("protocol version {other}") });
        }
    }
    let version = printable(fields.terminated());
    let version = version.strip_prefix("5.5.5-").unwrap_or(&version).to_owned();
    let connection_id = fields.u32()?;
    let mut scramble = fields.take(8)?.to_vec();
    fields.take(1)?;
    let mut capabilities = u64::from(fields.u16()?);
    fields.take(3)?; // character set and status
    capabilities |= u64::from(fields.u16()?) << 16;
    let scramble_length = usize::from(fields.u8()?);
    fields.take(6)?;
    let extended = u64::from(fields.u32()?);
    if capabilities & cap::LONG_PASSWORD == 0 {
        capabilities |= extended << 32;
    }
    if capabilities & cap::PROTOCOL_41 == 0 || capabilities & cap::SECURE_CONNECTION == 0 {
        return Err(WireError::Malformed { what: "greeting", found: "a server older than 4.1".to_owned() });
    }
    let rest = fields.take(scramble_length.saturating_sub(8).max(13))?;
    scramble.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
    let plugin = match capabilities & cap::PLUGIN_AUTH {
        0 => "mysql_native_password".to_owned(),
        _ => printable(fields.terminated()),
    };
    Ok(Ok(Greeting { version, connection_id, capabilities, plugin, scramble }))
}

/// What one connection asks for, in addition to what all of ours ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandshakeOptions<'a> {
    pub tls: bool,
    pub local_files: bool,
    /// The database to begin in.
    pub database: Option<&'a str>,
}

/// What is agreed for a connection. The request for TLS and the login are both written from it: servers use the first
/// packet with capabilities, so anything that only the second one says is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgreedHandshake<'a> {
    capabilities: u64,
    database: Option<&'a str>,
}

impl AgreedHandshake<'_> {
    pub fn capabilities(&self) -> u64 {
        self.capabilities
    }
}

/// What we want and the server offers.
pub fn negotiate<'a>(greeting: &Greeting, asked: &HandshakeOptions<'a>) -> AgreedHandshake<'a> {
    let mut wanted = cap::WANTED;
    if asked.tls {
        wanted |= cap::TLS;
    }
    if asked.local_files {
        wanted |= cap::LOCAL_FILES;
    }
    let mut capabilities = wanted & (greeting.capabilities | cap::LONG_PASSWORD | cap::PROTOCOL_41);
    // Sent to every server: one without this capability refuses the login instead of beginning without a database.
    if asked.database.is_some() {
        capabilities |= cap::CONNECT_WITH_DB;
    }
    if capabilities & cap::DEPRECATE_EOF == 0 {
        capabilities &= !cap::MARIADB_CACHE_METADATA;
    }
    // MariaDB reads the extended flags only if this first one is clear.
    if capabilities >> 32 != 0 {
        capabilities &= !cap::LONG_PASSWORD;
    }
    AgreedHandshake { capabilities, database: asked.database }
}

fn put_client_header(out: &mut Vec<u8>, capabilities: u64) {
    out.extend_from_slice(&(capabilities as u32).to_le_bytes());
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(UTF8MB4);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
}

/// Appends the short packet that asks for TLS before anything secret is said.
pub fn put_tls_request(out: &mut Vec<u8>, agreed: &AgreedHandshake<'_>, sequence: u8) -> u8 {
    let start = frame::begin(out);
    put_client_header(out, agreed.capabilities);
    frame::finish(out, start, sequence)
}

/// Appends our answer to the greeting.
pub fn put_login(
    out: &mut Vec<u8>,
    agreed: &AgreedHandshake<'_>,
    sequence: u8,
    user: &str,
    plugin: &str,
    proof: &[u8],
) -> u8 {
    let AgreedHandshake { capabilities, database } = *agreed;
    let start = frame::begin(out);
    put_client_header(out, capabilities);
    out.extend_from_slice(user.as_bytes());
    out.push(0);
    if capabilities & cap::PLUGIN_AUTH_LENGTH != 0 {
        put_counted(out, proof);
    } else {
        out.push(proof.len() as u8);
        out.extend_from_slice(proof);
    }
    if let Some(database) = database {
        out.extend_from_slice(database.as_bytes());
        out.push(0);
    }
    if capabilities & cap::PLUGIN_AUTH != 0 {
        out.extend_from_slice(plugin.as_bytes());
        out.push(0);
    }
    frame::finish(out, start, sequence)
}
