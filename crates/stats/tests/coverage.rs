//! The simulations behind `docs/statistics.md`, with fewer of them; all of them in `make test-all`.

#[path = "../examples/coverage/explained.rs"]
mod explained;
#[path = "../examples/coverage/noise.rs"]
mod noise;
#[path = "../examples/coverage/parts.rs"]
mod parts;
#[path = "../examples/coverage/rounds.rs"]
mod rounds;
#[path = "../examples/coverage/scaling.rs"]
mod scaling;
#[path = "../examples/coverage/search.rs"]
mod search;
#[path = "../examples/coverage/sequential.rs"]
mod sequential;
#[path = "../examples/coverage/series.rs"]
mod series;
#[path = "../examples/coverage/switchback.rs"]
mod switchback;
#[path = "../examples/coverage/table.rs"]
mod table;
#[path = "../examples/coverage/within.rs"]
mod within;

use parts::rows;
use table::{Wanted, table};

/// Of so few simulations a share is known to three standard errors only; an estimator that is wrong misses by more.
#[test]
fn a_few_simulations_are_near_what_is_wanted() {
    const FEW: usize = 100;
    for row in rows(FEW) {
        let Wanted { least, most } = row.wanted;
        let three_errors = |share: f64| 3.0 * (share * (1.0 - share) / FEW as f64).sqrt();
        let (low, high) = (least - three_errors(least), most + three_errors(most));
        assert!((low..=high).contains(&row.share), "{row:?}");
    }
}

#[test]
#[ignore = "test-all: 4,000 simulations of each row"]
fn the_documented_table_is_what_the_simulations_say() {
    let rows = rows(4_000);
    let missed: Vec<_> = rows.iter().filter(|row| !row.holds()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let document = include_str!("../../../docs/statistics.md");
    let found = table(&rows, 4_000);
    assert!(document.contains(&found), "`make coverage` prints what docs/statistics.md must contain:\n{found}");
}
