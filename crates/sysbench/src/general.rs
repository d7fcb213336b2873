//! What the general options say, checked.

use crate::console;
use crate::halt::Halt;
use crate::options::OptionSet;
use plimsoll_load::window::Limit;
use plimsoll_workloads::distribution::{Distribution, DistributionName};

/// Events that are due wait for at least so many seconds' worth of them before one is dropped.
const BACKLOG_SECONDS: u64 = 10;

/// How a test is run, whichever it is.
#[derive(Clone, Debug)]
pub struct General {
    pub threads: usize,
    /// 0 for as many as there is time for.
    pub events: u64,
    /// Seconds; 0 for as long as there are events.
    pub time: u64,
    /// Seconds after [`General::time`] at which running events are given up.
    pub forced: Option<u64>,
    pub ready_within: u64,
    /// Events per second that are due; 0 for as fast as they are answered.
    pub rate: u64,
    /// Seconds between intermediate reports; 0 for none.
    pub interval: u64,
    /// Seconds after the start, in order.
    pub checkpoints: Vec<u64>,
    pub warmup: u64,
    pub is_debug: bool,
    pub validates: bool,
    /// 0 for none.
    pub percentile: u64,
    pub histogram: bool,
    /// 0 for the time.
    pub seed: u64,
    pub distribution: Distribution,
    /// Errors are treated and told as sysbench does.
    pub is_compatible: bool,
    pub is_recorded: bool,
    /// What Plimsoll makes of the run is wanted at its end.
    pub asks_for_verdict: bool,
    /// Each thread has a Lua state of its own.
    pub is_isolated: bool,
}

impl General {
    /// Reads them, with Plimsoll's own, and says what is doubtful.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn read(options: &OptionSet, own: &OptionSet) -> Result<General, Halt> {
        if own.is_on("verdict") && !own.is_on("recording") {
            return Err(Halt::Usage("--verdict needs the recording that --recording=off does without".to_owned()));
        }
        let fatal = |text: String| Err(Halt::Fatal(text));
        let verbosity = options.number("verbosity");
        if !(0.0..=5.0).contains(&verbosity) {
            return Err(Halt::Plain(format!("Invalid value for verbosity: {verbosity}")));
        }
        let is_debug = options.is_on("debug");
        console::set_verbosity(if is_debug { console::level::DEBUG } else { verbosity as u64 });
        let threads = options.number("threads");
        if threads < 1.0 {
            return fatal(format!("Invalid value for --threads: {threads}.\n"));
        }
        let percentile = options.number("percentile");
        if !(0.0..=100.0).contains(&percentile) {
            return fatal(format!("Invalid value for --percentile: {percentile}"));
        }
        if percentile == 0.0 && options.is_on("histogram") {
            return fatal("--histogram cannot be used with --percentile=0".to_owned());
        }
        let (events, time) = (options.count("events"), options.count("time"));
        if events == 0 && time == 0 {
            console::say("WARNING: Both event and time limits are disabled, running an endless test");
        }
        Ok(General {
            threads: threads as usize,
            events,
            time,
            forced: forced(options.text("forced_shutdown"), time)?,
            ready_within: options.count("thread_init_timeout"),
            rate: options.count("rate"),
            interval: options.count("report_interval"),
            checkpoints: checkpoints(options.list("report_checkpoints"))?,
            warmup: options.count("warmup_time"),
            is_debug,
            validates: options.is_on("validate"),
            percentile: percentile as u64,
            histogram: options.is_on("histogram"),
            seed: options.count("rand_seed"),
            distribution: distribution(options)?,
            is_compatible: own.is_on("compat"),
            is_recorded: own.is_on("recording"),
            asks_for_verdict: own.is_on("verdict"),
            is_isolated: isolation(own)?,
        })
    }
}

impl General {
    /// How many events become due of a load that a budget of `events` ends: no more than those, so that no thread waits for
    /// one that is never begun. 0 for a budget without a number.
    pub fn limit(&self, events: u64) -> Limit {
        // So many never wait that one is dropped, and none of them lies in the warm-up, which costs the budget nothing.
        let all_begin = self.warmup == 0 && events <= self.rate.saturating_mul(BACKLOG_SECONDS);
        Limit::Events(if events > 0 && all_begin { events } else { u64::MAX })
    }
}

/// Whether each thread has a Lua state of its own.
fn isolation(own: &OptionSet) -> Result<bool, Halt> {
    match own.text("lua_isolation") {
        "environment" => Ok(false),
        "state" => Ok(true),
        other => Err(Halt::Fatal(format!("Invalid value for --lua-isolation: '{other}'; it is environment or state"))),
    }
}

/// Seconds after the time limit: a number, a share of it, or, where nothing is said, a twentieth.
fn forced(text: &str, time: u64) -> Result<Option<u64>, Halt> {
    let wrong = || Halt::Fatal(format!("Invalid value for --forced-shutdown: '{text}'"));
    match text {
        "off" => Ok(None),
        "" => Ok(Some(time / 20)),
        _ => match text.strip_suffix('%') {
            Some(share) => Ok(Some(time * share.parse::<u64>().map_err(|_| wrong())? / 100)),
            None => text.parse().map(Some).map_err(|_| wrong()),
        },
    }
}

fn checkpoints(list: &[String]) -> Result<Vec<u64>, Halt> {
    let read = |text: &String| match text.parse::<u64>() {
        Ok(seconds) if seconds > 0 => Ok(seconds),
        _ => Err(Halt::Fatal(format!("Invalid value for --report-checkpoints: '{text}'"))),
    };
    let mut seconds = list.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    seconds.sort_unstable();
    seconds.dedup();
    Ok(seconds)
}

fn distribution(options: &OptionSet) -> Result<Distribution, Halt> {
    let name = options.text("rand_type");
    let iterations = options.count("rand_spec_iter").max(1) as u32;
    Ok(match DistributionName::from_name(name) {
        None => return Err(Halt::Fatal(format!("Invalid random numbers distribution: {name}."))),
        Some(DistributionName::Uniform) => Distribution::Uniform,
        Some(DistributionName::Gaussian) => Distribution::Gaussian { iterations },
        Some(DistributionName::Special) => Distribution::Special {
            iterations,
            window_percent: options.number("rand_spec_pct"),
            reserved_percent: options.number("rand_spec_res"),
        },
        Some(DistributionName::Pareto) => Distribution::Pareto { h: options.number("rand_pareto_h") },
        Some(DistributionName::Zipfian) => Distribution::Zipfian { exponent: options.number("rand_zipfian_exp") },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::request;

    #[test]
    fn a_forced_shutdown_is_seconds_or_a_share_of_the_time() {
        assert_eq!(forced("off", 100), Ok(None));
        assert_eq!(forced("", 100), Ok(Some(5)));
        assert_eq!(forced("7", 100), Ok(Some(7)));
        assert_eq!(forced("20%", 50), Ok(Some(10)));
        assert!(forced("x", 50).is_err());
    }

    #[test]
    fn no_more_events_become_due_than_are_begun() {
        let limit = |line: &str, events| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            request(&words).unwrap().unwrap().general.limit(events)
        };
        assert_eq!(limit("--rate=50 --events=500 cpu run", 500), Limit::Events(500));
        // Without a rate the budget is asked at once, and more than ten seconds' worth may be dropped.
        for line in ["--events=500 cpu run", "--rate=49 --events=500 cpu run", "--rate=50 --warmup-time=1 cpu run"] {
            assert_eq!(limit(line, 500), Limit::Events(u64::MAX), "{line}");
        }
        assert_eq!(limit("--rate=50 mutex run", 0), Limit::Events(u64::MAX), "a test that ends by itself");
    }

    #[test]
    fn checkpoints_are_in_order() {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(checkpoints(&list("5,2,5")), Ok(vec![2, 5]));
        assert_eq!(
            checkpoints(&list("1,x")),
            Err(Halt::Fatal("Invalid value for --report-checkpoints: 'x'".to_owned()))
        );
    }
}
