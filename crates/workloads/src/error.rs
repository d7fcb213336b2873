//! What a person can get wrong about a workload. Every message ends with what would be accepted.

use plimsoll_model::text::escaped;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("there is no workload '{}'{}; the workloads are: {accepted}", escaped(.name), meant(.nearest))]
    UnknownWorkload { name: String, nearest: Option<&'static str>, accepted: String },

    #[error("{workload} has no parameter '{}'{}; it accepts: {accepted}", escaped(.name), meant(.nearest))]
    UnknownParameter { workload: &'static str, name: String, nearest: Option<&'static str>, accepted: String },

    #[error("{workload} does not use the parameter '{name}', which belongs to {owners}; it accepts: {accepted}")]
    UnusedParameter { workload: &'static str, name: &'static str, owners: String, accepted: String },

    #[error("parameter '{name}' of {workload} is '{found}', but it must be {accepted}")]
    BadValue { workload: &'static str, name: &'static str, found: String, accepted: String },

    #[error("{workload} cannot have {found}; {remedy}")]
    Combination { workload: &'static str, found: String, remedy: String },
}

fn meant(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

/// The name most like `found`, if one is close enough to have been meant.
pub(crate) fn nearest(found: &str, names: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(found, name), name))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_suggested() {
        let names = ["table-size", "tables", "range-size"];
        assert_eq!(nearest("tablesize", names), Some("table-size"));
        assert_eq!(nearest("tabel-size", names), Some("table-size"));
        assert_eq!(nearest("warehouses", names), None);
    }
}
