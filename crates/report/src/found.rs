//! What a folded section says of itself, put together from many numbers or words.

use plimsoll_model::number::short;
use std::cmp::Reverse;

/// How often each of these words occurs, the most frequent first.
pub fn tallied<'a>(words: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in words {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

/// `412 to 530`: the least and the most; one number if both are written alike, none without any.
pub fn span(values: impl Iterator<Item = f64> + Clone) -> Option<String> {
    let (low, high) = (short(values.clone().reduce(f64::min)?), short(values.reduce(f64::max)?));
    Some(if low == high { low } else { format!("{low} to {high}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_the_most_frequent_first() {
        assert_eq!(tallied(["slower", "faster", "slower"].into_iter()), [("slower", 2), ("faster", 1)]);
        assert_eq!(tallied([].into_iter()), []);
    }

    #[test]
    fn a_span_of_one_number_is_that_number() {
        assert_eq!(span([8.25, 3.5].into_iter()).as_deref(), Some("3.50 to 8.25"));
        assert_eq!(span([855.9, 856.1].into_iter()).as_deref(), Some("856"));
        assert_eq!(span([].into_iter()), None);
    }
}
