//! `/recording/ID`: its report, also for download in every format.

use crate::catalogue::{RecordingTopic, moment};
use crate::history::{encoded, labels};
use crate::page::{Page, Refused};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use plimsoll_model::layout::escape;
use plimsoll_model::text::shell_word;
use plimsoll_record::read::{Entry, State};
use plimsoll_render::{Format, fragment, render, script};
use plimsoll_report::document::Document;

/// The formats for download: the ending of the file, the format and the media type.
const FORMATS: [(&str, Format<'static>, &str); 4] = [
    ("html", Format::Html, "text/html; charset=utf-8"),
    ("md", Format::Markdown, "text/markdown; charset=utf-8"),
    ("json", Format::Json, "application/json"),
    ("csv", Format::Csv, "text/csv; charset=utf-8"),
];

/// The report within the dashboard.
pub fn page(entry: &Entry, document: &Document) -> Page {
    let body = format!("{}{}", strip(entry), fragment(document));
    let scripts = script::BUNDLE.map(|_| "/report.js").into_iter().collect();
    Page { title: document.title.clone(), body, scripts, ..Page::default() }
}

/// A line above the report: what it is about, and links.
fn strip(entry: &Entry) -> String {
    let (id, what, state) = (escape(&entry.id()), RecordingTopic::of(&entry.manifest), entry.state());
    let link = |ending: &str| format!("<a href=\"/recording/{id}/report.{ending}\" download>{ending}</a>");
    let formats: Vec<String> = FORMATS.iter().map(|(ending, _, _)| link(ending)).collect();
    let live = match state {
        State::Running => format!(" <a class=\"state running\" href=\"/live/{id}\">watch it live</a>"),
        _ => format!(" <span class=\"state {0}\">{0}</span>", state.word()),
    };
    let compare = match entry.manifest.plan.lab().map_or(0, |plan| plan.variants.len()) {
        0 | 1 => String::new(),
        _ => format!(" <a href=\"/compare?pick={id}&amp;pick={id}\">Compare its variants</a>"),
    };
    let name = encoded(&entry.manifest.name);
    format!(
        "<nav class=\"strip\" aria-label=\"This recording\"><span>{} · {} UTC</span>{live}{compare} \
         <a href=\"/trend/{name}\">Over time</a> <span class=\"formats\">Report as {}</span></nav>\n{}",
        escape(&what.work),
        moment(entry.manifest.started),
        formats.join(" "),
        labelled(entry)
    )
}

/// What was said of the recording, and how to say more: the dashboard only reads.
fn labelled(entry: &Entry) -> String {
    let id = escape(&entry.id());
    format!(
        "<div class=\"strip labels\"><span>{}</span><details><summary>Tag it, or write a note</summary>\
         <pre>plimsoll recordings tag {id} TAG\nplimsoll recordings note {id} \"TEXT\"\nplimsoll recordings keep {}</pre>\
         </details></div>\n",
        labels(entry),
        escape(&shell_word(&entry.manifest.name))
    )
}

/// The report as a file: `report.md`.
///
/// # Errors
/// Not found, for an ending without a format.
pub fn file(entry: &Entry, document: &Document, name: &str) -> Result<Response, Refused> {
    let ending = name.strip_prefix("report.").unwrap_or_default();
    let Some((_, format, media_type)) = FORMATS.into_iter().find(|(known, _, _)| *known == ending) else {
        let known = FORMATS.map(|(ending, _, _)| format!("report.{ending}")).join(", ");
        return Err(Refused::new(StatusCode::NOT_FOUND, &format!("There is no `{name}`; there are {known}.")));
    };
    let text = render(document, format).map_err(|error| Refused::failed(&error.to_string()))?;
    let disposition = format!("attachment; filename=\"{}.{ending}\"", entry.id());
    Ok(([(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)], text)
        .into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_plan::{Plan, StoragePlan};
    use plimsoll_record::Manifest;
    use std::path::PathBuf;

    fn entry(name: &str) -> Entry {
        let plan = Plan::Storage(StoragePlan::default());
        let manifest = Manifest::new(name, "0.1.0", Timestamp::UNIX_EPOCH, plan, HostFacts::default());
        Entry { directory: PathBuf::from("/nowhere/one"), manifest, being_written: false }
    }

    #[test]
    fn a_name_with_a_slash_is_one_part_of_an_address() {
        let shown = strip(&entry("group/member"));
        assert!(shown.contains("href=\"/trend/group%2Fmember\""), "{shown}");
    }

    #[test]
    fn a_name_is_one_word_of_the_command_that_is_shown() {
        assert!(labelled(&entry("group/member")).contains("keep group/member</pre>"));
        let planted = labelled(&entry("x; rm -rf ~"));
        assert!(!planted.contains("keep x;") && planted.contains("x; rm -rf ~"), "{planted}");
    }
}
