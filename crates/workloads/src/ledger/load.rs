//! The rows that are there from the beginning: empty but for their filler.

use super::NAME;
use super::parameters::LedgerParameters;
use super::schema::{CLIENTS, ENTRIES, FILLER, ROWS, create_clients, create_entries, create_rows};
use crate::dataset::{Dataset, DatasetTable};
use crate::digits::append_integer;
use crate::oltp::load::INFILE;
use plimsoll_model::NamedScalars;

const CHUNK_ROWS: u64 = 10_000;
/// With its key and what InnoDB adds, bytes.
const ROW_BYTES: u64 = 256;
/// The space of an empty table, and of the extents that a growing one takes in advance.
const TABLE_BYTES: u64 = 8 << 20;

/// The data, in the form that the loader needs.
#[derive(Clone, Debug)]
pub struct LedgerData {
    parameters: LedgerParameters,
    seed: u64,
}

impl LedgerData {
    pub fn new(parameters: &LedgerParameters, seed: u64) -> LedgerData {
        LedgerData { parameters: parameters.clone(), seed }
    }
}

/// A table without rows when it is loaded, or with this number.
fn table(name: &str, create: String, rows: u64) -> DatasetTable {
    DatasetTable {
        name: name.to_owned(),
        create,
        before: Vec::new(),
        after: Vec::new(),
        ids: rows,
        rows,
        chunk: CHUNK_ROWS,
        rolls_back: true,
        doubles: None,
        bytes: rows * ROW_BYTES + TABLE_BYTES,
        load_data: format!(
            "LOAD DATA LOCAL INFILE '{INFILE}' INTO TABLE {name} CHARACTER SET ascii FIELDS TERMINATED BY 0x09 \
             ESCAPED BY '' LINES TERMINATED BY 0x0A (id, client, number, checksum, filler)"
        ),
        insert: format!("INSERT INTO {name} (id, client, number, checksum, filler) VALUES "),
    }
}

impl Dataset for LedgerData {
    fn family(&self) -> &'static str {
        NAME
    }

    fn parameters(&self) -> NamedScalars {
        self.parameters.printable()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn tables(&self) -> Vec<DatasetTable> {
        vec![
            table(ROWS, create_rows(), self.parameters.rows),
            table(ENTRIES, create_entries(), 0),
            table(CLIENTS, create_clients(), 0),
        ]
    }

    fn append_tsv(&self, _table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        append_integer(id as i64, out);
        out.extend_from_slice(b"\t0\t0\t0\t");
        out.resize(out.len() + FILLER, b'.');
        out.push(b'\n');
        1
    }

    fn append_values(&self, _table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        out.push(b'(');
        append_integer(id as i64, out);
        out.extend_from_slice(b", 0, 0, 0, '");
        out.resize(out.len() + FILLER, b'.');
        out.extend_from_slice(b"')");
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_hold_the_same_row() {
        let data = LedgerData::new(&LedgerParameters::default(), 1);
        let (mut line, mut values) = (Vec::new(), Vec::new());
        assert_eq!((data.append_tsv(0, 42, &mut line), data.append_values(0, 42, &mut values)), (1, 1));
        let line = String::from_utf8(line).expect("ASCII");
        let fields: Vec<&str> = line.trim_end().split('\t').collect();
        let [numbers @ .., filler] = fields.as_slice() else { panic!("{line} has no fields") };
        assert_eq!(String::from_utf8(values).expect("ASCII"), format!("({}, '{filler}')", numbers.join(", ")));
        assert_eq!((numbers, filler.len()), (&["42", "0", "0", "0"][..], FILLER));
    }
}
