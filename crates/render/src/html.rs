//! One self-contained page without outside references, well-formed as XML, complete without its script.

use super::json::embedded;
use crate::script;
use plimsoll_model::Caveat;
use plimsoll_model::layout::{escape, escape_lines, escape_tied};
use plimsoll_report::document::{Block, Document, Figure, Finding, Item, Section, TitledTable};
use plimsoll_report::interval::IntervalCell;
use plimsoll_report::svg;
use plimsoll_report::table::{Column, Mark, Table};

/// The style of a page, except its figures: see [`svg::STYLE`].
pub const STYLE: &str = include_str!("style.css");

/// The mark on a ship's hull, beside the name.
const MARK: &str = "<svg class=\"logo\" viewBox=\"0 0 28 16\" aria-hidden=\"true\">\
                    <circle cx=\"14\" cy=\"8\" r=\"6.5\"/><line x1=\"1\" y1=\"8\" x2=\"27\" y2=\"8\"/></svg>";

/// How a page is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PageLayout {
    /// Of all sections but the first there are heading and finding, until they are opened.
    Folded,
    /// All sections are open.
    Open,
    /// All sections are open and printed small, so that a short document fits on one sheet of paper.
    Sheet,
}

/// The whole file.
pub(super) fn page(document: &Document, layout: PageLayout) -> String {
    let class = if layout == PageLayout::Sheet { " class=\"sheet\"" } else { "" };
    let scripts = script::HASH.map_or_else(String::new, |hash| format!("; script-src '{hash}'"));
    let bundle = script::BUNDLE.map_or_else(String::new, |bundle| format!("<script>{bundle}</script>\n"));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"{class}>\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{scripts}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{title} · Plimsoll</title>\n<style>\n{figures}{STYLE}</style>\n</head>\n<body>\n{fragment}\
         <footer><p>{generated}</p></footer>\n{bundle}</body>\n</html>\n",
        title = escape(&document.title),
        figures = svg::STYLE,
        fragment = laid_out(document, layout),
        generated = escape(&document.generated),
    )
}

/// What is between the head and the foot of the page, for use in other pages.
pub fn fragment(document: &Document) -> String {
    laid_out(document, PageLayout::Folded)
}

fn laid_out(document: &Document, layout: PageLayout) -> String {
    let mut sections = document.sections.iter();
    let first = sections.next().map(section).unwrap_or_default();
    let others: String = sections.map(|section| folded_section(section, layout)).collect();
    format!("{}<main>\n{first}{others}</main>\n", header(document))
}

/// Title, answer, findings, what was run, and the number of caveats.
fn header(document: &Document) -> String {
    let findings: String = document.findings.iter().map(finding).collect();
    let findings = if findings.is_empty() { findings } else { format!("<ul class=\"findings\">\n{findings}</ul>\n") };
    let mut facts: Vec<String> = document.facts.iter().map(|fact| escape_tied(fact)).collect();
    if let Some(first) = facts.first_mut() {
        *first = format!("<b>{first}</b>");
    }
    facts.extend(caveats_link(document));
    format!(
        "<header>\n<p class=\"name\">{MARK}<span>Plimsoll</span></p>\n<h1>{}</h1>\n<p class=\"answer\">{}</p>\n\
         {findings}<p class=\"facts\">{}</p>\n</header>\n",
        escape(&document.title),
        escape_tied(&document.answer),
        facts.join(" <i>·</i> "),
    )
}

fn finding(finding: &Finding) -> String {
    let label = finding.label.as_ref().map_or(String::new(), |label| format!("<b>{}</b> ", escape_tied(label)));
    format!("<li>{label}{}</li>\n", escape_tied(&finding.text))
}

fn caveats_link(document: &Document) -> Option<String> {
    let section = document.caveats()?;
    let told = match section.warnings() {
        0 => return Some("no caveats".to_owned()),
        1 => "1 caveat".to_owned(),
        n => format!("{n} caveats"),
    };
    // A link to what is inside opens it.
    Some(format!("<a href=\"#{}\">{told}</a>", escape(&inside(section))))
}

/// One section, opened, for use in other pages.
pub fn section(section: &Section) -> String {
    format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n",
        escape(&section.id),
        escape(&section.heading),
        body(section)
    )
}

fn folded_section(section: &Section, layout: PageLayout) -> String {
    let open = if layout == PageLayout::Folded { "" } else { " open=\"\"" };
    format!(
        "<section id=\"{}\" class=\"folded\">\n<details{open}>\n<summary><h2>{}</h2><span class=\"found\">{}</span>\
         </summary>\n{}</details>\n</section>\n",
        escape(&section.id),
        escape(&section.heading),
        escape_tied(&section.found),
        body(section)
    )
}

fn body(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block).collect();
    format!("<div class=\"body\" id=\"{}\">\n{blocks}</div>\n", escape(&inside(section)))
}

/// The anchor of what is in a section.
fn inside(section: &Section) -> String {
    format!("in-{}", section.id)
}

fn block(block: &Block) -> String {
    match block {
        Block::Subheading(text) => format!("<h3>{}</h3>\n", escape(text)),
        Block::Paragraph(text) => format!("<p>{}</p>\n", escape_tied(text)),
        Block::Lead { lead, text } => format!("<p><b>{}</b> {}</p>\n", escape_tied(lead), escape_tied(text)),
        Block::Remark(text) => remark(text),
        Block::List(items) => format!("<ul class=\"items\">\n{}</ul>\n", items.iter().map(item).collect::<String>()),
        Block::Pairs(pairs) => self::pairs(pairs),
        Block::Table(table) => titled(table),
        Block::Folded { words, table } => folded(words, table),
        Block::Figure(figure) => self::figure(figure),
        Block::Listing(text) => format!("<pre>{}</pre>\n", escape_lines(text)),
        Block::Caveats(caveats) => self::caveats(caveats),
    }
}

/// In small type.
fn remark(text: &str) -> String {
    format!("<p class=\"remark\">{}</p>\n", escape_tied(text))
}

fn item(item: &Item) -> String {
    let class = if item.warning { " class=\"warning\"" } else { "" };
    let small = item.small.as_ref().map_or(String::new(), |small| format!(" <small>{}</small>", escape(small)));
    format!("<li{class}>{}{small}</li>\n", escape_tied(&item.text))
}

/// Names and what they are, in two columns.
fn pairs(pairs: &[(String, String)]) -> String {
    let row = |(name, value): &(String, String)| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(name), escape(value))
    };
    format!("<table class=\"pairs\">\n<tbody>\n{}</tbody>\n</table>\n", pairs.iter().map(row).collect::<String>())
}

fn caveats(caveats: &[Caveat]) -> String {
    let item =
        |caveat: &Caveat| format!("<li>{} <code>{}</code></li>\n", escape_tied(&caveat.message), escape(&caveat.code));
    match caveats {
        [] => "<p>None were found.</p>\n".to_owned(),
        _ => format!("<ul class=\"caveats\">\n{}</ul>\n", caveats.iter().map(item).collect::<String>()),
    }
}

fn titled(of: &TitledTable) -> String {
    let notes = of.notes();
    let below = if notes.is_empty() { String::new() } else { remark(&notes.join(" ")) };
    table(&of.name, &of.table) + &below
}

fn folded(words: &str, of: &TitledTable) -> String {
    let words = escape(words);
    format!("<details class=\"behind\">\n<summary>{words}</summary>\n{}</details>\n", titled(of))
}

fn figure(of: &Figure) -> String {
    let drawing = match &of.narrow {
        Some(narrow) => {
            format!("<div class=\"at-page\">\n{}</div>\n<div class=\"at-phone\">\n{narrow}</div>\n", of.svg)
        }
        None => of.svg.clone(),
    };
    let chart = of.chart.as_ref().map_or(String::new(), |chart| {
        format!("<script type=\"application/json\" class=\"chart\">{}</script>\n", embedded(chart))
    });
    let behind = TitledTable { name: of.anchor(), table: of.table.clone(), remarks: Vec::new() };
    let behind = match of.table.rows() {
        0 => String::new(),
        _ => folded("The numbers behind it", &behind),
    };
    format!(
        "<figure id=\"{}\">\n<div class=\"drawing\">\n{drawing}</div>\n<figcaption>{}</figcaption>\n{behind}{chart}</figure>\n",
        escape(&of.anchor()),
        escape_tied(&of.caption),
    )
}

fn table(name: &str, table: &Table) -> String {
    // Whatever scrolls must be reachable by keyboard and must say what it is (WCAG 2.1, 2.1.1 and 4.1.2).
    let mut html = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table {name}\"><table data-name=\"{name}\">\n\
         <thead>\n<tr>",
        name = escape(name)
    );
    for column in &table.columns {
        html.push_str(&format!("<th scope=\"col\"{}>{}{}</th>", class(column), escape(&column.name), unit(column)));
    }
    html.push_str("</tr>\n</thead>\n<tbody>\n");
    // If no cell has an interval, dashes would add nothing to the reason below.
    let spreads: Vec<&[IntervalCell]> =
        table.columns.iter().map(|column| if column.has_intervals() { column.shown_spreads() } else { &[] }).collect();
    for row in 0..table.rows() {
        let mark = table.mark(row);
        html.push_str(&mark.map_or("<tr>".to_owned(), |mark| format!("<tr class=\"{}\">", mark.name())));
        for (at, column) in table.columns.iter().enumerate() {
            let tag = mark.filter(|_| at == 0).and_then(Mark::tag);
            let tag = tag.map_or(String::new(), |tag| format!("<span class=\"tag\">{tag}</span>"));
            let spread = spreads[at].get(row).map_or(String::new(), spread);
            let cell = column.cells.get(row).map_or_else(String::new, |cell| escape_tied(cell));
            let (begin, end) = if at == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
            html.push_str(&format!("<{begin}{}>{tag}{cell}{spread}</{end}>", class(column)));
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody>\n</table></div>\n"
}

/// Numbers are set flush right; what gives way does so on a phone.
fn class(column: &Column) -> &'static str {
    match (column.is_number, column.rank) {
        (true, 0) => " class=\"n\"",
        (true, _) => " class=\"n spare\"",
        (false, 0) => "",
        (false, _) => " class=\"spare\"",
    }
}

fn unit(column: &Column) -> String {
    match column.unit.as_str() {
        "" => String::new(),
        unit => format!("<span class=\"unit\">{}</span>", escape(unit)),
    }
}

/// The interval below its number; the method shows while the pointer rests on it.
fn spread(spread: &IntervalCell) -> String {
    let method = spread.method.as_ref().map_or(String::new(), |method| format!(" title=\"{}\"", escape(method)));
    match spread.text.as_str() {
        "" => String::new(),
        text => format!("<span class=\"spread\"{method}>{}</span>", escape(text)),
    }
}
