//! Names and secrets that nobody can guess.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// So many random bytes of the system's (getrandom(2)), as hexadecimal digits.
///
/// # Errors
/// The system has none.
pub fn hex(bytes: usize) -> io::Result<String> {
    let mut drawn = vec![0; bytes];
    let mut filled = 0;
    while filled < bytes {
        filled += getrandom(&mut drawn[filled..], GetRandomFlags::empty())?;
    }
    Ok(drawn.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_long_as_asked_for_and_never_the_same() {
        let (one, two) = (hex(24).unwrap(), hex(24).unwrap());
        assert!(one.len() == 48 && one.chars().all(|c| c.is_ascii_hexdigit()) && one != two, "{one} {two}");
        assert_eq!(hex(0).unwrap(), "");
    }
}
