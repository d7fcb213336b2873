//! Which rows are requested. The original reads its keys from a dictionary, which keeps only every N-th line of the
//! file that the table was loaded from: of 90,000 rows it visits about 750.

use super::load::HttpAuthRows;
use super::parameters::{Keys, SmackParameters};
use super::schema::TABLE_NAME;
use plimsoll_load::seed::Rng;

/// `file_size_equiv` of both workloads: N is the size of the file divided by it.
const FILE_SIZE_EQUIVALENT: u64 = 45_000;
/// Bytes that every line has: the password of 25 letters, three commas and a newline. Updates change passwords, so the
/// table no longer says how long they were in the file.
const FIXED_LINE_BYTES: u64 = 29;

/// The row numbers of the original's dictionary: N, 2N, 3N … up to `rows`, where N is the size of the file over 45,000
/// without its fraction, and at least 1.
pub fn dictionary(rows: HttpAuthRows, count: u64) -> impl Iterator<Item = u64> {
    let file_bytes: u64 = (1..=count).map(|id| rows.line_bytes(id)).sum();
    let step = (file_bytes / FILE_SIZE_EQUIVALENT).max(1);
    (1..=count / step).map(move |line| line * step)
}

/// The keys of these rows.
pub fn usernames(rows: HttpAuthRows, ids: impl Iterator<Item = u64>) -> Vec<Vec<u8>> {
    let username = |id| {
        let mut name = Vec::new();
        rows.append_username(id, &mut name);
        name
    };
    ids.map(username).collect()
}

/// The query for the keys of a table whose seed is not known: one column, in the order of the original's file. It
/// reconstructs the dictionary of the file that the table must have been loaded from.
pub fn key_query(keys: Keys) -> String {
    match keys {
        Keys::Full => format!("SELECT username FROM {TABLE_NAME} ORDER BY uid"),
        Keys::Exact => format!(
            "SELECT username FROM {TABLE_NAME}, (SELECT GREATEST(1, FLOOR(SUM(CHAR_LENGTH(username) + \
             CHAR_LENGTH(uid) + CHAR_LENGTH(gid) + {FIXED_LINE_BYTES}) / {FILE_SIZE_EQUIVALENT})) AS step \
             FROM {TABLE_NAME}) AS dictionary WHERE uid % step = 0 ORDER BY uid"
        ),
    }
}

/// Where a round takes its keys from.
#[derive(Clone, Debug)]
pub(super) enum KeySource {
    /// Any of these; there is at least one.
    Listed(Vec<Vec<u8>>),
    /// Any of the rows from 1 to `count`, whose keys are computed.
    Rows { rows: HttpAuthRows, count: u64 },
}

impl KeySource {
    pub fn new(parameters: &SmackParameters, seed: u64) -> KeySource {
        let (rows, count) = (HttpAuthRows::new(seed), parameters.rows);
        match parameters.keys {
            Keys::Exact => KeySource::Listed(usernames(rows, dictionary(rows, count))),
            Keys::Full => KeySource::Rows { rows, count },
        }
    }

    /// How many keys there are.
    pub fn count(&self) -> u64 {
        match self {
            KeySource::Listed(keys) => keys.len() as u64,
            KeySource::Rows { count, .. } => *count,
        }
    }

    /// Replaces `word` by a key drawn uniformly; each draw is independent of all others.
    #[inline]
    pub fn draw(&self, rng: &mut Rng, word: &mut Vec<u8>) {
        word.clear();
        let number = rng.between(1, self.count());
        match self {
            KeySource::Listed(keys) => word.extend_from_slice(&keys[number as usize - 1]),
            KeySource::Rows { rows, .. } => rows.append_username(number, word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::smack::SmackKind;
    use crate::smack::load::SmackData;
    use std::collections::HashMap;

    fn parameters(rows: u64, keys: Keys) -> SmackParameters {
        SmackParameters { rows, keys, ..SmackParameters::default() }
    }

    #[test]
    fn the_dictionary_of_90_000_rows_has_every_120th() {
        for seed in [1, 2, 3] {
            let ids: Vec<u64> = dictionary(HttpAuthRows::new(seed), 90_000).collect();
            assert_eq!((ids.len(), ids[0], ids[1], ids[749]), (750, 120, 240, 90_000));
        }
    }

    #[test]
    fn the_dictionary_is_what_the_original_reads_from_a_file_of_these_rows() {
        for count in [1_000, 5_000, 90_000] {
            let data = SmackData::new(SmackKind::SelectKey, &parameters(count, Keys::Exact), 6);
            let mut file = Vec::new();
            (1..=count).for_each(|id| assert_eq!(data.append_tsv(0, id, &mut file), 1));
            let file = String::from_utf8(file).expect("ASCII").replace('\t', ",");
            let step = (file.len() / 45_000).max(1);
            let first_fields = file.lines().filter_map(|line| line.split(',').next());
            let expected: Vec<&[u8]> = first_fields.skip(step - 1).step_by(step).map(str::as_bytes).collect();
            assert_eq!(usernames(HttpAuthRows::new(6), dictionary(HttpAuthRows::new(6), count)), expected);
        }
    }

    #[test]
    fn a_dictionary_stays_small_however_many_rows_there_are() {
        assert_eq!(dictionary(HttpAuthRows::new(1), 100).collect::<Vec<_>>(), (1..=100).collect::<Vec<_>>());
        let count = dictionary(HttpAuthRows::new(1), 1_000_000).count();
        assert!((700..=760).contains(&count), "{count}");
        // Less than 90,000 bytes are not thinned out, a little more is halved.
        assert_eq!(dictionary(HttpAuthRows::new(1), 1_550).count(), 1_550);
        assert_eq!(dictionary(HttpAuthRows::new(1), 1_700).count(), 850);
    }

    #[test]
    fn keys_are_those_of_the_rows() {
        let rows = HttpAuthRows::new(9);
        let mut expected = Vec::new();
        rows.append_username(240, &mut expected);
        let KeySource::Listed(keys) = KeySource::new(&parameters(90_000, Keys::Exact), 9) else { panic!("a list") };
        assert_eq!(keys[1], expected);
        let full = KeySource::new(&parameters(240, Keys::Full), 9);
        assert_eq!(full.count(), 240);
        let (mut rng, mut word) = (Rng::new(1, 1, 1), Vec::new());
        assert!((0..5_000).any(|_| {
            full.draw(&mut rng, &mut word);
            word == expected
        }));
    }

    #[test]
    fn every_key_is_equally_likely() {
        for source in
            [KeySource::new(&parameters(90_000, Keys::Exact), 1), KeySource::new(&parameters(750, Keys::Full), 1)]
        {
            let (mut rng, mut word) = (Rng::new(4, 4, 4), Vec::new());
            let mut counts: HashMap<Vec<u8>, u32> = HashMap::new();
            for _ in 0..750 * 400 {
                source.draw(&mut rng, &mut word);
                *counts.entry(word.clone()).or_default() += 1;
            }
            assert_eq!(counts.len(), 750);
            // Chi-square with 749 degrees of freedom: mean 749, standard deviation 38.7; five of them on either side.
            let chi: f64 = counts.values().map(|n| (f64::from(*n) - 400.0).powi(2) / 400.0).sum();
            assert!((555.0..943.0).contains(&chi), "{chi}");
        }
    }

    #[test]
    fn the_query_asks_for_one_column_in_file_order() {
        assert_eq!(key_query(Keys::Full), "SELECT username FROM http_auth ORDER BY uid");
        assert_eq!(
            key_query(Keys::Exact),
            "SELECT username FROM http_auth, (SELECT GREATEST(1, FLOOR(SUM(CHAR_LENGTH(username) + CHAR_LENGTH(uid) + \
             CHAR_LENGTH(gid) + 29) / 45000)) AS step FROM http_auth) AS dictionary WHERE uid % step = 0 ORDER BY uid"
        );
    }
}
