//! What a test is asked to do, and by whom.

use crate::general::General;
use crate::grammar::CommandLine;
use crate::options::OptionSet;

/// The version whose behaviour this is.
pub const VERSION: &str = "1.0.20";

/// What the program has around it.
pub struct Caller<'a> {
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// A password that was given otherwise than by an option.
    pub password: Option<String>,
}

/// What was typed, once its general options are known.
pub struct TestRequest {
    pub line: CommandLine,
    pub options: OptionSet,
    pub general: General,
}
