//! What a server sends, whichever it is: it cannot break the client, nor get the password in clear.

use super::FuzzTarget;
use crate::change::{self, below};
use crate::corpus::{self, CorpusEntry};
use anyhow::Context;
use plimsoll_load::seed::Rng;
use plimsoll_wire::auth::{AuthStep, Authentication, Trust};
use plimsoll_wire::capability::{DEPRECATE_EOF, MARIADB_CACHE_METADATA};
use plimsoll_wire::cells::Cells;
use plimsoll_wire::frame::{self, HEADER};
use plimsoll_wire::handshake::{Greeting, HandshakeOptions, negotiate, parse_greeting, put_login};
use plimsoll_wire::response::{Answer, Discard, ResponseReader, Sink};
use plimsoll_wire::rows::TextRows;
use plimsoll_wire::server::parse_login;

const USER: &str = "user";
const PASSWORD: &[u8] = b"hunter2";
/// Ways to end results and to tell of columns that can be agreed on.
const STYLES: [u64; 3] = [0, DEPRECATE_EOF, DEPRECATE_EOF | MARIADB_CACHE_METADATA];
/// Packets come in pieces of so many bytes: a header is cut now and then.
const PIECE: usize = 7;
/// Columns of a row that are looked at: each is looked for from the first on.
const COLUMNS: usize = 20;

pub struct Packets {
    entries: Vec<CorpusEntry>,
}

impl Packets {
    pub fn open() -> anyhow::Result<Packets> {
        let mut entries = corpus::files("crates/fuzz/corpus/packets", &[".packets"])?;
        for entry in &mut entries {
            let text = String::from_utf8_lossy(&entry.bytes).into_owned();
            entry.bytes = corpus::packets(&text).with_context(|| entry.name.clone())?;
        }
        Ok(Packets { entries })
    }
}

impl FuzzTarget for Packets {
    fn name(&self) -> &'static str {
        "packets"
    }

    fn entries(&self) -> &[CorpusEntry] {
        &self.entries
    }

    fn changed(&self, entry: usize, random: &mut Rng) -> Vec<u8> {
        let original = &self.entries[entry].bytes;
        if below(random, 4) == 0 {
            return change::of_bytes(original, &self.entries, random);
        }
        // Whole packets with garbage in them get further than garbage lengths do.
        let mut payloads = payloads(original);
        for _ in 0..=below(random, 3) {
            let at = below(random, payloads.len());
            match below(random, 6) {
                0 if payloads.len() > 1 => drop(payloads.remove(at)),
                1 => payloads.insert(at, payloads[at].clone()),
                2 => {
                    let others = self::payloads(&self.entries[below(random, self.entries.len())].bytes);
                    payloads.insert(at, others[below(random, others.len())].clone());
                }
                _ => payloads[at] = change::of_bytes(&payloads[at], &self.entries, random),
            }
        }
        let mut sequence = original.get(HEADER - 1).copied().unwrap_or(0);
        let mut out = Vec::new();
        for payload in &payloads {
            let start = frame::begin(&mut out);
            out.extend_from_slice(payload);
            sequence = frame::finish(&mut out, start, sequence);
        }
        out
    }

    fn read(&mut self, _entry: usize, input: &[u8]) -> Result<bool, String> {
        let mut read = logs_in(input)?;
        for style in STYLES {
            for (prepares, has_file) in [(false, false), (false, true), (true, false)] {
                let reader = || {
                    let mut reader = ResponseReader::new(style);
                    match prepares {
                        true => reader.expect_prepare(1),
                        false => reader.expect_result(1),
                    }
                    reader.allow_local_file(has_file);
                    reader
                };
                read |= answers(reader, input)?;
            }
        }
        Ok(read)
    }
}

/// The payloads of whole packets, at least one.
fn payloads(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some((_, payload)) = frame::split(bytes) {
        found.push(payload.to_vec());
        bytes = &bytes[HEADER + payload.len()..];
    }
    if found.is_empty() {
        found.push(bytes.to_vec());
    }
    found
}

/// Reads an answer into everything that answers are read into; true if it came to its end.
fn answers(reader: impl Fn() -> ResponseReader, input: &[u8]) -> Result<bool, String> {
    let counted = same(&reader, input, || Discard)?.0;
    let (kept, rows) = same(&reader, input, TextRows::default)?;
    let (told, had) = (rows.rows.len() + rows.columns.len(), input.len());
    if told > had {
        return Err(format!("{told} rows and columns came from {had} bytes"));
    }
    let binary = || {
        let mut cells = Cells::default();
        cells.binary = true;
        cells
    };
    for cells in [same(&reader, input, Cells::default)?.1, same(&reader, input, binary)?.1] {
        for row in (0..cells.len()).filter_map(|number| cells.get(number)) {
            // One behind the last is an error like any other.
            for column in 0..=cells.columns.len().min(COLUMNS) {
                let _ = (row.cell(column), row.int(column), row.scaled(column, 2), row.bytes(column));
            }
        }
    }
    Ok(counted.is_some() || kept.is_some())
}

/// Reads the input as a whole and in pieces: the answer is the same. The sink is that of the whole.
fn same<S: Sink>(
    reader: &impl Fn() -> ResponseReader,
    input: &[u8],
    sink: impl Fn() -> S,
) -> Result<(Option<Answer>, S), String> {
    let (mut whole, mut in_pieces) = (sink(), sink());
    let at_once = answer(&mut reader(), input, input.len(), &mut whole)?;
    let bit_by_bit = answer(&mut reader(), input, PIECE, &mut in_pieces)?;
    match at_once == bit_by_bit {
        true => Ok((at_once, whole)),
        false => Err(format!("it is {at_once:?} as a whole, and {bit_by_bit:?} in pieces")),
    }
}

/// The answer that comes in pieces of so many bytes, as a connection reads it: what is not used up is kept. None if it
/// is refused, or goes on behind the input.
fn answer<S: Sink>(
    reader: &mut ResponseReader,
    input: &[u8],
    piece: usize,
    sink: &mut S,
) -> Result<Option<Answer>, String> {
    let mut kept: Vec<u8> = Vec::new();
    for piece in input.chunks(piece.max(1)) {
        kept.extend_from_slice(piece);
        let Ok(progress) = reader.advance(&kept, sink) else { return Ok(None) };
        if progress.consumed > kept.len() {
            return Err(format!("{} bytes of {} were used up", progress.consumed, kept.len()));
        }
        kept.drain(..progress.consumed);
        if progress.answer.is_some() {
            return Ok(progress.answer);
        }
        if frame::size(&kept).is_some_and(|size| size <= kept.len()) {
            return Err("a whole packet was left, and would be looked at for ever".to_owned());
        }
    }
    Ok(None)
}

/// Logs in to a server that says this; true if it was greeted.
fn logs_in(input: &[u8]) -> Result<bool, String> {
    let payloads = payloads(input);
    let Ok(Ok(greeting)) = parse_greeting(&payloads[0]) else { return Ok(false) };
    if greeting.version.len() + greeting.scramble.len() > 4 * payloads[0].len() {
        return Err("a greeting is longer than what it was read from".to_owned());
    }
    for trust in [Trust::Private, Trust::AnyKey, Trust::Anybody] {
        one_login(&greeting, trust, &payloads[1..])?;
    }
    Ok(true)
}

fn one_login(greeting: &Greeting, trust: Trust<'_>, answers: &[Vec<u8>]) -> Result<(), String> {
    let mut authentication = Authentication::new(PASSWORD, trust, &greeting.plugin, &greeting.scramble);
    let verification = authentication.first_proof().map_err(|error| format!("no first verification: {error}"))?;
    let agreed = negotiate(greeting, &HandshakeOptions { tls: true, local_files: true, database: Some("db") });
    let mut login = Vec::new();
    put_login(&mut login, &agreed, 1, USER, authentication.plugin(), &verification);
    match parse_login(&login[HEADER..]) {
        Ok((said, user)) if (said, user.as_str()) == (agreed.capabilities(), USER) => {}
        other => return Err(format!("our login is read as {other:?}")),
    }
    for answer in answers {
        match authentication.step(answer) {
            Ok(AuthStep::Send(sent)) if sent.windows(PASSWORD.len()).any(|part| part == PASSWORD) => {
                if !matches!(trust, Trust::Private) {
                    return Err(format!("the password went out in clear to {trust:?}"));
                }
            }
            Ok(AuthStep::Send(_) | AuthStep::Wait) => {}
            Ok(AuthStep::Accepted | AuthStep::Refused(_)) | Err(_) => break,
        }
    }
    Ok(())
}
