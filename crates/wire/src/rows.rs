//! Rows of the text protocol, kept: for control statements, never on the hot path.

use crate::budget::Share;
use crate::bytes::Fields;
use crate::error::{WireError, printable};
use crate::response::{KEPT_PAYLOAD_LIMIT, Sink};

/// The rows of the last result; values as the server's text, `None` for NULL.
#[derive(Debug, Default)]
pub struct TextRows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
    /// The count over all results, including forgotten ones, so that an answer has a limit.
    bytes: usize,
    held: usize,
    share: Share,
}

impl Sink for TextRows {
    const KEEPS: bool = true;

    fn result(&mut self) {
        self.columns.clear();
        self.rows.clear();
        self.share = Share::default();
        self.held = 0;
    }

    fn column(&mut self, definition: &[u8]) -> Result<(), WireError> {
        self.keep(definition.len())?;
        let mut fields = Fields::new(definition, "column definition");
        // catalogue, schema, table, original table
        for _ in 0..4 {
            fields.counted()?;
        }
        self.columns.push(printable(fields.counted()?));
        Ok(())
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), WireError> {
        // Empty values take memory too.
        self.keep(payload.len() + (self.columns.len() + 1) * size_of::<Option<String>>())?;
        let mut fields = Fields::new(payload, "row");
        let value = |_| Ok(fields.counted_or_null()?.map(|text| String::from_utf8_lossy(text).into_owned()));
        self.rows.push((0..self.columns.len()).map(value).collect::<Result<_, WireError>>()?);
        Ok(())
    }
}

impl TextRows {
    fn keep(&mut self, bytes: usize) -> Result<(), WireError> {
        self.bytes += bytes;
        if self.bytes > KEPT_PAYLOAD_LIMIT {
            return Err(WireError::TooLarge { what: "a result", bytes: self.bytes, limit: KEPT_PAYLOAD_LIMIT });
        }
        self.held += bytes;
        self.share.resize(self.held)
    }

    /// The first value of the first row.
    pub fn single(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// Name and value of every row of a two-column result such as SHOW STATUS.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().filter_map(|row| match row.as_slice() {
            [Some(name), Some(value), ..] => Some((name.as_str(), value.as_str())),
            _ => None,
        })
    }
}
