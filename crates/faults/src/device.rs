//! The device: an image that holds what is durable, and in front of it a log of what is not.

use rustix::fs::{FallocateFlags, fallocate};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What is written as a whole at the least, bytes.
pub const SECTOR: u64 = 512;
/// Sectors that are copied into the image at once.
const AT_ONCE: usize = 1 << 20;

/// Why an operation was not done.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("{offset} + {length} bytes are not whole sectors of the device, which has {size} bytes")]
    Place { offset: u64, length: u64, size: u64 },
    /// As it was told to.
    #[error("the device was told to fail")]
    Told,
    #[error("the device has lost its power")]
    Cut,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What may be told to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultyOperation {
    Write,
    Flush,
}

/// What goes wrong with a device that has power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fault {
    /// The next one of these fails.
    pub once: Option<FaultyOperation>,
    /// All of these fail from now on.
    pub always: Option<FaultyOperation>,
    /// Flushes, and writes that have to be durable, are acknowledged and not done.
    pub lying: bool,
}

/// A write that is not durable yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unflushed {
    /// The first sector.
    pub first: u64,
    pub sectors: u64,
    /// Where its bytes are in the spool.
    pub spooled: u64,
    /// By which writes are counted, from the first.
    pub number: u64,
}

/// A block device whose writes are volatile until they are flushed.
#[derive(Debug)]
pub struct VolatileDevice {
    pub(crate) image: File,
    /// The bytes of all writes of `log`, one after the other.
    pub(crate) spool: File,
    size: u64,
    /// Since the last flush, in order.
    pub(crate) log: Vec<Unflushed>,
    /// Where the latest bytes of a sector are in the spool, if they are not durable.
    latest: HashMap<u64, u64>,
    /// The number of the last write that made a sector durable while older ones of it were not.
    pub(crate) overtaken: HashMap<u64, u64>,
    spooled: u64,
    writes: u64,
    pub fault: Fault,
    pub(crate) is_cut: bool,
    pub(crate) counts: DeviceCounts,
}

/// What was done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceCounts {
    pub reads: u64,
    pub writes: u64,
    /// Of these, those that had to be durable at once.
    pub forced: u64,
    pub flushes: u64,
    /// Failed as they were told to.
    pub failed: u64,
}

impl VolatileDevice {
    /// `image` has whole sectors and is the device's; `spool` is empty, and grows between flushes.
    ///
    /// # Errors
    /// If the image cannot be asked for its size, or has no whole number of sectors.
    pub fn new(image: File, spool: File) -> Result<VolatileDevice, DeviceError> {
        let size = image.metadata()?.len();
        if size == 0 || size % SECTOR != 0 {
            return Err(DeviceError::Place { offset: 0, length: size, size });
        }
        Ok(VolatileDevice {
            image,
            spool,
            size,
            log: Vec::new(),
            latest: HashMap::new(),
            overtaken: HashMap::new(),
            spooled: 0,
            writes: 0,
            fault: Fault::default(),
            is_cut: false,
            counts: DeviceCounts::default(),
        })
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn counts(&self) -> DeviceCounts {
        self.counts
    }

    fn check(&self, offset: u64, length: u64) -> Result<(), DeviceError> {
        if self.is_cut {
            return Err(DeviceError::Cut);
        }
        let is_whole = offset.is_multiple_of(SECTOR) && length.is_multiple_of(SECTOR);
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= self.size);
        if is_whole && is_inside { Ok(()) } else { Err(DeviceError::Place { offset, length, size: self.size }) }
    }

    /// Whether this one was told to fail.
    fn fails(&mut self, operation: FaultyOperation) -> Result<(), DeviceError> {
        let fails = self.fault.once == Some(operation) || self.fault.always == Some(operation);
        if self.fault.once == Some(operation) {
            self.fault.once = None;
        }
        if fails {
            self.counts.failed += 1;
            return Err(DeviceError::Told);
        }
        Ok(())
    }

    /// Reads what was written last, durable or not.
    ///
    /// # Errors
    /// [`DeviceError`]: no whole sectors, no power, or the image's or the spool's own.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        self.check(offset, into.len() as u64)?;
        self.counts.reads += 1;
        self.image.read_exact_at(into, offset)?;
        if self.latest.is_empty() {
            return Ok(());
        }
        for (index, sector) in into.chunks_exact_mut(SECTOR as usize).enumerate() {
            if let Some(at) = self.latest.get(&(offset / SECTOR + index as u64)) {
                self.spool.read_exact_at(sector, *at)?;
            }
        }
        Ok(())
    }

    /// Writes; `forced` is what NBD calls FUA: it is durable when this returns.
    ///
    /// # Errors
    /// [`DeviceError`]: no whole sectors, no power, told to fail, or the image's or the spool's own.
    pub fn write(&mut self, offset: u64, bytes: &[u8], forced: bool) -> Result<(), DeviceError> {
        self.check(offset, bytes.len() as u64)?;
        self.fails(FaultyOperation::Write)?;
        self.counts.writes += 1;
        self.writes += 1;
        let (first, sectors) = (offset / SECTOR, bytes.len() as u64 / SECTOR);
        if forced {
            self.counts.forced += 1;
        }
        if forced && !self.fault.lying {
            self.image.write_all_at(bytes, offset)?;
            for sector in first..first + sectors {
                // Older writes of it, if there are any, must not come back at a cut.
                if self.latest.remove(&sector).is_some() || self.overtaken.contains_key(&sector) {
                    self.overtaken.insert(sector, self.writes);
                }
            }
            return Ok(());
        }
        self.spool.write_all_at(bytes, self.spooled)?;
        for index in 0..sectors {
            self.latest.insert(first + index, self.spooled + index * SECTOR);
        }
        self.log.push(Unflushed { first, sectors, spooled: self.spooled, number: self.writes });
        self.spooled += bytes.len() as u64;
        Ok(())
    }

    /// Writes zeroes, as a write does.
    ///
    /// # Errors
    /// As [`write`](VolatileDevice::write).
    pub fn zero(&mut self, offset: u64, length: u64, forced: bool) -> Result<(), DeviceError> {
        self.check(offset, length)?;
        let zeroes = vec![0; (length as usize).min(AT_ONCE)];
        let mut done = 0;
        while done < length {
            let now = (length - done).min(zeroes.len() as u64);
            self.write(offset + done, &zeroes[..now as usize], forced)?;
            done += now;
        }
        Ok(())
    }

    /// Makes durable all that was written before.
    ///
    /// # Errors
    /// [`DeviceError`]: no power, told to fail, or the image's or the spool's own.
    pub fn flush(&mut self) -> Result<(), DeviceError> {
        self.check(0, 0)?;
        self.fails(FaultyOperation::Flush)?;
        self.counts.flushes += 1;
        if self.fault.lying {
            return Ok(());
        }
        self.settle()
    }

    /// Copies all that is not durable into the image.
    ///
    /// # Errors
    /// Those of the image and the spool.
    pub fn settle(&mut self) -> Result<(), DeviceError> {
        // Copied, not taken: if the image takes no writes, the next flush has to try again.
        let mut places: Vec<(u64, u64)> = self.latest.iter().map(|(sector, at)| (*sector, *at)).collect();
        places.sort_unstable();
        let mut bytes = Vec::new();
        let mut rest = &places[..];
        while let Some(&(first, at)) = rest.first() {
            let follows = |(index, place): &(usize, &(u64, u64))| {
                let further = *index as u64;
                **place == (first + further, at + further * SECTOR) && *index < AT_ONCE / SECTOR as usize
            };
            let run = rest.iter().enumerate().take_while(follows).count();
            bytes.resize(run * SECTOR as usize, 0);
            self.spool.read_exact_at(&mut bytes, at)?;
            self.image.write_all_at(&bytes, first * SECTOR)?;
            rest = &rest[run..];
        }
        self.forget()
    }

    /// Begins an empty log.
    pub(crate) fn forget(&mut self) -> Result<(), DeviceError> {
        self.latest.clear();
        self.overtaken.clear();
        self.log.clear();
        if self.spooled > 0 {
            // Its room is given back, so that it never holds more than what is not durable.
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            if fallocate(&self.spool, flags, 0, self.spooled).is_err() {
                self.spool.set_len(0)?;
            }
        }
        self.spooled = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(sectors: u64) -> VolatileDevice {
        let (image, spool) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        image.set_len(sectors * SECTOR).unwrap();
        VolatileDevice::new(image, spool).unwrap()
    }

    fn of(byte: u8) -> Vec<u8> {
        vec![byte; SECTOR as usize]
    }

    fn sector(device: &mut VolatileDevice, number: u64) -> u8 {
        let mut bytes = of(9);
        device.read(number * SECTOR, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "sectors are written as a whole");
        bytes[0]
    }

    fn durable(device: &VolatileDevice, number: u64) -> u8 {
        let mut bytes = of(9);
        device.image.read_exact_at(&mut bytes, number * SECTOR).unwrap();
        bytes[0]
    }

    #[test]
    fn what_is_written_is_read_and_is_durable_only_once_it_is_flushed() {
        let mut device = device(8);
        device.write(SECTOR, &[of(1), of(2)].concat(), false).unwrap();
        device.write(2 * SECTOR, &of(3), false).unwrap();
        assert_eq!([1, 2].map(|number| sector(&mut device, number)), [1, 3]);
        assert_eq!([1, 2].map(|number| durable(&device, number)), [0, 0]);
        device.flush().unwrap();
        assert_eq!([1, 2].map(|number| durable(&device, number)), [1, 3]);
        assert!(device.log.is_empty());
    }

    #[test]
    fn a_forced_write_is_durable_alone() {
        let mut device = device(8);
        device.write(0, &[of(1), of(1)].concat(), false).unwrap();
        device.write(0, &of(2), true).unwrap();
        assert_eq!((durable(&device, 0), durable(&device, 1)), (2, 0));
        assert_eq!((sector(&mut device, 0), sector(&mut device, 1)), (2, 1));
        assert_eq!(device.overtaken.len(), 1);
    }

    #[test]
    fn what_could_not_be_flushed_is_not_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        File::create(&path).unwrap().set_len(8 * SECTOR).unwrap();
        // An image that takes no writes.
        let mut device = VolatileDevice::new(File::open(&path).unwrap(), tempfile::tempfile().unwrap()).unwrap();
        device.write(SECTOR, &of(1), false).unwrap();
        for _ in 0..2 {
            assert!(matches!(device.flush(), Err(DeviceError::Io(_))));
            assert_eq!(sector(&mut device, 1), 1);
        }
        device.image = File::options().read(true).write(true).open(&path).unwrap();
        device.flush().unwrap();
        assert_eq!((durable(&device, 1), device.log.len()), (1, 0));
    }

    #[test]
    fn it_fails_as_it_is_told_and_lies_as_it_is_told() {
        let mut device = device(8);
        device.fault = Fault { once: Some(FaultyOperation::Flush), ..Fault::default() };
        device.write(0, &of(1), false).unwrap();
        assert!(matches!(device.flush(), Err(DeviceError::Told)));
        device.flush().unwrap();
        device.fault = Fault { always: Some(FaultyOperation::Write), ..Fault::default() };
        assert!(device.write(0, &of(2), false).is_err() && device.write(0, &of(2), true).is_err());
        device.fault = Fault { lying: true, ..Fault::default() };
        device.write(0, &of(3), true).unwrap();
        device.flush().unwrap();
        assert_eq!((sector(&mut device, 0), durable(&device, 0)), (3, 1));
        assert_eq!(device.counts(), DeviceCounts { reads: 1, writes: 2, forced: 1, flushes: 2, failed: 3 });
    }

    #[test]
    fn only_whole_sectors_of_the_device_are_taken() {
        let mut device = device(2);
        for (offset, length) in [(1, 512), (0, 100), (1024, 512), (u64::MAX - 511, 512)] {
            assert!(matches!(device.write(offset, &vec![0; length], false), Err(DeviceError::Place { .. })));
        }
        device.zero(0, 1024, false).unwrap();
        let odd = tempfile::tempfile().unwrap();
        odd.set_len(1000).unwrap();
        assert!(VolatileDevice::new(odd, tempfile::tempfile().unwrap()).is_err());
    }
}
