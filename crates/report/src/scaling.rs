//! What a sweep shows as a whole: its peak, its knee and the fitted model, as lines and as a table.

use crate::interval::Measured;
use crate::sweep::Sweep;
use crate::table::{Column, Table};
use plimsoll_model::Estimate;
use plimsoll_model::layout::clean;
use plimsoll_model::number::{counted, decimals_for, fine_decimals, in_percent, number, short};
use plimsoll_model::scaling::{Knee, Saturation, Scaling};

/// Said about a knee that the sweep does not enclose.
const OPEN_ENDED: &str = "the sweep does not enclose it: more load points beyond its ends may move it";

/// A line each for the peak, the knee, the model and what could not be estimated; nothing if it is not a sweep.
pub fn lines(sweep: &Sweep<'_>) -> Vec<String> {
    let Some(scaling) = sweep.scaling else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(knee) = &scaling.knee {
        lines.push(format!("peak: {} at {}", rate(sweep, &knee.peak), counted(knee.peak_load, "connection")));
        lines.push(knee_line(knee));
    }
    lines.extend(scaling.saturation.as_ref().map(|model| model_line(sweep, model)));
    lines.extend(scaling.refusals.iter().map(|refusal| clean(refusal)));
    lines
}

/// `1,786 transactions per second (1,740 – 1,832)`.
fn rate(sweep: &Sweep<'_>, estimate: &Estimate) -> String {
    let decimals = decimals_for(estimate.value);
    let measured = Measured::from(estimate);
    match measured.is_unsteady() {
        true => measured.in_words(sweep.unit.name()),
        false => format!("{} {} ({})", number(estimate.value, decimals), sweep.unit.name(), measured.told(decimals)),
    }
}

/// `26 connections (18 – 31)`.
pub fn load(of: &Measured) -> String {
    format!("{} ({})", counted(of.value.unwrap_or(0.0), "connection"), of.told_with_ends(0))
}

fn knee_line(knee: &Knee) -> String {
    let open = if is_silently_open(knee) { format!("; {OPEN_ENDED}") } else { String::new() };
    format!("knee: {}{open}", load(&Measured::from(&knee.load)))
}

/// True if the sweep does not enclose the knee and no missing end of its interval says so.
fn is_silently_open(knee: &Knee) -> bool {
    knee.open_ended && knee.load.interval().is_some()
}

/// The decimals that show two digits of the largest value that a coefficient may have.
fn coefficient_decimals(of: &Estimate) -> usize {
    fine_decimals(of.high.unwrap_or(0.0).max(of.value.abs()))
}

fn model_line(sweep: &Sweep<'_>, model: &Saturation) -> String {
    let coefficient = |name: &str, of: &Estimate| {
        let decimals = coefficient_decimals(of);
        format!("{name} {} ({})", number(of.value, decimals), Measured::from(of).told_with_ends(decimals))
    };
    let peak = model.peak.as_ref().map_or("no peak of its own".to_owned(), |peak| {
        format!("its own peak {} at {}", rate(sweep, &peak.throughput), load(&Measured::from(&peak.load)))
    });
    format!(
        "model (Universal Scalability): {}, {}; {peak}; {}",
        coefficient("α", &model.alpha),
        coefficient("β", &model.beta),
        fit(model)
    )
}

/// How well the model describes the points: `residuals 2 %, noise 3 %`, or why it does not.
fn fit(model: &Saturation) -> String {
    let noise = model.noise.map_or(String::new(), |noise| format!(", noise {} %", in_percent(noise)));
    match &model.poor {
        Some(why) => format!("poor: {}", clean(why)),
        None => format!("residuals {} %{noise}", in_percent(model.residual)),
    }
}

/// Each quantity with its interval; without rows if nothing could be estimated.
pub fn table(sweep: &Sweep<'_>, scaling: &Scaling) -> Table {
    let rows = quantities(sweep, scaling);
    let cells = |cell: &dyn Fn(&Quantity) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    Table::new(vec![
        Column::words("quantity", cells(&|row| row.name.clone())),
        Column::words("unit", cells(&|row| row.unit.to_owned())),
        Column::numbers("value", "", cells(&|row| number(row.of.value, row.decimals))),
        Column::words("95 % interval", cells(&|row| row.interval())),
        Column::numbers("effective n", "", cells(&|row| number(row.of.effective_n, 0))),
    ])
}

/// A row of [`table`].
struct Quantity<'a> {
    name: String,
    unit: &'static str,
    of: &'a Estimate,
    decimals: usize,
    is_rate: bool,
}

impl Quantity<'_> {
    /// A rate may be too unsteady; of a place or a coefficient, the ends are the answer.
    fn interval(&self) -> String {
        let measured = Measured::from(self.of);
        if self.is_rate { measured.told(self.decimals) } else { measured.told_with_ends(self.decimals) }
    }
}

fn quantities<'a>(sweep: &Sweep<'a>, scaling: &'a Scaling) -> Vec<Quantity<'a>> {
    let rate = |name: &str, of: &'a Estimate| Quantity {
        name: name.to_owned(),
        unit: sweep.unit.short_name(),
        of,
        decimals: decimals_for(of.value),
        is_rate: true,
    };
    let load = |name: &str, of: &'a Estimate| Quantity {
        name: name.to_owned(),
        unit: "connections",
        of,
        decimals: 0,
        is_rate: false,
    };
    let coefficient = |name: &str, of: &'a Estimate| Quantity {
        name: name.to_owned(),
        unit: "",
        of,
        decimals: coefficient_decimals(of),
        is_rate: false,
    };
    let mut rows = Vec::new();
    if let Some(knee) = &scaling.knee {
        rows.push(rate(&format!("peak, at {}", counted(knee.peak_load, "connection")), &knee.peak));
        rows.push(load(&format!("knee, at {} {}", short(knee.throughput), sweep.unit.short_name()), &knee.load));
    }
    if let Some(model) = &scaling.saturation {
        rows.push(rate("model: γ, of one connection", &model.gamma));
        rows.push(coefficient("model: α, contention", &model.alpha));
        rows.push(coefficient("model: β, coherency", &model.beta));
        if let Some(peak) = &model.peak {
            rows.push(rate("model: its own peak", &peak.throughput));
            rows.push(load("model: load at its peak", &peak.load));
        }
    }
    rows
}

/// The remarks on the table, a sentence each.
pub fn remarks(scaling: &Scaling) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(knee) = &scaling.knee {
        remarks.push(format!(
            "The peak is the highest mean that was observed ({}), the knee the load that reaches 95 % of it ({}).",
            clean(&knee.peak.method),
            clean(&knee.load.method)
        ));
        if is_silently_open(knee) {
            remarks.push(format!("The knee: {OPEN_ENDED}."));
        }
    }
    if let Some(model) = &scaling.saturation {
        let own = match &model.peak {
            Some(_) => "Its own peak is the maximum of the fitted curve, which no load point need have reached.",
            None => "The fitted curve has no maximum of its own.",
        };
        remarks.push(format!(
            "The model is the Universal Scalability Law, X(N) = γN / (1 + α(N − 1) + βN(N − 1)), fitted to the load points \
             by {}; {}. {own}",
            clean(&model.gamma.method),
            fit(model)
        ));
    }
    remarks
}
