//! Reading fields from a payload, always within its bounds, and writing them.

use crate::error::WireError;

/// A cursor over one payload. `what` names the packet in errors.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Fields<'a> {
    pub fn new(payload: &'a [u8], what: &'static str) -> Fields<'a> {
        Fields { rest: payload, what }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(WireError::Truncated { what: self.what }),
        }
    }

    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.take(1)?[0])
    }

    fn little_endian(&mut self, count: usize) -> Result<u64, WireError> {
        Ok(self.take(count)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub fn u16(&mut self) -> Result<u16, WireError> {
        Ok(self.little_endian(2)? as u16)
    }

    pub fn u32(&mut self) -> Result<u32, WireError> {
        Ok(self.little_endian(4)? as u32)
    }

    pub fn u64(&mut self) -> Result<u64, WireError> {
        self.little_endian(8)
    }

    /// A length-encoded integer; the NULL marker and the ERR marker are malformed here.
    pub fn length(&mut self) -> Result<u64, WireError> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            0xfc => self.little_endian(2),
            0xfd => self.little_endian(3),
            0xfe => self.little_endian(8),
            other => Err(WireError::Malformed { what: self.what, found: format!("length byte {other:#x}") }),
        }
    }

    /// A length-encoded string.
    pub fn counted(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.length()?;
        let length = usize::try_from(length).map_err(|_| WireError::Truncated { what: self.what })?;
        self.take(length)
    }

    /// A length-encoded string that may be NULL (0xfb).
    pub fn counted_or_null(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        if self.rest.first() == Some(&0xfb) {
            self.take(1)?;
            return Ok(None);
        }
        self.counted().map(Some)
    }

    /// A string that ends with a zero byte, or with the payload.
    pub fn terminated(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0).unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        text
    }
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_length(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&value.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
#[inline]
pub fn put_counted(out: &mut Vec<u8>, text: &[u8]) {
    put_length(out, text.len() as u64);
    out.extend_from_slice(text);
}
