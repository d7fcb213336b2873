//! The writer of the tests, by the idea of diskchecker.pl: it writes numbered sectors with flushes among them, and knows what
//! has to be there after a power cut.

use super::device::{SECTOR, VolatileDevice};
use plimsoll_load::seed::Rng;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Sectors of the device.
pub(crate) const SECTORS: u64 = 64;
/// Most sectors of a write.
pub(crate) const LONGEST: u64 = 8;

/// A write, or a flush.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WriterStep {
    Write { first: u64, sectors: u64, forced: bool },
    Flush,
}

/// What a writer writes to.
pub(crate) trait WrittenTo {
    fn write(&mut self, offset: u64, bytes: &[u8], forced: bool);
    fn flush(&mut self);
}

impl WrittenTo for VolatileDevice {
    fn write(&mut self, offset: u64, bytes: &[u8], forced: bool) {
        VolatileDevice::write(self, offset, bytes, forced).unwrap();
    }

    fn flush(&mut self) {
        VolatileDevice::flush(self).unwrap();
    }
}

/// What the writer knows of a sector: the write that is durable at the least, and all that it has written since.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownSector {
    pub durable: u32,
    pub since: Vec<u32>,
}

/// The steps of a seed.
pub(crate) fn drawn(seed: u64) -> Vec<WriterStep> {
    let mut rng = Rng::new(seed, 7, 0);
    let step = |rng: &mut Rng| match rng.between(0, 8) {
        0 => WriterStep::Flush,
        place => WriterStep::Write {
            first: rng.between(0, SECTORS - LONGEST - 1),
            sectors: rng.between(1, LONGEST),
            forced: place == 1,
        },
    };
    (0..rng.between(1, 60)).map(|_| step(&mut rng)).collect()
}

/// Takes all steps, one after the other; what is known then of each sector that was written.
pub(crate) fn written(steps: &[WriterStep], to: &mut impl WrittenTo) -> HashMap<u64, KnownSector> {
    let mut known: HashMap<u64, KnownSector> = HashMap::new();
    for (number, step) in (1u32..).zip(steps) {
        match *step {
            WriterStep::Flush => {
                to.flush();
                for of in known.values_mut() {
                    of.durable = of.since.last().copied().unwrap_or(of.durable);
                    of.since.clear();
                }
            }
            WriterStep::Write { first, sectors, forced } => {
                let places = first..first + sectors;
                let bytes: Vec<u8> = places.clone().flat_map(|sector| content(number, sector)).collect();
                to.write(first * SECTOR, &bytes, forced);
                for sector in places {
                    let of = known.entry(sector).or_default();
                    match forced {
                        true => *of = KnownSector { durable: number, since: Vec::new() },
                        false => of.since.push(number),
                    }
                }
            }
        }
    }
    known
}

/// What a write puts into a sector: its number and the sector's place, again and again, so that any damage shows.
fn content(number: u32, sector: u64) -> Vec<u8> {
    [number.to_le_bytes(), (sector as u32).to_le_bytes()].concat().repeat(SECTOR as usize / 8)
}

/// The number of the write that each sector of an image holds; 0 where nobody has written.
pub(crate) fn found(image: &File) -> Vec<u32> {
    let number = |sector: u64| {
        let mut bytes = vec![0; SECTOR as usize];
        image.read_exact_at(&mut bytes, sector * SECTOR).unwrap();
        let number = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let is_whole = if number == 0 { bytes.iter().all(|byte| *byte == 0) } else { bytes == content(number, sector) };
        assert!(is_whole, "sector {sector} is torn: {bytes:?}");
        number
    };
    (0..SECTORS).map(number).collect()
}
