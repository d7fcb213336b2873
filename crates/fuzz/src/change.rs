//! Changes of inputs, each decided by the generator that it is given. Most are small: what is refused at its first byte
//! attacks nothing.

use crate::corpus::CorpusEntry;
use plimsoll_load::seed::Rng;
use std::ops::Range;

/// Inputs are cut here, bytes: that a longer one is refused, its length alone decides.
const LONGEST: usize = 64 << 10;
/// A piece that is taken, doubled or lent has so many bytes at most.
const PIECE: usize = 40;
/// Bytes that mean something in packets and texts.
const TELLING: [u8; 12] = [0, 1, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, b'"', b'\n', b'{', b'=', 0x80];

/// A number from 0, less than `end`; 0 where there is none.
pub fn below(random: &mut Rng, end: usize) -> usize {
    random.between(0, end.max(1) as u64 - 1) as usize
}

/// Bytes with one to four changes; `others` lend pieces of theirs.
pub fn of_bytes(original: &[u8], others: &[CorpusEntry], random: &mut Rng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=below(random, 4) {
        one_of_bytes(&mut bytes, others, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn one_of_bytes(bytes: &mut Vec<u8>, others: &[CorpusEntry], random: &mut Rng) {
    let at = below(random, bytes.len());
    let piece = piece(bytes, at, random);
    match below(random, 7) {
        0 => bytes.insert(at, random.next_u64() as u8),
        1 => drop(bytes.drain(piece)),
        2 => bytes.truncate(at),
        3 => {
            let double = bytes[piece].to_vec();
            bytes.splice(at..at, double);
        }
        4 => {
            let other = &others[below(random, others.len())].bytes;
            let from = below(random, other.len());
            let lent = other[self::piece(other, from, random)].to_vec();
            bytes.splice(at..at, lent);
        }
        5 => {
            let telling = TELLING[below(random, TELLING.len())];
            if let Some(byte) = bytes.get_mut(at) {
                *byte = telling;
            }
        }
        _ => {
            let bit = 1 << below(random, 8);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= bit;
            }
        }
    }
}

/// A place of some bytes from `from` on.
fn piece(bytes: &[u8], from: usize, random: &mut Rng) -> Range<usize> {
    from..bytes.len().min(from + 1 + below(random, PIECE))
}

/// A text with one to four changes of its lines and values, and now and then of its bytes; `others` lend lines, `words`
/// take the place of values.
pub fn of_text(original: &[u8], others: &[CorpusEntry], words: &[&str], random: &mut Rng) -> Vec<u8> {
    let text = String::from_utf8_lossy(original);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=below(random, 4) {
        one_of_lines(&mut lines, others, words, random);
    }
    let mut bytes = lines.join("\n").into_bytes();
    bytes.push(b'\n');
    if below(random, 4) == 0 {
        one_of_bytes(&mut bytes, others, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn one_of_lines(lines: &mut Vec<String>, others: &[CorpusEntry], words: &[&str], random: &mut Rng) {
    if lines.is_empty() {
        return;
    }
    let (at, other) = (below(random, lines.len()), below(random, lines.len()));
    match below(random, 8) {
        0 => drop(lines.remove(at)),
        1 => {
            let double = lines[other].clone();
            lines.insert(at, double);
        }
        2 => lines.swap(at, other),
        3 => {
            let text = String::from_utf8_lossy(&others[below(random, others.len())].bytes);
            let from = below(random, text.lines().count());
            let lent: Vec<String> = text.lines().skip(from).take(1 + below(random, 6)).map(str::to_owned).collect();
            lines.splice(at..at, lent);
        }
        _ => {
            let places = values(&lines[at]);
            if let Some(place) = places.get(below(random, places.len())) {
                lines[at].replace_range(place.clone(), words[below(random, words.len())]);
            }
        }
    }
}

/// Where values stand in a line of TOML, JSON or an option file: behind `=` or `:`, up to what ends a plain one.
fn values(line: &str) -> Vec<Range<usize>> {
    let place = |(at, _): (usize, &str)| {
        let rest = &line[at + 1..];
        let from = line.len() - rest.trim_start_matches(' ').len();
        let to = line[from..].find([',', '}', ']', '#']).map_or(line.len(), |length| from + length);
        (from < to).then_some(from..to)
    };
    line.match_indices(['=', ':']).filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> CorpusEntry {
        CorpusEntry { name: "a".to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn a_number_decides_the_change_and_others_decide_others() {
        let others = [entry("a = 1\nb = { c = 2 }\n"), entry("{\"d\":3}\n")];
        let changed = |number| {
            let mut random = Rng::new(1, 0, number);
            let bytes = of_bytes(&others[0].bytes, &others, &mut random);
            (bytes, of_text(&others[0].bytes, &others, &["nan"], &mut random))
        };
        assert_eq!(changed(7), changed(7));
        let all: std::collections::BTreeSet<_> = (0..100).map(changed).collect();
        assert!(all.len() > 50, "{}", all.len());
    }

    #[test]
    fn whatever_is_left_of_an_input_it_can_be_changed_again() {
        let others = [entry("")];
        for number in 0..500 {
            let mut random = Rng::new(2, 0, number);
            let bytes = of_bytes(b"", &others, &mut random);
            assert!(of_text(&bytes, &others, &[""], &mut random).len() <= LONGEST);
        }
    }

    #[test]
    fn values_stand_behind_what_names_them() {
        let found = |line: &'static str| values(line).into_iter().map(move |place| &line[place]).collect::<Vec<_>>();
        assert_eq!(found("pool = \"1G\" # of 2"), ["\"1G\" "]);
        assert_eq!(found("{\"a\":1,\"b\": [2,3]}"), ["1", "[2"]);
        assert!(found("[mysqld]").is_empty() && found("empty =").is_empty());
    }
}
