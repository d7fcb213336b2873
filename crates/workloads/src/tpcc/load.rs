//! The rows of clause 4.3.3.1: each a pure function of (seed, table set, table, id, load date), so that any thread can
//! make any chunk again after a kill.

use super::choices::Profile;
use super::parameters::TpccParameters;
use super::procedures;
use super::random::{Constants, CustomerPermutation, ITEMS, NAMES, NuRand, append_last_name};
use super::schema::{Entity, TpccSchema};
use super::strings::{append_a_string, append_data, append_decimal, append_letters, append_n_string, append_zip};
use crate::dataset::{Dataset, DatasetTable, Routine};
use crate::digits::append_integer;
use crate::oltp::load::INFILE;
use plimsoll_load::seed::Rng;
use plimsoll_model::NamedScalars;

/// The family of data in the marker.
pub const FAMILY: &str = "tpcc";
/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Customers, and loaded orders, of a district.
pub const CUSTOMERS: u64 = super::random::CUSTOMERS;
/// The first loaded order that is not delivered.
pub const FIRST_NEW_ORDER: u64 = 2_101;
/// Loaded orders of a district that are not delivered.
pub const NEW_ORDERS: u64 = CUSTOMERS + 1 - FIRST_NEW_ORDER;
/// Lines of an order and of its partner together; each has 5 to 15.
const LINES_OF_TWO: u64 = 20;

const CENTS: i64 = 100;

/// Keeps the streams of rows apart from all others: "tpcc" in ASCII.
const ROW_STREAMS: u64 = 0x7470_6363 << 32;
/// Stands in the place of a table in the streams of a set.
const PERMUTATIONS: u64 = 0xff;
/// The space of an empty table, and of the extents that a growing one takes in advance.
const TABLE_BYTES: u64 = 8 << 20;

/// The data of one workload, in the form that the loader needs.
#[derive(Clone, Debug)]
pub struct OrderEntryData {
    parameters: TpccParameters,
    schema: TpccSchema,
    rows: Rows,
}

impl OrderEntryData {
    pub fn new(parameters: &TpccParameters, seed: u64) -> OrderEntryData {
        OrderEntryData {
            parameters: parameters.clone(),
            schema: TpccSchema::new(parameters),
            rows: Rows::new(parameters, seed),
        }
    }

    fn table(&self, entity: Entity, set: u64) -> DatasetTable {
        let (name, columns) = (self.schema.table_name(entity, set), self.schema.column_list(entity));
        let ids = ids(entity, self.parameters.warehouses);
        let rows = if entity == Entity::OrderLine { ids * LINES_OF_TWO / 2 } else { ids };
        let after = self.schema.indexes(entity, set);
        let (row_bytes, entry_bytes) = row_bytes(entity);
        DatasetTable {
            create: self.schema.create_table(entity, set),
            before: Vec::new(),
            ids,
            rows,
            chunk: chunk(entity),
            rolls_back: true,
            doubles: None,
            bytes: rows * (row_bytes + entry_bytes * after.len() as u64) + TABLE_BYTES,
            // A value contains nothing to escape; the escape is there for \N.
            load_data: format!(
                "LOAD DATA LOCAL INFILE '{INFILE}' INTO TABLE {name} CHARACTER SET utf8mb4 \
                 FIELDS TERMINATED BY 0x09 ESCAPED BY 0x5C LINES TERMINATED BY 0x0A ({columns})"
            ),
            insert: format!("INSERT INTO {name} ({columns}) VALUES "),
            after,
            name,
        }
    }

    /// Which table of which set a loader's number means.
    fn locate(table: usize) -> (Entity, u64) {
        let count = Entity::ALL.len();
        (Entity::ALL[table % count], (table / count) as u64 + 1)
    }
}

impl Dataset for OrderEntryData {
    fn family(&self) -> &'static str {
        FAMILY
    }

    fn parameters(&self) -> NamedScalars {
        self.parameters.printable_data()
    }

    fn seed(&self) -> u64 {
        self.rows.seed
    }

    fn tables(&self) -> Vec<DatasetTable> {
        let of_set = |set| Entity::ALL.map(|entity| self.table(entity, set));
        self.schema.sets().flat_map(of_set).collect()
    }

    fn routines(&self) -> Vec<Routine> {
        procedures::routines(&self.parameters)
    }

    fn after_all(&self) -> Vec<String> {
        self.schema.sets().flat_map(|set| self.schema.foreign_keys(set)).collect()
    }

    fn append_tsv(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        let (entity, set) = OrderEntryData::locate(table);
        self.rows.append::<false>(entity, set, id, out)
    }

    fn append_values(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        let (entity, set) = OrderEntryData::locate(table);
        self.rows.append::<true>(entity, set, id, out)
    }
}

/// The ids of a table; those of orders stand for order_line too.
fn ids(entity: Entity, warehouses: u64) -> u64 {
    match entity {
        Entity::Item => ITEMS,
        Entity::Warehouse => warehouses,
        Entity::District => warehouses * DISTRICTS,
        Entity::Stock => warehouses * ITEMS,
        Entity::NewOrder => warehouses * DISTRICTS * NEW_ORDERS,
        Entity::Customer | Entity::History | Entity::Orders | Entity::OrderLine => warehouses * DISTRICTS * CUSTOMERS,
    }
}

/// Ids of one chunk: about 30,000 rows, so that commits cost nothing and a kill loses little.
fn chunk(entity: Entity) -> u64 {
    match entity {
        Entity::Warehouse => 1_000,
        Entity::District => 1_000 * DISTRICTS,
        Entity::OrderLine => CUSTOMERS,
        Entity::NewOrder => DISTRICTS * NEW_ORDERS,
        Entity::Customer | Entity::History | Entity::Orders => DISTRICTS * CUSTOMERS,
        Entity::Stock | Entity::Item => ITEMS / 2,
    }
}

/// The space that InnoDB takes for a row and for its entry in each secondary index, measured on both flavours, rounded
/// up.
fn row_bytes(entity: Entity) -> (u64, u64) {
    match entity {
        Entity::Warehouse | Entity::District => (1_000, 0),
        Entity::Customer => (660, 65),
        Entity::History => (100, 30),
        Entity::NewOrder => (50, 0),
        Entity::Orders => (65, 30),
        Entity::OrderLine => (92, 28),
        Entity::Item => (105, 0),
        Entity::Stock => (380, 20),
    }
}

/// Makes rows.
#[derive(Clone, Debug)]
struct Rows {
    seed: u64,
    /// The constant C of last names.
    names: NuRand,
    load_date: String,
    history_id: bool,
    /// Digits after the point of taxes and discounts.
    rate_scale: u32,
}

/// One row in the making: as a line for LOAD DATA, or as a list for INSERT. Every field ends in a separator, and the
/// last of them becomes the end of the row.
struct Row<'a, const VALUES: bool> {
    out: &'a mut Vec<u8>,
}

impl<'a, const VALUES: bool> Row<'a, VALUES> {
    #[inline]
    fn begin(out: &'a mut Vec<u8>) -> Row<'a, VALUES> {
        if VALUES {
            out.push(b'(');
        }
        Row { out }
    }

    #[inline]
    fn plain(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(self.out);
        self.out.push(if VALUES { b',' } else { b'\t' });
    }

    #[inline]
    fn text(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        self.plain(|out| {
            if VALUES {
                out.push(b'\'');
            }
            append(out);
            if VALUES {
                out.push(b'\'');
            }
        });
    }

    #[inline]
    fn word(&mut self, text: &str) {
        self.text(|out| out.extend_from_slice(text.as_bytes()));
    }

    #[inline]
    fn integer(&mut self, value: u64) {
        self.plain(|out| append_integer(value as i64, out));
    }

    #[inline]
    fn decimal(&mut self, units: i64, scale: u32) {
        self.plain(|out| append_decimal(units, scale, out));
    }

    #[inline]
    fn null(&mut self) {
        self.plain(|out| out.extend_from_slice(if VALUES { b"NULL" } else { b"\\N" }));
    }

    #[inline]
    fn a_string(&mut self, low: u64, high: u64, rng: &mut Rng) {
        self.text(|out| append_a_string(low, high, rng, out));
    }

    /// Two streets, city, state and zip code (clause 4.3.2.7 for the last).
    #[inline]
    fn address(&mut self, rng: &mut Rng) {
        for _ in 0..3 {
            self.a_string(10, 20, rng);
        }
        self.text(|out| append_letters(2, rng, out));
        self.text(|out| append_zip(rng, out));
    }

    #[inline]
    fn end(self) {
        if let Some(last) = self.out.last_mut() {
            *last = if VALUES { b')' } else { b'\n' };
        }
    }
}

/// Where a row belongs: its warehouse, its district, and its number there.
#[derive(Clone, Copy)]
struct Place {
    w: u64,
    d: u64,
    number: u64,
}

/// The place of an id, where each district has `per_district` of them.
#[inline]
fn place(id: u64, per_district: u64) -> Place {
    let (district, number) = ((id - 1) / per_district, (id - 1) % per_district + 1);
    Place { w: district / DISTRICTS + 1, d: district % DISTRICTS + 1, number }
}

impl Rows {
    fn new(parameters: &TpccParameters, seed: u64) -> Rows {
        Rows {
            seed,
            names: Constants::of_load(seed).last_names(),
            load_date: parameters.load_date.clone(),
            history_id: TpccSchema::new(parameters).has_history_id(),
            rate_scale: if parameters.profile == Profile::Sysbench { 2 } else { 4 },
        }
    }

    /// Appends the rows of an id, with commas between them; returns their number.
    #[inline]
    fn append<const VALUES: bool>(&self, entity: Entity, set: u64, id: u64, out: &mut Vec<u8>) -> u64 {
        if entity == Entity::OrderLine {
            return self.order_lines::<VALUES>(set, id, out);
        }
        let row = Row::<VALUES>::begin(out);
        match entity {
            Entity::Warehouse => self.warehouse(row, set, id),
            Entity::District => self.district(row, set, id),
            Entity::Customer => self.customer(row, set, id),
            Entity::History => self.history(row, set, id),
            Entity::NewOrder => self.new_order(row, id),
            Entity::Orders => self.order(row, set, id),
            Entity::Item => self.item(row, set, id),
            Entity::Stock | Entity::OrderLine => self.stock(row, set, id),
        }
        1
    }

    #[inline]
    fn rng(&self, entity: Entity, set: u64, id: u64) -> Rng {
        Rng::new(self.seed, ROW_STREAMS | set << 8 | entity as u64, id)
    }

    /// A tax or a discount: from 0 to so many hundredths.
    #[inline]
    fn rate<const VALUES: bool>(&self, row: &mut Row<'_, VALUES>, hundredths: u64, rng: &mut Rng) {
        let units = rng.between(0, hundredths * 10u64.pow(self.rate_scale - 2));
        row.decimal(units as i64, self.rate_scale);
    }

    fn warehouse<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, set: u64, id: u64) {
        let rng = &mut self.rng(Entity::Warehouse, set, id);
        row.integer(id);
        row.a_string(6, 10, rng);
        row.address(rng);
        self.rate(&mut row, 20, rng);
        row.decimal(300_000 * CENTS, 2);
        row.end();
    }

    fn district<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, set: u64, id: u64) {
        let rng = &mut self.rng(Entity::District, set, id);
        let Place { w, d, .. } = place(id, 1);
        row.integer(d);
        row.integer(w);
        row.a_string(6, 10, rng);
        row.address(rng);
        self.rate(&mut row, 20, rng);
        row.decimal(30_000 * CENTS, 2);
        row.integer(CUSTOMERS + 1);
        row.end();
    }

    fn customer<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, set: u64, id: u64) {
        let rng = &mut self.rng(Entity::Customer, set, id);
        let Place { w, d, number: c } = place(id, CUSTOMERS);
        row.integer(c);
        row.integer(d);
        row.integer(w);
        row.a_string(8, 16, rng);
        row.word("OE");
        // The first thousand have a name each.
        let name = if c <= NAMES { c - 1 } else { self.names.draw(rng) };
        row.text(|out| append_last_name(name, out));
        row.address(rng);
        row.text(|out| append_n_string(16, rng, out));
        row.word(&self.load_date);
        row.word(if rng.between(1, 10) == 1 { "BC" } else { "GC" });
        row.integer(50_000);
        self.rate(&mut row, 50, rng);
        row.decimal(-10 * CENTS, 2);
        row.decimal(10 * CENTS, 2);
        row.integer(1);
        row.integer(0);
        row.a_string(300, 500, rng);
        row.end();
    }

    fn history<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, set: u64, id: u64) {
        let rng = &mut self.rng(Entity::History, set, id);
        let Place { w, d, number: c } = place(id, CUSTOMERS);
        if self.history_id {
            row.integer(id);
        }
        for part in [c, d, w, d, w] {
            row.integer(part);
        }
        row.word(&self.load_date);
        row.decimal(10 * CENTS, 2);
        row.a_string(12, 24, rng);
        row.end();
    }

    fn new_order<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, id: u64) {
        let Place { w, d, number } = place(id, NEW_ORDERS);
        row.integer(number + FIRST_NEW_ORDER - 1);
        row.integer(d);
        row.integer(w);
        row.end();
    }

    /// Lines of an order. Order o and order 3001 - o have 20 together: each is random in 5..=15, and still every
    /// district has 30,000 (clause 1.2.1), so that a load knows its rows.
    #[inline]
    fn lines(&self, set: u64, id: u64) -> u64 {
        let Place { number: o, .. } = place(id, CUSTOMERS);
        let partner = id - o + (CUSTOMERS + 1 - o);
        let lines = self.rng(Entity::Orders, set, id.min(partner)).between(5, 15);
        if id < partner { lines } else { LINES_OF_TWO - lines }
    }

    /// Which customer of a district has which of its orders.
    #[inline]
    fn customers_of_orders(&self, set: u64, w: u64, d: u64) -> CustomerPermutation {
        CustomerPermutation::new(Rng::new(self.seed, ROW_STREAMS | set << 8 | PERMUTATIONS, w * DISTRICTS + d))
    }

    fn order<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, set: u64, id: u64) {
        let rng = &mut self.rng(Entity::Orders, set, id);
        let Place { w, d, number: o } = place(id, CUSTOMERS);
        // The first draw of an order is for its lines.
        rng.next_u64();
        row.integer(o);
        row.integer(d);
        row.integer(w);
        row.integer(self.customers_of_orders(set, w, d).at(o));
        row.word(&self.load_date);
        if o < FIRST_NEW_ORDER {
            row.integer(rng.between(1, 10))
        } else {
            row.null()
        }
        row.integer(self.lines(set, id));
        row.integer(1);
        row.end();
    }

    fn order_lines<const VALUES: bool>(&self, set: u64, id: u64, out: &mut Vec<u8>) -> u64 {
        let rng = &mut self.rng(Entity::OrderLine, set, id);
        let Place { w, d, number: o } = place(id, CUSTOMERS);
        let lines = self.lines(set, id);
        for line in 1..=lines {
            if VALUES && line > 1 {
                out.push(b',');
            }
            let mut row = Row::<VALUES>::begin(out);
            for part in [o, d, w, line, rng.between(1, ITEMS), w] {
                row.integer(part);
            }
            if o < FIRST_NEW_ORDER {
                row.word(&self.load_date)
            } else {
                row.null()
            }
            row.integer(5);
            let cents = if o < FIRST_NEW_ORDER { 0 } else { rng.between(1, 999_999) };
            row.decimal(cents as i64, 2);
            row.text(|out| append_letters(24, rng, out));
            row.end();
        }
        lines
    }

    fn item<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, set: u64, id: u64) {
        let rng = &mut self.rng(Entity::Item, set, id);
        row.integer(id);
        row.integer(rng.between(1, 10_000));
        row.a_string(14, 24, rng);
        row.decimal(rng.between(100, 10_000) as i64, 2);
        row.text(|out| append_data(rng, out));
        row.end();
    }

    fn stock<const VALUES: bool>(&self, mut row: Row<'_, VALUES>, set: u64, id: u64) {
        let rng = &mut self.rng(Entity::Stock, set, id);
        row.integer((id - 1) % ITEMS + 1);
        row.integer((id - 1) / ITEMS + 1);
        row.integer(rng.between(10, 100));
        for _ in 0..DISTRICTS {
            row.text(|out| append_letters(24, rng, out));
        }
        for _ in 0..3 {
            row.integer(0);
        }
        row.text(|out| append_data(rng, out));
        row.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: [&str; 10] = [
        "1\tC7mYlFHoB\ttSV4rr5hmm42\tpoKdy2uQ3IyonF\t23UFl1R0NM\tna\t108611111\t0.0620\t300000.00",
        "2\t2\tEijRvx\taVSQPVg7Y79nk3COfi5\t9vsRRfnkaAx\tUXAAav6HnrkZhrhnH5\tqt\t049911111\t0.1330\t30000.00\t3001",
        "372\t2\t1\tQ7FdNhN4SAFYf65F\tOE\tPRICALLYOUGHT\ttcH73aZIxU\t3IrIUC2gtl4daJT\tNf5DR9wqQT5y29U10i\trw\t556811111\t5708934972249054\t2026-01-01\tGC\t50000\t0.2232\t-10.0",
        "1\t1\t2\t1\t2\t2026-01-01\t10.00\tics5svvUWMLq",
        "2101\t2\t1",
        "2100\t1\t1\t2923\t2026-01-01\t4\t7\t1",
        "2101\t1\t1\t651\t2026-01-01\t\\N\t14\t1",
        "3000\t2\t1\t1\t71156\t1\t\\N\t5\t1498.79\tn8YWkbO0XZyirIHftfXpqtwC",
        "100000\t8114\trPtsW4thvaGiJdueXTBIkdY\t37.06\tgrZgJl7wq51SNTnoVJDaKIBG8kCa6EDatA1rePn9oDBw7VUL",
        "1\t2\t10\t8gpmmoBnVKQ9EI7cVHINZVhe\tpzkL95VF32yllbFPI4liQ5wY\tLSsb2KNuiT39VHDkTE2tn25P\teoZc0xrYg9ibSz2iJlmMQOMh\tVEfXRPmYYdDRFObmDZnuaTwD\ttrIHAprkpEoYHUs6Yq",
    ];

    fn data(pairs: &[(&str, &str)], seed: u64) -> OrderEntryData {
        OrderEntryData::new(&TpccParameters::parse(pairs.iter().copied()).expect("accepted"), seed)
    }

    /// The number of a table of the first set.
    fn number(entity: Entity) -> usize {
        Entity::ALL.iter().position(|other| *other == entity).expect("one of them")
    }

    fn tsv(data: &OrderEntryData, entity: Entity, id: u64) -> String {
        let mut out = Vec::new();
        let rows = data.append_tsv(number(entity), id, &mut out);
        let text = String::from_utf8(out).expect("ASCII");
        assert_eq!(text.lines().count() as u64, rows);
        text
    }

    /// The fields of the one row of an id.
    fn fields(data: &OrderEntryData, entity: Entity, id: u64) -> Vec<String> {
        tsv(data, entity, id).trim_end_matches('\n').split('\t').map(str::to_owned).collect()
    }

    #[test]
    fn golden_rows_pin_the_data_of_seed_1() {
        let data = data(&[], 1);
        let rows = [
            (Entity::Warehouse, 1),
            (Entity::District, 12),
            (Entity::Customer, 3_372),
            (Entity::History, 30_001),
            (Entity::NewOrder, 901),
            (Entity::Orders, 2_100),
            (Entity::Orders, 2_101),
            (Entity::OrderLine, 6_000),
            (Entity::Item, 100_000),
            (Entity::Stock, 100_001),
        ];
        // Of several lines the first; of a long one its beginning.
        let beginning = |text: String| text.lines().next().map(|line| line.chars().take(150).collect::<String>());
        let found: Vec<String> =
            rows.into_iter().filter_map(|(entity, id)| beginning(tsv(&data, entity, id))).collect();
        assert_eq!(found, GOLDEN);
    }

    #[test]
    fn both_forms_hold_the_same_rows() {
        for pairs in [&[("history-pk", "auto")][..], &[("profile", "sysbench")]] {
            let data = data(pairs, 42);
            for (table, entity) in Entity::ALL.into_iter().enumerate() {
                let is_text = |column: &crate::oltp::schema::SchemaColumn| {
                    column.characters.is_some() || ["text", "datetime"].contains(&column.data_type)
                };
                let columns = data.schema.columns(entity);
                for id in [1, 2_101, 3_000, 9_000].map(|id: u64| id.min(data.tables()[table].ids)) {
                    let value = |(field, column): (&str, &crate::oltp::schema::SchemaColumn)| match field {
                        "\\N" => "NULL".to_owned(),
                        text if is_text(column) => format!("'{text}'"),
                        number => number.to_owned(),
                    };
                    let list = |line: &str| {
                        assert_eq!(line.split('\t').count(), columns.len(), "{line}");
                        format!("({})", line.split('\t').zip(&columns).map(value).collect::<Vec<_>>().join(","))
                    };
                    let expected = tsv(&data, entity, id).lines().map(list).collect::<Vec<_>>().join(",");
                    let mut values = Vec::new();
                    data.append_values(table, id, &mut values);
                    assert_eq!(String::from_utf8(values).expect("ASCII"), expected);
                }
            }
        }
    }

    #[test]
    fn rows_depend_on_seed_set_and_id_and_not_on_how_much_is_loaded() {
        let pairs = [("profile", "sysbench"), ("tables", "2")];
        let two_sets = data(&pairs, 7);
        let one = tsv(&data(&[("profile", "sysbench"), ("warehouses", "9")], 7), Entity::Customer, 5);
        assert_eq!(tsv(&two_sets, Entity::Customer, 5), one);
        assert_ne!(tsv(&data(&pairs, 8), Entity::Customer, 5), one);
        let mut second = Vec::new();
        two_sets.append_tsv(number(Entity::Customer) + Entity::ALL.len(), 5, &mut second);
        assert_ne!(String::from_utf8(second).expect("ASCII"), one);
        let dated = tsv(&data(&[("profile", "sysbench"), ("load-date", "1999-12-31")], 7), Entity::Customer, 5);
        assert_eq!(dated, one.replace("2026-01-01", "1999-12-31"));
    }

    #[test]
    fn tables_have_the_rows_of_the_specification() {
        let data = data(&[("profile", "sysbench"), ("warehouses", "3"), ("tables", "2")], 1);
        let tables = data.tables();
        let rows: Vec<u64> = tables.iter().map(|table| table.rows).collect();
        assert_eq!(rows[..9], [3, 30, 90_000, 90_000, 27_000, 90_000, 900_000, 100_000, 300_000]);
        assert_eq!(rows[9..], rows[..9]);
        assert_eq!((tables[13].name.as_str(), tables[13].ids), ("new_orders2", 27_000));
        assert_eq!(data.after_all().len(), 20);
        for table in &tables {
            let of_warehouse = table.ids / if table.name.starts_with("item") { 1 } else { 3 };
            assert!(of_warehouse % table.chunk == 0 || table.ids <= table.chunk, "{}", table.name);
            assert!(table.chunk * table.rows / table.ids <= 50_000, "{}", table.name);
        }
    }

    #[test]
    fn orders_and_lines_of_a_district_belong_together() {
        let data = data(&[], 3);
        let (mut lines, mut customers, mut carriers) = (Vec::new(), Vec::new(), [0; 11]);
        for id in 3_001..=6_000u64 {
            let order = fields(&data, Entity::Orders, id);
            let o = id - 3_000;
            assert_eq!((order[0].as_str(), order[1].as_str(), order[2].as_str()), (o.to_string().as_str(), "2", "1"));
            customers.push(order[3].parse::<u64>().expect("number"));
            let delivered = order[5] != "\\N";
            assert_eq!(delivered, o < 2_101);
            carriers[order[5].parse().unwrap_or(0)] += 1;
            let text = tsv(&data, Entity::OrderLine, id);
            assert_eq!(text.lines().count().to_string(), order[6]);
            for line in text.lines() {
                let line: Vec<&str> = line.split('\t').collect();
                assert_eq!((line[0], line[1], line[2], line[5]), (order[0].as_str(), "2", "1", "1"));
                assert_eq!((line[6] != "\\N", line[8] == "0.00", line[7]), (delivered, delivered, "5"));
            }
            lines.push(text.lines().count() as u64);
        }
        assert_eq!(lines.iter().sum::<u64>(), 30_000);
        for length in 5..=15 {
            let count = lines.iter().filter(|lines| **lines == length).count();
            // 273 with a standard deviation of 22 (orders come in pairs).
            assert!((180..370).contains(&count), "{count} orders of {length} lines");
        }
        assert!(carriers[1..].iter().all(|count| (140..280).contains(count)), "{carriers:?}");
        customers.sort_unstable();
        assert!(customers.into_iter().eq(1..=3_000));
    }

    #[test]
    fn customers_have_names_and_credits_in_their_shares() {
        let data = data(&[], 9);
        let mut counts = std::collections::BTreeMap::<String, u64>::new();
        let (mut bad, mut discounts) = (0, 0.0);
        for id in 1..=30_000 {
            let customer = fields(&data, Entity::Customer, id);
            let name = customer[5].clone();
            if (id - 1) % 3_000 < 1_000 {
                let mut expected = Vec::new();
                append_last_name((id - 1) % 3_000, &mut expected);
                assert_eq!(name.as_bytes(), expected);
            } else {
                *counts.entry(name).or_default() += 1;
            }
            bad += u64::from(customer[13] == "BC");
            discounts += customer[15].parse::<f64>().expect("number");
            assert!((300..=500).contains(&customer[20].len()));
            assert_eq!(customer[16..20], ["-10.00", "10.00", "1", "0"]);
        }
        // 3000 with a standard deviation of 52; the mean of a uniform rate is a quarter.
        assert!((2_750..3_250).contains(&bad), "{bad}");
        assert!((discounts / 30_000.0 - 0.25).abs() < 0.01);
        // The hottest tenth of the names has 54.2 % of the 20,000 that are drawn.
        let mut by_count: Vec<u64> = counts.into_values().collect();
        by_count.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let share = by_count[..100].iter().sum::<u64>() as f64 / 20_000.0;
        assert!((0.53..0.57).contains(&share), "{share}");
    }

    #[test]
    fn numbers_of_items_and_stock_stay_in_their_ranges() {
        let data = data(&[], 2);
        let (mut originals, mut low, mut high) = (0, 100, 0);
        for id in 1..=20_000 {
            let stock = fields(&data, Entity::Stock, 100_000 + id);
            assert_eq!((stock[0].as_str(), stock[1].as_str()), (id.to_string().as_str(), "2"));
            let quantity = stock[2].parse().expect("number");
            (low, high) = (low.min(quantity), high.max(quantity));
            assert!(stock[3..13].iter().all(|dist| dist.len() == 24));
            originals += u32::from(stock[16].contains("ORIGINAL"));
            let item = fields(&data, Entity::Item, id);
            let price: f64 = item[3].parse().expect("number");
            assert!((1.0..=100.0).contains(&price) && (14..=24).contains(&item[2].len()));
        }
        assert_eq!((low, high), (10, 100));
        // 2000 with a standard deviation of 42.
        assert!((1_800..2_200).contains(&originals), "{originals}");
    }

    #[test]
    fn rates_have_the_digits_of_their_column() {
        for (pairs, digits) in [(&[][..], 4), (&[("profile", "sysbench")], 2)] {
            let data = data(pairs, 4);
            for id in 1..=200 {
                let tax = fields(&data, Entity::Warehouse, id)[7].clone();
                assert_eq!(tax.split_once('.').map(|(_, digits)| digits.len()), Some(digits));
                assert!((0.0..=0.2).contains(&tax.parse::<f64>().expect("number")), "{tax}");
            }
        }
    }
}
