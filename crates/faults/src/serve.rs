//! The device in a process of its own: NBD on one Unix socket, orders on another, a line of JSON each way.

use super::device::{DeviceCounts, DeviceError, Fault, VolatileDevice};
use super::{Cut, CutReport, nbd};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
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
    /// The power is cut, and comes back with [`DeviceOrder::Return`]; until then everything fails.
    Outage(Cut),
    Return,
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
                let device = &device;
                // A client that leaves in the middle is its own affair.
                scope.spawn(move || nbd::talk(&mut stream, device));
            }
        });
        for stream in orders.incoming() {
            let Ok(stream) = stream else { continue };
            let order = read_order(&stream);
            let given = order.as_ref().map_err(|error| format!("no order: {error}"));
            let answer = given.map_or_else(OrderAnswer::Failed, |order| answer(&mut of(&device), *order));
            // Who asked and left gets no answer.
            let _ = serde_json::to_string(&answer).map(|line| writeln!(&stream, "{line}"));
            if matches!((order, answer), (Ok(DeviceOrder::Cut(_)), OrderAnswer::Cut(_))) {
                // Clients that wait for a request of theirs are left with it, as by a device without power.
                std::process::exit(0);
            }
        }
        Ok(())
    })
}

fn of(device: &Mutex<VolatileDevice>) -> MutexGuard<'_, VolatileDevice> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_order(stream: &UnixStream) -> io::Result<DeviceOrder> {
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn answer(device: &mut VolatileDevice, order: DeviceOrder) -> OrderAnswer {
    match order {
        DeviceOrder::Cut(cut) | DeviceOrder::Outage(cut) => match device.cut(cut) {
            Ok(report) => OrderAnswer::Cut(report),
            Err(error) => OrderAnswer::Failed(error.to_string()),
        },
        DeviceOrder::Return => {
            device.power_returns();
            OrderAnswer::Done
        }
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
