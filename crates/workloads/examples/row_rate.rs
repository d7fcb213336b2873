//! How fast rows are generated: `cargo run --release -p plimsoll-workloads --example row_rate`.

use plimsoll_workloads::oltp::load::SbtestRows;
use plimsoll_workloads::oltp::{OltpKind, OltpParameters};
use std::time::Instant;

fn main() -> Result<(), plimsoll_workloads::Error> {
    const ROWS: u64 = 5_000_000;
    let rows = SbtestRows::new(&OltpParameters::parse(OltpKind::ReadWrite, [("table-size", "5000000")])?, 1);
    for (name, write) in [
        ("LOAD DATA", SbtestRows::row_tsv as fn(&SbtestRows, u64, u64, &mut Vec<u8>)),
        ("VALUES", SbtestRows::row_values),
    ] {
        let (mut buffer, mut bytes) = (Vec::with_capacity(1 << 20), 0);
        let began = Instant::now();
        for id in 1..=ROWS {
            if buffer.len() > (1 << 20) - 512 {
                bytes += std::hint::black_box(&buffer).len();
                buffer.clear();
            }
            write(&rows, 1, id, &mut buffer);
        }
        let seconds = began.elapsed().as_secs_f64();
        println!("{name}: {:.0} ns per row, {:.0} MB/s", seconds / ROWS as f64 * 1e9, bytes as f64 / seconds / 1e6);
    }
    Ok(())
}
