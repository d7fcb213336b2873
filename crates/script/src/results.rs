//! The results of one statement, kept apart, for a script that may read their rows.

use plimsoll_wire::WireError;
use plimsoll_wire::budget::{self, Share};
use plimsoll_wire::cells::{Cells, ReceivedRow};
use plimsoll_wire::response::{KEPT_PAYLOAD_LIMIT, Sink};

/// The results of the last statement of a connection. Their memory is used again for the next.
#[derive(Debug, Default)]
pub struct Results {
    sets: Vec<Cells>,
    /// How many of the sets belong to the last statement.
    count: usize,
    /// The one that is read, and its next row.
    set: usize,
    row: usize,
    /// Bytes of memory of the sets before the last, as far as those do not count them themselves.
    earlier: usize,
    share: Share,
}

impl Results {
    /// Forgets what the statement before has left.
    pub fn clear(&mut self) {
        (self.count, self.set, self.row) = (0, 0, 0);
        if std::mem::take(&mut self.earlier) > budget::FREE {
            self.sets.truncate(1);
            self.share = Share::default();
        }
    }

    /// The set that is being received; those before it are counted.
    fn last(&mut self) -> Result<&mut Cells, WireError> {
        if self.earlier > KEPT_PAYLOAD_LIMIT {
            return Err(WireError::TooLarge { what: "a result", bytes: self.earlier, limit: KEPT_PAYLOAD_LIMIT });
        }
        if self.earlier > budget::FREE {
            self.share.resize(self.earlier)?;
        }
        Ok(&mut self.sets[self.count - 1])
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
        self.earlier += self.sets[..self.count].last().map_or(0, Cells::uncounted);
        self.count += 1;
        if self.sets.len() < self.count {
            self.sets.push(Cells::default());
        }
        self.sets[self.count - 1].clear();
    }

    fn column(&mut self, definition: &[u8]) -> Result<(), WireError> {
        self.last()?.column(definition)
    }

    fn row(&mut self, payload: &[u8]) -> Result<(), WireError> {
        self.last()?.row(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_without_end_have_a_limit_together() {
        let (mut results, row) = (Results::default(), vec![b'x'; 20 << 10]);
        let refused = (0..10_000).find_map(|_| {
            results.result();
            results.row(&row).err()
        });
        assert!(matches!(refused, Some(WireError::TooLarge { .. })), "{refused:?}");
        results.clear();
        assert_eq!((results.sets.len(), results.size()), (1, None), "their memory is given back");
        results.result();
        results.row(&row).expect("the next statement begins anew");
    }
}
