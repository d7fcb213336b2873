//! Several recordings side by side, also from other machines: each is a system. Nothing here says that one is faster
//! than another: rounds on other machines are not paired, and what was asked may differ, which the page says.

mod claims;
mod facts;
mod more_cpus;

use crate::document::{Block, Document, Figure, Finding, Section};
use crate::figure::bars::{self, Bars};
use crate::figure::curves::{self, CurvePoint, Curves, Line};
use crate::interval::Measured;
use crate::io::tables::sheet_value;
use crate::lab::places::{Group, agreed, variant};
use crate::section::limit::words;
use crate::section::{caveats, cost, mean_cost};
use crate::subject::{Recorded, Subject, Trial};
use crate::sweep::Unit;
use crate::table::{Column, Table};
use plimsoll_model::Caveat;
use plimsoll_model::LoadPoint;
use plimsoll_model::comparison::unlike_work;
use plimsoll_model::diagnosis::Cost;
use plimsoll_model::io::SheetLine;
use plimsoll_model::layout::sentence;
use plimsoll_model::metric::{Metric, Statistic};
use plimsoll_model::number::{NOTHING, counted};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// More lines than this cannot be told apart.
const MOST_LINES: usize = 8;
/// How the names of those facts begin that say what a transaction is.
const PARAMETER: &str = "Parameter ";
/// The fact under which a plan gives a system's name.
const DESCRIBED: &str = "system";

/// A recording as one of several systems.
struct System<'a> {
    name: String,
    recorded: &'a Recorded,
    cells: Vec<Cell>,
}

/// What a system does at one place.
#[derive(Clone, Debug)]
struct Cell {
    /// Empty for a run.
    variant: String,
    workload: String,
    load: LoadPoint,
    transactions: Measured,
    new_orders: Measured,
    p99_ms: Measured,
}

impl Cell {
    fn throughput(&self, unit: Unit) -> &Measured {
        match unit {
            Unit::Transactions => &self.transactions,
            Unit::NewOrders => &self.new_orders,
        }
    }

    fn is_at(&self, other: &Cell) -> bool {
        (&self.variant, &self.workload) == (&other.variant, &other.workload) && self.load == other.load
    }

    /// `fc, 32 connections`; with the workload `tpcc, fc, 32 connections`.
    fn place(&self, with_workload: bool) -> String {
        let workload = Some(self.workload.clone()).filter(|_| with_workload);
        let variant = Some(self.variant.clone()).filter(|variant| !variant.is_empty());
        let parts = [workload, variant, Some(self.load.to_string())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The answer, all cells as bars and in a table, what was asked and where, and what each says for itself.
pub fn document(all: &[Recorded]) -> Document {
    let systems = systems(all);
    let unit = unit(&systems);
    let places = places(&systems);
    let sections = [
        figures(&systems, &places, unit),
        more_cpus::section(&systems),
        numbers(&systems, &places, unit),
        claims::section(&systems),
        limits(&systems, unit),
        sheets(&systems),
        facts::asked(&systems),
        answers(&systems),
        facts::environments(&systems),
        caveats(&systems),
        repeats(&systems),
    ];
    Document {
        title: title(all),
        answer: answer(&systems, unit),
        findings: more_cpus::findings(&systems).into_iter().chain(systems.iter().flat_map(findings)).collect(),
        facts: systems.iter().map(|system| system.name.clone()).collect(),
        sections: sections.into_iter().flatten().collect(),
        generated: all.first().map(|first| first.generated.clone()).unwrap_or_default(),
        data: json!({ "systems": systems.iter().map(data).collect::<Vec<Value>>() }),
    }
}

/// The title of the recordings, if they share one.
fn title(all: &[Recorded]) -> String {
    match all {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|other| other.title == first.title) => {
            format!("{}: systems side by side", first.title)
        }
        _ => "Systems side by side".to_owned(),
    }
}

/// Each under the name that its plan gives it, otherwise under its title; those with the same title are distinguished
/// by their operating systems, or else numbered.
fn systems(all: &[Recorded]) -> Vec<System<'_>> {
    let described = |recorded: &Recorded| {
        let system = recorded.environment.described.iter().find(|(name, _)| name == DESCRIBED);
        system.map(|(_, name)| name.clone())
    };
    let has_title_alone = |recorded: &Recorded| all.iter().filter(|other| other.title == recorded.title).count() == 1;
    let name = |recorded: &Recorded| match described(recorded) {
        Some(name) => name,
        None if has_title_alone(recorded) => recorded.title.clone(),
        None => fact(recorded, "Operating system").unwrap_or(&recorded.title).to_owned(),
    };
    let names: Vec<String> = all.iter().map(name).collect();
    let name = |place: usize| match names.iter().filter(|other| **other == names[place]).count() {
        1 => names[place].clone(),
        _ => format!("{} ({})", names[place], place + 1),
    };
    let system = |(place, recorded)| System { name: name(place), recorded, cells: cells(recorded) };
    all.iter().enumerate().map(system).collect()
}

fn fact<'a>(recorded: &'a Recorded, name: &str) -> Option<&'a str> {
    recorded.environment.facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn cells(recorded: &Recorded) -> Vec<Cell> {
    match &recorded.subject {
        Subject::Run(summary) => summary
            .points
            .iter()
            .map(|point| Cell {
                variant: String::new(),
                workload: summary.workload.clone(),
                load: point.load,
                transactions: Measured::of(point, Metric::TransactionsPerSecond),
                new_orders: Measured::of(point, Metric::Nopm),
                p99_ms: Measured::of(point, Metric::Time(Statistic::P99)),
            })
            .collect(),
        Subject::Lab(summary) => {
            let workload = |variant: &str| {
                let trial = recorded.trials.iter().find(|trial| trial.base == variant);
                trial.map_or(String::new(), |trial| trial.workload.clone())
            };
            let measured = |of: &Option<plimsoll_model::Estimate>| of.as_ref().map(Measured::from).unwrap_or_default();
            summary
                .cells
                .iter()
                .map(|cell| Cell {
                    variant: cell.variant.clone(),
                    workload: workload(&cell.variant),
                    load: cell.load,
                    transactions: measured(&cell.transactions_per_second),
                    new_orders: measured(&cell.nopm),
                    p99_ms: measured(&cell.p99_ms),
                })
                .collect()
        }
        Subject::Storage(_) => Vec::new(),
    }
}

/// New orders, if everything that was measured has them.
fn unit(systems: &[System<'_>]) -> Unit {
    let mut cells = systems.iter().flat_map(|system| &system.cells).peekable();
    let any = cells.peek().is_some();
    let all_orders = cells.all(|cell| cell.new_orders.value.is_some_and(|orders| orders > 0.0));
    if any && all_orders { Unit::NewOrders } else { Unit::Transactions }
}

/// Every place at which a system was measured, once, by variant, connections and rate.
fn places<'a>(systems: &'a [System<'_>]) -> Vec<&'a Cell> {
    let mut places: Vec<&Cell> = Vec::new();
    for cell in systems.iter().flat_map(|system| &system.cells) {
        if !places.iter().any(|known| known.is_at(cell)) {
            places.push(cell);
        }
    }
    let rate = |cell: &Cell| cell.load.rate.unwrap_or(0.0);
    places.sort_by(|a, b| {
        let of = |cell: &Cell| (cell.workload.clone(), cell.variant.clone(), cell.load.connections);
        of(a).cmp(&of(b)).then(rate(a).total_cmp(&rate(b)))
    });
    places
}

/// The highest throughput of a system, and where it was.
fn peak<'a>(system: &'a System<'_>, unit: Unit) -> Option<&'a Cell> {
    let known = system.cells.iter().filter_map(|cell| Some((cell, cell.throughput(unit).value?)));
    known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(cell, _)| cell)
}

/// Which system carries most, if all were asked the same, and whether the intervals separate it from the next;
/// otherwise what each carries at most.
fn answer(systems: &[System<'_>], unit: Unit) -> String {
    let words = |cell: &Cell| cell.throughput(unit).clone().brief().in_words(unit.name());
    let [(first, best), (second, next), ..] = ranked(systems, unit)[..] else {
        let peaks = systems.iter().filter_map(|system| Some((system, peak(system, unit)?)));
        let told = |(system, cell): (&System<'_>, &Cell)| {
            format!("{} carries at most {}, at {}", system.name, words(cell), cell.place(true))
        };
        let peaks: Vec<String> = peaks.map(told).collect();
        let many = counted(systems.len() as f64, "system");
        return match peaks.as_slice() {
            [] => format!("{many} side by side."),
            [only] if systems.len() == 1 => format!("{only}."),
            all => format!("Not asked the same{}: {many} side by side. {}.", facts::unlike(systems), all.join("; ")),
        };
    };
    let apart = best.throughput(unit).ends().0.zip(next.throughput(unit).ends().1);
    let sure = match apart {
        Some((low, high)) if low > high => "their intervals do not overlap",
        Some(_) => "their intervals overlap, so this may be chance",
        None => "without intervals, so this may be chance",
    };
    let (name, at, most, after) = (&first.name, best.place(true), words(best), words(next));
    format!("{name} carries most at {at}: {most}; next is {} with {after}: {sure}.", second.name)
}

/// All systems, the one that carries most first, at the load point with the highest throughput of any, among those that
/// all were asked without a rate and with the same parameters; nothing if there is none.
fn ranked<'a, 'b>(systems: &'a [System<'b>], unit: Unit) -> Vec<(&'a System<'b>, &'a Cell)> {
    let at = |system: &'a System<'b>, place: &Cell| {
        let known = |cell: &&Cell| cell.is_at(place) && cell.throughput(unit).value.is_some();
        Some((system, system.cells.iter().find(known)?))
    };
    let is_alike = |of: &Vec<(&System<'_>, &Cell)>| {
        let same = |pair: &[(&System<'_>, &Cell)]| {
            let [a, b] = [pair[0], pair[1]].map(|(system, cell)| parameters(system, cell));
            a.len() == b.len() && unlike_work(&a, &b).is_empty()
        };
        of.windows(2).all(same)
    };
    let places = systems.first().map_or(&[][..], |first| &first.cells).iter().filter(|cell| cell.load.rate.is_none());
    let common = places.filter_map(|place| systems.iter().map(|system| at(system, place)).collect::<Option<Vec<_>>>());
    let rate = |of: &(&System<'_>, &Cell)| of.1.throughput(unit).value.unwrap_or(0.0);
    let sorted = common.filter(is_alike).map(|mut all| {
        all.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        all
    });
    sorted.max_by(|a, b| rate(&a[0]).total_cmp(&rate(&b[0]))).unwrap_or_default()
}

/// Parameters of the workload at a place: those of its trials, otherwise those of the whole recording.
fn parameters(system: &System<'_>, cell: &Cell) -> BTreeMap<String, String> {
    match at_place(system, cell).trials.first() {
        Some(trial) => trial.parameters.clone(),
        None => {
            let asked = system.recorded.asked.iter().filter(|(name, _)| name.starts_with(PARAMETER));
            asked.cloned().collect()
        }
    }
}

/// How far a recording came, and what is missing.
fn findings(system: &System<'_>) -> Vec<Finding> {
    let state = system.recorded.state.iter().map(|state| Finding::labelled(&system.name, sentence(state)));
    let missing = caveats::findings(&system.recorded.missing);
    let early = system.recorded.ended_early.iter();
    let early = early.map(|why| Finding::labelled(format!("{} ended early", system.name), sentence(why)));
    early.chain(state).chain(missing.map(|of| Finding::labelled(&system.name, of.to_string()))).collect()
}

fn figures(systems: &[System<'_>], places: &[&Cell], unit: Unit) -> Option<Section> {
    let grouped = Bars {
        what: what(unit).to_owned(),
        unit: per(unit).to_owned(),
        groups: places.iter().map(|place| place.place(has_several_workloads(places))).collect(),
        members: systems.iter().map(|system| system.name.clone()).collect(),
        values: places.iter().map(|place| systems.iter().map(|system| at(system, place, unit)).collect()).collect(),
        ..Bars::default()
    };
    let caption = "What each system carries; strokes are 95 % intervals. Where there is no bar, it was not measured.";
    let bars = bars::draw("systems", &grouped, caption);
    let figures: Vec<Figure> = bars.into_iter().chain(lines(systems, unit)).collect();
    Section::of("figure", "Throughput", figures.into_iter().map(Block::Figure).collect())
}

/// A line for each system and variant over connections.
fn lines(systems: &[System<'_>], unit: Unit) -> Option<Figure> {
    let mut lines: Vec<Line> = Vec::new();
    for system in systems {
        for cell in system.cells.iter().filter(|cell| cell.load.rate.is_none()) {
            let variant = if cell.variant.is_empty() { String::new() } else { format!(", {}", cell.variant) };
            let name = format!("{}{variant}", system.name);
            let place = CurvePoint {
                x: cell.load.connections as f64,
                throughput: cell.throughput(unit).clone(),
                p99_ms: cell.p99_ms.clone(),
                ..CurvePoint::default()
            };
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.places.push(place),
                None => lines.push(Line { name, places: vec![place], ..Line::default() }),
            }
        }
    }
    for line in &mut lines {
        line.places.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let curves = Curves {
        axis: "connections".to_owned(),
        what: what(unit).to_owned(),
        unit: per(unit).to_owned(),
        lines,
        ..Curves::default()
    };
    let fits = (1..=MOST_LINES).contains(&curves.lines.len());
    fits.then(|| curves::draw("curves", &curves, "Throughput and latency over connections, a line for each system."))?
}

fn at(system: &System<'_>, place: &Cell, unit: Unit) -> Measured {
    let cell = system.cells.iter().find(|cell| cell.is_at(place));
    cell.map(|cell| cell.throughput(unit).clone()).unwrap_or_default()
}

fn has_several_workloads(places: &[&Cell]) -> bool {
    places.windows(2).any(|pair| pair[0].workload != pair[1].workload)
}

fn what(unit: Unit) -> &'static str {
    match unit {
        Unit::Transactions => "transactions",
        Unit::NewOrders => "new orders",
    }
}

fn per(unit: Unit) -> &'static str {
    match unit {
        Unit::Transactions => "1/s",
        Unit::NewOrders => "1/min",
    }
}

/// All places by system: throughput, then the 99th percentile.
fn numbers(systems: &[System<'_>], places: &[&Cell], unit: Unit) -> Option<Section> {
    if places.is_empty() {
        return None;
    }
    let table = |unit: &str, of: &dyn Fn(&System<'_>, &Cell) -> Measured| {
        let names = places.iter().map(|place| place.place(has_several_workloads(places))).collect();
        let column = |system: &System<'_>| {
            let values: Vec<Measured> = places.iter().map(|place| of(system, place)).collect();
            Column::measured(&system.name, unit, 2, &values)
        };
        Table::new([Column::words("load point", names)].into_iter().chain(systems.iter().map(column)).collect())
    };
    let p99 = |system: &System<'_>, place: &Cell| {
        let cell = system.cells.iter().find(|cell| cell.is_at(place));
        cell.map(|cell| cell.p99_ms.clone()).unwrap_or_default()
    };
    let blocks = vec![
        Block::subheading(sentence(what(unit)).trim_end_matches('.')),
        Block::table("throughput", table(per(unit), &|system, place| at(system, place, unit)), []),
        Block::subheading("99th percentile"),
        Block::table("p99", table("ms", &p99), []),
    ];
    Section::of("numbers", "In numbers", blocks)
}

/// What limited each system where it carried most, and what a transaction cost there.
fn limits(systems: &[System<'_>], unit: Unit) -> Option<Section> {
    let best = systems.iter().filter_map(|system| Some((system, peak(system, unit)?)));
    let groups: Vec<(&Cell, Group<'_>)> = best.map(|(system, cell)| (cell, at_place(system, cell))).collect();
    if groups.is_empty() {
        return None;
    }
    let limited = |group: &Group<'_>| agreed(group).map_or(NOTHING, |agreed| words(agreed.diagnosis)).to_owned();
    let throughput: Vec<Measured> = groups.iter().map(|(cell, _)| cell.throughput(unit).clone()).collect();
    let table = Table::new(vec![
        Column::words("system", groups.iter().map(|(_, group)| group.label.clone()).collect()),
        Column::words("carries most at", groups.iter().map(|(cell, _)| cell.place(true)).collect()),
        Column::measured(what(unit), per(unit), 2, &throughput),
        Column::words("limited by", groups.iter().map(|(_, group)| limited(group)).collect()),
    ]);
    let costs: Vec<(String, Cost)> =
        groups.iter().map(|(_, group)| (group.label.clone(), mean_cost(&group.trials))).collect();
    let mut blocks = vec![Block::table("limits", table, [])];
    if let Some(costs) = cost::table(&costs) {
        blocks.extend([Block::subheading("What a transaction cost there"), Block::table("costs", costs, [])]);
    }
    Section::of("limit", "What limited each", blocks)
}

/// The trials of a system at a place, under its name.
fn at_place<'a>(system: &System<'a>, cell: &Cell) -> Group<'a> {
    let is_there = |trial: &&Trial| {
        let is_variant = cell.variant.is_empty() || variant(trial) == cell.variant;
        is_variant && trial.load == cell.load
    };
    Group { label: system.name.clone(), trials: system.recorded.trials.iter().filter(is_there).collect() }
}

/// The sheets of storage evaluations, line by line.
fn sheets(systems: &[System<'_>]) -> Option<Section> {
    let sheet = |system: &System<'_>| match &system.recorded.subject {
        Subject::Storage(summary) => summary.sheet.clone(),
        _ => Vec::new(),
    };
    let sheets: Vec<Vec<SheetLine>> = systems.iter().map(sheet).collect();
    let mut keys: Vec<&SheetLine> = Vec::new();
    for line in sheets.iter().flatten() {
        if !keys.iter().any(|known| known.key == line.key) {
            keys.push(line);
        }
    }
    let value = |sheet: &[SheetLine], key: &str| {
        sheet_value(sheet.iter().find(|line| line.key == key).and_then(|line| line.value.as_ref()))
    };
    let column = |(system, sheet): (&System<'_>, &Vec<SheetLine>)| {
        Column::words(&system.name, keys.iter().map(|line| value(sheet, &line.key)).collect())
    };
    let head = [
        Column::words("line", keys.iter().map(|line| line.key.replace('_', " ")).collect()),
        Column::words("unit", keys.iter().map(|line| line.unit.clone()).collect()),
    ];
    let table = Table::new(head.into_iter().chain(systems.iter().zip(&sheets).map(column)).collect());
    let blocks = if keys.is_empty() { Vec::new() } else { vec![Block::table("sheets", table, [])] };
    Section::of("sheets", "The sheets", blocks)
}

/// The first sentence of each system's own report.
fn answers(systems: &[System<'_>]) -> Option<Section> {
    let lead = |system: &System<'_>| Block::lead(format!("{}:", system.name), crate::answer(system.recorded));
    Section::of("answers", "What each says for itself", systems.iter().map(lead).collect())
}

fn caveats(systems: &[System<'_>]) -> Option<Section> {
    let of = |system: &System<'_>| -> Vec<Block> {
        let caveats: &[Caveat] = match &system.recorded.subject {
            Subject::Run(summary) => &summary.caveats,
            Subject::Lab(summary) => &summary.caveats,
            Subject::Storage(summary) => &summary.caveats,
        };
        let mut blocks = vec![Block::subheading(&system.name)];
        blocks.extend(caveats::list(&system.recorded.missing));
        blocks.push(Block::Caveats(caveats.to_vec()));
        blocks
    };
    Section::of("caveats", "Caveats", systems.iter().flat_map(of).collect())
}

fn repeats(systems: &[System<'_>]) -> Option<Section> {
    let lines: Vec<&str> = systems.iter().map(|system| system.recorded.how_to_repeat.as_str()).collect();
    let known = lines.iter().any(|line| !line.is_empty());
    Section::of("repeat", "How to repeat it", if known { vec![Block::Listing(lines.join("\n"))] } else { Vec::new() })
}

/// For programs.
fn data(system: &System<'_>) -> Value {
    let measured = |of: &Measured| of.value.map(|value| json!({"value": value, "estimate": of.estimate}));
    let cell = |cell: &Cell| {
        json!({
            "variant": cell.variant,
            "workload": cell.workload,
            "connections": cell.load.connections,
            "rate_offered": cell.load.rate,
            "transactions_per_second": measured(&cell.transactions),
            "nopm": measured(&cell.new_orders),
            "p99_ms": measured(&cell.p99_ms),
        })
    };
    json!({
        "name": system.name,
        "answer": crate::answer(system.recorded),
        "asked": system.recorded.asked,
        "environment": system.recorded.environment.facts,
        "cells": system.cells.iter().map(cell).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Estimate;
    use plimsoll_model::summary::{Point, Summary};

    fn point(connections: usize, rate: f64) -> Point {
        let estimate = Estimate::new(rate, (0.95 * rate, 1.05 * rate), 0.95, 8.0, "8 batches".to_owned());
        Point {
            load: LoadPoint::closed(connections),
            seconds: 10.0,
            transactions_per_second: Some(rate),
            estimates: [(Metric::TransactionsPerSecond, estimate)].into(),
            ..Point::default()
        }
    }

    /// A run on some operating system, with what was asked of it.
    fn system(os: &str, rows: &str, points: Vec<Point>) -> Recorded {
        let summary: Summary = serde_json::from_value(json!({
            "schema_version": 1, "workload": "smack_select_key", "params": {}, "seed": 1, "points": points,
            "target": {"flavour": "mariadb", "version": "10.11", "durability": {}},
            "totals": {"statements": plimsoll_model::StatementCounts::default()}, "server": {"statements": null},
            "caveats": [], "recording": null, "interrupted": false,
        }))
        .unwrap();
        let mut recorded = Recorded::of_run("select-key", summary);
        recorded.environment.facts = vec![("Operating system".to_owned(), os.to_owned())];
        recorded.asked = vec![("Rows".to_owned(), rows.to_owned())];
        recorded
    }

    #[test]
    fn systems_of_one_title_are_told_apart_and_the_best_is_said_with_its_doubt() {
        let all = [
            system("OpenBSD", "1000", vec![point(1, 900.0), point(8, 1000.0)]),
            system("NetBSD", "1000", vec![point(1, 700.0), point(8, 800.0)]),
        ];
        let answer = document(&all).answer;
        let begin = "OpenBSD carries most at smack_select_key, 8 connections: 1,000 transactions per second";
        assert!(answer.starts_with(begin) && answer.ends_with("their intervals do not overlap."), "{answer}");
        let close = [system("A", "1", vec![point(1, 100.0)]), system("B", "1", vec![point(1, 99.0)])];
        assert!(document(&close).answer.ends_with("their intervals overlap, so this may be chance."));
    }

    #[test]
    fn only_what_was_asked_alike_is_ranked() {
        let peaks_apart =
            [system("A", "1", vec![point(1, 900.0), point(8, 1000.0)]), system("B", "1", vec![point(1, 950.0)])];
        assert!(document(&peaks_apart).answer.starts_with("B carries most at smack_select_key, 1 conn"));
        let rated = |rate| Point { load: LoadPoint { connections: 16, rate: Some(300.0) }, ..point(16, rate) };
        let of_rates = [system("A", "1", vec![point(16, 500.0)]), system("B", "1", vec![rated(300.0)])];
        let mut unlike = [system("A", "1", vec![point(1, 1.0)]), system("B", "1", vec![point(1, 2.0)])];
        unlike[0].asked.push(("Parameter table_size".to_owned(), "10".to_owned()));
        for all in [&of_rates, &unlike] {
            let answer = document(all).answer;
            assert!(answer.starts_with("Not asked the same: 2 systems side by side. A carries"), "{answer}");
        }
    }

    #[test]
    fn a_place_that_one_system_lacks_is_empty() {
        let all =
            [system("A", "1000", vec![point(1, 900.0), point(8, 1000.0)]), system("B", "1000", vec![point(1, 700.0)])];
        let of = systems(&all);
        let (places, unit) = (places(&of), unit(&of));
        let values: Vec<Vec<Option<f64>>> =
            places.iter().map(|place| of.iter().map(|system| at(system, place, unit).value).collect()).collect();
        assert_eq!(values, [[Some(900.0), Some(700.0)], [Some(1000.0), None]]);
    }

    #[test]
    fn what_was_not_asked_alike_is_said() {
        let unlike = [system("A", "1000", vec![point(1, 1.0)]), system("B", "10", vec![point(1, 1.0)])];
        let text = format!("{:?}", document(&unlike).sections);
        assert!(text.contains("One thing was not the same") && text.contains("Differs"), "{text}");
        let alike = [system("A", "10", vec![point(1, 1.0)]), system("B", "10", vec![point(1, 1.0)])];
        assert!(format!("{:?}", document(&alike).sections).contains("All systems were asked the same"));
    }

    #[test]
    fn nothing_side_by_side_is_no_panic() {
        let empty = [system("A", "1", Vec::new()), system("B", "1", Vec::new())];
        assert_eq!(document(&empty).answer, "2 systems side by side.");
        assert_eq!(document(&[]).answer, "0 systems side by side.");
    }
}
