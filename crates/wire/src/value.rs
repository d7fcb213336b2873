//! Parameter values of statements.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// The type byte of the binary protocol: NULL, LONGLONG, DOUBLE, VAR_STRING.
    #[inline]
    pub fn type_byte(&self) -> u8 {
        match self {
            Value::Null => 0x06,
            Value::Int(_) => 0x08,
            Value::Double(_) => 0x05,
            Value::Bytes(_) => 0xfd,
        }
    }
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
