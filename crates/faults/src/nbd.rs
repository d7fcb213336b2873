//! One connection of the NBD protocol, the server's side: fixed newstyle negotiation, one export whatever it is called, simple
//! replies in the order of the requests. Numbers are those of `doc/proto.md` of the NetworkBlockDevice project.

use super::device::{DeviceError, SECTOR, VolatileDevice};
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

pub(crate) const GREETING: &[u8; 8] = b"NBDMAGIC";
pub(crate) const OPTION: &[u8; 8] = b"IHAVEOPT";
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub(crate) const REQUEST: u32 = 0x2560_9513;
pub(crate) const REPLY: u32 = 0x6744_6698;

/// Fixed newstyle, and no zeroes after EXPORT_NAME.
const HANDSHAKE: u16 = 0b11;
const NO_ZEROES: u32 = 0b10;
/// Flags, flush, FUA, trim, write zeroes, and several connections see each other's flushes.
const EXPORT: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;
pub(crate) const FUA: u16 = 1;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
pub(crate) const GO: u32 = 7;

pub(crate) const ACK: u32 = 1;
const SERVER: u32 = 2;
pub(crate) const INFORMATION: u32 = 3;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;

const EIO: u32 = 5;
const EINVAL: u32 = 22;

/// Largest request, bytes: what the protocol says that every server takes.
const LARGEST: u32 = 32 << 20;
/// Largest option, bytes: a name has at most 4096.
const LARGEST_OPTION: u32 = 64 << 10;

/// What a client wants done.
#[derive(Clone, Copy, Debug)]
struct Request {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

/// Talks to one client until it leaves.
///
/// # Errors
/// Of the socket, or that the client does not speak the protocol.
pub fn talk(stream: &mut (impl Read + Write), device: &Mutex<VolatileDevice>) -> io::Result<()> {
    if negotiated(stream, size(device))? {
        while serves(stream, device)? {}
    }
    Ok(())
}

fn size(device: &Mutex<VolatileDevice>) -> u64 {
    device.lock().unwrap_or_else(PoisonError::into_inner).size()
}

fn bad(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

pub(crate) fn array<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn u32_of(stream: &mut impl Read) -> io::Result<u32> {
    array(stream).map(u32::from_be_bytes)
}

/// Whether the client wants to use the export.
fn negotiated(stream: &mut (impl Read + Write), size: u64) -> io::Result<bool> {
    stream.write_all(&[&GREETING[..], OPTION, &HANDSHAKE.to_be_bytes()].concat())?;
    let no_zeroes = u32_of(stream)? & NO_ZEROES != 0;
    loop {
        if array::<8>(stream)? != *OPTION {
            return Err(bad("the client sends no option"));
        }
        let (option, length) = (u32_of(stream)?, u32_of(stream)?);
        if length > LARGEST_OPTION {
            return Err(bad(format!("an option of {length} bytes")));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data)?;
        match option {
            EXPORT_NAME => {
                let zeroes: &[u8] = if no_zeroes { &[] } else { &[0; 124] };
                stream.write_all(&[&size.to_be_bytes()[..], &EXPORT.to_be_bytes(), zeroes].concat())?;
                return Ok(true);
            }
            INFO | GO => {
                let export = [&INFO_EXPORT.to_be_bytes()[..], &size.to_be_bytes(), &EXPORT.to_be_bytes()].concat();
                reply(stream, option, INFORMATION, &export)?;
                let sizes = [SECTOR as u32, 4096, LARGEST].map(u32::to_be_bytes).concat();
                reply(stream, option, INFORMATION, &[&INFO_BLOCK_SIZE.to_be_bytes()[..], &sizes].concat())?;
                reply(stream, option, ACK, &[])?;
                if option == GO {
                    return Ok(true);
                }
            }
            LIST => {
                reply(stream, option, SERVER, &0u32.to_be_bytes())?;
                reply(stream, option, ACK, &[])?;
            }
            ABORT => {
                reply(stream, option, ACK, &[])?;
                return Ok(false);
            }
            _ => reply(stream, option, UNSUPPORTED, &[])?,
        }
    }
}

fn reply(stream: &mut impl Write, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let head = [option, kind, data.len() as u32].map(u32::to_be_bytes).concat();
    stream.write_all(&[&OPTION_REPLY.to_be_bytes()[..], &head, data].concat())
}

fn request(stream: &mut impl Read) -> io::Result<Option<Request>> {
    let magic = match u32_of(stream) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        magic => magic?,
    };
    if magic != REQUEST {
        return Err(bad("the client sends no request"));
    }
    Ok(Some(Request {
        flags: u16::from_be_bytes(array(stream)?),
        kind: u16::from_be_bytes(array(stream)?),
        cookie: u64::from_be_bytes(array(stream)?),
        offset: u64::from_be_bytes(array(stream)?),
        length: u32_of(stream)?,
    }))
}

/// Does one request; false when there are no more.
fn serves(stream: &mut (impl Read + Write), device: &Mutex<VolatileDevice>) -> io::Result<bool> {
    let Some(request) = request(stream)?.filter(|request| request.kind != DISCONNECT) else { return Ok(false) };
    let has_data = matches!(request.kind, READ | WRITE);
    if has_data && request.length > LARGEST {
        return Err(bad(format!("a request of {} bytes", request.length)));
    }
    let mut data = vec![0; if has_data { request.length as usize } else { 0 }];
    if request.kind == WRITE {
        stream.read_exact(&mut data)?;
    }
    let done = {
        let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
        done(&mut device, &request, &mut data)
    };
    let error = match &done {
        Ok(()) => 0,
        Err(DeviceError::Place { .. }) => EINVAL,
        // Its clients do not come back over another connection.
        Err(DeviceError::Cut | DeviceError::Told | DeviceError::Io(_)) => EIO,
    };
    let has_answer = request.kind == READ && error == 0;
    let head = [&REPLY.to_be_bytes()[..], &error.to_be_bytes(), &request.cookie.to_be_bytes()].concat();
    stream.write_all(&head)?;
    if has_answer {
        stream.write_all(&data)?;
    }
    Ok(true)
}

fn done(device: &mut VolatileDevice, request: &Request, data: &mut [u8]) -> Result<(), DeviceError> {
    let (offset, length, forced) = (request.offset, u64::from(request.length), request.flags & FUA != 0);
    match request.kind {
        READ => device.read(offset, data),
        WRITE => device.write(offset, data, forced),
        FLUSH => device.flush(),
        WRITE_ZEROES => device.zero(offset, length, forced),
        // What was there may stay: it is a hint.
        TRIM => Ok(()),
        _ => Err(DeviceError::Place { offset, length, size: device.size() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::NbdClient;
    use std::os::unix::net::UnixStream;
    use std::thread;

    fn device() -> Mutex<VolatileDevice> {
        let (image, spool) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        image.set_len(4096).unwrap();
        Mutex::new(VolatileDevice::new(image, spool).unwrap())
    }

    #[test]
    fn a_client_reads_what_it_wrote_and_is_told_of_faults() {
        let device = device();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(|| talk(&mut theirs, &device));
            let mut client = NbdClient::of(ours, 4096);
            assert_eq!(client.asks(WRITE, 0, 512, 512, &[5; 512]), 0);
            assert_eq!(client.reads(512), [5; 512]);
            assert_eq!(client.asks(WRITE, 0, 1, 512, &[5; 512]), EINVAL);
            assert_eq!(client.asks(9, 0, 0, 0, &[]), EINVAL);
            assert_eq!([FLUSH, TRIM].map(|kind| client.asks(kind, 0, 0, 0, &[])), [0, 0]);
            assert_eq!(client.asks(WRITE_ZEROES, FUA, 0, 1024, &[]), 0);
            device.lock().unwrap().fault.once = Some(crate::device::FaultyOperation::Flush);
            assert_eq!([FLUSH, FLUSH].map(|kind| client.asks(kind, 0, 0, 0, &[])), [EIO, 0]);
            let cut = crate::Cut { survival: crate::Survival::Nothing, seed: 1 };
            device.lock().unwrap().cut(cut).unwrap();
            assert_eq!(client.asks(READ, 0, 0, 512, &[]), EIO);
            device.lock().unwrap().power_returns();
            assert_eq!(client.asks(FLUSH, 0, 0, 0, &[]), 0);
            drop(client);
            server.join().unwrap().unwrap();
        });
    }

    #[test]
    fn an_option_that_is_not_known_is_said_to_be_so() {
        let device = device();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| talk(&mut theirs, &device));
            let mut client = NbdClient::greeted(ours);
            client.option(99, b"x");
            assert_eq!(client.replied().0, UNSUPPORTED);
            client.option(ABORT, &[]);
            assert_eq!(client.replied().0, ACK);
        });
    }

    #[test]
    fn who_speaks_otherwise_is_left() {
        let device = device();
        for words in [&b"GET / HTTP/1.1\r\n\r\n...."[..], &[0; 3]] {
            let (mut ours, mut theirs) = UnixStream::pair().unwrap();
            ours.write_all(words).unwrap();
            ours.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(talk(&mut theirs, &device).is_err());
        }
    }
}
