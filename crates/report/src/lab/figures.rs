//! The main figure, chosen by what the plan is: a staircase for a ladder, curves over several load points, bars for
//! variants at one.

use crate::document::{Block, Figure, Section};
use crate::figure::bars::{self, Bars};
use crate::figure::curves::{self, Curves, Line, Place};
use crate::figure::load_line;
use crate::figure::staircase::{self, Staircase, Step};
use crate::format::{counted, load};
use crate::interval::Measured;
use crate::subject::{MeasuredAt, Published, Recorded};
use plimsoll_model::Estimate;
use plimsoll_model::comparison::Metric;
use plimsoll_model::lab::{Cell, LabSummary, Ladder, LadderStep, LoadLine, RungVerdict};

/// More lines than these cannot be told apart.
const MOST_LINES: usize = 8;
/// A printed number that differs by more than this factor is left to the figure of what was published: on one axis with
/// what was measured it would leave no room for it.
const MOST_APART: f64 = 4.0;

/// What is drawn upwards.
#[derive(Clone, Copy, Debug)]
struct Unit {
    what: &'static str,
    unit: &'static str,
    /// What a plan calls it.
    metric: &'static str,
    of: fn(&Cell) -> Option<&Estimate>,
}

const TRANSACTIONS: Unit = Unit {
    what: "transactions",
    unit: "1/s",
    metric: "transactions_per_second",
    of: |cell| cell.transactions_per_second.as_ref(),
};
const NEW_ORDERS: Unit = Unit { what: "new orders", unit: "1/min", metric: "nopm", of: |cell| cell.nopm.as_ref() };

/// One for each ladder, for the load lines and what each search tried, and for what all variants do.
pub fn section(recorded: &Recorded, summary: &LabSummary) -> Option<Section> {
    let mut figures: Vec<Figure> = summary
        .ladders
        .iter()
        .enumerate()
        .filter_map(|(place, ladder)| staircase::draw(&format!("staircase-{}", place + 1), &steps(recorded, ladder)))
        .collect();
    if figures.is_empty() {
        figures.extend(of_cells(recorded, &summary.cells));
    }
    let lines = &summary.load_lines;
    figures.extend(load_lines(lines));
    let tried = |(place, line)| load_line::draw(&format!("load-line-{}", place + 1), line);
    figures.extend(lines.iter().enumerate().filter_map(tried));
    let heading = if summary.ladders.is_empty() { "Throughput" } else { "Rung by rung" };
    Section::of("figure", heading, figures.into_iter().map(Block::Figure).collect())
}

/// A ladder as a staircase. What a rung brought is told of pairs of trials; the bars are the trials with it.
fn steps(recorded: &Recorded, ladder: &Ladder) -> Staircase {
    let unit = match ladder.metric {
        Metric::TransactionsPerSecond => ("transactions", "1/s", "transactions_per_second"),
        Metric::Nopm => ("new orders", "1/min", "nopm"),
        Metric::P99Ms => ("99th percentile", "ms", "p99_ms"),
        Metric::ServerCpuUsPerTransaction => ("server CPU per transaction", "µs", "server_cpu_us_per_transaction"),
    };
    let bare = |value: Option<f64>| Measured { value, estimate: None, ..Measured::default() };
    let source = |step: &LadderStep| {
        let label = format!("{}/{}/with", ladder.variant, step.rung);
        printed(recorded, unit.2, |at| at.variant == label)
    };
    let together = ladder.steps.iter().all(|step| source(step).is_none_or(|printed| is_near(printed, step.with)));
    let step = |step: &LadderStep| Step {
        rung: step.rung.clone(),
        value: bare(step.with),
        change: step.change.as_ref().map(Measured::from).unwrap_or_default(),
        verdict: step.verdict.words().to_owned(),
        kept: step.verdict == RungVerdict::Kept,
        risks: step.risks.iter().map(|class| class.words()).collect::<Vec<_>>().join(", "),
        published: source(step).filter(|_| together),
    };
    Staircase {
        what: unit.0.to_owned(),
        unit: unit.1.to_owned(),
        caption: format!(
            "The ladder of {}: each rung on top of those that were kept before it. Whether a rung is kept is decided by \
             pairs of trials with and without it, one right after the other; the percents are of these pairs, the bars \
             of the trials with the rung.",
            ladder.variant
        ),
        base_name: ladder.variant.clone(),
        base: bare(ladder.steps.iter().find_map(|step| step.without)),
        steps: ladder.steps.iter().map(step).collect(),
        gain: ladder.gain.as_ref().map(Measured::from).unwrap_or_default(),
    }
}

/// Whether a printed number may share an axis with a measured one.
fn is_near(printed: f64, measured: Option<f64>) -> bool {
    measured.is_some_and(|measured| (printed / measured).max(measured / printed) <= MOST_APART)
}

/// A number that the source printed of what was measured here.
fn printed(recorded: &Recorded, metric: &str, is_it: impl Fn(&MeasuredAt) -> bool) -> Option<f64> {
    let is_of = |of: &&Published| of.printed.metric == metric && of.at.as_ref().is_some_and(&is_it);
    recorded.published.iter().filter(is_of).find_map(|of| of.printed.value)
}

/// The number that the source printed of a cell.
fn printed_of(recorded: &Recorded, cell: &Cell, unit: Unit) -> Option<f64> {
    let is_it = |at: &MeasuredAt| {
        (&at.variant, at.connections, at.rate_offered) == (&cell.variant, cell.connections, cell.rate_offered)
    };
    let measured = (unit.of)(cell).map(|estimate| estimate.value);
    printed(recorded, unit.metric, is_it).filter(|printed| is_near(*printed, measured))
}

/// What all variants do: curves if some were measured at several load points, else bars. Variants that were measured at
/// one of several load points stand as bars beside the others there.
fn of_cells(recorded: &Recorded, cells: &[Cell]) -> Vec<Figure> {
    let orders = cells.iter().any(|cell| cell.nopm.is_some());
    let unit = if orders { NEW_ORDERS } else { TRANSACTIONS };
    let measured: Vec<&Cell> = cells.iter().filter(|cell| (unit.of)(cell).is_some()).collect();
    let axis = Axis::of(&measured);
    let (swept, single): (Vec<&Cell>, Vec<&Cell>) =
        measured.iter().partition(|cell| measured.iter().filter(|other| other.variant == cell.variant).count() > 1);
    let curves = of_lines(recorded, if swept.is_empty() { &measured } else { &swept }, unit, axis);
    let point = |cell: &Cell| (cell.connections, cell.rate_offered);
    let beside = match (&curves, single.first()) {
        (None, _) => measured.clone(),
        (Some(_), Some(first)) if !swept.is_empty() && single.iter().all(|cell| point(cell) == point(first)) => {
            measured.iter().copied().filter(|cell| point(cell) == point(first)).collect()
        }
        (Some(_), _) => Vec::new(),
    };
    let means = "Geometric means over the rounds; strokes are 95 % intervals.";
    let (id, caption) = match single.first().filter(|_| curves.is_some()) {
        Some(at) => {
            ("throughput-beside", format!("All variants at {}. {means}", load(at.connections, at.rate_offered)))
        }
        None => ("throughput", means.to_owned()),
    };
    let bars = (!beside.is_empty()).then(|| bars::draw(id, &grouped(recorded, &beside, unit), &caption)).flatten();
    curves.into_iter().chain(bars).collect()
}

/// A line for each variant, if there are not too many and any has several load points.
fn of_lines(recorded: &Recorded, measured: &[&Cell], unit: Unit, axis: Axis) -> Option<Figure> {
    let lines = lines(recorded, measured, unit, axis);
    if (1..=MOST_LINES).contains(&lines.len()) {
        let curves = Curves {
            axis: axis.title().to_owned(),
            what: unit.what.to_owned(),
            unit: unit.unit.to_owned(),
            latency: if axis == Axis::Rate { "Response time".to_owned() } else { String::new() },
            lines,
        };
        let caption = format!(
            "Throughput and latency over {}, a line for each variant; strokes are 95 % intervals over the rounds, rings \
             with a line through them knees, and dotted lines fitted models, where there are any.",
            axis.title()
        );
        return curves::draw("throughput", &curves, &caption);
    }
    None
}

/// Over what throughput is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Connections,
    Rate,
}

impl Axis {
    /// Rates where all load points have one at the same number of connections.
    fn of(cells: &[&Cell]) -> Axis {
        let one_number = cells.windows(2).all(|pair| pair[0].connections == pair[1].connections);
        let all_rates = cells.iter().all(|cell| cell.rate_offered.is_some());
        if one_number && all_rates && !cells.is_empty() { Axis::Rate } else { Axis::Connections }
    }

    fn title(self) -> &'static str {
        match self {
            Axis::Connections => "connections",
            Axis::Rate => "arrivals offered per second",
        }
    }

    fn x(self, cell: &Cell) -> f64 {
        match self {
            Axis::Connections => cell.connections as f64,
            Axis::Rate => cell.rate_offered.unwrap_or(0.0),
        }
    }
}

/// A line for each variant that has several places, and what the source printed for it.
fn lines(recorded: &Recorded, cells: &[&Cell], unit: Unit, axis: Axis) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for cell in cells {
        let place = Place {
            x: axis.x(cell),
            throughput: (unit.of)(cell).map(Measured::from).unwrap_or_default(),
            p99_ms: cell.p99_ms.as_ref().map(Measured::from).unwrap_or_default(),
            ..Place::default()
        };
        match lines.iter_mut().find(|line| line.name == cell.variant) {
            Some(line) => line.places.push(place),
            None => {
                let scaling = recorded.scaling.iter().find(|of| of.0 == cell.variant && axis == Axis::Connections);
                let (name, scaling) = (cell.variant.clone(), scaling.map(|of| of.1.clone()));
                lines.push(Line { name, places: vec![place], scaling, is_published: false });
            }
        }
    }
    let printed: Vec<Line> =
        lines.iter().filter_map(|line| published_line(recorded, (cells, &line.name), unit, axis)).collect();
    lines.extend(printed);
    for line in &mut lines {
        line.places.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    lines
}

/// What the source printed of several load points of a variant.
fn published_line(recorded: &Recorded, (cells, name): (&[&Cell], &str), unit: Unit, axis: Axis) -> Option<Line> {
    let place = |cell: &&Cell| {
        let value = printed_of(recorded, cell, unit)?;
        let throughput = Measured { value: Some(value), estimate: None, ..Measured::default() };
        Some(Place { x: axis.x(cell), throughput, ..Place::default() })
    };
    let places: Vec<Place> = cells.iter().filter(|cell| cell.variant == name).filter_map(place).collect();
    (places.len() > 1).then(|| Line { name: name.to_owned(), places, is_published: true, ..Line::default() })
}

/// Variants as bars: `group/member` stand in groups, several load points are members of their variant.
fn grouped(recorded: &Recorded, cells: &[&Cell], unit: Unit) -> Bars {
    let several =
        cells.iter().any(|cell| cell.connections != cells[0].connections || cell.rate_offered != cells[0].rate_offered);
    let split = |cell: &Cell| match (several, cell.variant.split_once('/')) {
        (true, _) => (cell.variant.clone(), load(cell.connections, cell.rate_offered)),
        (false, Some((group, member))) => (group.to_owned(), member.to_owned()),
        (false, None) => (cell.variant.clone(), String::new()),
    };
    let mut bars = Bars {
        what: unit.what.to_owned(),
        unit: unit.unit.to_owned(),
        against_first: cells.len() > 1 && !several,
        ..Bars::default()
    };
    for (group, member) in cells.iter().map(|cell| split(cell)) {
        add(&mut bars.groups, group);
        add(&mut bars.members, member);
    }
    let at = |group: &String, member: &String| cells.iter().find(|cell| split(cell) == (group.clone(), member.clone()));
    let has = |group: &String| bars.members.iter().map(|member| at(group, member).is_some()).collect();
    bars.has = bars.groups.iter().map(has).collect();
    let value =
        |group, member| at(group, member).and_then(|cell| (unit.of)(cell)).map(Measured::from).unwrap_or_default();
    let source = |group, member| printed_of(recorded, at(group, member)?, unit);
    bars.values =
        bars.groups.iter().map(|group| bars.members.iter().map(|member| value(group, member)).collect()).collect();
    let published: Vec<Vec<Option<f64>>> =
        bars.groups.iter().map(|group| bars.members.iter().map(|member| source(group, member)).collect()).collect();
    if published.iter().flatten().any(Option::is_some) {
        bars.published = published;
    }
    bars
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// The highest rate that keeps the objective, by variant and number of connections; none where no line was found.
fn load_lines(lines: &[LoadLine]) -> Option<Figure> {
    lines.iter().find(|line| line.rate.is_some())?;
    let mut bars = Bars { what: "load line".to_owned(), unit: "1/s".to_owned(), ..Bars::default() };
    for line in lines {
        add(&mut bars.groups, line.variant.clone());
        add(&mut bars.members, counted(line.connections as f64, "connection"));
    }
    let value = |group: &String, member: &String| {
        let is_it =
            |line: &&LoadLine| line.variant == *group && counted(line.connections as f64, "connection") == *member;
        lines.iter().find(is_it).and_then(|line| line.rate.as_ref()).map(Measured::from).unwrap_or_default()
    };
    bars.values =
        bars.groups.iter().map(|group| bars.members.iter().map(|member| value(group, member)).collect()).collect();
    let objective = lines.first().map_or("", |line| &line.objective);
    bars::draw("load-lines", &bars, &format!("The highest rate of arrivals that still keeps {objective}."))
}
