//! The rows: each a pure function of (seed, table, id), so that any thread can make any chunk again after a kill.

use super::OltpKind;
use super::schema::{OltpSchema, table_name};
use super::values::{OltpParameters, SysbenchLayout};
use crate::dataset::{Dataset, DatasetTable};
use crate::digits::{append_c, append_integer, append_pad};
use crate::distribution::RangeSampler;
use plimsoll_load::seed::Rng;
use plimsoll_model::NamedScalars;
use std::ops::RangeInclusive;

/// The file name that `LOAD DATA` asks for; the client serves no other.
pub const INFILE: &str = "plimsoll";
/// The `pad` of rows that sysbench 0.4 loads.
pub const PAD_OF_0_4: &str = "qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt";

/// Keeps the streams of rows apart from those of connections: "rows" in ASCII.
const ROW_STREAMS: u64 = 0x726f_7773 << 32;

/// How many rows `load` puts into each table. `bulk_insert` fills its tables itself, and so does `oltp_insert` if it
/// chooses the ids.
pub fn rows_per_table(kind: OltpKind, parameters: &OltpParameters) -> u64 {
    match kind {
        OltpKind::BulkInsert => 0,
        OltpKind::Insert if !parameters.auto_inc => 0,
        _ if !parameters.filled => 0,
        _ => parameters.table_size,
    }
}

/// What the marker says of tables that are loaded empty.
pub const FILLED: &str = "filled";

/// Whether an engine rolls back what a killed load wrote of a chunk. One that is not known is not counted on.
fn rolls_back(engine: &str) -> bool {
    ["innodb", "rocksdb", "tokudb", "ndbcluster", "ndb"].iter().any(|known| known.eq_ignore_ascii_case(engine))
}

/// The ids 1 to `rows` in consecutive chunks.
pub fn chunks(rows: u64, rows_per_chunk: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    let length = rows_per_chunk.max(1);
    (0..rows.div_ceil(length)).map(move |chunk| chunk * length + 1..=((chunk + 1) * length).min(rows))
}

/// Makes rows of `sbtest`.
#[derive(Clone, Debug)]
pub struct SbtestRows {
    seed: u64,
    layout: SysbenchLayout,
    keys: RangeSampler,
}

/// Rows of a chunk: enough that commits cost nothing, and few enough that a kill loses only a second.
const CHUNK_ROWS: u64 = 50_000;
/// The space that InnoDB takes for a row and for its entry in the index on k, measured on both flavours, rounded up.
const ROW_BYTES: u64 = 260;
const K_ENTRY_BYTES: u64 = 30;
/// The space of an empty table, and of the extents that a growing one takes in advance.
const TABLE_BYTES: u64 = 8 << 20;

/// The data of one workload, in the form that the loader needs.
#[derive(Clone, Debug)]
pub struct OltpData {
    kind: OltpKind,
    parameters: OltpParameters,
    schema: OltpSchema,
    rows: SbtestRows,
}

impl OltpData {
    pub fn new(kind: OltpKind, parameters: &OltpParameters, seed: u64) -> OltpData {
        let (schema, rows) = (OltpSchema::new(kind, parameters), SbtestRows::new(parameters, seed));
        OltpData { kind, parameters: parameters.clone(), schema, rows }
    }

    /// An engine that does not roll back may have a part of a chunk when a load goes on after a kill. Rows that come
    /// again are passed over; without a unique key, what is there is deleted before.
    fn table(&self, table: u64) -> DatasetTable {
        let rows = rows_per_table(self.kind, &self.parameters);
        let entry = if self.schema.k_index(table).is_some() { K_ENTRY_BYTES } else { 0 };
        let rolls_back = rolls_back(&self.parameters.mysql_storage_engine);
        let insert = self.rows.insert_prefix(table);
        DatasetTable {
            name: self.schema.table_name(table),
            create: self.schema.create_table(table),
            before: self.schema.indexes_before_load(table),
            after: self.schema.indexes_after_load(table),
            ids: rows,
            rows,
            chunk: CHUNK_ROWS,
            rolls_back,
            doubles: (!rolls_back && self.parameters.secondary).then_some("id"),
            bytes: rows * (ROW_BYTES + entry) + TABLE_BYTES,
            load_data: self.rows.load_data_statement(table),
            insert: if rolls_back { insert } else { insert.replacen("INSERT ", "INSERT IGNORE ", 1) },
        }
    }
}

impl Dataset for OltpData {
    fn family(&self) -> &'static str {
        self.kind.dataset_family()
    }

    fn parameters(&self) -> NamedScalars {
        let mut all = self.parameters.printable_data(self.kind);
        // It does not follow from the others: other workloads of the family load tables with them that are full.
        if self.kind != OltpKind::BulkInsert && rows_per_table(self.kind, &self.parameters) == 0 {
            all.insert(FILLED.to_owned(), false.into());
        }
        all
    }

    fn seed(&self) -> u64 {
        self.rows.seed
    }

    fn tables(&self) -> Vec<DatasetTable> {
        self.schema.tables().map(|table| self.table(table)).collect()
    }

    fn append_tsv(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        self.rows.row_tsv(table as u64 + 1, id, out);
        1
    }

    fn append_values(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        self.rows.row_values(table as u64 + 1, id, out);
        1
    }
}

/// How a row is written.
struct Form {
    open: &'static [u8],
    separator: &'static [u8],
    quote: &'static [u8],
    close: &'static [u8],
}

const TSV: Form = Form { open: b"", separator: b"\t", quote: b"", close: b"\n" };
const VALUES: Form = Form { open: b"(", separator: b", ", quote: b"'", close: b")" };

impl SbtestRows {
    pub fn new(parameters: &OltpParameters, seed: u64) -> SbtestRows {
        let keys = parameters.distribution().over(1, parameters.table_size);
        SbtestRows { seed, layout: parameters.layout, keys }
    }

    /// Appends a line for `LOAD DATA`: id, k, c, pad, tab-separated, ended by a newline.
    #[inline]
    pub fn row_tsv(&self, table: u64, id: u64, out: &mut Vec<u8>) {
        self.append(&TSV, table, id, out);
    }

    /// Appends the same row as a parenthesised list for `INSERT`.
    #[inline]
    pub fn row_values(&self, table: u64, id: u64, out: &mut Vec<u8>) {
        self.append(&VALUES, table, id, out);
    }

    /// The beginning of a multi-row insert.
    pub fn insert_prefix(&self, table: u64) -> String {
        format!("INSERT INTO {} (id, k, c, pad) VALUES ", table_name(self.layout, table))
    }

    /// The statement that takes lines of [`SbtestRows::row_tsv`]. Values contain nothing to escape, so the server need not
    /// look for it; utf8mb4 was as fast as binary when measured, and needs no conversion into a private server's
    /// columns. Separators are numbers, which mean the same in every SQL mode.
    pub fn load_data_statement(&self, table: u64) -> String {
        format!(
            "LOAD DATA LOCAL INFILE '{INFILE}' INTO TABLE {} CHARACTER SET utf8mb4 \
             FIELDS TERMINATED BY 0x09 ESCAPED BY '' LINES TERMINATED BY 0x0A (id, k, c, pad)",
            table_name(self.layout, table)
        )
    }

    #[inline(always)]
    fn append(&self, form: &Form, table: u64, id: u64, out: &mut Vec<u8>) {
        let mut rng = Rng::new(self.seed, ROW_STREAMS | table, id);
        out.extend_from_slice(form.open);
        append_integer(id as i64, out);
        out.extend_from_slice(form.separator);
        match self.layout {
            SysbenchLayout::Sysbench10 => {
                append_integer(self.keys.draw(&mut rng) as i64, out);
                out.extend_from_slice(form.separator);
                out.extend_from_slice(form.quote);
                append_c(&mut rng, out);
                out.extend_from_slice(form.quote);
                out.extend_from_slice(form.separator);
                out.extend_from_slice(form.quote);
                append_pad(&mut rng, out);
                out.extend_from_slice(form.quote);
            }
            SysbenchLayout::Sysbench04 => {
                for part in [b"0", form.separator, form.quote, b" ", form.quote, form.separator, form.quote] {
                    out.extend_from_slice(part);
                }
                out.extend_from_slice(PAD_OF_0_4.as_bytes());
                out.extend_from_slice(form.quote);
            }
        }
        out.extend_from_slice(form.close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(&str, &str)], seed: u64) -> SbtestRows {
        SbtestRows::new(&OltpParameters::parse(OltpKind::ReadWrite, pairs.iter().copied()).expect("accepted"), seed)
    }

    fn tsv(rows: &SbtestRows, table: u64, id: u64) -> String {
        let mut out = Vec::new();
        rows.row_tsv(table, id, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    fn values(rows: &SbtestRows, table: u64, id: u64) -> String {
        let mut out = Vec::new();
        rows.row_values(table, id, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn golden_rows_pin_the_data_of_seed_1() {
        assert_eq!(
            tsv(&rows(&[], 1), 1, 1),
            "1\t5041\t88761026034-33421699764-21691107440-35789361919-58301685359-55154941810-22064048259-80014087626-\
             28192800527-80473548899\t36135139497-58149856247-41818605005-43748955891-65400835001\n"
        );
        assert_eq!(
            values(&rows(&[("rand-type", "uniform")], 1), 2, 10_000),
            "(10000, 6120, '87735822135-93845346078-01784297796-65817057084-67879220073-68716801866-04918033964-\
             89687989653-17389368845-59211813725', '20136215853-96040343796-29613316787-86311443561-25907690562')"
        );
    }

    #[test]
    fn both_forms_hold_the_same_row() {
        for pairs in [&[][..], &[("layout", "sysbench-0.4")]] {
            let rows = rows(pairs, 42);
            for id in [1, 9_999, 10_000] {
                let line = tsv(&rows, 1, id);
                let fields: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
                let [id, k, c, pad] = fields[..] else { panic!("{line:?} has not four fields") };
                assert_eq!(values(&rows, 1, id.parse().expect("number")), format!("({id}, {k}, '{c}', '{pad}')"));
            }
        }
    }

    #[test]
    fn rows_differ_by_seed_table_and_id_only() {
        let first = tsv(&rows(&[], 1), 1, 1);
        assert_eq!(tsv(&rows(&[("tables", "8")], 1), 1, 1), first);
        assert_ne!(tsv(&rows(&[], 2), 1, 1), first);
        assert_ne!(tsv(&rows(&[], 1), 2, 1), first);
        assert_ne!(tsv(&rows(&[], 1), 1, 2)[1..], first[1..]);
    }

    #[test]
    fn keys_stay_inside_the_table() {
        let rows = rows(&[("table-size", "50"), ("rand-type", "uniform")], 3);
        let mut keys: Vec<u64> =
            (1..=2_000).map(|id| tsv(&rows, 1, id).split('\t').nth(1).expect("k").parse().expect("number")).collect();
        keys.sort_unstable();
        assert_eq!((keys[0], keys[1_999]), (1, 50));
    }

    #[test]
    fn rows_of_the_older_layout_are_constants() {
        assert_eq!(
            tsv(&rows(&[("layout", "sysbench-0.4")], 1), 1, 77),
            "77\t0\t \tqqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt\n"
        );
    }

    #[test]
    fn statements_name_table_and_columns() {
        assert_eq!(rows(&[], 1).insert_prefix(3), "INSERT INTO sbtest3 (id, k, c, pad) VALUES ");
        assert_eq!(
            rows(&[("layout", "sysbench-0.4")], 1).load_data_statement(1),
            "LOAD DATA LOCAL INFILE 'plimsoll' INTO TABLE sbtest CHARACTER SET utf8mb4 \
             FIELDS TERMINATED BY 0x09 ESCAPED BY '' LINES TERMINATED BY 0x0A (id, k, c, pad)"
        );
    }

    #[test]
    fn a_dataset_counts_its_tables_from_0_and_its_names_from_1() {
        let pairs = [("tables", "2"), ("table-size", "1000")];
        let parameters = OltpParameters::parse(OltpKind::ReadOnly, pairs).expect("accepted");
        let data = OltpData::new(OltpKind::ReadOnly, &parameters, 5);
        let tables = data.tables();
        assert_eq!((data.family(), data.seed(), tables.len()), ("sbtest", 5, 2));
        assert_eq!((tables[1].name.as_str(), tables[1].rows), ("sbtest2", 1_000));
        assert_eq!(tables[1].after, ["CREATE INDEX k_2 ON sbtest2(k)"]);
        let (mut line, mut expected) = (Vec::new(), Vec::new());
        data.append_tsv(1, 9, &mut line);
        SbtestRows::new(&parameters, 5).row_tsv(2, 9, &mut expected);
        assert_eq!(line, expected);
    }

    #[test]
    fn engines_that_do_not_roll_back_take_rows_again() {
        let table = |pairs: &[(&str, &str)]| {
            let parameters = OltpParameters::parse(OltpKind::ReadWrite, pairs.iter().copied()).expect("accepted");
            OltpData::new(OltpKind::ReadWrite, &parameters, 1).tables().remove(0)
        };
        for engine in ["innodb", "InnoDB", "rocksdb"] {
            let table = table(&[("mysql-storage-engine", engine), ("secondary", "on")]);
            assert!(table.rolls_back && table.doubles.is_none() && table.insert.starts_with("INSERT INTO"), "{engine}");
        }
        for engine in ["myisam", "Aria", "memory"] {
            let keyed = table(&[("mysql-storage-engine", engine)]);
            assert!(!keyed.rolls_back && keyed.doubles.is_none() && keyed.insert.starts_with("INSERT IGNORE INTO"));
            assert_eq!(table(&[("mysql-storage-engine", engine), ("secondary", "on")]).doubles, Some("id"), "{engine}");
        }
    }

    #[test]
    fn chunks_cover_every_id_once() {
        assert_eq!(chunks(10, 4).collect::<Vec<_>>(), [1..=4, 5..=8, 9..=10]);
        assert_eq!(chunks(8, 4).collect::<Vec<_>>(), [1..=4, 5..=8]);
        assert_eq!(chunks(0, 4).count(), 0);
        assert_eq!(chunks(2, 0).collect::<Vec<_>>(), [1..=1, 2..=2]);
    }

    #[test]
    fn workloads_that_choose_their_ids_begin_with_empty_tables() {
        let count = |kind, pairs: &[(&str, &str)]| {
            rows_per_table(kind, &OltpParameters::parse(kind, pairs.iter().copied()).expect("accepted"))
        };
        assert_eq!(count(OltpKind::Insert, &[]), 10_000);
        assert_eq!(count(OltpKind::Insert, &[("auto-inc", "off")]), 0);
        assert_eq!(count(OltpKind::ReadWrite, &[("auto-inc", "off")]), 10_000);
        assert_eq!(count(OltpKind::BulkInsert, &[]), 0);
    }
}
