//! The script that adds a cursor, zoom and toggles to the figures of a page: `web/src/report.ts`, as
//! `scripts/build-web` built it. A page is complete without it.

/// The content of the page's one script element; `None` if it was not built before this program.
pub const BUNDLE: Option<&str> = match HASH {
    Some(_) => Some(include_str!(concat!(env!("OUT_DIR"), "/script.js"))),
    None => None,
};

/// What a content security policy calls the bundle: `sha256-…`.
///
/// Source: W3C, Content Security Policy Level 3, section 2.3.1, `hash-source`.
pub const HASH: Option<&str> = option_env!("PLIMSOLL_SCRIPT_HASH");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_small_and_stays_within_its_element() {
        let Some(bundle) = BUNDLE else { return };
        assert!(bundle.len() < 80_000, "{} bytes", bundle.len());
        assert!(bundle.starts_with("//<![CDATA[\n") && bundle.ends_with("\n//]]>\n"));
        assert_eq!(bundle.matches("]]>").count(), 1);
        assert!(!bundle.contains("</script"));
        // The licence of the bundled code requires its notice in every copy.
        for wanted in ["uPlot", "Copyright (c) 2022 Leon Sorokin", "The above copyright notice and this permission"] {
            assert!(bundle.contains(wanted), "{wanted}");
        }
        assert!(HASH.is_some_and(|hash| hash.starts_with("sha256-") && hash.len() == 51), "{HASH:?}");
    }
}
