//! The description of the workload, as `plimsoll workloads ledger` prints it.

use super::parameters::TABLE;
use super::schema::{create_clients, create_entries, create_rows};
use super::statements::LedgerRole;
use super::{NAME, summary};
use std::fmt::Write;

/// What it does, one transaction with its statements in order, the data and every parameter.
pub fn describe() -> String {
    let mut text = format!("{NAME}\n\n{}\n", summary());
    text.push_str("\nOne transaction: the next entry of its client\n\n");
    for role in LedgerRole::ALL.into_iter().filter(|role| *role != LedgerRole::Last) {
        let _ = writeln!(text, "    1 × {:8}  {}", role.name(), role.sql());
    }
    let _ = writeln!(text, "\nA connection asks first, and after a failure\n\n    {}", LedgerRole::Last.sql());
    text.push_str("\nData: dataset ledger\n\n");
    for create in [create_rows(), create_entries(), create_clients()] {
        let _ = writeln!(text, "  {create}");
    }
    text.push_str("\nParameters\n\n");
    for spec in &TABLE {
        let _ = writeln!(text, "  --{}  {} [{}]", spec.name, spec.help, spec.default);
    }
    text.push_str("\nSource: none; it is made for `plimsoll crash`.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_said() {
        let text = describe();
        assert!(LedgerRole::ALL.iter().all(|role| text.contains(&role.sql())) && text.contains("--rows"), "{text}");
    }
}
