//! How fast rows of order entry are generated: `cargo run --release -p plimsoll-workloads --example order_entry_rate`.

use plimsoll_workloads::dataset::Dataset;
use plimsoll_workloads::tpcc::TpccParameters;
use plimsoll_workloads::tpcc::load::OrderEntryData;
use std::time::Instant;

fn main() -> Result<(), plimsoll_workloads::Error> {
    let data = OrderEntryData::new(&TpccParameters::parse([("warehouses", "4")])?, 1);
    for (form, append) in [
        ("LOAD DATA", OrderEntryData::append_tsv as fn(&OrderEntryData, usize, u64, &mut Vec<u8>) -> u64),
        ("VALUES", OrderEntryData::append_values),
    ] {
        let (mut buffer, mut all_rows, mut all_seconds) = (Vec::with_capacity(1 << 20), 0, 0.0);
        for (number, table) in data.tables().into_iter().enumerate() {
            let (mut rows, mut bytes, began) = (0, 0, Instant::now());
            for id in 1..=table.ids {
                if buffer.len() > (1 << 20) - 4096 {
                    bytes += std::hint::black_box(&buffer).len();
                    buffer.clear();
                }
                rows += append(&data, number, id, &mut buffer);
            }
            bytes += buffer.len();
            buffer.clear();
            let seconds = began.elapsed().as_secs_f64();
            (all_rows, all_seconds) = (all_rows + rows, all_seconds + seconds);
            println!(
                "{form} {}: {rows} rows, {:.0} ns per row, {:.0} MB/s",
                table.name,
                seconds / rows as f64 * 1e9,
                bytes as f64 / seconds / 1e6
            );
        }
        println!("{form}: {all_rows} rows in {all_seconds:.3} s");
    }
    Ok(())
}
