//! What a test is asked to do, and by whom.

use crate::general::General;
use crate::grammar::CommandLine;
use crate::options::OptionSet;
use crate::recorder::RunRecorder;
use plimsoll_plan::RunPlan;

/// The version whose behaviour this is.
pub const VERSION: &str = "1.0.20";

/// What the program has around it.
pub struct Caller<'a> {
    /// Asked of a run alone, from when its threads get ready: nothing else comes to an early end in good order.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// A password that was given otherwise than by an option.
    pub password: Option<String>,
    /// What keeps what a run counted, if anything is to.
    pub recorder: Option<&'a mut dyn RunRecorder>,
}

impl Caller<'_> {
    pub fn recorder(&mut self) -> Option<&mut dyn RunRecorder> {
        match &mut self.recorder {
            Some(recorder) => Some(&mut **recorder),
            None => None,
        }
    }
}

/// A run: how it is to be done, and what is recorded of that.
#[derive(Clone, Copy)]
pub struct AskedRun<'a> {
    pub general: &'a General,
    pub plan: &'a RunPlan,
}

/// What was typed, once its general options are known.
pub struct TestRequest {
    pub line: CommandLine,
    pub options: OptionSet,
    /// Plimsoll's own.
    pub own: OptionSet,
    pub general: General,
}
