//! What a script asks that takes time: it yields a number and up to three values, and is resumed with the answer.

use mlua::LightUserData;

/// The first value of what is yielded to us, and not to a coroutine of the script's.
pub const MARK: LightUserData = LightUserData(std::ptr::without_provenance_mut(1));

/// The questions. A question's number is its place among [`QuestionKind::ALL`], by whose names the prelude knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// The function that was called has returned: its value.
    Done,
    /// It has raised an error: whether it wants to be tried again, and its text.
    Failed,
    /// A further connection: its number.
    Connect,
    /// Closes a connection.
    Disconnect,
    /// Closes it and connects again.
    Reconnect,
    /// A statement as text, whose rows are kept.
    Query,
    /// Prepares a statement: its number on its connection.
    Prepare,
    /// Executes it with the values that its parameters have.
    Execute,
    /// Closes a statement.
    Close,
    /// Waits for so many seconds.
    Sleep,
    /// Runs a command by the shell: its status as wait(2) gives it, and what it has printed, if that is wanted.
    Shell,
    /// What a bulk insert has collected.
    Flush,
    /// Of a script that runs its events itself: whether there is another.
    More,
    /// Of the same: an event has ended.
    Ended,
}

impl QuestionKind {
    pub const ALL: [(&str, QuestionKind); 14] = [
        ("DONE", QuestionKind::Done),
        ("FAILED", QuestionKind::Failed),
        ("CONNECT", QuestionKind::Connect),
        ("DISCONNECT", QuestionKind::Disconnect),
        ("RECONNECT", QuestionKind::Reconnect),
        ("QUERY", QuestionKind::Query),
        ("PREPARE", QuestionKind::Prepare),
        ("EXECUTE", QuestionKind::Execute),
        ("CLOSE", QuestionKind::Close),
        ("SLEEP", QuestionKind::Sleep),
        ("SHELL", QuestionKind::Shell),
        ("FLUSH", QuestionKind::Flush),
        ("MORE", QuestionKind::More),
        ("ENDED", QuestionKind::Ended),
    ];

    /// Whether its answer comes with the time, since it is an exchange that is measured.
    pub fn is_timed(self) -> bool {
        matches!(self, QuestionKind::Query | QuestionKind::Execute | QuestionKind::Flush)
    }

    pub fn of(number: i64) -> Option<QuestionKind> {
        let (_, kind) = QuestionKind::ALL.get(usize::try_from(number).ok()?)?;
        Some(*kind)
    }
}

/// How an exchange with the server ended, as the first value of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerCode {
    Well,
    /// The event begins again.
    Again,
    /// The script decides, and by default the run ends.
    Fatal,
    /// The connection was closed before.
    Closed,
}

impl AnswerCode {
    /// With the names that the prelude knows them by.
    pub const ALL: [(&str, AnswerCode); 4] = [
        ("WELL", AnswerCode::Well),
        ("AGAIN", AnswerCode::Again),
        ("FATAL", AnswerCode::Fatal),
        ("CLOSED", AnswerCode::Closed),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_the_question_that_it_is_given_for() {
        for (_, kind) in QuestionKind::ALL {
            assert_eq!(QuestionKind::of(kind as i64), Some(kind));
        }
        assert_eq!((QuestionKind::of(-1), QuestionKind::of(99)), (None, None));
    }
}
