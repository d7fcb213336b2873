//! What a crash takes, as a severity.

use plimsoll_model::Class;
use plimsoll_model::advice::Severity;

/// Commits that are lost with the process alone, torn pages and undetected corruption are critical; the rest is a warning.
pub fn severity<'c>(mut classes: impl Iterator<Item = &'c Class>) -> Severity {
    let damages = |class: &Class| matches!(class, Class::D1p | Class::D2 | Class::D3);
    if classes.any(damages) { Severity::Critical } else { Severity::Warn }
}
