//! The options that sysbench has whatever the test: of 1.0, and of 1.1 where scripts and people use them. Names and
//! defaults are sysbench's; what they are for is said in our own words.

use crate::options::OptionKind::{Bool, Double, File, Int, List, Size, Text};
use crate::options::{OptionSpec, option};

pub static GENERAL: &[OptionSpec] = &[
    option("threads", Int, Some("1"), "threads, each with a connection of its own"),
    option("events", Int, Some("0"), "events of all threads together, 0 for as many as there is time for"),
    option("time", Int, Some("10"), "seconds that the test takes, 0 for as long as there are events"),
    option(
        "forced-shutdown",
        Text,
        Some("off"),
        "seconds after --time at which running events are given up; 'off' waits for them",
    ),
    option("thread-stack-size", Size, Some("64K"), "accepted: threads have no stack of their own"),
    option("thread-init-timeout", Int, Some("30"), "seconds in which all threads have to be ready"),
    option("rate", Int, Some("0"), "events per second that are due, 0 for as fast as they are answered"),
    option("report-interval", Int, Some("0"), "seconds between intermediate reports, 0 for none"),
    option(
        "report-checkpoints",
        List,
        Some(""),
        "seconds after the start at which everything is reported and counted anew",
    ),
    option("warmup-time", Int, Some("0"), "seconds before the test that count for nothing"),
    option("debug", Bool, Some("off"), "say more of what is done, and report on each thread"),
    option("validate", Bool, Some("off"), "check what can be checked"),
    option("help", Bool, Some("off"), "print this help"),
    option("version", Bool, Some("off"), "print the version"),
    option("config-file", File, None, "a file with options, one in each line"),
    option("tx-rate", Int, Some("0"), "an old name of --rate"),
    option("max-requests", Int, Some("0"), "an old name of --events"),
    option("max-time", Int, Some("0"), "an old name of --time"),
    option("num-threads", Int, Some("1"), "an old name of --threads"),
];

/// Plimsoll's own, of which scripts hear nothing.
pub static OWN: &[OptionSpec] = &[
    option("compat", Bool, Some("on"), "treat errors as sysbench does; 'off' retries and ends as 'plimsoll run' does"),
    option("recording", Bool, Some("on"), "keep what was measured, for 'plimsoll report'"),
    option("verdict", Bool, Some("off"), "say at the end what limited the run, and how sure that is"),
    option("lua-isolation", Text, Some("environment"), "what threads have of Lua for themselves {environment,state}"),
];

pub static RANDOM: &[OptionSpec] = &[
    option(
        "rand-type",
        Text,
        Some("special"),
        "distribution of random numbers {uniform,gaussian,special,pareto,zipfian}",
    ),
    option("rand-spec-iter", Int, Some("12"), "numbers whose mean is a bell-shaped one"),
    option("rand-spec-pct", Int, Some("1"), "per cent of the range that are special"),
    option("rand-spec-res", Int, Some("75"), "per cent of the numbers that lie there"),
    option("rand-seed", Int, Some("0"), "what decides all random numbers, 0 for the time"),
    option("rand-pareto-h", Double, Some("0.2"), "share of the range that gets all but this share of the numbers"),
    option("rand-zipfian-exp", Double, Some("0.8"), "exponent of the zipfian distribution"),
];

pub static LOG: &[OptionSpec] = &[
    option("verbosity", Int, Some("3"), "how much is said, from 0, only what ends the test, to 5"),
    option("percentile", Int, Some("95"), "percentile of the latencies that is reported (1-100), 0 for none"),
    option("histogram", Bool, Some("off"), "print a histogram of the latencies"),
];

pub static DATABASE: &[OptionSpec] = &[
    option("db-driver", Text, Some("mysql"), "database driver"),
    option("db-ps-mode", Text, Some("auto"), "prepared statements {auto, disable}"),
    option("db-debug", Bool, Some("off"), "accepted"),
];

pub static MYSQL: &[OptionSpec] = &[
    option("mysql-host", List, Some("localhost"), "hosts of servers"),
    option("mysql-port", List, Some("3306"), "their ports"),
    option("mysql-socket", List, None, "sockets of servers, in place of hosts"),
    option("mysql-user", Text, Some("sbtest"), "user"),
    option("mysql-password", Text, Some(""), "password; MYSQL_PWD hides it from those who list processes"),
    option("mysql-db", Text, Some("sbtest"), "database"),
    option("mysql-ssl", Text, Some("off"), "TLS {off, on, disabled, preferred, required, verify_ca, verify_identity}"),
    option("mysql-ssl-ca", Text, Some(""), "file with the authority that a certificate has to come from"),
    option("mysql-ssl-cipher", Text, Some(""), "accepted"),
    option("mysql-compression", Bool, Some("off"), "accepted: nothing is compressed"),
    option("mysql-debug", Bool, Some("off"), "accepted"),
    option("mysql-ignore-errors", List, Some("1213,1020,1205"), "errors after which an event begins again, or \"all\""),
    option("mysql-dry-run", Bool, Some("off"), "send nothing: every statement succeeds"),
];

/// Those of PostgreSQL, which scripts may read: there is no such driver.
pub static PGSQL: &[OptionSpec] = &[
    option("pgsql-host", Text, Some("localhost"), "accepted"),
    option("pgsql-port", Int, Some("5432"), "accepted"),
    option("pgsql-user", Text, Some("sbtest"), "accepted"),
    option("pgsql-password", Text, Some(""), "accepted"),
    option("pgsql-db", Text, Some("sbtest"), "accepted"),
];

/// Old names, what they are called now, and the largest value with which sysbench takes no notice of them.
pub const RENAMED: [(&str, &str, i64); 4] =
    [("num_threads", "threads", 1), ("max_requests", "events", 0), ("max_time", "time", 0), ("tx_rate", "rate", 0)];
