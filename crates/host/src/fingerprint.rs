//! A short, stable hash for file names. Not for secrets: FNV-1a, 64 bits.

pub fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = OFFSET;
    for part in parts {
        // 0xff ends a part, so that ("ab", "c") and ("a", "bc") differ; it occurs in no UTF-8 text.
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn pinned_because_file_names_depend_on_it() {
        assert_eq!(fingerprint([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(
            fingerprint([b"home".as_slice(), b"default-mariadb"]),
            fingerprint([b"home".as_slice(), b"default-mariadb"])
        );
        assert_ne!(fingerprint([b"ab".as_slice(), b"c"]), fingerprint([b"a".as_slice(), b"bc"]));
    }
}
