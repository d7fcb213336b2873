//! What a script asks that takes time: it yields a number and up to three values, and is resumed with the answer.

use mlua::LightUserData;

/// The first value of what is yielded to us, and not to a coroutine of the script's.
pub const MARK: LightUserData = LightUserData(std::ptr::without_provenance_mut(1));

/// The questions by their numbers; the prelude has them under the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum QuestionKind {
    /// The function that was called has returned: its value.
    Done = 1,
    /// It has raised an error: whether it wants to be tried again, and its text.
    Failed = 2,
    /// A further connection: its number.
    Connect = 3,
    /// Closes a connection.
    Disconnect = 4,
    /// Closes it and connects again.
    Reconnect = 5,
    /// A statement as text, whose rows are kept.
    Query = 6,
    /// Prepares a statement: its number on its connection.
    Prepare = 7,
    /// Executes it with the values that its parameters have.
    Execute = 8,
    /// Closes a statement.
    Close = 9,
    /// Waits for so many seconds.
    Sleep = 10,
    /// What a bulk insert has collected.
    Flush = 11,
}

impl QuestionKind {
    pub const ALL: [(&str, QuestionKind); 11] = [
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
        ("FLUSH", QuestionKind::Flush),
    ];

    pub fn of(number: i64) -> Option<QuestionKind> {
        QuestionKind::ALL.into_iter().map(|(_, asked)| asked).find(|asked| *asked as i64 == number)
    }
}

/// How an exchange with the server ended, as the first value of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum AnswerCode {
    Well = 0,
    /// The event begins again.
    Again = 1,
    /// The script decides, and by default the run ends.
    Fatal = 2,
    /// The connection was closed before.
    Closed = 3,
}
