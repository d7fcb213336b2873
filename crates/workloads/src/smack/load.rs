//! The rows: each a pure function of (seed, row number), so that a key is known without reading the table.
//!
//! They are those of the original's `gen-data` with the format `%12-12s%n,%25-25s,%n,%d`: a user name of twelve random
//! letters and the row number, a password of 25 letters, the row number, a random number. Letters go from a to y.

use super::SmackKind;
use super::parameters::{SmackParameters, TableEngine};
use super::schema::{TABLE_NAME, create_table};
use crate::dataset::{Dataset, DatasetTable};
use crate::digits::append_integer;
use crate::oltp::load::INFILE;
use plimsoll_load::seed::Rng;
use plimsoll_model::NamedScalars;

/// Keeps these streams apart from those of connections and of other tables: "http" in ASCII.
const ROW_STREAM: u64 = 0x6874_7470 << 32;
const LETTERS: u64 = 25;
const USERNAME_LETTERS: usize = 12;
const PASS_LETTERS: usize = 25;
/// Three commas and a newline.
const LINE_SEPARATORS: u64 = 4;
/// Letters of one draw: a word of this length deviates from uniform by less than 25^10 / 2^64, which is 6 in a million.
const LETTERS_PER_DRAW: usize = 10;

/// Rows of one transaction of the load. Small, since the whole table loads in a second or two.
const CHUNK_ROWS: u64 = 10_000;
/// The space of an empty table, and of the extents that a growing one takes in advance.
const TABLE_BYTES: u64 = 8 << 20;

/// Makes rows of `http_auth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpAuthRows {
    seed: u64,
}

impl HttpAuthRows {
    pub fn new(seed: u64) -> HttpAuthRows {
        HttpAuthRows { seed }
    }

    fn start(&self, id: u64) -> (Rng, u64) {
        let mut rng = Rng::new(self.seed, ROW_STREAM, id);
        // First, so that the length of a line is known after one draw; 31 bits, as the original's rand().
        let gid = rng.next_u64() >> 33;
        (rng, gid)
    }

    /// Appends the primary key of row `id`.
    #[inline]
    pub fn append_username(&self, id: u64, out: &mut Vec<u8>) {
        append_letters(&mut self.start(id).0, USERNAME_LETTERS, out);
        append_integer(id as i64, out);
    }

    /// Bytes of row `id` in a file of the original's `gen-data`.
    pub fn line_bytes(&self, id: u64) -> u64 {
        let (_, gid) = self.start(id);
        (USERNAME_LETTERS + PASS_LETTERS) as u64 + 2 * digits(id) + digits(gid) + LINE_SEPARATORS
    }

    fn append(&self, form: &Form, id: u64, out: &mut Vec<u8>) {
        let (mut rng, gid) = self.start(id);
        out.extend_from_slice(form.open);
        append_letters(&mut rng, USERNAME_LETTERS, out);
        append_integer(id as i64, out);
        out.extend_from_slice(form.between_texts);
        append_letters(&mut rng, PASS_LETTERS, out);
        out.extend_from_slice(form.after_texts);
        append_integer(id as i64, out);
        out.extend_from_slice(form.between_numbers);
        append_integer(gid as i64, out);
        out.extend_from_slice(form.close);
    }
}

fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

fn append_letters(rng: &mut Rng, count: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + count, b'a');
    for letters in out[begin..].chunks_mut(LETTERS_PER_DRAW) {
        let mut fraction = rng.next_u64();
        for letter in letters {
            let product = u128::from(fraction) * u128::from(LETTERS);
            *letter += (product >> 64) as u8;
            fraction = product as u64;
        }
    }
}

/// How a row is written.
struct Form {
    open: &'static [u8],
    between_texts: &'static [u8],
    after_texts: &'static [u8],
    between_numbers: &'static [u8],
    close: &'static [u8],
}

const TSV: Form = Form { open: b"", between_texts: b"\t", after_texts: b"\t", between_numbers: b"\t", close: b"\n" };
const VALUES: Form =
    Form { open: b"('", between_texts: b"', '", after_texts: b"', ", between_numbers: b", ", close: b")" };

/// The space of a row with its key, bytes, measured on both flavours in utf8mb4, rounded up. Keys arrive in random
/// order and leave InnoDB's pages two thirds full; MyISAM keeps four bytes for every letter.
const fn row_bytes(engine: TableEngine) -> u64 {
    match engine {
        TableEngine::InnoDb => 180,
        TableEngine::MyIsam => 270,
        TableEngine::Aria => 140,
    }
}

/// The data, in the form that the loader needs.
#[derive(Clone, Debug)]
pub struct SmackData {
    kind: SmackKind,
    parameters: SmackParameters,
    rows: HttpAuthRows,
}

impl SmackData {
    pub fn new(kind: SmackKind, parameters: &SmackParameters, seed: u64) -> SmackData {
        SmackData { kind, parameters: parameters.clone(), rows: HttpAuthRows::new(seed) }
    }
}

impl Dataset for SmackData {
    fn family(&self) -> &'static str {
        self.kind.dataset_family()
    }

    fn parameters(&self) -> NamedScalars {
        self.parameters.printable_data(self.kind)
    }

    fn seed(&self) -> u64 {
        self.rows.seed
    }

    /// An engine that does not roll back may contain part of a chunk when loading continues after a kill. The rows that
    /// come again are the same, so skipping duplicates is exact; `LOAD DATA LOCAL` always does so.
    fn tables(&self) -> Vec<DatasetTable> {
        let SmackParameters { rows, engine, .. } = self.parameters;
        let ignore = if engine.rolls_back() { "" } else { "IGNORE " };
        vec![DatasetTable {
            name: TABLE_NAME.to_owned(),
            create: create_table(engine),
            before: Vec::new(),
            after: Vec::new(),
            ids: rows,
            rows,
            chunk: CHUNK_ROWS,
            rolls_back: engine.rolls_back(),
            doubles: None,
            bytes: rows * row_bytes(engine) + TABLE_BYTES,
            load_data: format!(
                "LOAD DATA LOCAL INFILE '{INFILE}' {ignore}INTO TABLE {TABLE_NAME} CHARACTER SET utf8mb4 \
                 FIELDS TERMINATED BY 0x09 ESCAPED BY '' LINES TERMINATED BY 0x0A (username, pass, uid, gid)"
            ),
            insert: format!("INSERT {ignore}INTO {TABLE_NAME} (username, pass, uid, gid) VALUES "),
        }]
    }

    fn append_tsv(&self, _table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        self.rows.append(&TSV, id, out);
        1
    }

    fn append_values(&self, _table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        self.rows.append(&VALUES, id, out);
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(pairs: &[(&str, &str)], seed: u64) -> SmackData {
        SmackData::new(
            SmackKind::SelectKey,
            &SmackParameters::parse(SmackKind::SelectKey, pairs.iter().copied()).expect("ok"),
            seed,
        )
    }

    fn tsv(seed: u64, id: u64) -> String {
        let mut out = Vec::new();
        assert_eq!(data(&[], seed).append_tsv(0, id, &mut out), 1);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn golden_rows_pin_the_data_of_seed_1() {
        assert_eq!(tsv(1, 1), "nxkmpcqtxubo1\teuddbpbbfxjmoioelgughaglt\t1\t1751751847\n");
        assert_eq!(tsv(1, 90_000), "fasxkbqsydcd90000\tgarwoleqvntmaccyrtlxvbpet\t90000\t1744823742\n");
    }

    #[test]
    fn rows_have_the_format_of_gen_data() {
        for id in [1, 9, 10, 12_345, 100_000_000] {
            let line = tsv(7, id);
            let [username, pass, uid, gid] = line.trim_end_matches('\n').split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line:?} has not four fields")
            };
            let is_word = |text: &str, length| text.len() == length && text.bytes().all(|b| (b'a'..=b'y').contains(&b));
            assert!(is_word(&username[..12], 12) && is_word(pass, 25), "{line}");
            assert_eq!((&username[12..], uid), (id.to_string().as_str(), id.to_string().as_str()));
            assert!(gid.parse::<i32>().expect("31 bits") >= 0);
        }
    }

    #[test]
    fn both_forms_and_the_key_hold_the_same_row() {
        for id in [1, 777, 90_000] {
            let (line, data) = (tsv(42, id), data(&[], 42));
            let fields: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
            let (mut values, mut username) = (Vec::new(), Vec::new());
            data.append_values(0, id, &mut values);
            data.rows.append_username(id, &mut username);
            let [name, pass, uid, gid] = fields[..] else { panic!("{line:?} has not four fields") };
            assert_eq!(String::from_utf8(values).expect("ASCII"), format!("('{name}', '{pass}', {uid}, {gid})"));
            assert_eq!(username, name.as_bytes());
            // Tabs take the place of the commas.
            assert_eq!(data.rows.line_bytes(id), line.len() as u64);
        }
    }

    #[test]
    fn rows_differ_by_seed_and_number_only() {
        assert_eq!(tsv(1, 5), tsv(1, 5));
        assert_ne!(tsv(1, 5), tsv(2, 5));
        assert_ne!(tsv(1, 5)[..12], tsv(1, 6)[..12]);
    }

    #[test]
    fn every_letter_is_equally_likely_at_every_place() {
        let mut counts = [[0u32; 25]; 37];
        for id in 1..=50_000 {
            let line = tsv(3, id);
            let (username, pass) = line.split_once('\t').expect("fields");
            let letters = username.bytes().take(12).chain(pass.bytes().take(25));
            letters.zip(&mut counts).for_each(|(b, place)| place[usize::from(b - b'a')] += 1);
        }
        // 2,000 of each are expected at each place, with a standard deviation of 44.
        assert!(counts.as_flattened().iter().all(|count| (1_780..2_220).contains(count)), "{counts:?}");
    }

    #[test]
    fn engines_that_do_not_roll_back_pass_over_rows_that_are_there() {
        let table = |engine| data(&[("engine", engine), ("rows", "500")], 5).tables().remove(0);
        assert_eq!(table("innodb").insert, "INSERT INTO http_auth (username, pass, uid, gid) VALUES ");
        for engine in ["myisam", "aria"] {
            let table = table(engine);
            assert_eq!(table.insert, "INSERT IGNORE INTO http_auth (username, pass, uid, gid) VALUES ");
            assert_eq!(
                table.load_data,
                "LOAD DATA LOCAL INFILE 'plimsoll' IGNORE INTO TABLE http_auth CHARACTER SET utf8mb4 \
                 FIELDS TERMINATED BY 0x09 ESCAPED BY '' LINES TERMINATED BY 0x0A (username, pass, uid, gid)"
            );
            assert!(table.create.ends_with(&format!("ENGINE = {engine}")));
            assert_eq!((table.ids, table.rows), (500, 500));
        }
    }
}
