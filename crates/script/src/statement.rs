//! Statements that scripts make as they go, and the values of their parameters.

use plimsoll_engine::statement::PreparedHandle;
use plimsoll_model::StatementKind;
use plimsoll_wire::Value;
use plimsoll_wire::response::PreparedStatement;
use plimsoll_wire::text::Template;

/// What a statement does, by its first word; `None` where it is none of the kinds that are counted.
pub fn kind(sql: &[u8]) -> Option<StatementKind> {
    let start = sql.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != b'(')?;
    let rest = &sql[start..];
    let length = rest.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
    const WORDS: [(&str, StatementKind); 9] = [
        ("select", StatementKind::Select),
        ("update", StatementKind::Update),
        ("insert", StatementKind::Insert),
        ("delete", StatementKind::Delete),
        ("begin", StatementKind::Begin),
        ("start", StatementKind::Begin),
        ("commit", StatementKind::Commit),
        ("rollback", StatementKind::Rollback),
        ("call", StatementKind::Call),
    ];
    WORDS.into_iter().find(|(word, _)| rest[..length].eq_ignore_ascii_case(word.as_bytes())).map(|(_, kind)| kind)
}

/// A value of a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ParameterValue {
    #[default]
    Null,
    Int(i64),
    Double(f64),
    Bytes(Vec<u8>),
}

impl ParameterValue {
    pub fn as_value(&self) -> Value<'_> {
        match self {
            ParameterValue::Null => Value::Null,
            ParameterValue::Int(number) => Value::Int(*number),
            ParameterValue::Double(number) => Value::Double(*number),
            ParameterValue::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

/// The types that parameters can have, by sysbench's numbers for `sysbench.sql.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    Int,
    Double,
    Text,
}

impl ParameterType {
    /// `None` for NONE, and for dates and times, which no version of sysbench accepts.
    pub fn of(number: i64) -> Option<ParameterType> {
        match number {
            1..=4 => Some(ParameterType::Int),
            5 | 6 => Some(ParameterType::Double),
            11 | 12 => Some(ParameterType::Text),
            _ => None,
        }
    }
}

/// A parameter as the script made it. Its value stays here, where no garbage collector looks at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub kind: ParameterType,
    /// Bytes of the longest text.
    pub most: usize,
    pub value: ParameterValue,
}

impl Parameter {
    /// Takes on a text, cut to the length that was declared; its memory is used again.
    pub fn set_text(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.value, ParameterValue::Bytes(_)) {
            self.value = ParameterValue::Bytes(Vec::with_capacity(self.most));
        }
        if let ParameterValue::Bytes(bytes) = &mut self.value {
            bytes.clear();
            append(bytes);
            bytes.truncate(self.most);
        }
    }
}

/// A statement that a script has prepared.
pub struct ScriptStatement {
    pub sql: String,
    /// As the server knows it; `None` where it is sent as text.
    pub handle: Option<PreparedHandle>,
    pub template: Template,
    pub kind: Option<StatementKind>,
    /// Its parameters by their numbers with the script's thread.
    pub parameters: Vec<usize>,
    /// Columns of its result, as far as the server told.
    pub columns: usize,
}

impl ScriptStatement {
    /// The statement as the server has prepared it, or else to be sent as text.
    pub fn new(sql: &str, kind: Option<StatementKind>, answer: Option<PreparedStatement>) -> ScriptStatement {
        ScriptStatement {
            sql: sql.to_owned(),
            handle: answer.map(|answer| PreparedHandle::new(answer.statement)),
            template: Template::new(sql),
            kind,
            parameters: Vec::new(),
            columns: answer.map_or(0, |answer| usize::from(answer.columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_first_word() {
        for (sql, expected) in [
            ("SELECT 1", Some(StatementKind::Select)),
            ("  \n(select 1) union (select 2)", Some(StatementKind::Select)),
            ("update t set a=1", Some(StatementKind::Update)),
            ("START TRANSACTION", Some(StatementKind::Begin)),
            ("COMMIT", Some(StatementKind::Commit)),
            ("selection", None),
            ("SET autocommit=0", None),
            ("", None),
            ("(", None),
        ] {
            assert_eq!(kind(sql.as_bytes()), expected, "{sql}");
        }
    }

    #[test]
    fn a_text_is_cut_to_what_was_declared() {
        let mut parameter = Parameter { kind: ParameterType::Text, most: 3, value: ParameterValue::Null };
        parameter.set_text(|out| out.extend_from_slice(b"abcdef"));
        assert_eq!(parameter.value, ParameterValue::Bytes(b"abc".to_vec()));
        parameter.set_text(|out| out.push(b'x'));
        assert_eq!(parameter.value.as_value(), Value::Bytes(b"x"));
    }
}
