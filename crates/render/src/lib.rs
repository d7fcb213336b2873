//! A [`Document`] in each format: HTML, Markdown, CSV, JSON, SVG. All show the same content, and all treat it as hostile.
//!
//! A page needs neither a network nor JavaScript; where [`script`] was built, it adds a cursor and zoom. Begin with
//! [`render`].

mod csv;
mod html;
mod json;
mod markdown;
mod plain_style;
pub mod script;
mod svg;

use html::PageLayout;
pub use html::{STYLE, fragment, section};

use plimsoll_model::layout::clean;
use plimsoll_report::document::Document;
use std::fmt;

/// The formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format<'a> {
    /// One page, offline, complete without JavaScript. What is not on the first screen is folded.
    Html,
    /// The same with everything open, as for a printer.
    HtmlUnfolded,
    /// The same with everything open, and printed small: a document that is short fits on one sheet of paper.
    HtmlSheet,
    Markdown,
    Json,
    /// Every table, a line for each cell.
    Csv,
    /// One figure by its id, or the main one.
    Svg(Option<&'a str>),
}

/// The document has no such figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoFigure {
    pub wanted: Option<String>,
    /// Ids of those that it has.
    pub known: Vec<String>,
}

impl fmt::Display for NoFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.wanted, self.known.is_empty()) {
            (_, true) => f.write_str("the report has no figure"),
            (None, false) => write!(f, "name a figure; there are: {}", self.known.join(", ")),
            (Some(wanted), false) => {
                write!(f, "the report has no figure `{}`; there are: {}", clean(wanted), self.known.join(", "))
            }
        }
    }
}

impl std::error::Error for NoFigure {}

/// The document in a format, as text that ends with a line break.
///
/// # Errors
/// [`NoFigure`] if a figure is asked for that the document does not have.
pub fn render(document: &Document, format: Format<'_>) -> Result<String, NoFigure> {
    match format {
        Format::Html => Ok(html::page(document, PageLayout::Folded)),
        Format::HtmlUnfolded => Ok(html::page(document, PageLayout::Open)),
        Format::HtmlSheet => Ok(html::page(document, PageLayout::Sheet)),
        Format::Markdown => Ok(markdown::text(document)),
        Format::Json => Ok(json::text(document)),
        Format::Csv => Ok(csv::text(document)),
        Format::Svg(id) => svg::figure(document, id),
    }
}
