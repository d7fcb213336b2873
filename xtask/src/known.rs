//! What a check found when it was introduced and is not mended yet: a list that only gets shorter.

use crate::Finding;

/// The findings whose place is not known, and the places that are known and have no finding.
pub fn without_known(findings: Vec<Finding>, known: &[&str]) -> Vec<Finding> {
    let gone = known.iter().filter(|known| findings.iter().all(|finding| finding.place != **known));
    let gone: Vec<Finding> = gone.map(|known| Finding::new(known, "is mended; remove it from KNOWN")).collect();
    findings.into_iter().filter(|finding| !known.contains(&&*finding.place)).chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_passes_and_is_found_when_it_is_gone() {
        let one = || vec![Finding::new("x: a, b", "are a circle")];
        assert!(without_known(one(), &["x: a, b"]).is_empty());
        let mended = without_known(Vec::new(), &["x: a, b"]);
        assert_eq!(mended, [Finding::new("x: a, b", "is mended; remove it from KNOWN")]);
        assert_eq!(without_known(one(), &[]).len(), 1);
    }
}
