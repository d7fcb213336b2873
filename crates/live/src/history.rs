//! `/`: all recordings, the latest first, with the running ones on top.

use crate::catalogue::{RecordingTopic, moment};
use crate::page::Page;
use plimsoll_model::io::IoSummary;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::layout::{escape, escape_tied};
use plimsoll_model::number::counted;
use plimsoll_model::summary::Summary;
use plimsoll_record::Labels;
use plimsoll_record::lines::read_json;
use plimsoll_record::read::{Entry, Listing, State};
use plimsoll_report::subject::Recorded;
use plimsoll_report::{answer, io};
use serde::Deserialize;
use std::path::Path;

/// Recordings per page.
const ON_A_PAGE: usize = 50;

/// What the form asks for.
#[derive(Debug, Default, Deserialize)]
pub struct HistoryQuery {
    #[serde(default)]
    q: String,
    /// From 1.
    page: Option<usize>,
}

/// A recording and what its manifest says.
struct Row<'l> {
    entry: &'l Entry,
    id: String,
    what: RecordingTopic,
    state: State,
}

/// One page of the recordings that match the search; the running ones are always shown.
pub fn page(listing: &Listing, asked: &HistoryQuery) -> Page {
    let rows: Vec<Row<'_>> = listing.recordings.iter().rev().map(Row::of).collect();
    let (running, ended): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().partition(|row| row.state == State::Running);
    let found: Vec<&Row<'_>> = ended.into_iter().filter(|row| row.what.matches(&row.id, &asked.q)).collect();
    let pages = found.len().div_ceil(ON_A_PAGE).max(1);
    let number = asked.page.unwrap_or(1).clamp(1, pages);
    let shown = found.iter().skip((number - 1) * ON_A_PAGE).take(ON_A_PAGE).copied();
    let body = [
        "<main>\n<h1>Recordings</h1>\n".to_owned(),
        now_running(&running),
        search(&asked.q),
        how_many(found.len(), &asked.q, listing.recordings.is_empty()),
        table(shown),
        turning(&asked.q, number, pages),
        unreadable(listing),
        "</main>\n".to_owned(),
    ]
    .concat();
    let refresh = (!running.is_empty()).then_some(10);
    Page { title: "Recordings".to_owned(), body, refresh, ..Page::default() }
}

impl Row<'_> {
    fn of(entry: &Entry) -> Row<'_> {
        Row { entry, id: entry.id(), what: RecordingTopic::of(&entry.manifest), state: entry.state() }
    }

    fn markup(&self) -> String {
        let Row { entry, id, what, state } = self;
        let early =
            entry.ended_early().map(|why| format!("<p class=\"found why\">Ended early: {}</p>", escape_tied(&why)));
        let (id, title, word) = (escape(id), escape(&what.title), state.word());
        let found = found(&entry.directory).map(|found| format!("<p class=\"found\">{}</p>", escape_tied(&found)));
        let labels = labels(entry);
        format!(
            "<tr><td class=\"pick\"><input type=\"checkbox\" name=\"pick\" value=\"{id}\" \
             aria-label=\"Compare {title} of {when}\"></td>\
             <td><a class=\"title\" href=\"/recording/{id}\">{title}</a>{labels}{}{}</td>\
             <td class=\"when\"><time datetime=\"{}\">{when}</time></td><td>{}<span class=\"on\">{}</span></td>\
             <td><span class=\"state {word}\">{word}</span></td></tr>\n",
            early.unwrap_or_default(),
            found.unwrap_or_default(),
            entry.manifest.started,
            escape(&what.work),
            escape(&what.on),
            when = moment(entry.manifest.started),
        )
    }
}

/// What somebody has said of it: `kept`, its tags, its note; nothing where nobody has.
pub fn labels(entry: &Entry) -> String {
    let Labels { kept, tags, note } = Labels::of(&entry.directory).unwrap_or_default();
    let words = kept.then(|| "kept".to_owned()).into_iter().chain(tags);
    let words: String = words.map(|word| format!(" <span class=\"label\">{}</span>", escape(&word))).collect();
    let note = note.map(|note| format!("<p class=\"found note\">{}</p>", escape_tied(&note)));
    format!("{words}{}", note.unwrap_or_default())
}

fn now_running(running: &[&Row<'_>]) -> String {
    let item = |row: &&Row<'_>| {
        format!(
            "<li><a href=\"/live/{}\"><b>{}</b> <span>{}, since {} UTC</span></a></li>\n",
            escape(&row.id),
            escape(&row.what.title),
            escape(&row.what.work),
            moment(row.entry.manifest.started)
        )
    };
    match running {
        [] => String::new(),
        _ => format!(
            "<h2>Running now</h2>\n<ul class=\"running\">\n{}</ul>\n",
            running.iter().map(item).collect::<String>()
        ),
    }
}

fn search(query: &str) -> String {
    format!(
        "<form class=\"search\" action=\"/\" role=\"search\"><label for=\"q\">Name, workload or server</label>\
         <input id=\"q\" name=\"q\" type=\"search\" value=\"{}\" autocomplete=\"off\"><button>Search</button></form>\n",
        escape(query)
    )
}

fn how_many(found: usize, query: &str, none_at_all: bool) -> String {
    let text = match (found, query.trim().is_empty()) {
        _ if none_at_all => {
            "Nothing has been recorded yet. <code>plimsoll quickstart</code> makes a first recording.".to_owned()
        }
        (found, true) => format!("{}.", counted(found as f64, "recording")),
        (found, false) => {
            format!("{} of “{}”. <a href=\"/\">Show all</a>", counted(found as f64, "recording"), escape(query))
        }
    };
    format!("<p class=\"remark\">{text}</p>\n")
}

fn table<'a>(rows: impl Iterator<Item = &'a Row<'a>>) -> String {
    let rows: String = rows.map(Row::markup).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<form class=\"history\" action=\"/compare\">\n<div class=\"wide\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Recordings\"><table>\n<thead><tr><th scope=\"col\"><span class=\"unseen\">Compare</span></th>\
         <th scope=\"col\">Recording and what it found</th><th scope=\"col\">Began, UTC</th>\
         <th scope=\"col\">What was measured</th><th scope=\"col\">Status</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n<p class=\"picking\"><button>Compare those picked</button> \
         <span class=\"picked\" role=\"status\"></span></p>\n</form>\n"
    )
}

/// Links to the pages before and after.
fn turning(query: &str, number: usize, pages: usize) -> String {
    if pages == 1 {
        return String::new();
    }
    let link = |page: usize, word: &str| format!("<a href=\"/?q={}&amp;page={page}\">{word}</a> ", encoded(query));
    let newer = if number > 1 { link(number - 1, "Newer") } else { String::new() };
    let older = if number < pages { link(number + 1, "Older") } else { String::new() };
    format!("<nav class=\"pages\" aria-label=\"Pages\">{newer}<span>Page {number} of {pages}</span> {older}</nav>\n")
}

fn unreadable(listing: &Listing) -> String {
    let items: String =
        listing.unreadable.iter().map(|error| format!("<li>{}</li>\n", escape(&error.to_string()))).collect();
    match items.is_empty() {
        true => items,
        false => format!("<h2>What could not be read</h2>\n<ul class=\"caveats\">\n{items}</ul>\n"),
    }
}

/// The answer of a recording in one sentence, if it has one.
fn found(directory: &Path) -> Option<String> {
    if let Ok(lab) = read_json::<LabSummary>(&directory.join("lab.json")) {
        return Some(first_sentence(&lab.headline));
    }
    if let Ok(summary) = read_json::<Summary>(&directory.join("summary.json")) {
        return Some(first_sentence(&answer(&Recorded::of_run("", summary))));
    }
    let storage = read_json::<IoSummary>(&directory.join("io.json")).ok()?;
    Some(first_sentence(&io::answer::answer(&storage)))
}

fn first_sentence(text: &str) -> String {
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text.to_owned(),
    }
}

/// Text as part of an address.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_where_a_sentence_ends() {
        assert_eq!(first_sentence("It carries 1.5 per second. No more."), "It carries 1.5 per second.");
        assert_eq!(first_sentence("one"), "one");
    }

    #[test]
    fn a_query_is_one_parameter() {
        assert_eq!(encoded("a&page=2 é"), "a%26page%3D2%20%C3%A9");
    }
}
