//! `/trend/NAME`: the recordings of a name over time.

use crate::catalogue::RecordingCatalogue;
use crate::documents::generated;
use crate::page::{Page, Refused};
use axum::http::StatusCode;
use plimsoll_analysis::{AnalysisError, trend};
use plimsoll_render::{fragment, script};
use plimsoll_report::document::Document;

/// The page.
///
/// # Errors
/// Not found, if no recordings are called so; otherwise why they cannot be read.
pub fn page(catalogue: &RecordingCatalogue, name: &str) -> Result<Page, Refused> {
    let document = document(catalogue, name)?;
    let scripts = script::BUNDLE.map(|_| "/report.js").into_iter().collect();
    Ok(Page { title: document.title.clone(), body: fragment(&document), scripts, ..Page::default() })
}

/// What it shows.
///
/// # Errors
/// As [`page`].
pub fn document(catalogue: &RecordingCatalogue, name: &str) -> Result<Document, Refused> {
    match trend(&catalogue.list()?, name) {
        Ok(trend) => Ok(plimsoll_report::trend::document(&trend, &generated())),
        Err(AnalysisError::Refused(why)) => Err(Refused::new(StatusCode::NOT_FOUND, &why)),
        Err(error) => Err(Refused::failed(&error.to_string())),
    }
}
