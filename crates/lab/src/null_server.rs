//! The null transport: a server in this process that does nothing, so that the load generator alone is measured.

use crate::error::LabError;
use plimsoll_wire::bytes::put_counted;
use plimsoll_wire::capability::DEPRECATE_EOF;
use plimsoll_wire::{command, frame, server};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Its answer: one row with this text in each column.
#[derive(Clone, Copy, Debug)]
pub struct NullAnswer {
    pub columns: u8,
    pub text: &'static [u8],
}

impl NullAnswer {
    fn result(self, binary: bool, deprecate_eof: bool) -> Vec<u8> {
        let mut row = Vec::new();
        if binary {
            // The header and a bitmap without NULLs.
            row.resize(1 + (usize::from(self.columns) + 9) / 8, 0);
        }
        (0..self.columns).for_each(|_| put_counted(&mut row, self.text));
        let mut result = Vec::new();
        server::put_results(&mut result, self.columns, &[&row], deprecate_eof, 2);
        result
    }
}

/// A server with a single answer, which it gives to everything at once. It listens on its own socket, which it removes.
pub struct NullServer {
    socket: PathBuf,
}

impl NullServer {
    pub fn listen(socket: &Path, answer: NullAnswer) -> Result<NullServer, LabError> {
        let failed =
            |error: std::io::Error| LabError::Environment(format!("cannot listen on {}: {error}", socket.display()));
        let listener = UnixListener::bind(socket).map_err(failed)?;
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                // A connection that breaks has had its answers.
                std::thread::spawn(move || serve(stream, answer));
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

fn serve(mut stream: UnixStream, answer: NullAnswer) -> Option<()> {
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
    let (text, binary) = (answer.result(false, deprecate_eof), answer.result(true, deprecate_eof));
    loop {
        let packet = read_packet(&mut stream, &mut input, &mut filled)?;
        match *packet.first()? {
            command::STMT_PREPARE => {
                out.clear();
                server::put_prepared(&mut out, 1, 0, u16::from(answer.columns), deprecate_eof);
                stream.write_all(&out).ok()?;
            }
            command::QUIT => return None,
            command::STMT_EXECUTE => stream.write_all(&binary).ok()?,
            _ => stream.write_all(&text).ok()?,
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
