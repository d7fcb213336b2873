//! Bulk inserts: rows that a script gives one by one are sent as few long statements, as sysbench does.

/// Bytes of one statement.
const MOST_BYTES: usize = 512 << 10;

/// Rows that were not sent yet.
#[derive(Debug, Default)]
pub struct BulkInsert {
    /// The statement up to its first row.
    head: Vec<u8>,
    text: Vec<u8>,
}

impl BulkInsert {
    /// Begins with the statement up to VALUES.
    pub fn begin(&mut self, head: &[u8]) {
        self.head.clear();
        self.head.extend_from_slice(head);
        self.text.clear();
    }

    /// Whether a row has to wait until what was collected is sent.
    pub fn is_full(&self, row: &[u8]) -> bool {
        !self.text.is_empty() && self.text.len() + row.len() + 1 > MOST_BYTES
    }

    pub fn add(&mut self, row: &[u8]) {
        if self.text.is_empty() {
            self.text.extend_from_slice(&self.head);
        } else {
            self.text.push(b',');
        }
        self.text.extend_from_slice(row);
    }

    /// The statement so far, empty if there is no row.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// Uses the memory of a statement that was sent again.
    pub fn put_back(&mut self, mut text: Vec<u8>) {
        text.clear();
        self.text = text;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_one_statement_until_it_is_long() {
        let mut bulk = BulkInsert::default();
        bulk.begin(b"INSERT INTO t VALUES");
        assert!(!bulk.is_full(&vec![b'x'; 2 * MOST_BYTES]), "a row alone is sent, however long it is");
        bulk.add(b"(1)");
        bulk.add(b"(2)");
        assert!(!bulk.is_full(b"(3)") && bulk.is_full(&vec![b'x'; MOST_BYTES]));
        let text = bulk.take();
        assert_eq!(text, b"INSERT INTO t VALUES(1),(2)");
        bulk.put_back(text);
        bulk.add(b"(3)");
        assert_eq!(bulk.take(), b"INSERT INTO t VALUES(3)");
    }
}
