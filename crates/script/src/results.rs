//! The results of one statement, kept apart, for a script that may read their rows.

use plimsoll_wire::WireError;
use plimsoll_wire::cells::{Cells, ReceivedRow};
use plimsoll_wire::response::Sink;

/// The results of the last statement of a connection. Their memory is used again for the next.
#[derive(Debug, Default)]
pub struct Results {
    sets: Vec<Cells>,
    /// How many of the sets belong to the last statement.
    count: usize,
    /// The one that is read, and its next row.
    set: usize,
    row: usize,
}

impl Results {
    /// Forgets what the statement before has left.
    pub fn clear(&mut self) {
        (self.count, self.set, self.row) = (0, 0, 0);
    }

    fn current(&self) -> Option<&Cells> {
        self.sets[..self.count].get(self.set)
    }

    /// Rows and columns of the result that is read; `None` if there is none.
    pub fn size(&self) -> Option<(usize, usize)> {
        self.current().map(|cells| (cells.len(), cells.columns.len()))
    }

    /// The next row of the result that is read.
    pub fn fetch(&mut self) -> Option<ReceivedRow<'_>> {
        let row = self.row;
        self.row += 1;
        self.current()?.get(row)
    }

    pub fn has_more(&self) -> bool {
        self.set + 1 < self.count
    }

    /// Goes on to the next result; false if there is none.
    pub fn advance(&mut self) -> bool {
        let more = self.has_more();
        self.set += usize::from(more);
        self.row = 0;
        more
    }
}

impl Sink for Results {
    const KEEPS: bool = true;

    fn result(&mut self) {
        self.count += 1;
        if self.sets.len() < self.count {
            self.sets.push(Cells::default());
        }
        self.sets[self.count - 1].clear();
    }

    fn column(&mut self, definition: &[u8]) -> Result<(), WireError> {
        self.sets[self.count - 1].column(definition)
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), WireError> {
        self.sets[self.count - 1].row(payload)
    }
}
