//! The tables of a lab.

use crate::comparison::{self, interval_cell, metric, rows_table};
use crate::interval::Measured;
use crate::table::{Column, Table};
use plimsoll_model::Estimate;
use plimsoll_model::comparison::Row;
use plimsoll_model::lab::{Cell, Ladder, LadderStep, LoadLine, VariantComparison};
use plimsoll_model::number::signed_percent;
use plimsoll_model::number::{NOTHING, short};

/// By variant and load point. A column without any value is left out.
pub fn cells(cells: &[Cell]) -> Table {
    let words = |of: fn(&Cell) -> String| cells.iter().map(of).collect::<Vec<_>>();
    let mut columns = vec![
        Column::words("variant", words(|cell| cell.variant.clone())),
        Column::numbers("connections", "", words(|cell| cell.load.connections.to_string())),
    ];
    if cells.iter().any(|cell| cell.load.rate.is_some()) {
        let offered = words(|cell| cell.load.rate.map_or(NOTHING.to_owned(), short));
        columns.push(Column::numbers("offered", "1/s", offered));
    }
    columns.push(Column::numbers("rounds", "", words(|cell| cell.rounds.to_string())));
    if cells.iter().any(|cell| cell.failed > 0) {
        columns.push(Column::numbers("failed", "", words(|cell| cell.failed.to_string())));
    }
    let measured = |name: &str, unit: &str, most_decimals: usize, of: fn(&Cell) -> &Option<Estimate>| {
        let values: Vec<Measured> =
            cells.iter().map(|cell| of(cell).as_ref().map(Measured::from).unwrap_or_default()).collect();
        let is_known = values.iter().any(|value| value.value.is_some());
        is_known.then(|| Column::measured(name, unit, most_decimals, &values))
    };
    // New orders say enough, and there is no room for both.
    let orders = measured("new orders", "1/min", 1, |cell| &cell.nopm);
    columns.extend(orders.or_else(|| measured("transactions", "1/s", 1, |cell| &cell.transactions_per_second)));
    columns.extend(measured("p99", "ms", 2, |cell| &cell.p99_ms));
    let cpu = measured("server CPU", "µs/txn", 0, |cell| &cell.server_cpu_us_per_transaction);
    columns.extend(cpu.map(Column::narrow));
    columns.extend(measured("recovery", "s", 1, |cell| &cell.recovery_seconds).map(Column::narrow));
    Table::new(columns)
}

pub fn comparison(comparison: &VariantComparison) -> Table {
    rows_table(&comparison.a, &comparison.b, &comparison.rows.iter().collect::<Vec<&Row>>())
}

/// Rung by rung: what each brought, and what it is worth at the end, on top of everything that was kept.
pub fn ladder(ladder: &Ladder) -> Table {
    let cells = |of: fn(&LadderStep) -> String| ladder.steps.iter().map(of).collect::<Vec<_>>();
    let unit = metric(ladder.metric);
    Table::new(vec![
        Column::words("rung", cells(|step| step.rung.clone())),
        Column::words("verdict", cells(|step| step.verdict.words().to_owned())),
        Column::numbers("without", unit, cells(|step| step.without.map_or(String::new(), short))),
        Column::numbers("with", "", cells(|step| step.with.map_or(String::new(), short))),
        changes("change", ladder, |step| &step.change),
        Column::numbers(
            "interval",
            &confidence(ladder),
            cells(|s| s.change.as_ref().map_or(String::new(), interval_cell)),
        ),
        changes("at the end", ladder, |step| &step.worth),
    ])
}

/// Changes as people read them, and as numbers in percent for programs; empty if nothing was compared.
fn changes(name: &str, ladder: &Ladder, of: fn(&LadderStep) -> &Option<Estimate>) -> Column {
    let text = |change: &Estimate| signed_percent(change.value).trim_end_matches(" %").to_owned();
    let cell = |change: &Option<Estimate>| change.as_ref().map_or(String::new(), text);
    let in_percent =
        |change: &Option<Estimate>| change.as_ref().map(|of| Measured::from(&of.scaled(100.0))).unwrap_or_default();
    let cells = ladder.steps.iter().map(|step| cell(of(step))).collect();
    let values = ladder.steps.iter().map(|step| in_percent(of(step))).collect();
    Column { of: values, ..Column::numbers(name, "%", cells) }
}

/// `98.3 %`: the confidence of all changes of a ladder.
fn confidence(ladder: &Ladder) -> String {
    let change = ladder.steps.iter().find_map(|step| step.change.as_ref());
    change.map_or(String::new(), |change| format!("{} %", comparison::confidence(change)))
}

pub fn load_lines(lines: &[LoadLine]) -> Table {
    let cells = |of: fn(&LoadLine) -> String| lines.iter().map(of).collect::<Vec<_>>();
    let rates: Vec<Measured> =
        lines.iter().map(|line| line.rate.as_ref().map(Measured::from).unwrap_or_default()).collect();
    Table::new(vec![
        Column::words("variant", cells(|line| line.variant.clone())),
        Column::numbers("connections", "", cells(|line| line.connections.to_string())),
        Column::words("objective", cells(|line| line.objective.clone())),
        Column::measured("load line", "1/s", 1, &rates),
        Column::numbers("tried", "rates", cells(|line| line.tried.len().to_string())),
        Column::numbers("confirmed", "", cells(confirmed)),
    ])
}

/// `2 of 3` trials at the lower end of the line met the objective.
fn confirmed(line: &LoadLine) -> String {
    let confirmations = || line.tried.iter().filter(|tried| tried.confirmation);
    match confirmations().count() {
        0 => NOTHING.to_owned(),
        all => format!("{} of {all}", confirmations().filter(|tried| tried.kept).count()),
    }
}
