//! The page: one self-contained HTML file without scripts or outside references, well-formed as XML.
//!
//! The order of the sections is the order in which a reader asks: what is the answer, what does it look like, what
//! are the numbers, how does it scale (of order entry, is it what it says), why so, on what, at what cost, how steadily, with which
//! settings, what speaks against it, and how do I get the same.

pub(crate) mod markup;
mod order_entry;
mod sections;

use crate::input::Report;
use crate::sentence::answer;
use crate::text::{escape, escape_tied};
use markup::Section;

const STYLE: &str = include_str!("style.css");

/// The mark on a ship's hull, beside the name.
const MARK: &str = "<svg class=\"logo\" viewBox=\"0 0 28 16\" aria-hidden=\"true\">\
                    <circle cx=\"14\" cy=\"8\" r=\"6.5\"/><line x1=\"1\" y1=\"8\" x2=\"27\" y2=\"8\"/></svg>";

/// The report as a page.
pub fn page(report: &Report) -> String {
    let sections: Vec<Section> = [
        sections::figure(report),
        sections::load_points(report),
        sections::scaling(report),
        order_entry::section(report),
        sections::original(report),
        sections::limit(report),
        sections::environment(report),
        sections::cost(report),
        sections::timeline(report),
        sections::latency(report),
        sections::settings(report),
        sections::caveats(report),
        sections::repeat(report),
    ]
    .into_iter()
    .flatten()
    .collect();
    document(&report.title, &head(report), &sections, &report.generated)
}

/// A whole file: `title` and `generated` are text, `head` is markup already.
pub(crate) fn document(title: &str, head: &str, sections: &[Section], generated: &str) -> String {
    let body: String = sections.iter().map(Section::render).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{title} · Plimsoll</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{head}<main>\n{body}</main>\n\
         <footer><p>{generated}</p></footer>\n</body>\n</html>\n",
        title = escape(title),
        generated = escape(generated),
    )
}

/// Title, the answer, what was run, and how much there is to mistrust.
fn head(report: &Report) -> String {
    let summary = &report.summary;
    let mut facts = vec![
        format!("<b>{}</b>", escape(&summary.workload)),
        format!("{} {}", summary.target.flavour, escape(&summary.target.version)),
    ];
    if let Some(point) = summary.points.first() {
        let load = match summary.points.len() {
            1 => "one load point".to_owned(),
            n => format!("{n} load points"),
        };
        facts.push(format!("{load} of {}\u{a0}s", crate::format::tick((10.0 * point.seconds).round() / 10.0)));
    }
    facts.push(caveats_link(summary.caveats.len()));
    header(&report.title, &answer(report), &facts)
}

/// How much there is to mistrust, as markup.
pub(crate) fn caveats_link(caveats: usize) -> String {
    match caveats {
        0 => "no caveats".to_owned(),
        1 => "<a href=\"#caveats\">1 caveat</a>".to_owned(),
        n => format!("<a href=\"#caveats\">{n} caveats</a>"),
    }
}

/// The top of a page; `facts` are markup already.
pub(crate) fn header(title: &str, answer: &str, facts: &[String]) -> String {
    format!(
        "<header>\n<p class=\"name\">{MARK}<span>Plimsoll</span></p>\n<h1>{}</h1>\n<p class=\"answer\">{}</p>\n\
         <p class=\"facts\">{}</p>\n</header>\n",
        escape(title),
        escape_tied(answer),
        facts.join(" <i>·</i> "),
    )
}
