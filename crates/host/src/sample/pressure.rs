//! `/proc/pressure`: time lost to waiting (Linux, `Documentation/accounting/psi.rst`).

use plimsoll_model::samples::{Stall, Stalls};

/// Reads one of the files; `stalled_us` counts since boot. None if the kernel does not tell.
pub(super) fn parse(text: &str) -> Option<Stalls> {
    let find = |kind: &str| text.lines().find_map(|line| stall(line.strip_prefix(kind)?));
    Some(Stalls { some: find("some ")?, full: find("full ") })
}

fn stall(fields: &str) -> Option<Stall> {
    let value = |name: &str| fields.split_ascii_whitespace().find_map(|field| field.strip_prefix(name));
    let avg10 = value("avg10=")?.parse::<f64>().ok().filter(|percent| percent.is_finite())?;
    Some(Stall { avg10: avg10 / 100.0, stalled_us: value("total=")?.parse().ok()? })
}

/// The averages of `now`, and the time waited since `before`.
pub(super) fn since(now: Stalls, before: Stalls) -> Stalls {
    let moved =
        |now: Stall, before: Stall| Stall { stalled_us: now.stalled_us.saturating_sub(before.stalled_us), ..now };
    Stalls { some: moved(now.some, before.some), full: now.full.map(|now| moved(now, before.full.unwrap_or_default())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_an_average_and_a_time_in_between() {
        let text =
            "some avg10=12.50 avg60=5.10 avg300=3.34 total=5000\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=700\n";
        let later =
            "some avg10=25.00 avg60=5.10 avg300=3.34 total=6500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=700\n";
        let stalls = since(parse(later).unwrap(), parse(text).unwrap());
        assert_eq!(stalls.some, Stall { avg10: 0.25, stalled_us: 1500 });
        assert_eq!(stalls.full, Some(Stall { avg10: 0.0, stalled_us: 0 }));
    }

    #[test]
    fn older_kernels_do_not_tell_all() {
        assert_eq!(parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n").unwrap().full, None);
        assert_eq!(parse("some avg10=inf total=1\n"), None);
        assert_eq!(parse(""), None);
    }
}
