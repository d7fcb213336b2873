//! What a client asks: each function appends one whole packet.

use crate::bytes::put_counted;
use crate::frame;
use crate::value::{Value, decimal_buffer, decimal_text};

pub const QUIT: u8 = 0x01;
pub const QUERY: u8 = 0x03;
pub const PING: u8 = 0x0e;
pub const STMT_PREPARE: u8 = 0x16;
pub const STMT_EXECUTE: u8 = 0x17;
pub const STMT_CLOSE: u8 = 0x19;

/// Appends a command whose payload is `command` and then `body`.
pub fn put(out: &mut Vec<u8>, command: u8, body: &[u8]) {
    let start = frame::begin(out);
    out.push(command);
    out.extend_from_slice(body);
    frame::finish(out, start, 0);
}

/// The types of the values as one number, to see whether they have to be sent again.
#[inline]
pub fn signature(values: &[Value]) -> u64 {
    values.iter().fold(1, |hash: u64, value| hash.wrapping_mul(257).wrapping_add(u64::from(value.type_byte())))
}

/// Appends COM_STMT_EXECUTE. With `types` false the server uses those of the execution before.
#[inline]
pub fn put_execute(out: &mut Vec<u8>, statement: u32, values: &[Value], types: bool) {
    let start = frame::begin(out);
    out.push(STMT_EXECUTE);
    out.extend_from_slice(&statement.to_le_bytes());
    // No cursor, one iteration.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if !values.is_empty() {
        let nulls = out.len();
        out.resize(nulls + values.len().div_ceil(8), 0);
        for (i, value) in values.iter().enumerate() {
            if matches!(value, Value::Null) {
                out[nulls + i / 8] |= 1 << (i % 8);
            }
        }
        out.push(u8::from(types));
        if types {
            for value in values {
                out.extend_from_slice(&[value.type_byte(), 0]);
            }
        }
        for value in values {
            match value {
                Value::Null => {}
                Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
                Value::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
                Value::Decimal { units, scale } => {
                    put_counted(out, decimal_text(*units, *scale, &mut decimal_buffer()))
                }
                Value::Bytes(text) => put_counted(out, text),
            }
        }
    }
    frame::finish(out, start, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execute_has_the_documented_layout() {
        let mut out = Vec::new();
        put_execute(&mut out, 7, &[Value::Int(5), Value::Null, Value::Bytes(b"ab")], true);
        let body =
            [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0b10, 1, 8, 0, 6, 0, 0xfd, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b'];
        assert_eq!(&out[..4], [body.len() as u8, 0, 0, 0]);
        assert_eq!(&out[4..], body);
    }

    #[test]
    fn signatures_tell_types_apart_but_not_values() {
        assert_eq!(signature(&[Value::Int(1)]), signature(&[Value::Int(9)]));
        assert_ne!(signature(&[Value::Int(1)]), signature(&[Value::Null]));
        assert_ne!(signature(&[Value::Int(1), Value::Null]), signature(&[Value::Null, Value::Int(1)]));
    }
}
