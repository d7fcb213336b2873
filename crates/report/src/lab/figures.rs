//! The main figure, chosen by the kind of plan: a staircase for a ladder, curves over several load points, bars for
//! variants at one.

use crate::document::{Block, Figure, Section};
use crate::figure::bars::{self, Bars};
use crate::figure::curves::{self, CurvePoint, Curves, Line};
use crate::figure::load_line;
use crate::figure::looks;
use crate::figure::staircase::{self, Staircase, StaircaseStep};
use crate::interval::Measured;
use crate::subject::{MeasuredAt, Published, Recorded};
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::lab::{Cell, LabSummary, Ladder, LadderStep, LoadLine, RungVerdict};
use plimsoll_model::number::{counted, short};

/// Said if printed numbers are left out.
const FAR: &str = " The published numbers are left out altogether, since some differ by more than a factor of 4: see \
                   Published and measured here.";
/// More lines than these cannot be told apart.
const MOST_LINES: usize = 8;
/// If a printed number of a line, or of the bars, differs by more than this factor from what was measured, all of them
/// are left out, and the caption says so: on one axis they would leave no room for the measured ones.
const MOST_APART: f64 = 4.0;

/// What is drawn upwards.
#[derive(Clone, Copy, Debug)]
struct Unit {
    what: &'static str,
    unit: &'static str,
    metric: Metric,
    of: fn(&Cell) -> Option<&Estimate>,
}

const TRANSACTIONS: Unit = Unit {
    what: "transactions",
    unit: "1/s",
    metric: Metric::TransactionsPerSecond,
    of: |cell| cell.transactions_per_second.as_ref(),
};
const NEW_ORDERS: Unit =
    Unit { what: "new orders", unit: "1/min", metric: Metric::Nopm, of: |cell| cell.nopm.as_ref() };

/// One for each ladder, one for the load lines, one for what each search tried, and one for what all variants do.
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
    figures.extend(summary.ladders.iter().flat_map(rungs_looked_at));
    let lines = &summary.load_lines;
    figures.extend(load_lines(lines));
    let tried = |(place, line)| load_line::draw(&format!("load-line-{}", place + 1), line);
    figures.extend(lines.iter().enumerate().filter_map(tried));
    let heading = if summary.ladders.is_empty() { "Throughput" } else { "Rung by rung" };
    Section::of("figure", heading, figures.into_iter().map(Block::Figure).collect())
}

/// How the pairs of each rung came to their end, where that was not set.
fn rungs_looked_at(ladder: &Ladder) -> impl Iterator<Item = Figure> {
    let of_step = |step: &LadderStep| {
        let id = format!("looks-{}-{}", ladder.variant, step.rung);
        looks::draw(&id, &step.rung, step.stopping.as_ref()?)
    };
    ladder.steps.iter().filter_map(of_step)
}

/// A ladder as a staircase. What a rung brought comes from pairs of trials; the bars are the trials with the rung.
fn steps(recorded: &Recorded, ladder: &Ladder) -> Staircase {
    let unit = match ladder.metric {
        Metric::Nopm => ("new orders", "1/min"),
        Metric::P99 => ("99th percentile", "ms"),
        Metric::ServerCpuUsPerTransaction => ("server CPU per transaction", "µs"),
        _ => ("transactions", "1/s"),
    };
    let bare = |value: Option<f64>| Measured { value, ..Measured::default() };
    let source = |step: &LadderStep| {
        let label = ladder.label(step, "with");
        printed(recorded, ladder.metric, |at| at.variant == label)
    };
    let together = ladder.steps.iter().all(|step| source(step).is_none_or(|printed| is_near(printed, step.with)));
    let step = |step: &LadderStep| StaircaseStep {
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
            "The ladder of {}: each rung on top of those kept before it. Pairs of trials with and without the rung, one \
             right after the other, decide whether it is kept; the percentages come from these pairs, the bars from \
             the trials with the rung.{}",
            ladder.variant,
            if together { "" } else { FAR }
        ),
        base_name: ladder.variant.clone(),
        base: bare(ladder.steps.iter().find_map(|step| step.without)),
        steps: ladder.steps.iter().map(step).collect(),
        gain: ladder.gain.as_ref().map(Measured::from).unwrap_or_default(),
    }
}

/// Whether a printed number may share an axis with a measured one.
fn is_near(printed: f64, measured: Option<f64>) -> bool {
    measured.is_some_and(|measured| apart(printed, measured) <= MOST_APART)
}

/// A number that the source printed for something that was measured here.
fn printed(recorded: &Recorded, metric: Metric, is_it: impl Fn(&MeasuredAt) -> bool) -> Option<f64> {
    let is_of = |of: &&Published| of.printed.metric == metric.name() && of.at.as_ref().is_some_and(&is_it);
    recorded.published.iter().filter(is_of).find_map(|of| of.printed.value)
}

/// The number that the source printed for a cell.
fn printed_of(recorded: &Recorded, cell: &Cell, unit: Unit) -> Option<f64> {
    let is_it = |at: &MeasuredAt| (&at.variant, at.load) == (&cell.variant, cell.load);
    printed(recorded, unit.metric, is_it)
}

/// What all variants do: curves if some were measured at several load points, otherwise bars. Variants that were
/// measured at only one of several load points stand as bars beside the others there.
fn of_cells(recorded: &Recorded, cells: &[Cell]) -> Vec<Figure> {
    let orders = cells.iter().any(|cell| cell.nopm.is_some());
    let unit = if orders { NEW_ORDERS } else { TRANSACTIONS };
    let measured: Vec<&Cell> = cells.iter().filter(|cell| (unit.of)(cell).is_some()).collect();
    let axis = Axis::of(&measured);
    let (swept, single): (Vec<&Cell>, Vec<&Cell>) =
        measured.iter().partition(|cell| measured.iter().filter(|other| other.variant == cell.variant).count() > 1);
    let curves = of_lines(recorded, if swept.is_empty() { &measured } else { &swept }, unit, axis);
    let beside = match (curves.is_empty(), single.first()) {
        (true, _) => measured.clone(),
        (false, Some(first)) if !swept.is_empty() && single.iter().all(|cell| cell.load == first.load) => {
            measured.iter().copied().filter(|cell| cell.load == first.load).collect()
        }
        (false, _) => Vec::new(),
    };
    let means = "Geometric means over the rounds; strokes are 95 % intervals.";
    let (id, caption) = match single.first().filter(|_| !curves.is_empty()) {
        Some(at) => ("throughput-beside", format!("All variants at {}. {means}", at.load)),
        None => ("throughput", means.to_owned()),
    };
    let bars = (!beside.is_empty()).then(|| {
        let (bars, left_out) = grouped(recorded, &beside, unit);
        bars::draw(id, &bars, &format!("{caption}{left_out}"))
    });
    let bars = bars.flatten();
    curves.into_iter().chain(bars).collect()
}

/// A line for each variant, if there are not too many and any has several load points, with what was published if it is
/// near; then those for which something was published, each indexed to its own peak.
fn of_lines(recorded: &Recorded, measured: &[&Cell], unit: Unit, axis: Axis) -> Vec<Figure> {
    let lines = lines(recorded, measured, unit, axis);
    let published: Vec<Printed> = lines.iter().filter_map(|line| published_line(recorded, line, unit, axis)).collect();
    let indexed = indexed(&lines, &published, axis);
    let (near, far): (Vec<Printed>, Vec<Printed>) = published.into_iter().partition(|of| of.apart <= MOST_APART);
    let lines: Vec<Line> = lines.into_iter().chain(near.into_iter().map(|of| of.line)).collect();
    let absolute = (1..=MOST_LINES).contains(&lines.len()).then(|| {
        let curves = Curves {
            axis: axis.title().to_owned(),
            what: unit.what.to_owned(),
            unit: unit.unit.to_owned(),
            latency: if axis == Axis::Rate { "Response time".to_owned() } else { String::new() },
            lines,
        };
        let caption = format!(
            "Throughput and latency over {}, a line for each variant. Strokes are 95 % intervals over the rounds; rings \
             with a line through them are knees, and dotted lines are fitted models, where there are any.{}",
            axis.title(),
            left_out(&far)
        );
        curves::draw("throughput", &curves, &caption)
    });
    absolute.flatten().into_iter().chain(indexed).collect()
}

/// Says what is not drawn; empty if everything is.
fn left_out(far: &[Printed]) -> String {
    let names: Vec<&str> = far.iter().map(|of| of.line.name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(
            " The published numbers of {} are left out altogether, since they differ by a factor of up to {}; the next \
             figure has them.",
            names.join(", "),
            short(far.iter().map(|of| of.apart).fold(1.0, f64::max))
        ),
    }
}

/// Measured and published lines of the variants that have both, each in percent of its own peak: other machines give
/// other numbers, but shapes can be compared.
fn indexed(measured: &[Line], published: &[Printed], axis: Axis) -> Option<Figure> {
    let is_published = |line: &&Line| published.iter().any(|of| of.line.name == line.name);
    let published = published.iter().map(|of| &of.line);
    let both: Vec<Line> = measured.iter().filter(is_published).chain(published).filter_map(of_own_peak).collect();
    let curves = Curves {
        axis: axis.title().to_owned(),
        what: "share of its own peak".to_owned(),
        unit: "%, 100 % = each line’s own peak".to_owned(),
        lines: both,
        ..Curves::default()
    };
    let caption = "What was measured here and what was published, each line in percent of its own peak: the shapes can be \
                   compared where the machines cannot. Strokes are 95 % intervals of what was measured.";
    (1..=MOST_LINES)
        .contains(&curves.lines.len())
        .then(|| curves::draw("throughput-indexed", &curves, caption))
        .flatten()
}

/// A line in percent of its highest value; `None` if it has none.
fn of_own_peak(line: &Line) -> Option<Line> {
    let peak = line.places.iter().filter_map(|place| place.throughput.value).fold(0.0, f64::max);
    let place = |place: &CurvePoint| CurvePoint {
        x: place.x,
        throughput: place.throughput.scaled(100.0 / peak),
        disturbed: place.disturbed,
        ..CurvePoint::default()
    };
    (peak > 0.0).then(|| Line {
        name: line.name.clone(),
        places: line.places.iter().map(place).collect(),
        is_published: line.is_published,
        ..Line::default()
    })
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
        let one_number = cells.windows(2).all(|pair| pair[0].load.connections == pair[1].load.connections);
        let all_rates = cells.iter().all(|cell| cell.load.rate.is_some());
        if one_number && all_rates && !cells.is_empty() { Axis::Rate } else { Axis::Connections }
    }

    fn title(self) -> &'static str {
        match self {
            Axis::Connections => "connections",
            Axis::Rate => "arrivals offered per second",
        }
    }

    fn x(self, load: LoadPoint) -> f64 {
        match self {
            Axis::Connections => load.connections as f64,
            Axis::Rate => load.rate.unwrap_or(0.0),
        }
    }
}

/// A line for each variant that has several places.
fn lines(recorded: &Recorded, cells: &[&Cell], unit: Unit, axis: Axis) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for cell in cells {
        let place = CurvePoint {
            x: axis.x(cell.load),
            throughput: (unit.of)(cell).map(Measured::from).unwrap_or_default(),
            p99_ms: cell.p99_ms.as_ref().map(Measured::from).unwrap_or_default(),
            ..CurvePoint::default()
        };
        match lines.iter_mut().find(|line| line.name == cell.variant) {
            Some(line) => line.places.push(place),
            None => {
                let scaling = recorded.scaling.iter().find(|of| of.0 == cell.variant && axis == Axis::Connections);
                let (name, scaling) = (cell.variant.clone(), scaling.map(|of| of.1.clone()));
                lines.push(Line { name, places: vec![place], scaling, ..Line::default() });
            }
        }
    }
    for line in &mut lines {
        line.places.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    lines
}

/// A line that was printed.
struct Printed {
    line: Line,
    /// By which factor it differs from what was measured, at most; from 1.
    apart: f64,
}

/// Everything that the source printed for several load points of a variant, including those not measured here.
fn published_line(recorded: &Recorded, measured: &Line, unit: Unit, axis: Axis) -> Option<Printed> {
    let name = measured.name.as_str();
    let peak = measured.places.iter().filter_map(|place| place.throughput.value).reduce(f64::max)?;
    let of_it =
        recorded.published.iter().filter(|of| of.printed.metric == unit.metric.name() && of.printed.kind.is_result());
    let place = |of: &Published| {
        let x = match &of.at {
            Some(at) if at.variant == name => axis.x(at.load),
            None if axis == Axis::Connections && of.printed.variant.as_deref() == Some(name) => {
                of.printed.connections? as f64
            }
            _ => return None,
        };
        let throughput = Measured { value: Some(of.printed.value?), ..Measured::default() };
        let measured = of.measured.as_ref().map_or(peak, |measured| measured.value);
        Some((CurvePoint { x, throughput, ..CurvePoint::default() }, apart(of.printed.value?, measured)))
    };
    let mut places: Vec<(CurvePoint, f64)> = of_it.filter_map(place).collect();
    places.sort_by(|a, b| a.0.x.total_cmp(&b.0.x));
    places.dedup_by(|a, b| a.0.x == b.0.x);
    let apart = places.iter().map(|(_, apart)| *apart).fold(1.0, f64::max);
    let places: Vec<CurvePoint> = places.into_iter().map(|(place, _)| place).collect();
    let line = Line { name: name.to_owned(), places, is_published: true, ..Line::default() };
    (line.places.len() > 1).then_some(Printed { line, apart })
}

/// By which factor two numbers differ, from 1.
fn apart(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

/// Variants as bars: `group/member` stand in groups, several load points are members of their variant.
/// Returned with the remark on printed numbers that are left out.
fn grouped(recorded: &Recorded, cells: &[&Cell], unit: Unit) -> (Bars, &'static str) {
    let several = cells.iter().any(|cell| cell.load != cells[0].load);
    let split = |cell: &Cell| match (several, cell.variant.split_once('/')) {
        (true, _) => (cell.variant.clone(), cell.load.to_string()),
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
    let near = published.iter().flatten().zip(bars.values.iter().flatten());
    let near = near.filter_map(|(printed, measured)| Some(is_near((*printed)?, measured.value))).collect::<Vec<bool>>();
    match (near.is_empty(), near.iter().all(|near| *near)) {
        (true, _) => (bars, ""),
        (false, true) => {
            bars.published = published;
            (bars, "")
        }
        (false, false) => (bars, FAR),
    }
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// The highest rate that meets the objective, by variant and number of connections; `None` if no line was found.
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
    bars::draw("load-lines", &bars, &format!("The highest arrival rate that still meets {objective}."))
}
