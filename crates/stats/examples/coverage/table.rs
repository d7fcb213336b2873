//! The table of the simulations.

/// What share of the simulations has to do so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    pub least: f64,
    pub most: f64,
}

impl Wanted {
    /// Intervals of means and ratios.
    pub const INTERVAL: Wanted = Wanted { least: 0.93, most: 0.97 };
    /// Intervals of knees, percentiles and searched rates, which may be wider than they have to be.
    pub const AT_LEAST: Wanted = Wanted { least: 0.93, most: 1.0 };
    /// Verdicts and findings where there is nothing to be found.
    pub const FALSE_ALARMS: Wanted = Wanted { least: 0.0, most: 0.065 };
    /// Findings that have to be all but impossible where there is nothing to be found.
    pub const RARELY: Wanted = Wanted { least: 0.0, most: 0.005 };
    /// Effects that are there and are found; 4 of 5 is what the number of rounds was chosen for.
    pub const POWER: Wanted = Wanted { least: 0.77, most: 1.0 };
}

/// One estimator in one situation.
#[derive(Clone, Debug)]
pub struct Row {
    /// `mean of a window`, `change, paired`.
    pub estimator: &'static str,
    /// What was simulated: `5 batches of 8 s, lag-1 autocorrelation 0.4`.
    pub situation: String,
    /// Batches, rounds, pairs, load points or trials: the n that it is about.
    pub n: usize,
    /// Share of the simulations, 0 to 1, whose interval contained the truth, or that raised a false alarm.
    pub share: f64,
    pub wanted: Wanted,
    /// Median half width of the interval relative to the truth, where there is one.
    pub half_width: Option<f64>,
}

impl Row {
    pub fn holds(&self) -> bool {
        (self.wanted.least..=self.wanted.most).contains(&self.share)
    }
}

/// The rows as a Markdown table.
pub fn table(rows: &[Row], simulations: usize) -> String {
    let mut text = format!(
        "{simulations} simulations a row.\n\n\
         | estimator | simulated | n | share | wanted | median half width |\n|---|---|---:|---:|---|---:|\n"
    );
    for row in rows {
        let Wanted { least, most } = row.wanted;
        let wanted = match (least > 0.0, most < 1.0) {
            (true, true) => format!("{:.0} – {:.0} %", 100.0 * least, 100.0 * most),
            (true, false) => format!("at least {:.0} %", 100.0 * least),
            (false, true) => format!("at most {:.1} %", 100.0 * most),
            (false, false) => "–".to_owned(),
        };
        let half_width = row.half_width.map_or("–".to_owned(), |width| format!("{:.1} %", 100.0 * width));
        let missed = if row.holds() { "" } else { " **missed**" };
        text += &format!(
            "| {} | {} | {} | {:.1} %{missed} | {wanted} | {half_width} |\n",
            row.estimator,
            row.situation,
            row.n,
            100.0 * row.share,
        );
    }
    text
}
