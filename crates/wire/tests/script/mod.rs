//! Answers as servers write them, drawn at random, with what a client has to make of them.

use plimsoll_wire::ServerMessage;
use plimsoll_wire::bytes::{put_counted, put_length};
use plimsoll_wire::capability::{DEPRECATE_EOF, MARIADB_CACHE_METADATA, MORE_RESULTS};
use plimsoll_wire::frame;
use plimsoll_wire::response::{Answer, PreparedStatement, ResponseTotals};
use proptest::prelude::*;

/// A row of the text protocol: values, `None` for NULL.
pub type Row = Vec<Option<String>>;

/// Appends a packet; returns the next sequence number.
pub fn packet(out: &mut Vec<u8>, sequence: u8, payload: &[u8]) -> u8 {
    let start = frame::begin(out);
    out.extend(payload);
    frame::finish(out, start, sequence)
}

/// Appends a column definition.
pub fn put_column(out: &mut Vec<u8>, sequence: u8, name: &str) -> u8 {
    plimsoll_wire::server::put_column(out, sequence, name)
}

/// One of the results that make up an answer.
#[derive(Clone, Debug)]
pub enum Reply {
    Ok { affected: u64, id: u64, warnings: u16 },
    Rows { columns: usize, rows: Vec<Row>, warnings: u16 },
    Error { code: u16, text: String },
}

impl Reply {
    pub fn ok(affected: u64) -> Reply {
        Reply::Ok { affected, id: 0, warnings: 0 }
    }

    /// The reply alone, as the end of an answer of a client that deprecates EOF.
    pub fn bytes(&self, sequence: u8) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out, sequence, DEPRECATE_EOF, 2);
        out
    }

    fn put(&self, out: &mut Vec<u8>, sequence: u8, capabilities: u64, status: u16) -> u8 {
        match self {
            Reply::Ok { affected, id, warnings } => packet(out, sequence, &ok(0, *affected, *id, status, *warnings)),
            Reply::Rows { columns, rows, warnings } => {
                let mut header = Vec::new();
                put_length(&mut header, *columns as u64);
                if capabilities & MARIADB_CACHE_METADATA != 0 {
                    header.push(1);
                }
                let mut sequence = packet(out, sequence, &header);
                for number in 0..*columns {
                    sequence = put_column(out, sequence, &format!("c{number}"));
                }
                if capabilities & DEPRECATE_EOF == 0 {
                    sequence = packet(out, sequence, &eof(0, status));
                }
                for row in rows {
                    sequence = packet(out, sequence, &text_row(row));
                }
                match capabilities & DEPRECATE_EOF {
                    0 => packet(out, sequence, &eof(*warnings, status)),
                    _ => packet(out, sequence, &ok(0xfe, 0, 0, status, *warnings)),
                }
            }
            Reply::Error { code, text } => {
                packet(out, sequence, &[b"\xff", &code.to_le_bytes()[..], b"#42S02", text.as_bytes()].concat())
            }
        }
    }
}

fn ok(first: u8, affected: u64, id: u64, status: u16, warnings: u16) -> Vec<u8> {
    let mut payload = vec![first];
    put_length(&mut payload, affected);
    put_length(&mut payload, id);
    payload.extend(status.to_le_bytes());
    payload.extend(warnings.to_le_bytes());
    payload
}

fn eof(warnings: u16, status: u16) -> Vec<u8> {
    [&[0xfe], &warnings.to_le_bytes()[..], &status.to_le_bytes()].concat()
}

fn text_row(row: &Row) -> Vec<u8> {
    let mut payload = Vec::new();
    for value in row {
        match value {
            Some(text) => put_counted(&mut payload, text.as_bytes()),
            None => payload.push(0xfb),
        }
    }
    payload
}

/// A whole answer and what it has to be read as.
#[derive(Clone, Debug)]
pub struct Script {
    pub capabilities: u64,
    pub prepare: bool,
    pub local_file: bool,
    pub bytes: Vec<u8>,
    /// Where the request for a file ends; all bytes where there is none.
    pub file_asked: usize,
    pub expected: Answer,
    pub last_rows: Vec<Row>,
}

fn replies() -> impl Strategy<Value = Vec<Reply>> {
    let value = prop_oneof![
        1 => Just(None),
        4 => "[a-z]{0,9}".prop_map(Some),
        1 => (250usize..700).prop_map(|length| Some("x".repeat(length))),
    ];
    let rows = (1usize..5, 0u16..4).prop_flat_map(move |(columns, warnings)| {
        let row = prop::collection::vec(value.clone(), columns);
        prop::collection::vec(row, 0..6).prop_map(move |rows| Reply::Rows { columns, rows, warnings })
    });
    let ok = (prop_oneof![0u64..5, any::<u32>().prop_map(u64::from)], 0u64..9, 0u16..4)
        .prop_map(|(affected, id, warnings)| Reply::Ok { affected, id, warnings });
    let error = (any::<u16>(), "[ -~]{0,40}").prop_map(|(code, text)| Reply::Error { code, text });
    let last = prop_oneof![3 => ok.clone(), 3 => rows.clone(), 1 => error];
    (prop::collection::vec(prop_oneof![ok, rows], 0..3), last).prop_map(|(mut replies, last)| {
        replies.push(last);
        replies
    })
}

/// Answers of every kind, in every style that can be agreed on.
pub fn scripts() -> impl Strategy<Value = Script> {
    let styles = vec![0, DEPRECATE_EOF, DEPRECATE_EOF | MARIADB_CACHE_METADATA];
    let styles = prop::sample::select(styles);
    prop_oneof![
        8 => (styles.clone(), replies(), any::<bool>()).prop_map(|(style, replies, file)| answer(style, &replies, file)),
        2 => (styles.clone(), any::<u32>(), 0u16..4, 0u16..4).prop_map(|(s, id, p, c)| prepared(s, id, p, c)),
        1 => (styles, 1u64..9, 0usize..4).prop_map(|(style, columns, rows)| cached(style, columns, rows)),
    ]
}

fn answer(capabilities: u64, replies: &[Reply], local_file: bool) -> Script {
    let (mut bytes, mut sequence) = (Vec::new(), 1);
    let mut file_asked = 0;
    if local_file {
        sequence = packet(&mut bytes, sequence, b"\xfbany name") + 2;
        file_asked = bytes.len();
    }
    let mut outcome = ResponseTotals::default();
    let mut last_rows = Vec::new();
    let mut expected = None;
    for (number, reply) in replies.iter().enumerate() {
        let more = if number + 1 < replies.len() { MORE_RESULTS } else { 0 };
        sequence = reply.put(&mut bytes, sequence, capabilities, 2 | more);
        outcome.status = 2 | more;
        match reply {
            Reply::Ok { affected, id, warnings } => {
                outcome.affected_rows += affected;
                outcome.last_insert_id = *id;
                outcome.warnings += warnings;
            }
            Reply::Rows { rows, warnings, .. } => {
                outcome.rows += rows.len() as u64;
                outcome.result_sets += 1;
                outcome.warnings += warnings;
                // The OK packet that ends rows has the field too.
                if capabilities & DEPRECATE_EOF != 0 {
                    outcome.last_insert_id = 0;
                }
                last_rows.clone_from(rows);
            }
            Reply::Error { code, text } => {
                let message = ServerMessage { code: *code, state: *b"42S02", text: text.clone() };
                expected = Some(Answer::Failed(message));
            }
        }
    }
    let file_asked = if local_file { file_asked } else { bytes.len() };
    let expected = expected.unwrap_or(Answer::Done(outcome));
    Script { capabilities, prepare: false, local_file, bytes, file_asked, expected, last_rows }
}

fn prepared(capabilities: u64, statement: u32, parameters: u16, columns: u16) -> Script {
    let mut bytes = Vec::new();
    plimsoll_wire::server::put_prepared(&mut bytes, statement, parameters, columns, capabilities & DEPRECATE_EOF != 0);
    let expected = Answer::Prepared(PreparedStatement { statement, parameters, columns });
    let file_asked = bytes.len();
    Script { capabilities, prepare: true, local_file: false, bytes, file_asked, expected, last_rows: Vec::new() }
}

/// An execution whose column definitions the client has already, where that was agreed on.
fn cached(capabilities: u64, columns: u64, rows: usize) -> Script {
    let capabilities = capabilities | DEPRECATE_EOF | MARIADB_CACHE_METADATA;
    let mut bytes = Vec::new();
    let mut sequence = packet(&mut bytes, 1, &[columns as u8, 0]);
    for _ in 0..rows {
        sequence = packet(&mut bytes, sequence, b"\0\0binary row");
    }
    packet(&mut bytes, sequence, &ok(0xfe, 0, 0, 2, 0));
    let outcome = ResponseTotals { rows: rows as u64, result_sets: 1, status: 2, ..ResponseTotals::default() };
    let file_asked = bytes.len();
    // Without definitions nobody can tell what a row holds.
    let last_rows = vec![Vec::new(); rows];
    Script {
        capabilities,
        prepare: false,
        local_file: false,
        bytes,
        file_asked,
        expected: Answer::Done(outcome),
        last_rows,
    }
}
