//! What a recording calls for: advice for the load point of it that carried most.

use crate::error::AnalysisError;
use crate::trial::{effective, observed, point};
use crate::unfinished::asked;
use plimsoll_advice::window::judge;
use plimsoll_advice::window::seen::SeenServer;
use plimsoll_diagnosis::{Observed, diagnose};
use plimsoll_model::Flavour;
use plimsoll_model::advice::Advice;
use plimsoll_model::summary::Point;
use plimsoll_plan::knowledge::Release;
use plimsoll_record::read::{RecordingView, TrialView};

/// What to do about the server of a recording.
///
/// # Errors
/// [`AnalysisError::Refused`] if nothing was measured on a server, [`AnalysisError::Record`] if histograms cannot be read.
pub fn advice(view: &RecordingView) -> Result<Advice, AnalysisError> {
    let name = &view.manifest.name;
    let mut most: Option<(&TrialView, Point)> = None;
    for trial in &view.trials {
        let Some(point) = point(trial)? else { continue };
        let carries_more =
            |(_, best): &(&TrialView, Point)| point.transactions_per_second > best.transactions_per_second;
        if most.as_ref().is_none_or(carries_more) {
            most = Some((trial, point));
        }
    }
    let nothing = || AnalysisError::Refused(format!("{name}: nothing was measured that advice could be taken from"));
    let (trial, point) = most.ok_or_else(nothing)?;
    let settings = effective(trial);
    advice_of(&format!("{name}, {}", asked(trial)), &observed(trial, &point, &settings))
}

/// What was observed of a server calls for; `about` says what was observed.
///
/// # Errors
/// [`AnalysisError::Refused`] if the server's settings are not known.
pub fn advice_of(about: &str, observed: &Observed<'_>) -> Result<Advice, AnalysisError> {
    let version = observed.settings.get("version").ok_or_else(|| {
        let why = format!("{about}: the server’s settings were not recorded, and without them there is no advice");
        AnalysisError::Refused(why)
    })?;
    let release = Release::of(Flavour::from_version_text(version), version);
    let seen = SeenServer::of(observed, &diagnose(observed), release);
    Ok(judge(&format!("{about} on {release}"), &seen))
}
