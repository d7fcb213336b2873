//! What every rendering shows: a title, the answer, and sections of blocks. Texts are raw here; each rendering cleans
//! and escapes them itself.

use crate::svg::{says_beyond, stamped};
use crate::table::Table;
use plimsoll_model::Caveat;
use plimsoll_model::layout::sentence;
use serde::Serialize;
use std::fmt;

/// Width of every figure, CSS pixels.
pub const WIDTH: f64 = 760.0;
/// Width of a figure drawn for a phone, CSS pixels.
pub const NARROW: f64 = 360.0;

/// A report, whatever its subject and however it is rendered.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub title: String,
    /// The answer in one sentence.
    pub answer: String,
    /// What limited it, how sure that is and what is missing; directly below the answer.
    pub findings: Vec<Finding>,
    /// What was measured, in a few words each: workload, server, load points.
    pub facts: Vec<String>,
    pub sections: Vec<Section>,
    /// When and by what: `2026-11-21 19:30 UTC by Plimsoll 0.1.0`.
    pub generated: String,
    /// The raw measurements, for programs; null if there are none.
    pub data: serde_json::Value,
}

impl Document {
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|section| &section.blocks)
    }

    /// In their order; the first is the main one.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks().filter_map(|block| if let Block::Figure(figure) = block { Some(figure) } else { None })
    }

    /// What fits on one page: the answer, the main figure, the table below it, and the caveats.
    pub fn short(mut self) -> Document {
        let caveats = self.caveats().cloned();
        self.sections.truncate(2);
        let is_in = caveats.as_ref().is_some_and(|of| self.sections.iter().any(|section| section.id == of.id));
        self.sections.extend(caveats.filter(|_| !is_in));
        self
    }

    /// The section with the caveats.
    pub fn caveats(&self) -> Option<&Section> {
        let has_caveats = |section: &&Section| section.blocks.iter().any(|block| matches!(block, Block::Caveats(_)));
        self.sections.iter().find(has_caveats)
    }
}

/// One of the sentences below the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// What it is about, in a few words.
    pub label: Option<String>,
    pub text: String,
}

impl Finding {
    pub fn of(text: impl Into<String>) -> Finding {
        Finding { label: None, text: text.into() }
    }

    pub fn labelled(label: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { label: Some(label.into()), text: text.into() }
    }
}

/// `What limited it: the server’s CPU, …`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.label.iter().try_for_each(|label| write!(f, "{label}: "))?;
        f.write_str(&self.text)
    }
}

/// A section. Whoever makes the document leaves out one without blocks.
#[derive(Clone, Debug)]
pub struct Section {
    /// Unique in the document; an anchor in HTML, a first column in CSV.
    pub id: String,
    pub heading: String,
    /// What it found, in a few words: a page shows only these until it is opened. Empty if the heading says it all.
    pub found: String,
    pub blocks: Vec<Block>,
}

impl Section {
    /// `None` without blocks.
    pub fn of(id: &str, heading: &str, blocks: Vec<Block>) -> Option<Section> {
        let section = |blocks| Section { id: id.to_owned(), heading: heading.to_owned(), found: String::new(), blocks };
        (!blocks.is_empty()).then_some(blocks).map(section)
    }

    /// The same with what it found.
    pub fn found(self, found: impl Into<String>) -> Section {
        Section { found: found.into(), ..self }
    }

    /// How many reasons to mistrust the document it names: caveats and warnings.
    pub fn warnings(&self) -> usize {
        let of = |block: &Block| match block {
            Block::Caveats(caveats) => caveats.len(),
            Block::List(items) => items.iter().filter(|item| item.warning).count(),
            _ => 0,
        };
        self.blocks.iter().map(of).sum()
    }
}

#[derive(Clone, Debug)]
pub enum Block {
    Subheading(String),
    Paragraph(String),
    /// A paragraph that begins with a few words in bold.
    Lead {
        lead: String,
        text: String,
    },
    /// A paragraph in small type.
    Remark(String),
    List(Vec<Item>),
    /// Names and what they are.
    Pairs(Vec<(String, String)>),
    Table(TitledTable),
    /// A table that few readers need: a page shows these words instead until they are opened.
    Folded {
        words: String,
        table: TitledTable,
    },
    Figure(Figure),
    /// Lines shown verbatim: a command, a listing of the original.
    Listing(String),
    Caveats(Vec<Caveat>),
}

impl Block {
    pub fn paragraph(text: impl Into<String>) -> Block {
        Block::Paragraph(text.into())
    }

    pub fn remark(text: impl Into<String>) -> Block {
        Block::Remark(text.into())
    }

    pub fn subheading(text: impl Into<String>) -> Block {
        Block::Subheading(text.into())
    }

    pub fn lead(lead: impl Into<String>, text: impl Into<String>) -> Block {
        Block::Lead { lead: lead.into(), text: text.into() }
    }

    pub fn table(name: &str, table: Table, remarks: impl IntoIterator<Item = String>) -> Block {
        Block::Table(TitledTable { name: name.to_owned(), table, remarks: remarks.into_iter().collect() })
    }

    pub fn folded(words: &str, name: &str, table: Table) -> Block {
        let table = TitledTable { name: name.to_owned(), table, remarks: Vec::new() };
        Block::Folded { words: words.to_owned(), table }
    }
}

/// A line of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    pub text: String,
    /// What it rests on, in small type.
    pub small: Option<String>,
    /// It must not be overlooked.
    pub warning: bool,
}

impl Item {
    pub fn of(text: impl Into<String>) -> Item {
        Item { text: text.into(), ..Item::default() }
    }
}

/// A table that other programs can find by its name.
#[derive(Clone, Debug)]
pub struct TitledTable {
    /// Unique in its section, lower case: `points`, `cost-per-query`.
    pub name: String,
    pub table: Table,
    /// Below it.
    pub remarks: Vec<String>,
}

impl TitledTable {
    /// What stands below it, a sentence each: why intervals are missing, then the remarks.
    pub fn notes(&self) -> Vec<String> {
        let missing = self.table.missing();
        missing.iter().map(|line| sentence(line)).chain(self.remarks.iter().cloned()).collect()
    }
}

/// A figure as it is printed, with the numbers behind it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Unique in the document, lower case: `throughput`, `timeline`.
    pub id: String,
    pub svg: String,
    /// The version for a screen as narrow as a phone's; without it, the other is shown there.
    pub narrow: Option<String>,
    pub caption: String,
    /// A description of the drawing for readers who cannot see it.
    pub table: Table,
    /// What the script, if there is one, draws instead, with a cursor and zoom; `None` where that would add nothing.
    pub chart: Option<Chart>,
}

impl Figure {
    /// Its name among those of sections and tables: `figure-timeline`.
    pub fn anchor(&self) -> String {
        format!("figure-{}", self.id)
    }

    /// Says below the drawing where it was measured, so that a copy of it stands alone.
    pub fn stamp(&mut self, words: &str) {
        self.svg = stamped(&self.svg, words);
        self.narrow = self.narrow.as_ref().map(|narrow| stamped(narrow, words));
        self.chart = self.chart.take().map(|chart| Chart { small_print: words.to_owned(), ..chart });
    }

    /// A figure drawn for a page and for a phone: `draw` is given the width, CSS pixels. The caption also explains the
    /// arrow, if there is one.
    pub fn drawn(id: &str, caption: &str, table: Table, draw: impl Fn(f64) -> String) -> Figure {
        let (svg, narrow) = (draw(WIDTH), Some(draw(NARROW)));
        let arrow = if says_beyond(&svg) { " An arrow marks an interval that extends beyond the axis." } else { "" };
        let caption = format!("{caption}{arrow}");
        Figure { id: id.to_owned(), svg, narrow, caption, table, chart: None }
    }
}

/// Lines over a common horizontal axis, in panels below each other that share a cursor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    pub x: Axis,
    /// Places on the horizontal axis, rising; the same for all lines.
    pub at: Vec<f64>,
    pub panels: Vec<ChartPanel>,
    /// Named stretches of the horizontal axis: phases.
    pub bands: Vec<Band>,
    /// Named places of the first panel.
    pub marks: Vec<NamedPlace>,
    /// Where it was measured, below it.
    pub small_print: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    pub title: String,
    /// Empty for none.
    pub unit: String,
    pub logarithmic: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartPanel {
    pub y: Axis,
    pub lines: Vec<ChartLine>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartLine {
    pub name: String,
    /// Colour class of the style sheet: `s1` to `s8`.
    pub class: String,
    /// It was not measured here: published numbers, or a model.
    pub dashed: bool,
    /// Beside [`Chart::at`]; `None` where nothing was measured, which leaves a gap.
    pub values: Vec<Option<f64>>,
    /// Ends of the intervals where they are known, or the least and the most of the samples merged into a value; empty
    /// or beside the values.
    pub low: Vec<Option<f64>>,
    pub high: Vec<Option<f64>>,
    /// The slowest and the fastest second of a load point; empty or beside the values.
    pub least: Vec<Option<f64>>,
    pub most: Vec<Option<f64>>,
}

/// A place with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NamedPlace {
    pub x: f64,
    pub y: f64,
    pub name: String,
    pub kind: PlaceKind,
}

/// What there is at a place with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    #[default]
    Knee,
    /// The highest measured value.
    Peak,
    /// A load point that was disturbed.
    Disturbed,
}

/// A stretch of the horizontal axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Band {
    pub from: f64,
    pub to: f64,
    pub name: String,
    /// It was measured, unlike warm-up and drain.
    pub measured: bool,
}
