//! The bound on the memory of all connections. It is alone in its process, because a process has one sum.

use plimsoll_wire::WireError;
use plimsoll_wire::budget::{FREE, LIMIT, Share};
use plimsoll_wire::cells::Cells;
use plimsoll_wire::response::Sink;
use plimsoll_wire::rows::TextRows;

#[test]
fn buffers_of_all_connections_have_one_bound_and_give_back_what_they_had() {
    let mut shares: Vec<Share> = (0..16).map(|_| Share::default()).collect();
    for share in &mut shares {
        share.resize(LIMIT / 16 + FREE).expect("exactly the bound");
    }
    let mut one_more = Share::default();
    one_more.resize(FREE).expect("what is free does not count");
    let refused = one_more.resize(FREE + 1).expect_err("one byte too many");
    assert_eq!(
        refused.to_string(),
        "the answers that all connections hold together reach 256 MiB, which is the limit; use fewer \
         connections, or statements with shorter answers"
    );
    shares[3].resize(0).expect("smaller is always accepted");
    one_more.resize(FREE + LIMIT / 16).expect("what another gave back");
    drop(shares);

    // Rows that are kept count as well, of load connections and of control statements.
    let row = vec![b'x'; 8 << 20];
    let mut sinks: Vec<(Cells, TextRows)> = (0..16).map(|_| (Cells::default(), TextRows::default())).collect();
    let mut kept = 0;
    let refused = (0..sinks.len()).cycle().find_map(|number| {
        kept += 2;
        let (cells, rows) = &mut sinks[number];
        cells.row(&row).and_then(|()| rows.row(&row)).err()
    });
    assert!(matches!(refused, Some(WireError::OverBudget { .. })), "{refused:?}");
    assert!(kept * row.len() <= LIMIT + 2 * row.len(), "{kept} rows");
    for (cells, rows) in &mut sinks {
        cells.clear();
        assert_eq!(cells.held(), 0, "memory is given back");
        rows.result();
    }
    one_more.resize(LIMIT + FREE).expect("all of it is there again");
}
