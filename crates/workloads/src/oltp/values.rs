//! The values of all parameters.

use crate::distribution::DistributionName;

/// Which tables, rows and statements: those of sysbench 1.0, or those of `--test=oltp` of sysbench 0.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SysbenchLayout {
    #[default]
    Sysbench10,
    Sysbench04,
}

impl SysbenchLayout {
    pub const fn name(self) -> &'static str {
        match self {
            SysbenchLayout::Sysbench10 => "sysbench-1.0",
            SysbenchLayout::Sysbench04 => "sysbench-0.4",
        }
    }
}

/// The values of all parameters; a workload reads those that the table of parameters names for it.
#[derive(Clone, Debug, PartialEq)]
pub struct OltpParameters {
    pub layout: SysbenchLayout,
    pub tables: u64,
    pub table_size: u64,
    pub auto_inc: bool,
    pub secondary: bool,
    pub create_secondary: bool,
    pub mysql_storage_engine: String,
    pub create_table_options: String,
    pub range_size: u64,
    pub point_selects: u64,
    pub range_selects: bool,
    pub simple_ranges: u64,
    pub sum_ranges: u64,
    pub order_ranges: u64,
    pub distinct_ranges: u64,
    pub index_updates: u64,
    pub non_index_updates: u64,
    pub delete_inserts: u64,
    pub skip_trx: bool,
    pub random_points: u64,
    pub number_of_ranges: u64,
    pub delta: u64,
    pub rand_type: DistributionName,
    pub rand_spec_iter: u64,
    pub rand_spec_pct: f64,
    pub rand_spec_res: f64,
    pub rand_pareto_h: f64,
    pub rand_zipfian_exp: f64,
    /// Whether the tables were loaded with rows. Nobody types it: the data say it.
    pub filled: bool,
}

impl Default for OltpParameters {
    fn default() -> OltpParameters {
        OltpParameters {
            layout: SysbenchLayout::Sysbench10,
            tables: 1,
            table_size: 10_000,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            mysql_storage_engine: "innodb".to_owned(),
            create_table_options: String::new(),
            range_size: 100,
            point_selects: 10,
            range_selects: true,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            skip_trx: false,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            rand_type: DistributionName::Special,
            rand_spec_iter: 12,
            rand_spec_pct: 1.0,
            rand_spec_res: 75.0,
            rand_pareto_h: 0.2,
            rand_zipfian_exp: 0.8,
            filled: true,
        }
    }
}
