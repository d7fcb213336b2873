//! The script of the dashboard: `web/src/dashboard.ts`, built by `scripts/build-web`. History and reports are readable
//! without it.

/// What is served as `dashboard.js`; none if it was not built before this program.
pub const BUNDLE: Option<&str> = match option_env!("PLIMSOLL_SCRIPT_HASH") {
    Some(_) => Some(include_str!(concat!(env!("OUT_DIR"), "/script.js"))),
    None => None,
};
