//! The other side of the protocol: what a server writes and reads. It is for the null server of `calibrate` and the
//! hostile servers of tests, so it has only what those need.

use crate::bytes::{Fields, put_counted, put_length};
use crate::capability as cap;
use crate::error::WireError;
use crate::frame;

/// What the null server offers: the same as a current server of either flavour.
pub const OFFERED: u64 = cap::WANTED & !cap::MARIADB_CACHE_METADATA | cap::CONNECT_WITH_DB | cap::LOCAL_FILES;

/// Appends a greeting with the given version text, capabilities and method.
pub fn put_greeting(out: &mut Vec<u8>, version: &str, capabilities: u64, plugin: &str, scramble: &[u8; 20]) {
    let start = frame::begin(out);
    out.push(10);
    out.extend_from_slice(version.as_bytes());
    out.push(0);
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&scramble[..8]);
    out.push(0);
    out.extend_from_slice(&(capabilities as u16).to_le_bytes());
    out.extend_from_slice(&[45, 2, 0]);
    out.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    out.push(21);
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
    out.extend_from_slice(&scramble[8..]);
    out.push(0);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    frame::finish(out, start, 0);
}

/// Capabilities and user of a client's login.
pub fn parse_login(payload: &[u8]) -> Result<(u64, String), WireError> {
    let mut fields = Fields::new(payload, "login");
    let low = u64::from(fields.u32()?);
    fields.take(4 + 1 + 19)?;
    let high = u64::from(fields.u32()?);
    Ok((high << 32 | low, String::from_utf8_lossy(fields.terminated()).into_owned()))
}

/// Appends an OK packet (`first` is 0x00, or 0xfe where it ends rows); returns the next sequence number.
pub fn put_ok(out: &mut Vec<u8>, sequence: u8, first: u8, affected: u64, status: u16) -> u8 {
    let start = frame::begin(out);
    out.push(first);
    put_length(out, affected);
    put_length(out, 0);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    frame::finish(out, start, sequence)
}

/// Appends an old-style EOF packet.
pub fn put_eof(out: &mut Vec<u8>, sequence: u8, status: u16) -> u8 {
    let start = frame::begin(out);
    out.extend_from_slice(&[0xfe, 0, 0]);
    out.extend_from_slice(&status.to_le_bytes());
    frame::finish(out, start, sequence)
}

/// Appends an ERR packet.
pub fn put_error(out: &mut Vec<u8>, sequence: u8, code: u16, text: &str) -> u8 {
    let start = frame::begin(out);
    out.push(0xff);
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(b"#HY000");
    out.extend_from_slice(text.as_bytes());
    frame::finish(out, start, sequence)
}

/// Appends the answer to a prepare: statement number, then its definitions.
pub fn put_prepared(out: &mut Vec<u8>, statement: u32, parameters: u16, columns: u16, deprecate_eof: bool) {
    let start = frame::begin(out);
    out.push(0);
    out.extend_from_slice(&statement.to_le_bytes());
    out.extend_from_slice(&columns.to_le_bytes());
    out.extend_from_slice(&parameters.to_le_bytes());
    out.extend_from_slice(&[0, 0, 0]);
    let mut sequence = frame::finish(out, start, 1);
    for count in [parameters, columns] {
        for _ in 0..count {
            sequence = put_column(out, sequence, "c");
        }
        if count > 0 && !deprecate_eof {
            sequence = put_eof(out, sequence, 2);
        }
    }
}

/// Appends a column definition (a CHAR column of 120 bytes).
pub fn put_column(out: &mut Vec<u8>, sequence: u8, name: &str) -> u8 {
    let start = frame::begin(out);
    for text in ["def", "", "", "", name, name] {
        put_counted(out, text.as_bytes());
    }
    out.extend_from_slice(&[0x0c, 45, 0, 224, 1, 0, 0, 0xfe, 0, 0, 0, 0, 0]);
    frame::finish(out, start, sequence)
}

/// Appends a whole result of one column; `rows` are payloads in the protocol's own form.
pub fn put_result(out: &mut Vec<u8>, rows: &[&[u8]], deprecate_eof: bool, status: u16) {
    put_results(out, 1, rows, deprecate_eof, status);
}

/// The same with `columns` columns, at most 250.
pub fn put_results(out: &mut Vec<u8>, columns: u8, rows: &[&[u8]], deprecate_eof: bool, status: u16) {
    let start = frame::begin(out);
    out.push(columns);
    let mut sequence = frame::finish(out, start, 1);
    for _ in 0..columns {
        sequence = put_column(out, sequence, "c");
    }
    if !deprecate_eof {
        sequence = put_eof(out, sequence, status);
    }
    for row in rows {
        let start = frame::begin(out);
        out.extend_from_slice(row);
        sequence = frame::finish(out, start, sequence);
    }
    if deprecate_eof {
        put_ok(out, sequence, 0xfe, 0, status);
    } else {
        put_eof(out, sequence, status);
    }
}
