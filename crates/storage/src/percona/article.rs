//! The figures, as the article prints them and in its order.

use super::Of;

/// One printed figure.
pub struct Figure {
    /// The number of the run that measures it here, from 1.
    pub run: usize,
    /// What it is of, if not that run.
    pub of: Option<&'static str>,
    pub metric: &'static str,
    pub unit: &'static str,
    pub published: &'static str,
    pub measure: Measure,
}

/// How a figure follows from a probe.
pub enum Measure {
    Requests,
    /// Requests per second in thousands, as the author rounds them.
    Thousands,
    Events,
    Data,
    Throughput,
    Seconds,
    TimeLimit,
    InEvents,
    Latency(Of),
    Milliseconds(Of),
    EventsPerThread,
    TimePerThread,
    /// How many times the rate of another run.
    TimesOf(usize),
    /// The mean of a value of the host during the run, by its name in [`plimsoll_model::io::Probe::found`].
    Host(&'static str),
    /// A parameter, divided by a unit, with what is printed behind it.
    Parameter(&'static str, f64, &'static str),
    FileSize,
    /// Cannot be measured, and why.
    Not(&'static str),
}

const SMALL_READ: usize = 1;
const SMALL_READ_64: usize = 2;
const THROUGH: usize = 3;
const THROUGH_64: usize = 4;
const THROUGH_64_FILES: usize = 5;
const BACK: usize = 6;
const BACK_64: usize = 7;
const BACK_64_FILES: usize = 8;
const LARGE_READ: usize = 9;
const LARGE_READ_64: usize = 10;
const LARGE_WRITE: usize = 11;
const LARGE_WRITE_64: usize = 12;

const PER_SECOND: &str = "1/s";
const HARDWARE: &str = "the hardware behind a block device is not told";
const CACHES: &str = "caches below a block device are not told; the cache map of the other suites looks for them";
const BY_TIME: &str = "runs end by time alone";
const UNUSED: &str = "printed, but of no effect: no run mixes reads and writes";
const SERVER_MEMORY: &str = "memory is not kept per second: no run works in the page cache";

const fn figure(
    run: usize,
    metric: &'static str,
    unit: &'static str,
    published: &'static str,
    measure: Measure,
) -> Figure {
    Figure { run, of: None, metric, unit, published, measure }
}

/// The rate, which the article calls the one number that is important.
const fn rate(run: usize, published: &'static str) -> Figure {
    figure(run, "requests", PER_SECOND, published, Measure::Requests)
}

const fn latency(run: usize, metric: &'static str, published: &'static str, of: Of) -> Figure {
    figure(run, metric, "s", published, Measure::Latency(of))
}

/// What the article says of its machine.
const fn machine(metric: &'static str, unit: &'static str, published: &'static str, why: &'static str) -> Figure {
    Figure { run: 0, of: Some("machine"), metric, unit, published, measure: Measure::Not(why) }
}

/// A column of vmstat: all samples that are printed.
const fn vmstat(
    run: usize,
    metric: &'static str,
    unit: &'static str,
    published: &'static str,
    name: &'static str,
) -> Figure {
    figure(run, metric, unit, published, Measure::Host(name))
}

const fn memory(run: usize, metric: &'static str, unit: &'static str, published: &'static str) -> Figure {
    figure(run, metric, unit, published, Measure::Not(SERVER_MEMORY))
}

pub const FIGURES: &[Figure] = &[
    machine("controller cache", "MB", "256MB", CACHES),
    // The first run's command and output.
    figure(SMALL_READ, "time at most", "s", "60", Measure::TimeLimit),
    figure(SMALL_READ, "requests at most", "", "1000000", Measure::Not(BY_TIME)),
    figure(SMALL_READ, "threads", "", "1", Measure::Parameter("threads", 1.0, "")),
    figure(SMALL_READ, "files", "", "1", Measure::Parameter("files", 1.0, "")),
    figure(SMALL_READ, "total file size", "MB", "128Mb", Measure::Parameter("set_bytes", 1_048_576.0, "Mb")),
    figure(SMALL_READ, "block size", "KB", "16Kb", Measure::Parameter("block", 1024.0, "Kb")),
    figure(SMALL_READ, "read/write ratio", "", "1.50", Measure::Not(UNUSED)),
    figure(SMALL_READ, "read", "GB", "11.808Gb", Measure::Data),
    figure(SMALL_READ, "throughput", "MB/s", "201.52Mb/sec", Measure::Throughput),
    rate(SMALL_READ, "12897.22"),
    figure(SMALL_READ, "total time", "s", "60.0001s", Measure::Seconds),
    figure(SMALL_READ, "total number of events", "", "773835", Measure::Events),
    figure(SMALL_READ, "total time taken by event execution", "s", "59.0285", Measure::InEvents),
    latency(SMALL_READ, "min", "0.0001s", |us| us.min),
    latency(SMALL_READ, "avg", "0.0001s", |us| us.mean),
    latency(SMALL_READ, "max", "0.0086s", |us| us.max),
    latency(SMALL_READ, "95th percentile", "0.0001s", |us| us.p95),
    figure(SMALL_READ, "events per thread (avg/stddev)", "", "773835.0000/0.00", Measure::EventsPerThread),
    figure(SMALL_READ, "execution time per thread (avg/stddev)", "s", "59.0285/0.00", Measure::TimePerThread),
    figure(SMALL_READ, "requests, as the author rounds them", "1000/s", "13.000", Measure::Thousands),
    // More threads.
    rate(SMALL_READ_64, "23727.46"),
    latency(SMALL_READ_64, "min", "0.0008s", |us| us.min),
    latency(SMALL_READ_64, "avg", "0.0027s", |us| us.mean),
    latency(SMALL_READ_64, "max", "0.0112s", |us| us.max),
    latency(SMALL_READ_64, "95th percentile", "0.0030s", |us| us.p95),
    figure(SMALL_READ_64, "95th percentile, as the author rounds it", "ms", "3ms", Measure::Milliseconds(|us| us.p95)),
    // Write-through.
    rate(THROUGH, "142.62"),
    machine("drives, first time", "", "8", HARDWARE),
    rate(THROUGH_64, "142.83"),
    vmstat(THROUGH_64, "blocked processes", "", "1", "blocked"),
    figure(THROUGH_64_FILES, "size of each file", "KB", "1024Kb", Measure::FileSize),
    rate(THROUGH_64_FILES, "827.94"),
    // Write-back.
    rate(BACK, "4735.27"),
    rate(BACK_64, "4740.19"),
    rate(BACK_64_FILES, "5228.68"),
    // The larger set.
    figure(LARGE_READ, "total file size", "GB", "2GB", Measure::Parameter("set_bytes", 1_073_741_824.0, "GB")),
    rate(LARGE_READ, "259.28"),
    rate(LARGE_READ_64, "2334.63"),
    machine("drives, second time", "", "6", HARDWARE),
    figure(LARGE_READ_64, "scaling from 1 thread to 64", "times", "a bit more than 8x", Measure::TimesOf(LARGE_READ)),
    rate(LARGE_WRITE, "583.43"),
    rate(LARGE_WRITE_64, "605.88"),
    // vmstat during the read test, with all 64 threads waiting.
    vmstat(LARGE_READ_64, "runnable processes", "", "0 0 0 0 0 0", "runnable"),
    vmstat(LARGE_READ_64, "blocked processes", "", "64 64 64 64 64 64", "blocked"),
    memory(LARGE_READ_64, "swapped", "KB", "90560 90560 90560 90560 90560 90560"),
    memory(LARGE_READ_64, "free memory", "KB", "3196492 3196500 3196436 3196428 3196440 3196436"),
    memory(LARGE_READ_64, "buffers", "KB", "86832 86836 86836 86836 86836 86836"),
    memory(LARGE_READ_64, "page cache", "KB", "12631072 12631068 12631068 12631064 12631064 12631064"),
    memory(LARGE_READ_64, "swapped in", "KB/s", "0 0 0 0 0 0"),
    memory(LARGE_READ_64, "swapped out", "KB/s", "0 0 0 0 0 0"),
    vmstat(LARGE_READ_64, "blocks in", "KB/s", "37760 37222 36998 37395 37498 37702", "read_kb_per_second"),
    vmstat(LARGE_READ_64, "blocks out", "KB/s", "23 26 6 12 6 6", "written_kb_per_second"),
    vmstat(LARGE_READ_64, "interrupts", PER_SECOND, "3402 3328 3340 3320 3365 3370", "interrupts_per_second"),
    vmstat(
        LARGE_READ_64,
        "context switches",
        PER_SECOND,
        "6932 7694 7716 7774 7758 7680",
        "context_switches_per_second",
    ),
    vmstat(LARGE_READ_64, "user CPU", "%", "0 0 0 0 0 0", "user_percent"),
    vmstat(LARGE_READ_64, "system CPU", "%", "12 1 1 1 1 2", "system_percent"),
    vmstat(LARGE_READ_64, "idle CPU", "%", "64 75 74 74 74 74", "idle_percent"),
    vmstat(LARGE_READ_64, "CPU waiting for I/O", "%", "24 24 24 24 24 24", "iowait_percent"),
    // vmstat during a write test, which seems to be serialised.
    vmstat(LARGE_WRITE_64, "runnable processes", "", "2 1 1 1 1", "runnable"),
    vmstat(LARGE_WRITE_64, "blocked processes", "", "39 1 1 3 1", "blocked"),
    memory(LARGE_WRITE_64, "swapped", "KB", "90560 90560 90560 90560 90560"),
    memory(LARGE_WRITE_64, "free memory", "KB", "5305556 5305548 5305556 5305556 5305556"),
    memory(LARGE_WRITE_64, "buffers", "KB", "86920 86920 86924 86932 86932"),
    memory(LARGE_WRITE_64, "page cache", "KB", "10534204 10534204 10534200 10534192 10534192"),
    memory(LARGE_WRITE_64, "swapped in", "KB/s", "0 0 0 0 0"),
    memory(LARGE_WRITE_64, "swapped out", "KB/s", "0 0 0 0 0"),
    vmstat(LARGE_WRITE_64, "blocks in", "KB/s", "0 0 0 0 0", "read_kb_per_second"),
    vmstat(LARGE_WRITE_64, "blocks out", "KB/s", "9345 9017 9223 9634 9235", "written_kb_per_second"),
    vmstat(LARGE_WRITE_64, "interrupts", PER_SECOND, "1625 1661 1638 1715 1643", "interrupts_per_second"),
    vmstat(LARGE_WRITE_64, "context switches", PER_SECOND, "4587 4934 4881 5033 5035", "context_switches_per_second"),
    vmstat(LARGE_WRITE_64, "user CPU", "%", "0 0 0 0 0", "user_percent"),
    vmstat(LARGE_WRITE_64, "system CPU", "%", "0 0 0 0 0", "system_percent"),
    vmstat(LARGE_WRITE_64, "idle CPU", "%", "70 74 73 74 73", "idle_percent"),
    vmstat(LARGE_WRITE_64, "CPU waiting for I/O", "%", "30 26 27 26 26", "iowait_percent"),
    // The machine.
    machine("drives, third time", "", "6", HARDWARE),
    machine("speed of the drives", "1/min", "10K", HARDWARE),
    machine("RAID level", "", "RAID5", HARDWARE),
];
