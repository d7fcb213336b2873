//! The statements of a workload, numbered.

use crate::statement::Statement;
use plimsoll_load::tally::Names;
use plimsoll_wire::text::Template;

/// The statements of a workload as all connections of a loop share them.
pub struct Catalogue {
    pub(crate) statements: Vec<(Statement, Template)>,
    /// Statement number to number of its name.
    pub(crate) operations: Vec<usize>,
    pub names: Names,
    pub(crate) rollback: usize,
    pub(crate) session_setup: Vec<String>,
}

impl Catalogue {
    /// `transactions` and `counters` are the names of what a workload does and counts, `session_setup` what every
    /// connection sends before it prepares `statements`.
    pub fn new(
        statements: Vec<Statement>,
        transactions: &'static [&'static str],
        counters: &'static [&'static str],
        session_setup: Vec<String>,
    ) -> Catalogue {
        let mut names: Vec<&'static str> = Vec::new();
        let mut operation = |name| match names.iter().position(|known| *known == name) {
            Some(place) => place,
            None => {
                names.push(name);
                names.len() - 1
            }
        };
        let operations = statements.iter().map(|statement| operation(statement.name)).collect();
        let rollback = operation("rollback");
        let statements = statements.into_iter().map(|statement| {
            let template = Template::new(&statement.sql);
            (statement, template)
        });
        let statements = statements.collect();
        let names = Names { transactions, statements: names, counters };
        Catalogue { statements, operations, names, rollback, session_setup }
    }

    pub fn prepared(&self) -> usize {
        self.statements.iter().filter(|(statement, _)| statement.prepared).count()
    }
}
