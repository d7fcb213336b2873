//! What is simulated, in the order of the table.

use crate::table::Row;
use crate::{explained, rounds, scaling, search, sequential, series, switchback, within};

/// Every row of the table, each from this many simulations.
pub fn rows(simulations: usize) -> Vec<Row> {
    let parts = [
        within::rows,
        series::rows,
        rounds::rows,
        scaling::rows,
        search::rows,
        sequential::rows,
        explained::rows,
        switchback::rows,
    ];
    parts.iter().flat_map(|part| part(simulations)).collect()
}
