//! The null transport: a server in this process that does nothing, so that the load generator alone is measured.

use crate::error::LabError;
use plimsoll_wire::bytes::put_counted;
use plimsoll_wire::capability::DEPRECATE_EOF;
use plimsoll_wire::{command, frame, server};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// In place of a value, in the text protocol.
const NULL: u8 = 0xfb;

/// Rows, at least one, all of as many columns; `None` is NULL, which no prepared statement is answered with.
pub type NullAnswer = &'static [&'static [Option<&'static [u8]>]];
/// Its answer to a statement; to `""` that to any prepared one.
pub type NullAnswers = fn(&str) -> NullAnswer;

fn result(answer: NullAnswer, binary: bool, deprecate_eof: bool) -> Vec<u8> {
    let columns = answer[0].len();
    let row = |values: &&[Option<&[u8]>]| {
        // Of a binary row the header and a bitmap without NULLs.
        let mut row = vec![0; if binary { 1 + (columns + 9) / 8 } else { 0 }];
        values.iter().for_each(|value| match value {
            Some(text) => put_counted(&mut row, text),
            None => row.push(NULL),
        });
        row
    };
    let rows: Vec<Vec<u8>> = answer.iter().map(row).collect();
    let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
    let mut result = Vec::new();
    server::put_results(&mut result, columns as u8, &rows, deprecate_eof, 2);
    result
}

/// A server that answers everything at once and knows nothing. It listens on its own socket, which it removes.
pub struct NullServer {
    socket: PathBuf,
}

impl NullServer {
    pub fn listen(socket: &Path, answers: NullAnswers) -> Result<NullServer, LabError> {
        let failed =
            |error: std::io::Error| LabError::Environment(format!("cannot listen on {}: {error}", socket.display()));
        let listener = UnixListener::bind(socket).map_err(failed)?;
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                // A connection that breaks has had its answers.
                std::thread::spawn(move || serve(stream, answers));
            }
        });
        Ok(NullServer { socket: socket.to_owned() })
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn serve(mut stream: UnixStream, answers: NullAnswers) -> Option<()> {
    let mut out = Vec::new();
    server::put_greeting(&mut out, "8.0.0-null", server::OFFERED, "mysql_native_password", &[7; 20]);
    stream.write_all(&out).ok()?;
    let mut input = vec![0; 16 << 10];
    let mut filled = 0;
    let login = read_packet(&mut stream, &mut input, &mut filled)?;
    let (capabilities, _) = server::parse_login(&login).ok()?;
    let deprecate_eof = capabilities & DEPRECATE_EOF != 0;
    out.clear();
    server::put_ok(&mut out, 2, 0, 0, 2);
    stream.write_all(&out).ok()?;
    let prepared = answers("");
    let binary = result(prepared, true, deprecate_eof);
    loop {
        let packet = read_packet(&mut stream, &mut input, &mut filled)?;
        match *packet.first()? {
            command::STMT_PREPARE => {
                out.clear();
                server::put_prepared(&mut out, 1, 0, prepared[0].len() as u16, deprecate_eof);
                stream.write_all(&out).ok()?;
            }
            command::QUIT => return None,
            command::STMT_EXECUTE => stream.write_all(&binary).ok()?,
            _ => {
                let asked = String::from_utf8_lossy(&packet[1..]);
                stream.write_all(&result(answers(&asked), false, deprecate_eof)).ok()?;
            }
        }
    }
}

fn read_packet(stream: &mut UnixStream, input: &mut [u8], filled: &mut usize) -> Option<Vec<u8>> {
    loop {
        if let Some((_, payload)) = frame::split(&input[..*filled]) {
            let payload = payload.to_vec();
            let used = frame::HEADER + payload.len();
            input.copy_within(used..*filled, 0);
            *filled -= used;
            return Some(payload);
        }
        match stream.read(&mut input[*filled..]).ok()? {
            0 => return None,
            count => *filled += count,
        }
    }
}
