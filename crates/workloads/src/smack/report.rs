//! The figures as super-smack prints them, so that an old listing can be compared with a new run.
//!
//! Two figures are wrong in the original and right here: its slowest and fastest times are those of the last query of
//! each client, and its slowest connect leaves one client out, so that its average can exceed its maximum. Its rate is
//! reproduced: queries of a type over the time from before the first connect until after the last answer.

use super::SmackKind;
use super::statements::roles;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// What was measured of one type of statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    pub count: u64,
    pub fastest: Duration,
    pub slowest: Duration,
}

/// How long it took to connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connects {
    pub fastest: Duration,
    pub mean: Duration,
    pub slowest: Duration,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportLine {
    pub query_type: &'static str,
    pub queries: Queries,
    /// Queries of this type over the wall time; `None` where no time has passed.
    pub per_second: Option<f64>,
}

/// The original's report.
#[derive(Clone, Debug, PartialEq)]
pub struct BarrelReport {
    pub client: &'static str,
    pub connections: u64,
    pub connects: Option<Connects>,
    /// By name of the type.
    pub lines: Vec<ReportLine>,
}

/// Makes the original's report of a run of `connections` that took `wall`, connecting included. `of` gives what was
/// measured of the statement of this name; a type that was never sent has a line of zeros, as in the original.
/// The line about connecting is left out where that was not measured.
pub fn original_figures(
    kind: SmackKind,
    connections: u64,
    wall: Duration,
    connects: Option<Connects>,
    of: impl Fn(&str) -> Option<Queries>,
) -> BarrelReport {
    let seconds = wall.as_secs_f64();
    let line = |query_type: &'static str| {
        let queries = of(query_type).unwrap_or_default();
        let per_second = (seconds > 0.0).then(|| queries.count as f64 / seconds);
        ReportLine { query_type, queries, per_second }
    };
    let mut lines: Vec<ReportLine> = roles(kind).iter().map(|role| line(role.name())).collect();
    lines.sort_by_key(|line| line.query_type);
    BarrelReport { client: kind.client(), connections, connects, lines }
}

/// The original's layout: whole milliseconds, rounded down; tabs between the columns; a newline after each line.
impl Display for BarrelReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "Query Barrel Report for client {}", self.client)?;
        if let Some(Connects { fastest, mean, slowest }) = self.connects {
            let [max, min, avg] = [slowest, fastest, mean].map(|time| time.as_millis());
            writeln!(f, "connect: max={max}ms  min={min}ms avg= {avg}ms from {} clients ", self.connections)?;
        }
        writeln!(f, "Query_type\tnum_queries\tmax_time\tmin_time\tq_per_s")?;
        for ReportLine { query_type, queries, per_second } in &self.lines {
            let (slowest, fastest) = (queries.slowest.as_millis(), queries.fastest.as_millis());
            write!(f, "{query_type}\t{}\t{slowest}\t{fastest}\t", queries.count)?;
            match per_second {
                Some(rate) => writeln!(f, "{rate:.2}")?,
                None => writeln!(f, "n/a")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(count: u64, fastest_us: u64, slowest_us: u64) -> Queries {
        Queries { count, fastest: Duration::from_micros(fastest_us), slowest: Duration::from_micros(slowest_us) }
    }

    #[test]
    fn the_layout_is_that_of_the_original() {
        let connects = Connects {
            fastest: Duration::from_micros(900),
            mean: Duration::from_millis(66),
            slowest: Duration::from_micros(62_999),
        };
        let wall = Duration::from_micros(4_586_465);
        let report = original_figures(SmackKind::SelectKey, 10, wall, Some(connects), |name| {
            (name == "select_index").then(|| queries(20_000, 80, 999))
        });
        assert_eq!(
            report.to_string(),
            "Query Barrel Report for client smacker1\n\
             connect: max=62ms  min=0ms avg= 66ms from 10 clients \n\
             Query_type\tnum_queries\tmax_time\tmin_time\tq_per_s\n\
             select_index\t20000\t0\t0\t4360.66\n"
        );
    }

    #[test]
    fn types_stand_in_alphabetical_order_and_unmeasured_connects_are_left_out() {
        let report = original_figures(SmackKind::UpdateSelect, 10, Duration::from_secs(20), None, |name| match name {
            "select_index" => Some(queries(100_000, 70, 12_345)),
            _ => Some(queries(100_000, 1_200, 250_999)),
        });
        assert_eq!(
            report.to_string(),
            "Query Barrel Report for client smacker\n\
             Query_type\tnum_queries\tmax_time\tmin_time\tq_per_s\n\
             select_index\t100000\t12\t0\t5000.00\n\
             update_index\t100000\t250\t1\t5000.00\n"
        );
    }

    #[test]
    fn nothing_measured_is_said_as_the_original_says_it() {
        let report = original_figures(SmackKind::SelectKey, 1, Duration::ZERO, None, |_| None);
        assert_eq!(report.lines[0].per_second, None);
        assert!(report.to_string().ends_with("select_index\t0\t0\t0\tn/a\n"));
    }
}
