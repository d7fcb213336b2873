//! Sections, tables and lists as HTML. Everything handed in as text is escaped here.

use crate::interval::Spread;
use crate::table::{Column, Mark, Table};
use crate::text::{escape, escape_tied};
use plimsoll_model::Caveat;

/// A section of the page: its heading stands in the margin, its body is markup already.
pub(crate) struct Section {
    pub id: &'static str,
    pub heading: &'static str,
    pub body: String,
}

impl Section {
    pub fn new(id: &'static str, heading: &'static str, body: String) -> Section {
        Section { id, heading, body }
    }

    pub fn render(&self) -> String {
        let Section { id, heading, body } = self;
        format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n<div class=\"body\">\n{body}</div>\n</section>\n")
    }
}

pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// A remark in small type.
pub(crate) fn remark(text: &str) -> String {
    format!("<p class=\"remark\">{}</p>\n", escape_tied(text))
}

pub(crate) fn subheading(text: &str) -> String {
    format!("<h3>{}</h3>\n", escape(text))
}

pub(crate) fn figure(svg: &str, caption: &str) -> String {
    format!("<figure>\n{svg}<figcaption>{}</figcaption>\n</figure>\n", escape_tied(caption))
}

pub(crate) fn table(table: &Table) -> String {
    let mut html = String::from("<div class=\"wide\"><table>\n<thead>\n<tr>");
    for column in &table.columns {
        html.push_str(&format!("<th scope=\"col\"{}>{}{}</th>", class(column), escape(&column.name), unit(column)));
    }
    html.push_str("</tr>\n</thead>\n<tbody>\n");
    // Where no cell has an interval, dashes would say no more than the reason below.
    let spreads: Vec<&[Spread]> =
        table.columns.iter().map(|column| if column.has_intervals() { column.shown_spreads() } else { &[] }).collect();
    for row in 0..table.rows() {
        let mark = table.mark(row);
        html.push_str(&mark.map_or("<tr>".to_owned(), |mark| format!("<tr class=\"{}\">", mark.name())));
        for (at, column) in table.columns.iter().enumerate() {
            let tag = mark.filter(|_| at == 0).and_then(Mark::tag);
            let tag = tag.map_or(String::new(), |tag| format!("<span class=\"tag\">{tag}</span>"));
            let spread = spreads[at].get(row).map_or(String::new(), spread);
            html.push_str(&format!("<td{}>{tag}{}{spread}</td>", class(column), escape_tied(&column.cells[row])));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table></div>\n");
    html
}

fn class(column: &Column) -> &'static str {
    if column.is_number { " class=\"n\"" } else { "" }
}

fn unit(column: &Column) -> String {
    match column.unit.as_str() {
        "" => String::new(),
        unit => format!("<span class=\"unit\">{}</span>", escape(unit)),
    }
}

/// The interval below its number; how it was found shows while the pointer rests on it.
fn spread(spread: &Spread) -> String {
    let method = spread.method.as_ref().map_or(String::new(), |method| format!(" title=\"{}\"", escape(method)));
    match spread.text.as_str() {
        "" => String::new(),
        text => format!("<span class=\"spread\"{method}>{}</span>", escape(text)),
    }
}

/// A table that has intervals, with the reasons for those that are missing and whatever else is to be said of it.
pub(crate) fn measured_table(of: &Table, remarks: impl IntoIterator<Item = String>) -> String {
    let sentences: Vec<String> = of.missing().iter().map(|line| sentence(line)).chain(remarks).collect();
    let below = if sentences.is_empty() { String::new() } else { remark(&sentences.join(" ")) };
    table(of) + &below
}

/// A line as a sentence: with a capital letter and a full stop.
pub(crate) fn sentence(line: &str) -> String {
    let mut letters = line.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

/// Names and what they are, in two columns.
pub(crate) fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: String = pairs
        .into_iter()
        .map(|(name, value)| format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(name), escape(&value)))
        .collect();
    if rows.is_empty() { rows } else { format!("<table class=\"pairs\">\n<tbody>\n{rows}</tbody>\n</table>\n") }
}

/// The reasons to mistrust, or that there are none.
pub(crate) fn caveat_list(caveats: &[Caveat]) -> String {
    let item =
        |caveat: &Caveat| format!("<li>{} <code>{}</code></li>\n", escape(&caveat.message), escape(&caveat.code));
    let items: String = caveats.iter().map(item).collect();
    if items.is_empty() { paragraph("None were found.") } else { format!("<ul class=\"caveats\">\n{items}</ul>\n") }
}
