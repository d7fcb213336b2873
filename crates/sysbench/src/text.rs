//! What is printed of a test, in the layout that people's parsers know.

use crate::general::General;
use crate::totals::{RunTotals, ThreadsFairness};
use std::fmt::Write;

/// What is told of a run before its threads begin.
pub fn preamble(general: &General) -> String {
    let mut text = "Running the test with following options:\n".to_owned();
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    line(format!("Number of threads: {}", general.threads));
    if general.warmup > 0 {
        line(format!("Warmup time: {}s", general.warmup));
    }
    if general.rate > 0 {
        line(format!("Target transaction rate: {}/sec", general.rate));
    }
    if general.interval > 0 {
        line(format!("Report intermediate results every {} second(s)", general.interval));
    }
    if !general.checkpoints.is_empty() {
        let seconds: Vec<String> = general.checkpoints.iter().map(u64::to_string).collect();
        line(format!("Report checkpoint(s) at {} seconds", seconds.join(", ")));
    }
    if general.is_debug {
        line("Debug mode enabled.\n".to_owned());
    }
    if general.validates {
        line("Validation checks: on.\n".to_owned());
    }
    match general.seed {
        0 => line("Initializing random number generator from current time\n".to_owned()),
        seed => line(format!("Initializing random number generator from seed ({seed}).\n")),
    }
    if let Some(forced) = general.forced {
        line(format!("Forcing shutdown in {} seconds", general.time + forced));
    }
    text + "\n"
}

/// Events that wait for a thread, and those that are running, where events are due by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    pub waiting: u64,
    pub running: u64,
}

/// An intermediate report at so many seconds.
pub fn interval(general: &General, at: u64, totals: &RunTotals, is_sql: bool, backlog: Option<QueueState>) -> String {
    let General { threads, percentile, .. } = general;
    let latency = if *percentile > 0 { totals.latency.percentile(*percentile) } else { 0.0 };
    let events = totals.rate(totals.events);
    let mut text = match is_sql {
        true => {
            let rate = |count| totals.rate(count);
            format!(
                "[ {at}s ] thds: {threads} tps: {events:4.2} qps: {:4.2} (r/w/o: {:4.2}/{:4.2}/{:4.2}) \
                 lat (ms,{percentile}%): {latency:4.2} err/s: {:4.2} reconn/s: {:4.2}\n",
                rate(totals.queries()),
                rate(totals.reads),
                rate(totals.writes),
                rate(totals.other),
                rate(totals.errors),
                rate(totals.reconnects)
            )
        }
        false => format!("[ {at}s ] thds: {threads} eps: {events:4.2} lat (ms,{percentile}%): {latency:4.2}\n"),
    };
    if let Some(QueueState { waiting, running }) = backlog {
        let comma = if is_sql { "," } else { "" };
        let _ = writeln!(text, "[ {at}s ] queue length: {waiting}{comma} concurrency: {running}");
    }
    text
}

/// What a report has beside what was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Closing {
    /// Seconds since the start.
    pub elapsed: f64,
    pub fairness: ThreadsFairness,
}

/// What comes before the report at the end where `--histogram` asks for it, whoever makes the report.
pub fn histogram(totals: &RunTotals) -> String {
    format!("Latency histogram (values are in milliseconds)\n{} \n", totals.latency.text())
}

/// What is reported of a run, or since a checkpoint.
pub fn report(general: &General, ending: &Closing, totals: &RunTotals, is_sql: bool) -> String {
    let mut text = if is_sql { statements(totals) } else { "\n".to_owned() };
    let _ = write!(
        text,
        "General statistics:\n    total time:                          {:.4}s\n    total number of events:              {}\n\n",
        ending.elapsed, totals.events
    );
    text + &latency(general, totals) + &threads(ending.fairness)
}

fn statements(totals: &RunTotals) -> String {
    let RunTotals { reads, writes, other, .. } = totals;
    let rate = |name: &str, count: u64| format!("    {name:<36} {count:<6} ({:.2} per sec.)\n", totals.rate(count));
    format!(
        "SQL statistics:\n    queries performed:\n        read:                            {reads}\n        \
         write:                           {writes}\n        other:                           {other}\n        \
         total:                           {}\n{}{}{}{}\n",
        totals.queries(),
        rate("transactions:", totals.events),
        rate("queries:", totals.queries()),
        rate("ignored errors:", totals.errors),
        rate("reconnects:", totals.reconnects)
    )
}

fn latency(general: &General, totals: &RunTotals) -> String {
    let percentile = match general.percentile {
        0 => "         percentile stats:               disabled".to_owned(),
        asked => format!("        {asked:3}th percentile: {:27.2}", totals.latency.percentile(asked)),
    };
    format!(
        "Latency (ms):\n         min: {:39.2}\n         avg: {:39.2}\n         max: {:39.2}\n{percentile}\n         sum: {:39.2}\n\n",
        totals.least,
        totals.mean(),
        totals.most,
        totals.sum
    )
}

fn threads(fairness: ThreadsFairness) -> String {
    let ThreadsFairness { events, seconds } = fairness;
    format!(
        "Threads fairness:\n    events (avg/stddev):           {:.4}/{:3.2}\n    execution time (avg/stddev):   {:.4}/{:3.2}\n\n",
        events.0, events.1, seconds.0, seconds.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::request;

    #[test]
    fn a_report_is_the_same_with_a_histogram_which_stands_alone() {
        let general = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            request(&words).unwrap().unwrap().general
        };
        let (totals, ending) = (RunTotals::default(), Closing::default());
        let reports = ["cpu run", "--histogram cpu run"].map(|line| report(&general(line), &ending, &totals, true));
        assert_eq!(reports[0], reports[1]);
        assert!(reports[0].starts_with("SQL statistics:"), "{}", reports[0]);
        let text = histogram(&totals);
        assert!(text.starts_with("Latency histogram (values are in milliseconds)\n       value  ---"), "{text}");
        assert!(text.ends_with("\n \n"), "{text}");
    }
}
