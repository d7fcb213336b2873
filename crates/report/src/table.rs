//! A table before it is rendered: by [`crate::html()`] or by [`crate::terminal`], with the same digits in both.

/// What marks a row out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Peak,
    Knee,
    /// Something in it is not as it has to be.
    Broken,
}

impl Mark {
    pub fn name(self) -> &'static str {
        match self {
            Mark::Peak => "peak",
            Mark::Knee => "knee",
            Mark::Broken => "broken",
        }
    }

    /// What is shown beside the row; of a broken one, a cell says it.
    pub fn tag(self) -> Option<&'static str> {
        (self != Mark::Broken).then(|| self.name())
    }
}

/// A column; numbers are set flush right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// Empty for none.
    pub unit: String,
    pub is_number: bool,
    pub cells: Vec<String>,
}

impl Column {
    pub fn numbers(name: &str, unit: &str, cells: Vec<String>) -> Column {
        Column { name: name.to_owned(), unit: unit.to_owned(), is_number: true, cells }
    }

    pub fn words(name: &str, cells: Vec<String>) -> Column {
        Column { name: name.to_owned(), unit: String::new(), is_number: false, cells }
    }
}

/// Columns of equally many cells. Cells are not escaped yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// By row; rows beyond the end have none.
    pub marks: Vec<Option<Mark>>,
}

impl Table {
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, marks: Vec::new() }
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    pub fn mark(&self, row: usize) -> Option<Mark> {
        self.marks.get(row).copied().flatten()
    }
}
