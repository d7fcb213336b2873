//! The description of a workload, as `plimsoll workloads NAME` prints it.

use super::SmackKind;
use super::parameters::{SmackParameters, parameters};
use super::schema::create_table;
use super::statements::round;
use std::fmt::Write;

/// What the workload does, one round with its statements in order, the data, every parameter and how to repeat the
/// original.
pub fn describe(kind: SmackKind) -> String {
    let defaults = SmackParameters::default();
    let mut text = format!("{}\n\n{}\n", kind.name(), kind.summary());
    let _ = writeln!(text, "\nOne transaction: {} statements, each committed separately\n", round(kind).len());
    for role in round(kind) {
        let _ = writeln!(text, "    1 × {:16}  {}", role.name(), role.sql());
    }
    let _ = writeln!(text, "\nData: dataset {}, {} rows\n", kind.dataset_family(), defaults.rows);
    let _ = writeln!(text, "  {}", create_table(defaults.engine));
    text.push_str("\nParameters\n\n");
    let width = parameters(kind).map(|spec| spec.name.len()).max().unwrap_or(0);
    for spec in parameters(kind) {
        let _ = writeln!(text, "  --{:width$}  {} [{}]", spec.name, spec.help, spec.default);
    }
    text.push_str("\nThe original's usual `10 10000` is --connections 10 --events-per-connection 10000.\n");
    text.push_str("Source: super-smack 1.3, whose statements, data and choice of keys these are.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_about_a_workload_is_said() {
        for kind in SmackKind::ALL {
            let text = describe(kind);
            for spec in parameters(kind) {
                assert!(text.contains(&format!("--{} ", spec.name)), "{kind:?} {}", spec.name);
            }
            assert!(text.contains(kind.summary()) && text.contains("super-smack 1.3"));
        }
        let text = describe(SmackKind::UpdateSelect);
        assert!(text.contains("1 × update_index      update http_auth set pass=? where username = ?"), "{text}");
    }
}
