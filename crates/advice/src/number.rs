//! Numbers as servers write and read them.

use plimsoll_plan::quantity;

/// `128M`, `90.5`; none of another text.
pub fn number(text: &str) -> Option<f64> {
    let plain = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    plain.or_else(|| quantity::size(text.trim()).ok().map(|bytes| bytes as f64))
}
