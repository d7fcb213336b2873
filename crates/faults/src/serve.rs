//! The device in a process of its own: NBD on one Unix socket, orders on another, a line of JSON each way.

use super::device::{DeviceCounts, DeviceError, Fault, VolatileDevice};
use super::{Cut, CutReport, nbd};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Longest order, bytes.
const LONGEST: u64 = 4096;

/// Where a device is.
#[derive(Clone, Debug)]
pub struct DevicePlaces {
    /// What is durable; a whole number of sectors.
    pub image: PathBuf,
    /// A directory for what is not.
    pub spool: PathBuf,
    /// Where NBD is spoken.
    pub socket: PathBuf,
    /// Where orders are taken.
    pub orders: PathBuf,
}

/// What can be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceOrder {
    /// The power is cut; the process ends when it has answered.
    Cut(Cut),
    /// From now on this goes wrong.
    Fault(Fault),
    /// What was written becomes durable, as if a flush had come that does what it says.
    Settle,
    /// How much was done.
    Counts,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderAnswer {
    Cut(CutReport),
    Done,
    Counts(DeviceCounts),
    Failed(String),
}

/// Serves the device until its power is cut.
///
/// # Errors
/// If the image cannot be opened, or a socket cannot be made.
pub fn serve(places: &DevicePlaces) -> Result<(), DeviceError> {
    let image = OpenOptions::new().read(true).write(true).open(&places.image)?;
    let spool: File = tempfile::tempfile_in(&places.spool)?;
    let device = Mutex::new(VolatileDevice::new(image, spool)?);
    let (blocks, orders) = (UnixListener::bind(&places.socket)?, UnixListener::bind(&places.orders)?);
    thread::scope(|scope| {
        scope.spawn(|| {
            for stream in blocks.incoming() {
                let Ok(mut stream) = stream else { continue };
                if is_cut(&device) {
                    return;
                }
                let device = &device;
                // A client that leaves in the middle is its own affair.
                scope.spawn(move || nbd::talk(&mut stream, device));
            }
        });
        for stream in orders.incoming() {
            let Ok(stream) = stream else { continue };
            // Who asked and left gets no answer.
            let _ = obeys(stream, &device);
            if is_cut(&device) {
                // Clients that wait for a request of theirs are left with it, as by a device without power.
                std::process::exit(0);
            }
        }
        Ok(())
    })
}

fn is_cut(device: &Mutex<VolatileDevice>) -> bool {
    device.lock().unwrap_or_else(PoisonError::into_inner).is_cut()
}

fn obeys(stream: UnixStream, device: &Mutex<VolatileDevice>) -> io::Result<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream);
    reader.by_ref().take(LONGEST).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        Ok(order) => {
            let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
            answer(&mut device, order)
        }
        Err(error) => OrderAnswer::Failed(format!("no order: {error}")),
    };
    let mut stream = reader.into_inner();
    writeln!(stream, "{}", serde_json::to_string(&answer)?)
}

fn answer(device: &mut VolatileDevice, order: DeviceOrder) -> OrderAnswer {
    match order {
        DeviceOrder::Cut(cut) => match device.cut(cut) {
            Ok(report) => OrderAnswer::Cut(report),
            Err(error) => OrderAnswer::Failed(error.to_string()),
        },
        DeviceOrder::Fault(fault) => {
            device.fault = fault;
            OrderAnswer::Done
        }
        DeviceOrder::Settle => match device.settle() {
            Ok(()) => OrderAnswer::Done,
            Err(error) => OrderAnswer::Failed(error.to_string()),
        },
        DeviceOrder::Counts => OrderAnswer::Counts(device.counts()),
    }
}

/// Orders something of a device that is served.
///
/// # Errors
/// If nobody serves it, or it does not answer.
pub fn order(orders: &Path, order: DeviceOrder) -> io::Result<OrderAnswer> {
    let mut stream = UnixStream::connect(orders)?;
    writeln!(stream, "{}", serde_json::to_string(&order)?)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
