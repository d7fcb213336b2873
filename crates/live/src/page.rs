//! What all pages have in common: head, bar and foot, and the text of a refusal.

use crate::script;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use plimsoll_model::layout::escape;

/// The dashboard's own rules, after those of the reports.
pub const STYLE: &str = include_str!("style.css");

/// The mark for the browser's tab, legible on light and dark.
pub const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 28 28\" fill=\"none\" \
                        stroke=\"#2b87c8\" stroke-width=\"3.5\"><circle cx=\"14\" cy=\"14\" r=\"8.5\"/>\
                        <path d=\"M0 14h28\"/></svg>\n";

/// The mark on a ship's hull, beside the name.
const MARK: &str = "<svg class=\"logo\" viewBox=\"0 0 28 16\" aria-hidden=\"true\">\
                    <circle cx=\"14\" cy=\"8\" r=\"6.5\"/><line x1=\"1\" y1=\"8\" x2=\"27\" y2=\"8\"/></svg>";

/// A page; its title is raw, its body markup.
#[derive(Debug, Default)]
pub struct Page {
    pub title: String,
    /// Contains its `main`.
    pub body: String,
    /// Seconds after which it reloads itself if no script keeps it up to date.
    pub refresh: Option<u32>,
    /// Scripts in addition to the dashboard's own, by path.
    pub scripts: Vec<&'static str>,
}

impl Page {
    fn render(&self) -> String {
        let refresh = self
            .refresh
            .map(|seconds| format!("<noscript><meta http-equiv=\"refresh\" content=\"{seconds}\"></noscript>\n"));
        let own = script::BUNDLE.map(|_| "/dashboard.js");
        let scripts: String =
            own.iter().chain(&self.scripts).map(|path| format!("<script src=\"{path}\" defer></script>\n")).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light \
             dark\">\n{refresh}<title>{title} · Plimsoll</title>\n<link rel=\"icon\" href=\"/icon.svg\">\n<link \
             rel=\"stylesheet\" href=\"/style.css\">\n{scripts}</head>\n<body class=\"dashboard\">\n<a class=\"skip\" \
             href=\"#content\">Skip to the content</a>\n<div class=\"bar\" role=\"banner\"><a \
             href=\"/\">{MARK}<span>Plimsoll</span></a></div>\n<div id=\"content\">\n{body}</div>\n</body>\n</html>\n",
            refresh = refresh.unwrap_or_default(),
            title = escape(&self.title),
            body = self.body,
        )
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        Html(self.render()).into_response()
    }
}

/// Why there is no page, for people to read; the text may be written by others.
#[derive(Debug)]
pub struct Refused {
    status: StatusCode,
    why: String,
}

impl Refused {
    pub fn new(status: StatusCode, why: &str) -> Refused {
        Refused { status, why: why.to_owned() }
    }

    /// Something went wrong on this side.
    pub fn failed(why: &str) -> Refused {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, why)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let reason = self.status.canonical_reason().unwrap_or("Refused");
        let body = format!(
            "<main>\n<h1>{reason}</h1>\n<p class=\"refused\">{}</p>\n<p><a href=\"/\">All recordings</a></p>\n\
             </main>\n",
            escape(&self.why)
        );
        let page = Page { title: reason.to_owned(), body, ..Page::default() };
        (self.status, page).into_response()
    }
}
