//! Rows kept for reading on the load path, of both protocols, in reused buffers.

use crate::budget::{self, Share};
use crate::bytes::Fields;
use crate::error::{WireError, printable};
use crate::response::{KEPT_PAYLOAD_LIMIT, Sink};

/// Type bytes of column definitions whose binary values have a fixed length or one of their own.
mod column_type {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const YEAR: u8 = 13;
}
const UNSIGNED: u16 = 32;
/// Room for the ends of so many rows is made at first; it is doubled then.
const FIRST_ROWS: usize = 16;

/// What a column definition says about the encoding of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    kind: u8,
    unsigned: bool,
}

/// One value as it came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReceivedValue<'a> {
    Null,
    Int(i64),
    Double(f64),
    /// Text, decimals, dates of the binary protocol, and everything of the text protocol.
    Bytes(&'a [u8]),
}

/// The rows of the last result of an answer.
#[derive(Debug, Default)]
pub struct Cells {
    /// Of the binary protocol, as COM_STMT_EXECUTE answers.
    pub binary: bool,
    /// Columns of the result. A server may leave them out if they are the same as at the prepare: then they must be set
    /// here before.
    pub columns: Vec<ColumnDefinition>,
    fresh: bool,
    bytes: Vec<u8>,
    share: Share,
    /// Where each row ends in the bytes.
    ends: Vec<usize>,
    share_of_ends: Share,
}

impl Sink for Cells {
    const KEEPS: bool = true;

    fn result(&mut self) {
        self.fresh = true;
        budget::clear(&mut self.bytes, &mut self.share);
        self.ends.clear();
        if bytes_of(&self.ends) > budget::FREE {
            (self.ends, self.share_of_ends) = (Vec::new(), Share::default());
        }
    }

    fn column(&mut self, definition: &[u8]) -> Result<(), WireError> {
        if std::mem::replace(&mut self.fresh, false) {
            self.columns.clear();
        }
        let mut fields = Fields::new(definition, "column definition");
        // catalogue, schema, table, original table, name, original name
        for _ in 0..6 {
            fields.counted()?;
        }
        // Length of what follows, character set, width.
        fields.length()?;
        fields.u16()?;
        fields.u32()?;
        self.columns.push(ColumnDefinition { kind: fields.u8()?, unsigned: fields.u16()? & UNSIGNED != 0 });
        Ok(())
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let bytes = self.bytes.len() + payload.len();
        // Empty rows take memory too.
        let kept = bytes + (self.ends.len() + 1) * size_of::<usize>();
        if kept > KEPT_PAYLOAD_LIMIT {
            return Err(WireError::TooLarge { what: "a result", bytes: kept, limit: KEPT_PAYLOAD_LIMIT });
        }
        if self.ends.len() == self.ends.capacity() {
            let rows = FIRST_ROWS.max(2 * self.ends.len());
            self.share_of_ends.resize(rows * size_of::<usize>())?;
            self.ends.reserve_exact(rows - self.ends.len());
        }
        if bytes > self.bytes.capacity() {
            budget::reserve(&mut self.bytes, &mut self.share, bytes)?;
        }
        self.bytes.extend_from_slice(payload);
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

impl Cells {
    /// Forgets rows and columns; keeps their memory unless it is large.
    pub fn clear(&mut self) {
        self.result();
        self.columns.clear();
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of memory for rows, used or not.
    pub fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes of memory for all that it keeps, as far as the budget of all connections does not count them.
    pub fn uncounted(&self) -> usize {
        let columns = self.columns.capacity() * size_of::<ColumnDefinition>();
        let rows = self.bytes.capacity().min(budget::FREE) + bytes_of(&self.ends).min(budget::FREE);
        size_of::<Cells>() + columns + rows
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Row `number`, from 0.
    pub fn get(&self, number: usize) -> Option<ReceivedRow<'_>> {
        let end = *self.ends.get(number)?;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        Some(ReceivedRow { payload: &self.bytes[start..end], columns: &self.columns, binary: self.binary })
    }
}

fn bytes_of(ends: &Vec<usize>) -> usize {
    ends.capacity() * size_of::<usize>()
}

/// One row. Columns are counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedRow<'a> {
    payload: &'a [u8],
    columns: &'a [ColumnDefinition],
    binary: bool,
}

impl<'a> ReceivedRow<'a> {
    /// The value of a column.
    pub fn cell(&self, column: usize) -> Result<ReceivedValue<'a>, WireError> {
        if column >= self.columns.len() {
            let found = format!("{} columns, but column {column} is needed", self.columns.len());
            return Err(WireError::Malformed { what: "row", found });
        }
        let mut fields = Fields::new(self.payload, "row");
        if !self.binary {
            for _ in 0..column {
                fields.counted_or_null()?;
            }
            return Ok(fields.counted_or_null()?.map_or(ReceivedValue::Null, ReceivedValue::Bytes));
        }
        fields.u8()?;
        // The bitmap's first two bits are not used.
        let nulls = fields.take((self.columns.len() + 9) / 8)?;
        let is_null = |column: usize| nulls[(column + 2) / 8] & 1 << ((column + 2) % 8) != 0;
        for before in (0..column).filter(|before| !is_null(*before)) {
            binary(&mut fields, self.columns[before])?;
        }
        if is_null(column) { Ok(ReceivedValue::Null) } else { binary(&mut fields, self.columns[column]) }
    }

    /// The values of a row of the text protocol, from the first on; `None` is NULL.
    pub fn texts(&self) -> impl Iterator<Item = Result<Option<&'a [u8]>, WireError>> {
        let mut fields = Fields::new(self.payload, "row");
        self.columns.iter().map(move |_| fields.counted_or_null())
    }

    pub fn is_null(&self, column: usize) -> Result<bool, WireError> {
        Ok(self.cell(column)? == ReceivedValue::Null)
    }

    /// A whole number.
    pub fn int(&self, column: usize) -> Result<i64, WireError> {
        self.scaled(column, 0)
    }

    /// The bytes of a text.
    pub fn bytes(&self, column: usize) -> Result<&'a [u8], WireError> {
        match self.cell(column)? {
            ReceivedValue::Bytes(bytes) => Ok(bytes),
            other => Err(unexpected("a text", &other)),
        }
    }

    /// A decimal with `scale` digits after the point, in units of the last: 12.3 with scale 2 is 1230.
    pub fn scaled(&self, column: usize, scale: u32) -> Result<i64, WireError> {
        let cell = self.cell(column)?;
        let value = match cell {
            ReceivedValue::Int(value) => 10i64.checked_pow(scale).and_then(|unit| value.checked_mul(unit)),
            ReceivedValue::Bytes(text) => decimal(text, scale),
            _ => None,
        };
        value.ok_or_else(|| unexpected("a number", &cell))
    }
}

fn unexpected(wanted: &str, found: &ReceivedValue) -> WireError {
    let found = match found {
        ReceivedValue::Bytes(bytes) => printable(bytes),
        other => format!("{other:?}"),
    };
    WireError::Malformed { what: "row", found: format!("{found} instead of {wanted}") }
}

fn binary<'a>(fields: &mut Fields<'a>, column: ColumnDefinition) -> Result<ReceivedValue<'a>, WireError> {
    let whole = |value: u64, signed: i64| ReceivedValue::Int(if column.unsigned { value as i64 } else { signed });
    Ok(match column.kind {
        column_type::NULL => ReceivedValue::Null,
        column_type::TINY => fields.u8().map(|value| whole(u64::from(value), i64::from(value as i8)))?,
        column_type::SHORT | column_type::YEAR => {
            fields.u16().map(|value| whole(u64::from(value), i64::from(value as i16)))?
        }
        column_type::LONG | column_type::INT24 => {
            fields.u32().map(|value| whole(u64::from(value), i64::from(value as i32)))?
        }
        column_type::LONGLONG => ReceivedValue::Int(fields.u64()? as i64),
        column_type::FLOAT => ReceivedValue::Double(f64::from(f32::from_bits(fields.u32()?))),
        column_type::DOUBLE => ReceivedValue::Double(f64::from_bits(fields.u64()?)),
        _ => ReceivedValue::Bytes(fields.counted()?),
    })
}

/// A decimal text in units of 10^-scale; `None` if it is not a decimal, is too large, or has further digits other than
/// 0.
fn decimal(text: &[u8], scale: u32) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut value, mut after, mut any) = (0i64, None, false);
    for byte in digits {
        match (byte, after) {
            (b'.', None) => after = Some(0),
            (b'0', Some(places)) if places == scale => {}
            (b'0'..=b'9', _) if after.is_none_or(|places| places < scale) => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                after = after.map(|places| places + 1);
                any = true;
            }
            _ => return None,
        }
    }
    let missing = scale - after.unwrap_or(0);
    let value = value.checked_mul(10i64.checked_pow(missing)?)?;
    any.then_some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_counted;

    fn definition(kind: u8, unsigned: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for name in ["def", "db", "t", "t", "c", "c"] {
            put_counted(&mut out, name.as_bytes());
        }
        out.extend_from_slice(&[0x0c, 63, 0, 11, 0, 0, 0, kind, if unsigned { 32 } else { 0 }, 0, 0, 0, 0]);
        out
    }

    fn cells(binary: bool, kinds: &[(u8, bool)], rows: &[&[u8]]) -> Cells {
        let mut cells = Cells { binary, ..Cells::default() };
        cells.result();
        kinds.iter().for_each(|(kind, unsigned)| cells.column(&definition(*kind, *unsigned)).unwrap());
        rows.iter().for_each(|row| cells.row(row).unwrap());
        cells
    }

    #[test]
    fn decimals_become_whole_numbers_of_their_smallest_unit() {
        let cases: [(&[u8], u32, Option<i64>); 11] = [
            (b"12.34", 2, Some(1234)),
            (b"-10", 2, Some(-1000)),
            (b"0.1999", 4, Some(1999)),
            (b".5", 2, Some(50)),
            (b"7.500", 1, Some(75)),
            (b"7.501", 1, None),
            (b"1.2.3", 2, None),
            (b"", 2, None),
            (b"-", 0, None),
            (b"12a", 0, None),
            (b"99999999999999999999", 0, None),
        ];
        for (text, scale, expected) in cases {
            assert_eq!(decimal(text, scale), expected, "{}", printable(text));
        }
    }

    #[test]
    fn binary_rows_are_read_by_their_columns() {
        // TINY -1, NULL, unsigned SHORT 65535, LONG 7, DECIMAL "3.50", LONGLONG 9
        let kinds = [(1, false), (3, false), (2, true), (3, false), (246, false), (8, false)];
        let row = [&[0, 1 << 3, 0xff, 0xff, 0xff, 7, 0, 0, 0, 4][..], b"3.50", &9u64.to_le_bytes()].concat();
        let cells = cells(true, &kinds, &[&row, &row]);
        let row = cells.get(1).unwrap();
        assert_eq!((row.int(0), row.is_null(1), row.int(2), row.int(3)), (Ok(-1), Ok(true), Ok(65535), Ok(7)));
        assert_eq!((row.scaled(4, 2), row.int(5), row.scaled(5, 2)), (Ok(350), Ok(9), Ok(900)));
        assert!(row.int(1).is_err() && row.cell(6).is_err() && cells.get(2).is_none());
    }

    #[test]
    fn text_rows_are_read_the_same_way() {
        let mut row = Vec::new();
        put_counted(&mut row, b"42");
        row.push(0xfb);
        put_counted(&mut row, b"BARBARBAR");
        let cells = cells(false, &[(3, false), (3, false), (253, false)], &[&row]);
        let row = cells.get(0).unwrap();
        assert_eq!((row.int(0), row.is_null(1), row.bytes(2)), (Ok(42), Ok(true), Ok(&b"BARBARBAR"[..])));
        assert!(row.int(2).unwrap_err().to_string().contains("BARBARBAR"));
    }

    #[test]
    fn columns_stay_where_a_server_does_not_repeat_them() {
        let mut cells = cells(true, &[(8, false)], &[]);
        cells.result();
        cells.row(&[&[0, 0][..], &5u64.to_le_bytes()].concat()).unwrap();
        assert_eq!(cells.get(0).unwrap().int(0), Ok(5));
        assert_eq!(cells.len(), 1);
    }

    #[test]
    fn rows_without_content_have_a_limit_and_their_room_is_freed() {
        let mut cells = cells(false, &[], &[]);
        let kept = (0..=KEPT_PAYLOAD_LIMIT).take_while(|_| cells.row(&[]).is_ok()).count();
        assert_eq!(kept, KEPT_PAYLOAD_LIMIT / size_of::<usize>());
        assert!(matches!(cells.row(&[]), Err(WireError::TooLarge { .. })));
        cells.clear();
        assert_eq!(cells.uncounted() - size_of::<Cells>(), 0);
    }

    #[test]
    fn a_row_cut_short_is_an_error() {
        let cells = cells(true, &[(8, false)], &[&[0, 0, 1, 2]]);
        assert!(cells.get(0).unwrap().int(0).is_err());
    }
}
