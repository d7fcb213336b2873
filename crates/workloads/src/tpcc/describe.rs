//! The description of the workload, as `plimsoll workloads tpcc` prints it.

use super::choices::{CallStyle, DeliveryMode, Fidelity, Profile};
use super::counters::Counter;
use super::parameters::{TABLE, TpccParameters};
use super::schema::{Entity, TpccSchema};
use super::statements::{TpccStatements, TransactionKind, kinds, steps};
use super::{aliases, load, summary};
use crate::dataset::Dataset;
use std::fmt::Write;

/// What the workload does, its profiles, every transaction with its statements in order, the data, and every parameter.
pub fn describe() -> String {
    let mut text = format!("{}\n\n{}\n", super::choices::NAME, summary());
    text.push_str("\nIt follows TPC-C revision 5.11 but is not TPC-C: results are NOPM and TPC-C-like.\n");
    profiles(&mut text);
    let spec = TpccParameters::default();
    for style in [CallStyle::Batched, CallStyle::PerRow, CallStyle::Procedure] {
        transactions(
            &TpccParameters { call_style: style, delivery: DeliveryMode::Deferred, ..spec.clone() },
            &mut text,
        );
    }
    compat(&mut text);
    data(&spec, &mut text);
    parameters(&mut text);
    let _ = writeln!(text, "\nAlso counted: {}", Counter::NAMES.join(", "));
    text.push_str(
        "\nSource: TPC-C revision 5.11, clauses 1 to 5; the mix, the tables and the statements of DBT-2 and of\n",
    );
    text.push_str("sysbench-tpcc for the profiles of those names, as facts only.\n");
    text
}

/// Every parameter and its value under each profile.
fn profiles(text: &mut String) {
    let _ = writeln!(text, "\nProfiles\n\n  {:14}{:18}{:18}{:18}", "", "spec", "dbt2", "sysbench");
    for spec in TABLE.iter().filter(|spec| spec.name != "profile") {
        let [of_spec, dbt2, sysbench] = Profile::ALL.map(|profile| spec.text(&TpccParameters::of(profile)));
        let _ = writeln!(text, "  {:14}{of_spec:18}{dbt2:18}{sysbench}", spec.name);
    }
    let [of_spec, dbt2, sysbench] = Profile::ALL.map(|profile| TpccParameters::of(profile).default_protocol());
    let _ = writeln!(text, "  {:14}{of_spec:18}{dbt2:18}{sysbench}", "protocol");
}

/// The transactions of a call style, with their statements.
fn transactions(parameters: &TpccParameters, text: &mut String) {
    let catalogue = TpccStatements::new(parameters);
    let total: u64 = parameters.mix.0.iter().sum();
    for kind in kinds(parameters) {
        let share = match (kind, parameters.mix.0.get(kind as usize)) {
            (TransactionKind::DeferredDelivery, _) => "with --delivery deferred, when a connection is free".to_owned(),
            (_, weight) => format!("{weight} of {total}", weight = weight.copied().unwrap_or(0)),
        };
        let _ = writeln!(text, "\n{}, {}: {share}\n", kind.name(), parameters.call_style.name());
        for step in steps(kind, parameters.call_style) {
            let position =
                catalogue.position(step.role.into(), 1).expect("the catalogue holds every role of the steps");
            let sql = &catalogue.statements()[position].sql;
            let _ = writeln!(text, "  {:12}  {:24}{sql}", step.times.text(), step.role.name());
        }
    }
}

fn compat(text: &mut String) {
    let _ = writeln!(
        text,
        "\nProfile sysbench sends these per row, on tables that carry the number of their set. With --fidelity {} it keeps what\n\
         sysbench-tpcc does differently: no line and no payment is remote, although orders may claim it; keys are nearly\n\
         uniform, since NURand draws its constant anew for each; order-status reads the order with the district's number;\n\
         the unused item is on the last line but one; s_ytd, s_order_cnt, s_remote_cnt and c_payment_cnt are not\n\
         maintained; amounts of order lines include tax and discount and are cut to whole numbers; payments are whole; of\n\
         an even number of namesakes the second of the middle ones is taken; delivery reads orders from its snapshot.",
        Fidelity::Compat.name()
    );
}

fn data(parameters: &TpccParameters, text: &mut String) {
    let schema = TpccSchema::new(parameters);
    let tables = load::OrderEntryData::new(parameters, 1).tables();
    let _ = writeln!(text, "\nData: dataset {}, of one warehouse\n", load::FAMILY);
    for (entity, table) in Entity::ALL.into_iter().zip(tables) {
        let _ = writeln!(text, "  {:>7} rows  {}", table.rows, schema.create_table(entity, 1));
        table.after.iter().for_each(|index| {
            let _ = writeln!(text, "                {index}");
        });
    }
}

fn parameters(text: &mut String) {
    text.push_str("\nParameters\n\n");
    let width = TABLE.iter().map(|spec| spec.name.len()).max().unwrap_or(0);
    for spec in &TABLE {
        let _ = writeln!(text, "  --{:width$}  {} [{}]", spec.name, spec.help, spec.default);
    }
    for (name, help) in aliases::aliases() {
        let _ = writeln!(text, "  --{name:width$}  {help}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::roles::Role;
    use super::*;

    #[test]
    fn everything_about_the_workload_is_said() {
        let text = describe();
        for spec in &TABLE {
            assert!(text.contains(&format!("--{} ", spec.name)), "{}", spec.name);
        }
        for kind in TransactionKind::ALL.into_iter().filter(|kind| *kind != TransactionKind::Purge) {
            for style in [CallStyle::Batched, CallStyle::PerRow, CallStyle::Procedure] {
                assert!(text.contains(&format!("\n{}, {}: ", kind.name(), style.name())), "{kind:?} {style:?}");
            }
        }
        let unused =
            [Role::OldestUndelivered, Role::DeliveredOrder, Role::PurgeLines, Role::PurgeOrder, Role::PurgeHistory];
        for role in Role::ALL.iter().filter(|role| !unused.contains(role)) {
            assert!(text.contains(&format!("  {} ", role.name())), "{role:?}");
        }
        assert!(text.contains(summary()) && text.contains("TPC-C-like") && !text.to_lowercase().contains("tpmc"));
        assert!(text.contains("  mix           45/43/4/4/4       45/43/4/4/4       10/10/1/1/1\n"), "{text}");
        assert!(text.contains("   30000 rows  CREATE TABLE customer"), "{text}");
    }
}
