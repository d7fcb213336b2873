//! The shape of a sweep: where each variant carries most, and what is left of that at the last load point.

use crate::interval::UNSTEADY;
use plimsoll_model::Estimate;
use plimsoll_model::lab::{Cell, LabSummary};
use plimsoll_model::number::signed_percent;
use plimsoll_model::number::{counted, short};

/// Fewer load points make no sweep.
const FEWEST_POINTS: usize = 4;

/// `default carries most at 24 connections (1,030 transactions/s; −41.0 % at 1,024), …`; `None` without a sweep.
pub fn sentence(summary: &LabSummary) -> Option<String> {
    let of_variants = summary.cells.chunk_by(|a, b| a.variant == b.variant);
    let told: Vec<String> = of_variants.filter_map(peak).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn peak(cells: &[Cell]) -> Option<String> {
    let measured: Vec<(usize, &Estimate)> =
        cells.iter().filter_map(|cell| Some((cell.load.connections, cell.transactions_per_second.as_ref()?))).collect();
    let (last, at_last) = *measured.iter().max_by_key(|(connections, _)| *connections)?;
    let by_rate = measured.iter().copied().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (best, most) = by_rate.filter(|(_, most)| most.value > 0.0)?;
    if measured.len() < FEWEST_POINTS {
        return None;
    }
    let name = &cells[0].variant;
    if most.is_unsteady() {
        return Some(format!("{name}: {UNSTEADY} where it carries most"));
    }
    let (at_last, most) = (at_last.value, most.value);
    let rest = match best == last {
        true => ", the most that were tried".to_owned(),
        false => format!("; {} at {}", signed_percent(at_last / most - 1.0), short(last as f64)),
    };
    let at = counted(best as f64, "connection");
    Some(format!("{name} carries most at {at} ({} transactions/s{rest})", short(most)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::LoadPoint;

    fn cells(rates: &[(usize, f64)]) -> Vec<Cell> {
        let cell = |(connections, rate): &(usize, f64)| Cell {
            variant: "base".to_owned(),
            load: LoadPoint::closed(*connections),
            rounds: 1,
            failed: 0,
            transactions_per_second: Some(Estimate::bare(*rate, 1.0, String::new(), "1 round".to_owned())),
            nopm: None,
            p99_ms: None,
            server_cpu_us_per_transaction: None,
            recovery_seconds: None,
            risks: Default::default(),
        };
        rates.iter().map(cell).collect()
    }

    #[test]
    fn a_sweep_is_told_by_its_peak_and_what_is_left_of_it() {
        let told = peak(&cells(&[(8, 500.0), (16, 1000.0), (64, 900.0), (1024, 400.0)]));
        assert_eq!(
            told.as_deref(),
            Some("base carries most at 16 connections (1,000 transactions/s; −60.0 % at 1,024)")
        );
        let told = peak(&cells(&[(8, 500.0), (16, 700.0), (64, 900.0), (128, 1000.0)]));
        assert!(told.is_some_and(|told| told.ends_with("1,000 transactions/s, the most that were tried)")));
        assert_eq!(peak(&cells(&[(8, 500.0), (16, 700.0)])), None, "two load points are no sweep");
    }

    #[test]
    fn a_peak_that_is_too_unsteady_is_no_answer() {
        let mut sweep = cells(&[(8, 500.0), (16, 1000.0), (64, 900.0), (1024, 400.0)]);
        let wide = Estimate::new(1000.0, (600.0, 1600.0), 0.95, 3.0, "geometric mean of 3 rounds".to_owned());
        sweep[1].transactions_per_second = Some(wide);
        assert_eq!(peak(&sweep).as_deref(), Some("base: too unsteady to say where it carries most"));
    }
}
