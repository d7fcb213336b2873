//! One figure as a file of its own, which drawing programs read too.

use super::{NoFigure, plain_style};
use plimsoll_report::document::Document;
use plimsoll_report::svg::{STYLE, standalone};

/// The figure of this name, or the first. `staircase` is `staircase-1` if figures of a kind are numbered.
///
/// # Errors
/// [`NoFigure`] if there is none.
pub(super) fn figure(document: &Document, id: Option<&str>) -> Result<String, NoFigure> {
    let is_called = |figure: &str, id: &str| figure == id || figure.strip_prefix(id) == Some("-1");
    let found = document.figures().find(|figure| id.is_none_or(|id| is_called(&figure.id, id)));
    let known = || document.figures().map(|figure| figure.id.clone()).collect();
    let figure = found.ok_or_else(|| NoFigure { wanted: id.map(str::to_owned), known: known() })?;
    Ok(standalone(&figure.svg, &plain_style::plain(STYLE)))
}
