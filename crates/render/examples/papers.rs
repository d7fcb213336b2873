//! Draws figures of published papers from the numbers that they print: `cargo run -p plimsoll-report --example papers -- DIR` writes
//! an SVG file for each and a page with all of them.

use plimsoll_render::{Format, render};
use plimsoll_report::document::{Block, Document, Figure, Section};
use plimsoll_report::figure::bars::{self, Bars};
use plimsoll_report::figure::curves::{self, CurvePoint, Curves, Line};
use plimsoll_report::figure::staircase::{self, Staircase, StaircaseStep};
use plimsoll_report::interval::Measured;
use plimsoll_report::svg;
use serde::Deserialize;
use std::path::PathBuf;

/// The numbers, each with its place in its source.
const NUMBERS: &str = include_str!("../../report/tests/figures/papers.json");

#[derive(Deserialize)]
struct Papers {
    netapp: NetApp,
    sun: Sun,
}

#[derive(Deserialize)]
struct NetApp {
    source: String,
    what: String,
    unit: String,
    figure_1: Vec<Printed>,
    figure_3: Vec<Printed>,
}

#[derive(Deserialize)]
struct Sun {
    source: String,
    what: String,
    unit: String,
    figure_3_2: Sweep,
    figure_3_4: Sweep,
}

#[derive(Deserialize)]
struct Printed {
    name: String,
    value: f64,
    place: String,
}

#[derive(Deserialize)]
struct Sweep {
    name: String,
    place: String,
    /// Connections and throughput.
    points: Vec<(f64, f64)>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&directory)?;
    let papers: Papers = serde_json::from_str(NUMBERS)?;
    let figures: Vec<Figure> = [
        protocols(&papers.netapp),
        ladder(&papers.netapp),
        sweep("sun-figure-3-2", &papers.sun, &papers.sun.figure_3_2),
        sweep("sun-figure-3-4", &papers.sun, &papers.sun.figure_3_4),
    ]
    .into_iter()
    .flatten()
    .collect();
    for figure in &figures {
        std::fs::write(directory.join(format!("{}.svg", figure.id)), svg::standalone(&figure.svg, svg::STYLE))?;
    }
    std::fs::write(
        directory.join("papers.html"),
        render(&page(figures), Format::Html).map_err(std::io::Error::other)?,
    )?;
    Ok(())
}

fn page(figures: Vec<Figure>) -> Document {
    let section = Section {
        id: "figures".to_owned(),
        heading: "Figures".to_owned(),
        found: String::new(),
        blocks: figures.into_iter().map(Block::Figure).collect(),
    };
    Document {
        title: "Published figures".to_owned(),
        answer: "Figures of two papers, drawn again from the numbers that they print.".to_owned(),
        sections: vec![section],
        ..Document::default()
    }
}

/// A printed number, which came without an interval.
fn printed(value: f64) -> Measured {
    Measured { value: Some(value), ..Measured::default() }
}

fn protocols(paper: &NetApp) -> Option<Figure> {
    let bars = Bars {
        what: paper.what.clone(),
        unit: paper.unit.clone(),
        groups: paper.figure_1.iter().map(|bar| bar.name.clone()).collect(),
        members: vec![String::new()],
        values: paper.figure_1.iter().map(|bar| vec![printed(bar.value)]).collect(),
        published: Vec::new(),
        has: Vec::new(),
        against_first: true,
    };
    let places: Vec<String> = paper.figure_1.iter().map(|bar| format!("{} from {}", bar.name, bar.place)).collect();
    bars::draw("netapp-figure-1", &bars, &format!("{}, Figure 1: {}.", paper.source, places.join("; ")))
}

fn ladder(paper: &NetApp) -> Option<Figure> {
    let (base, rungs) = paper.figure_3.split_first()?;
    let mut before = base.value;
    let mut steps = Vec::new();
    for rung in rungs {
        let (value, change) = (printed(rung.value), printed(rung.value / before - 1.0));
        steps.push(StaircaseStep { rung: rung.name.clone(), value, change, kept: true, ..StaircaseStep::default() });
        before = rung.value;
    }
    let last = rungs.last().unwrap_or(base);
    let staircase = Staircase {
        what: paper.what.clone(),
        unit: paper.unit.clone(),
        caption: format!("{}, Figure 3: {} to {}, over NFS.", paper.source, base.place, last.place),
        base_name: base.name.clone(),
        base: printed(base.value),
        steps,
        ..Staircase::default()
    };
    staircase::draw("netapp-figure-3", &staircase)
}

fn sweep(id: &str, paper: &Sun, sweep: &Sweep) -> Option<Figure> {
    let place = |&(x, value): &(f64, f64)| CurvePoint { x, throughput: printed(value), ..CurvePoint::default() };
    let places = sweep.points.iter().map(place).collect();
    let line = Line { name: sweep.name.clone(), places, is_published: true, ..Line::default() };
    let curves = Curves {
        axis: "user connections".to_owned(),
        what: paper.what.clone(),
        unit: paper.unit.clone(),
        lines: vec![line],
        ..Curves::default()
    };
    curves::draw(id, &curves, &format!("{}, {}: sysbench OLTP, {}, I/O-bound.", paper.source, sweep.place, sweep.name))
}
