//! The script of the dashboard: `web/src/dashboard.ts`, as `scripts/build-web` made it. Without it history and reports
//! are readable all the same.

/// What is served as `dashboard.js`; none where it was not built before this program was.
pub const BUNDLE: Option<&str> = match option_env!("PLIMSOLL_SCRIPT_HASH") {
    Some(_) => Some(include_str!(concat!(env!("OUT_DIR"), "/script.js"))),
    None => None,
};
