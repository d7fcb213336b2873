//! `--test=oltp`: what the options of sysbench 0.4 and 0.5 are called today, and the limits that 0.4 had.

use crate::grammar::{CommandLine, TypedOption};

/// The test of 0.4 and 0.5 that no later version has.
pub const TEST: &str = "oltp";

/// Old names, and what they are called now.
const RENAMED: [(&str, &str); 9] = [
    ("num_threads", "threads"),
    ("max_requests", "events"),
    ("max_time", "time"),
    ("tx_rate", "rate"),
    ("seed_rng", "rand_seed"),
    ("oltp_dist_type", "rand_type"),
    ("oltp_dist_iter", "rand_spec_iter"),
    ("oltp_dist_pct", "rand_spec_pct"),
    ("oltp_dist_res", "rand_spec_res"),
];

/// What 0.4 and 0.5 had and nothing depends on.
const GONE: [&str; 7] = [
    "init_rng",
    "rand_init",
    "tx_jitter",
    "mysql_engine_trx",
    "oltp_connect_delay",
    "oltp_point_select_mysql_handler",
    "myisam_max_rows",
];

/// 0.4 ended after so many events, however long they took.
const LIMITS: [(&str, &str); 2] = [("events", "10000"), ("time", "0")];

/// Puts today's words for yesterday's. What is typed counts more than yesterday's limits.
pub fn translate(line: &mut CommandLine) {
    if line.test.as_deref() != Some(TEST) {
        return;
    }
    let today = |mut option: TypedOption| {
        if let Some((_, new)) = RENAMED.into_iter().find(|(old, _)| *old == option.name) {
            option.name = new.to_owned();
        }
        option
    };
    let typed = std::mem::take(&mut line.options).into_iter().filter(|option| !GONE.contains(&option.name.as_str()));
    let limits = LIMITS.map(|(name, value)| TypedOption {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        word: format!("--{name}={value}"),
    });
    line.options = limits.into_iter().chain(typed.map(today)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_words_mean_what_they_meant() {
        let words =
            ["--test=oltp", "--num-threads=4", "--max-time=60", "--oltp-dist-type=uniform", "--init-rng", "run"];
        let mut line = CommandLine::parse(&words.map(str::to_owned)).unwrap();
        line.take_old_test();
        translate(&mut line);
        let told: Vec<(&str, Option<&str>)> =
            line.options.iter().map(|option| (option.name.as_str(), option.value.as_deref())).collect();
        let expected = [("events", "10000"), ("time", "0"), ("threads", "4"), ("time", "60"), ("rand_type", "uniform")];
        assert_eq!(told, expected.map(|(name, value)| (name, Some(value))));
    }
}
