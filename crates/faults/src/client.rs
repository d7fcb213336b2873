//! The client's side of the NBD protocol, as far as tests need it: one request at a time.

use super::nbd::{
    ACK, FLUSH, FUA, GO, GREETING, INFORMATION, OPTION, OPTION_REPLY, READ, REPLY, REQUEST, WRITE, array, u32_of,
};
use super::writer::WrittenTo;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// Fixed newstyle, and no zeroes after the export's name.
const CLIENT_FLAGS: u32 = 0b11;
/// What a client calls its request.
const COOKIE: u64 = 7;

pub(crate) struct NbdClient(UnixStream);

impl NbdClient {
    /// One that has been greeted, and has not chosen an export yet.
    pub fn greeted(mut stream: UnixStream) -> NbdClient {
        assert_eq!(array::<18>(&mut stream).unwrap()[..8], *GREETING);
        stream.write_all(&CLIENT_FLAGS.to_be_bytes()).unwrap();
        NbdClient(stream)
    }

    /// One that uses the export, which has this many bytes.
    pub fn of(stream: UnixStream, bytes: u64) -> NbdClient {
        let mut client = NbdClient::greeted(stream);
        client.option(GO, &[0; 6]);
        let (kind, data) = client.replied();
        assert_eq!((kind, &data[2..10]), (INFORMATION, &bytes.to_be_bytes()[..]));
        while client.replied().0 != ACK {}
        client
    }

    pub fn option(&mut self, option: u32, data: &[u8]) {
        let head = [option, data.len() as u32].map(u32::to_be_bytes).concat();
        self.0.write_all(&[&OPTION[..], &head, data].concat()).unwrap();
    }

    /// The kind of a reply to an option, and its data.
    pub fn replied(&mut self) -> (u32, Vec<u8>) {
        assert_eq!(u64::from_be_bytes(array(&mut self.0).unwrap()), OPTION_REPLY);
        let [_, kind, length] = [0; 3].map(|_: u32| u32_of(&mut self.0).unwrap());
        let mut data = vec![0; length as usize];
        self.0.read_exact(&mut data).unwrap();
        (kind, data)
    }

    /// Sends a request and waits for its answer; the error in it, 0 for none.
    pub fn asks(&mut self, kind: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> u32 {
        let head =
            [&REQUEST.to_be_bytes()[..], &flags.to_be_bytes(), &kind.to_be_bytes(), &COOKIE.to_be_bytes()].concat();
        let place = [&offset.to_be_bytes()[..], &length.to_be_bytes(), data].concat();
        self.0.write_all(&[head, place].concat()).unwrap();
        let [magic, error] = [0; 2].map(|_: u32| u32_of(&mut self.0).unwrap());
        assert_eq!((magic, u64::from_be_bytes(array(&mut self.0).unwrap())), (REPLY, COOKIE));
        error
    }

    /// What is there.
    pub fn reads<const N: usize>(&mut self, offset: u64) -> [u8; N] {
        assert_eq!(self.asks(READ, 0, offset, N as u32, &[]), 0);
        array(&mut self.0).unwrap()
    }
}

impl WrittenTo for NbdClient {
    fn write(&mut self, offset: u64, bytes: &[u8], forced: bool) {
        let flags = if forced { FUA } else { 0 };
        assert_eq!(self.asks(WRITE, flags, offset, bytes.len() as u32, bytes), 0);
    }

    fn flush(&mut self) {
        assert_eq!(self.asks(FLUSH, 0, 0, 0, &[]), 0);
    }
}
