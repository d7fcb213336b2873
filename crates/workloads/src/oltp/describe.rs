//! The description of a workload, as `plimsoll workloads NAME` prints it.

use super::parameters::parameters;
use super::statements::{OltpStatements, OltpStep, steps};
use super::values::{OltpParameters, SysbenchLayout};
use super::{OltpKind, load, schema::OltpSchema};
use std::fmt::Write;

/// What the workload does, one transaction with its statements in order, the data, and every parameter.
pub fn describe(kind: OltpKind) -> String {
    let defaults = OltpParameters::default();
    let mut text = format!("{}\n\n{}\n", kind.name(), kind.summary());
    let transaction_is = if kind == OltpKind::BulkInsert { "Each time the buffer is full" } else { "One transaction" };
    transaction(transaction_is, kind, &defaults, &mut text);
    if OltpKind::OF_SYSBENCH_0_4.contains(&kind) {
        let older = OltpParameters { layout: SysbenchLayout::Sysbench04, ..defaults.clone() };
        transaction("With --layout sysbench-0.4, one transaction", kind, &older, &mut text);
    }
    data(kind, &defaults, &mut text);
    text.push_str("\nParameters\n\n");
    let width = parameters(kind).map(|spec| spec.name.len()).max().unwrap_or(0);
    for spec in parameters(kind) {
        let default = if spec.default.is_empty() { "none" } else { spec.default };
        let _ = writeln!(text, "  --{:width$}  {} [{default}]", spec.name, spec.help);
    }
    text.push_str("\nSource: sysbench 1.0.20, whose statements, data, parameters and defaults these are");
    text.push_str(if kind == OltpKind::BulkInsert { ".\n" } else { "; zipfian is from version 1.1.\n" });
    text
}

fn transaction(title: &str, kind: OltpKind, parameters: &OltpParameters, text: &mut String) {
    let steps = steps(kind, parameters);
    let catalogue = OltpStatements::new(kind, parameters);
    let total: u64 = steps.iter().map(|step| step.times * step.roles.len() as u64).sum();
    let _ = writeln!(text, "\n{title}: {total} {}\n", if total == 1 { "statement" } else { "statements" });
    for OltpStep { roles, times } in &steps {
        for role in *roles {
            let position = catalogue.position(*role, 1).expect("the catalogue holds every role of the steps");
            let _ = writeln!(text, "  {times:>3} × {:16}  {}", role.name(), catalogue.statements()[position].sql);
        }
    }
}

fn data(kind: OltpKind, parameters: &OltpParameters, text: &mut String) {
    let schema = OltpSchema::new(kind, parameters);
    let _ = writeln!(
        text,
        "\nData: dataset {}, {} rows a table\n",
        kind.dataset_family(),
        load::rows_per_table(kind, parameters)
    );
    let _ = writeln!(text, "  {}", schema.create_table(1));
    for index in schema.indexes_after_load(1) {
        let _ = writeln!(text, "  {index}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_about_a_workload_is_said() {
        for kind in OltpKind::ALL {
            let text = describe(kind);
            for spec in parameters(kind) {
                assert!(text.contains(&format!("--{} ", spec.name)), "{kind:?} {}", spec.name);
            }
            assert!(text.contains(kind.summary()) && text.contains("Source: sysbench 1.0.20"));
        }
        let text = describe(OltpKind::ReadWrite);
        assert!(text.contains("One transaction: 20 statements"), "{text}");
        assert!(text.contains("   10 × point             SELECT c FROM sbtest1 WHERE id=?"), "{text}");
        assert!(text.contains("SELECT SUM(K) from sbtest where id between ? and ?"), "{text}");
    }
}
