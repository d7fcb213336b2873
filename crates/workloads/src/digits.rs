//! Random digits in groups, for the text columns of `sbtest`, at the speed of memory.
//!
//! One 64-bit draw makes a group of eleven digits: read as a fraction, it is multiplied by 10,000 three times, and each
//! whole part picks four digits from a table. The last digit of the twelve is overwritten by the separator. A group
//! deviates from uniform by less than 10^12 / 2^64.

use plimsoll_load::seed::Rng;

/// Bytes of a `c` value: 10 groups of 11 digits joined by `-`.
pub const C_BYTES: usize = 119;
/// Bytes of a `pad` value: 5 groups of 11 digits joined by `-`.
pub const PAD_BYTES: usize = 59;

const STRIDE: usize = 12;

static FOUR_DIGITS: [[u8; 4]; 10_000] = {
    let mut table = [[0; 4]; 10_000];
    let mut number = 0;
    while number < 10_000 {
        table[number] = [
            b'0' + (number / 1000) as u8,
            b'0' + (number / 100 % 10) as u8,
            b'0' + (number / 10 % 10) as u8,
            b'0' + (number % 10) as u8,
        ];
        number += 1;
    }
    table
};

#[inline]
fn fill<const N: usize>(rng: &mut Rng) -> [u8; N] {
    let mut groups = [b'-'; N];
    for group in groups.chunks_exact_mut(STRIDE) {
        let mut fraction = rng.next_u64();
        for four in group.chunks_exact_mut(4) {
            let product = u128::from(fraction) * 10_000;
            four.copy_from_slice(&FOUR_DIGITS[(product >> 64) as usize]);
            fraction = product as u64;
        }
        group[STRIDE - 1] = b'-';
    }
    groups
}

/// Appends a `c` value, [`C_BYTES`] long. Allocates only where the buffer has to grow.
#[inline]
pub fn append_c(rng: &mut Rng, out: &mut Vec<u8>) {
    out.extend_from_slice(&fill::<{ C_BYTES + 1 }>(rng)[..C_BYTES]);
}

/// Appends a `pad` value, [`PAD_BYTES`] long. Allocates only where the buffer has to grow.
#[inline]
pub fn append_pad(rng: &mut Rng, out: &mut Vec<u8>) {
    out.extend_from_slice(&fill::<{ PAD_BYTES + 1 }>(rng)[..PAD_BYTES]);
}

/// Appends a whole number in decimal.
#[inline]
pub fn append_integer(value: i64, out: &mut Vec<u8>) {
    let mut rest = value.unsigned_abs();
    let mut text = [0; 24];
    let mut begin = text.len();
    while rest >= 10_000 {
        begin -= 4;
        text[begin..begin + 4].copy_from_slice(&FOUR_DIGITS[(rest % 10_000) as usize]);
        rest /= 10_000;
    }
    begin -= 4;
    text[begin..begin + 4].copy_from_slice(&FOUR_DIGITS[rest as usize]);
    begin += match rest {
        0..10 => 3,
        10..100 => 2,
        100..1_000 => 1,
        _ => 0,
    };
    if value < 0 {
        begin -= 1;
        text[begin] = b'-';
    }
    out.extend_from_slice(&text[begin..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_grouped(text: &[u8], groups: usize) -> bool {
        let text = std::str::from_utf8(text).expect("digits");
        let parts: Vec<&str> = text.split('-').collect();
        parts.len() == groups && parts.iter().all(|p| p.len() == 11 && p.bytes().all(|b| b.is_ascii_digit()))
    }

    #[test]
    fn values_have_the_format_of_sbtest() {
        let mut rng = Rng::new(1, 1, 1);
        for _ in 0..1_000 {
            let (mut c, mut pad) = (Vec::new(), Vec::new());
            append_c(&mut rng, &mut c);
            append_pad(&mut rng, &mut pad);
            assert!(c.len() == C_BYTES && is_grouped(&c, 10));
            assert!(pad.len() == PAD_BYTES && is_grouped(&pad, 5));
        }
    }

    #[test]
    fn golden_values_pin_the_text() {
        let mut pad = Vec::new();
        append_pad(&mut Rng::new(1, 2, 3), &mut pad);
        assert_eq!(pad, b"16842948728-62224977996-02202487521-34428544801-62205274027");
    }

    #[test]
    fn every_digit_is_equally_likely_at_every_place() {
        let mut rng = Rng::new(5, 5, 5);
        let mut counts = [[0u32; 10]; 11];
        let mut text = Vec::new();
        for _ in 0..4_000 {
            text.clear();
            append_c(&mut rng, &mut text);
            for group in text.split(|&b| b == b'-') {
                group.iter().zip(&mut counts).for_each(|(b, place)| place[usize::from(b - b'0')] += 1);
            }
        }
        // 40,000 groups: 4,000 of each digit are expected at each place, with a standard deviation of 60.
        assert!(counts.as_flattened().iter().all(|count| (3_700..4_300).contains(count)), "{counts:?}");
    }

    #[test]
    fn whole_numbers_are_written_as_the_standard_library_writes_them() {
        for value in [0, 7, 10, 99, 100, 999, 1_000, 9_999, 10_000, 10_001, 123_456_789, -1, -2_147_483_648, i64::MAX]
            .into_iter()
            .chain([i64::MIN])
        {
            let mut out = Vec::new();
            append_integer(value, &mut out);
            assert_eq!(String::from_utf8(out).expect("digits"), value.to_string());
        }
    }
}
