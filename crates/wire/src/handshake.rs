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
    /// As the server says it, without MariaDB's `5.5.5-` prefix.
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

/// The capabilities that hold for the connection: wanted by us and offered by the server.
pub fn negotiate(greeting: &Greeting, tls: bool, local_files: bool) -> u64 {
    let mut wanted = cap::WANTED;
    if tls {
        wanted |= cap::TLS;
    }
    if local_files {
        wanted |= cap::LOCAL_FILES;
    }
    let mut agreed = wanted & (greeting.capabilities | cap::LONG_PASSWORD | cap::PROTOCOL_41);
    if agreed & cap::DEPRECATE_EOF == 0 {
        agreed &= !cap::MARIADB_CACHE_METADATA;
    }
    // MariaDB reads the extended flags only where this first one is clear.
    if agreed >> 32 != 0 {
        agreed &= !cap::LONG_PASSWORD;
    }
    agreed
}

fn put_client_header(out: &mut Vec<u8>, capabilities: u64) {
    out.extend_from_slice(&(capabilities as u32).to_le_bytes());
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(UTF8MB4);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
}

/// Appends the short packet that asks for TLS before anything secret is said.
pub fn put_tls_request(out: &mut Vec<u8>, capabilities: u64, sequence: u8) -> u8 {
    let start = frame::begin(out);
    put_client_header(out, capabilities);
    frame::finish(out, start, sequence)
}

/// Appends our answer to the greeting.
pub fn put_login(
    out: &mut Vec<u8>,
    capabilities: u64,
    sequence: u8,
    user: &str,
    database: Option<&str>,
    plugin: &str,
    proof: &[u8],
) -> u8 {
    let capabilities = if database.is_some() { capabilities | cap::CONNECT_WITH_DB } else { capabilities };
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
