//! Random text and decimals of loaded rows (clause 4.3.2), made at the speed of memory and appended without allocation.
//!
//! One 64-bit draw makes eight characters: read as a fraction, it is multiplied by 62 × 62 four times, and each whole
//! part picks two characters from a table. What is left of the fraction keeps even the last two even to 2^-16.

use crate::digits::append_integer;
use plimsoll_load::seed::Rng;

const CHARACTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BLOCK: usize = 8;

static LETTER_PAIRS: [[u8; 2]; 62 * 62] = pairs(CHARACTERS);
static DIGIT_PAIRS: [[u8; 2]; 10 * 10] = pairs(b"0123456789");

const fn pairs<const N: usize, const SQUARE: usize>(characters: &[u8; N]) -> [[u8; 2]; SQUARE] {
    let mut table = [[0; 2]; SQUARE];
    let mut index = 0;
    while index < SQUARE {
        table[index] = [characters[index / N], characters[index % N]];
        index += 1;
    }
    table
}

#[inline]
fn append<const SQUARE: usize>(table: &[[u8; 2]; SQUARE], length: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + length.next_multiple_of(BLOCK), 0);
    for block in out[begin..].chunks_exact_mut(BLOCK) {
        let mut fraction = rng.next_u64();
        for two in block.chunks_exact_mut(2) {
            let product = u128::from(fraction) * SQUARE as u128;
            two.copy_from_slice(&table[(product >> 64) as usize]);
            fraction = product as u64;
        }
    }
    out.truncate(begin + length);
}

/// Appends so many letters and digits.
#[inline]
pub fn append_letters(length: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    append(&LETTER_PAIRS, length, rng, out);
}

/// Appends an a-string: letters and digits, `low` to `high` of them (clause 4.3.2.2).
#[inline]
pub fn append_a_string(low: u64, high: u64, rng: &mut Rng, out: &mut Vec<u8>) {
    let length = rng.between(low, high) as usize;
    append(&LETTER_PAIRS, length, rng, out);
}

/// Appends an n-string of this length: digits.
#[inline]
pub fn append_n_string(length: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    append(&DIGIT_PAIRS, length, rng, out);
}

/// Appends a zip code: four random digits and 11111 (clause 4.3.2.7).
#[inline]
pub fn append_zip(rng: &mut Rng, out: &mut Vec<u8>) {
    append_n_string(4, rng, out);
    out.extend_from_slice(b"11111");
}

pub const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Appends what i_data and s_data hold: 26 to 50 letters and digits, and in a tenth of the rows `ORIGINAL` somewhere
/// among them (clause 4.3.3.1).
#[inline]
pub fn append_data(rng: &mut Rng, out: &mut Vec<u8>) {
    let begin = out.len();
    append_a_string(26, 50, rng, out);
    if rng.between(1, 10) == 1 {
        let place = begin + rng.between(0, (out.len() - begin - ORIGINAL.len()) as u64) as usize;
        out[place..place + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// Appends `units` of 10^-`scale` in decimal: (-1000, 2) as `-10.00`.
#[inline]
pub fn append_decimal(units: i64, scale: u32, out: &mut Vec<u8>) {
    let divisor = 10u64.pow(scale);
    let size = units.unsigned_abs();
    if units < 0 {
        out.push(b'-');
    }
    append_integer((size / divisor) as i64, out);
    if scale > 0 {
        let begin = out.len();
        // The leading 1 keeps the zeros, then becomes the point.
        append_integer((divisor + size % divisor) as i64, out);
        out[begin] = b'.';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(append: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        append(&mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn strings_have_their_length_and_their_characters() {
        let mut rng = Rng::new(1, 1, 1);
        let mut lengths = [0; 51];
        for _ in 0..10_000 {
            let letters = text(|out| append_a_string(26, 50, &mut rng, out));
            lengths[letters.len()] += 1;
            assert!(letters.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
        // 400 are expected of each length, with a standard deviation of 20.
        assert!(lengths[..26].iter().all(|count| *count == 0));
        assert!(lengths[26..].iter().all(|count| (300..500).contains(count)), "{lengths:?}");
        let zip = text(|out| append_zip(&mut rng, out));
        assert!(zip.len() == 9 && zip.ends_with("11111") && zip.bytes().all(|byte| byte.is_ascii_digit()), "{zip}");
    }

    #[test]
    fn every_character_is_equally_likely_at_every_place() {
        let mut rng = Rng::new(3, 1, 4);
        let mut counts = [[0u32; 256]; BLOCK];
        for _ in 0..62_000 {
            let letters = text(|out| append_letters(BLOCK, &mut rng, out));
            letters.bytes().zip(&mut counts).for_each(|(byte, place)| place[usize::from(byte)] += 1);
        }
        for place in &counts {
            // 1000 are expected of each, with a standard deviation of 31.
            assert!(CHARACTERS.iter().all(|byte| (850..1_150).contains(&place[usize::from(*byte)])));
        }
    }

    #[test]
    fn a_tenth_of_the_data_are_original_at_any_place() {
        let mut rng = Rng::new(2, 7, 1);
        let (mut first, mut last, mut originals) = (0, 0, 0);
        for _ in 0..100_000 {
            let data = text(|out| append_data(&mut rng, out));
            assert!((26..=50).contains(&data.len()));
            if let Some(place) = data.find("ORIGINAL") {
                originals += 1;
                first += u32::from(place == 0);
                last += u32::from(place == data.len() - 8);
            }
        }
        // 10,000 with a standard deviation of 95; at either end about one in 31.
        assert!((9_500..10_500).contains(&originals), "{originals}");
        assert!((230..430).contains(&first) && (230..430).contains(&last), "{first} {last}");
    }

    #[test]
    fn decimals_are_exact() {
        for (units, scale, expected) in [
            (-1_000, 2, "-10.00"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (30_000_000, 2, "300000.00"),
            (2_000, 4, "0.2000"),
            (7, 4, "0.0007"),
            (12, 0, "12"),
            (0, 2, "0.00"),
        ] {
            assert_eq!(text(|out| append_decimal(units, scale, out)), expected);
        }
    }
}
