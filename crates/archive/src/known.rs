//! Names that are known, found in texts as whole words, whatever their case.

/// Names, the longest first: of those that begin alike, that one is found.
#[derive(Debug)]
pub(crate) struct KnownNames(Vec<String>);

impl KnownNames {
    /// Empty names are nobody's.
    pub(crate) fn new(mut names: Vec<String>) -> KnownNames {
        names.retain(|name| !name.is_empty());
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        KnownNames(names)
    }

    /// The text with `other` in place of each of these names.
    pub(crate) fn replaced(&self, text: &str, other: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let (mut rest, mut before) = (text, None);
        while let Some(first) = rest.chars().next() {
            let length = self.found(before, rest).unwrap_or(0);
            let taken = if length > 0 { length } else { first.len_utf8() };
            replaced.push_str(if length > 0 { other } else { &rest[..taken] });
            before = rest[..taken].chars().next_back();
            rest = &rest[taken..];
        }
        replaced
    }

    /// Bytes of the name that stands at the beginning of `text`, behind this character.
    fn found(&self, before: Option<char>, text: &str) -> Option<usize> {
        if before.is_some_and(is_of_word) && text.starts_with(is_of_word) {
            return None;
        }
        self.0.iter().find_map(|name| whole_word(name, text))
    }
}

/// Bytes of `text` that are this name, if it begins with it as a whole word.
fn whole_word(name: &str, text: &str) -> Option<usize> {
    let mut rest = text.chars();
    for wanted in name.chars() {
        rest.next().filter(|found| is_same(wanted, *found))?;
    }
    let is_longer = name.ends_with(is_of_word) && rest.as_str().starts_with(is_of_word);
    (!is_longer).then(|| text.len() - rest.as_str().len())
}

/// Whether these are one letter, whatever its case.
fn is_same(a: char, b: char) -> bool {
    a.eq_ignore_ascii_case(&b) || !(a.is_ascii() && b.is_ascii()) && a.to_lowercase().eq(b.to_lowercase())
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found_in_any_case_and_script() {
        let names = ["db7", "db7.example.com", "mara", "Jürgen", ""].map(str::to_owned);
        let names = KnownNames::new(names.into());
        for (text, left) in [
            ("db7.example.com, DB7 and db7", "X, X and X"),
            ("mara: marathon, tamara, mara_1, mara-1", "X: marathon, tamara, mara_1, X-1"),
            ("JÜRGEN’s, jürgen", "X’s, X"),
            ("ümara, maraü, (mara)", "ümara, maraü, (X)"),
            ("maramara mara", "maramara X"),
            ("", ""),
        ] {
            assert_eq!(names.replaced(text, "X"), left);
        }
        assert_eq!(KnownNames::new(Vec::new()).replaced("as it is", "X"), "as it is");
    }
}
