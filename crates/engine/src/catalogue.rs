//! The statements of a workload, numbered.

use crate::statement::Statement;
use plimsoll_load::tally::Names;
use plimsoll_model::StatementKind;
use plimsoll_wire::text::Template;

/// What a statement is called that has no kind: SET, DDL and the like.
const OTHER: &str = "other";

/// The statements of a workload as all connections of a loop share them.
pub struct Catalogue {
    pub(crate) statements: Vec<(Statement, Template)>,
    changes_data: bool,
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
        let statements: Vec<(Statement, Template)> = statements.collect();
        let changes_data = statements.iter().any(|(statement, _)| statement.kind.changes_data());
        let names = Names { transactions, statements: names, counters };
        Catalogue { statements, changes_data, operations, names, rollback, session_setup }
    }

    /// Of a workload that makes its statements as it goes, whatever they will be: they are named by their kinds.
    pub fn undeclared(transactions: &'static [&'static str], counters: &'static [&'static str]) -> Catalogue {
        let names = StatementKind::ALL.map(StatementKind::name).into_iter().chain([OTHER]).collect();
        Catalogue {
            statements: Vec::new(),
            changes_data: true,
            operations: Vec::new(),
            rollback: StatementKind::Rollback as usize,
            names: Names { transactions, statements: names, counters },
            session_setup: Vec::new(),
        }
    }

    /// The number of the name that an undeclared statement of this kind has.
    pub fn operation_of(kind: Option<StatementKind>) -> usize {
        kind.map_or(StatementKind::ALL.len(), |kind| kind as usize)
    }

    /// Whether one of them changes data, or may.
    pub fn changes_data(&self) -> bool {
        self.changes_data
    }

    /// The same where every statement is prepared; what a server cannot prepare is sent as text all the same.
    pub fn preparing_all(mut self) -> Catalogue {
        self.statements.iter_mut().for_each(|(statement, _)| statement.prepared = true);
        self
    }

    pub fn prepared(&self) -> usize {
        self.statements.iter().filter(|(statement, _)| statement.prepared).count()
    }
}
