//! Parameter values of statements.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Double(f64),
    /// A number of `units` of 10^-scale, for money: 1234 with scale 2 is 12.34.
    Decimal {
        units: i64,
        scale: u8,
    },
    Bytes(&'a [u8]),
}

/// Digits, sign and point of the longest decimal, and zeros before and after the point.
const DECIMAL_BYTES: usize = 64;

impl Value<'_> {
    /// The type byte of the binary protocol: NULL, LONGLONG, DOUBLE, NEWDECIMAL, VAR_STRING.
    #[inline]
    pub fn type_byte(&self) -> u8 {
        match self {
            Value::Null => 0x06,
            Value::Int(_) => 0x08,
            Value::Double(_) => 0x05,
            Value::Decimal { .. } => 0xf6,
            Value::Bytes(_) => 0xfd,
        }
    }
}

/// Writes a decimal as text; returns the part of `buffer` with the text. Scales above 30, which no server has, count as
/// 30.
#[inline]
pub fn decimal_text(units: i64, scale: u8, buffer: &mut [u8; DECIMAL_BYTES]) -> &[u8] {
    let scale = usize::from(scale.min(30));
    let mut rest = units.unsigned_abs();
    let mut begin = DECIMAL_BYTES;
    let mut digits = 0;
    while rest > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            begin -= 1;
            buffer[begin] = b'.';
        }
        begin -= 1;
        buffer[begin] = b'0' + (rest % 10) as u8;
        rest /= 10;
        digits += 1;
    }
    if units < 0 {
        begin -= 1;
        buffer[begin] = b'-';
    }
    &buffer[begin..]
}

/// Room for [`decimal_text`].
pub const fn decimal_buffer() -> [u8; DECIMAL_BYTES] {
    [0; DECIMAL_BYTES]
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Bytes(value.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_with_all_digits_after_the_point() {
        let cases = [(1234, 2, "12.34"), (-5, 2, "-0.05"), (0, 4, "0.0000"), (7, 0, "7"), (-120, 1, "-12.0")];
        for (units, scale, text) in cases {
            assert_eq!(decimal_text(units, scale, &mut decimal_buffer()), text.as_bytes());
        }
        let widest = decimal_text(i64::MIN, 30, &mut decimal_buffer()).len();
        assert_eq!(widest, "-0.".len() + 30);
    }
}
