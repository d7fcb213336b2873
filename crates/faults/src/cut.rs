//! The power cut: of what was not flushed a seeded part survives.

use super::device::{DeviceError, Fault, SECTOR, Unflushed, VolatileDevice};
use plimsoll_load::seed::Rng;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::FileExt;

/// Of what is not flushed, what survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survival {
    /// Nothing: all of it was in a cache without power.
    Nothing,
    /// Each piece of so many bytes, aligned to them, or not, as a coin falls: writes are torn, and later ones survive earlier ones.
    Pieces { bytes: u64 },
    /// Each write as a whole, or not: later ones survive earlier ones.
    Writes,
}

/// A cut, and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub survival: Survival,
    pub seed: u64,
}

/// What a cut did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutReport {
    /// Writes that were not flushed.
    pub unflushed_writes: u64,
    pub unflushed_bytes: u64,
    pub survived_bytes: u64,
    /// Writes of which a part survived, and not all.
    pub torn_writes: u64,
}

impl VolatileDevice {
    /// Takes its power: what survives is in its image, and every later operation fails.
    ///
    /// # Errors
    /// [`DeviceError`]: it was cut before, or the image's or the spool's own.
    pub fn cut(&mut self, cut: Cut) -> Result<CutReport, DeviceError> {
        if self.is_cut {
            return Err(DeviceError::Cut);
        }
        let mut coins = Rng::new(cut.seed, 0, 0);
        let mut report = CutReport { unflushed_writes: self.log.len() as u64, ..CutReport::default() };
        for write in std::mem::take(&mut self.log) {
            let bytes = write.sectors * SECTOR;
            report.unflushed_bytes += bytes;
            let survived = self.survivors(&write, cut.survival, &mut coins)?;
            report.survived_bytes += survived;
            report.torn_writes += u64::from(survived > 0 && survived < bytes);
        }
        self.forget()?;
        self.is_cut = true;
        Ok(report)
    }

    /// Gives it back its power, and lets nothing go wrong with it any more.
    pub fn power_returns(&mut self) {
        (self.is_cut, self.fault) = (false, Fault::default());
    }

    /// Puts what survives of a write into the image; bytes.
    fn survivors(&self, write: &Unflushed, survival: Survival, coins: &mut Rng) -> Result<u64, DeviceError> {
        let piece = match survival {
            Survival::Nothing => return Ok(0),
            Survival::Pieces { bytes } => (bytes / SECTOR).max(1),
            Survival::Writes => u64::MAX,
        };
        let (mut sector, end) = (write.first, write.first + write.sectors);
        let mut survived = 0;
        while sector < end {
            // Pieces are those of the device, wherever the write begins.
            let next = (sector / piece + 1).saturating_mul(piece).min(end);
            if coins.next_u64() & 1 == 1 {
                survived += self.put(write, sector, next)?;
            }
            sector = next;
        }
        Ok(survived)
    }

    /// Puts these sectors of a write into the image, but for those that a later write has made durable already.
    fn put(&self, write: &Unflushed, from: u64, to: u64) -> Result<u64, DeviceError> {
        let mut bytes = [0; SECTOR as usize];
        let mut put = 0;
        for sector in from..to {
            if self.overtaken.get(&sector).is_some_and(|number| *number > write.number) {
                continue;
            }
            self.spool.read_exact_at(&mut bytes, write.spooled + (sector - write.first) * SECTOR)?;
            self.image.write_all_at(&bytes, sector * SECTOR)?;
            put += SECTOR;
        }
        Ok(put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::{KnownSector, LONGEST, SECTORS, WriterStep, drawn, found, written};
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn step() -> impl Strategy<Value = WriterStep> {
        prop_oneof![
            8 => (0..SECTORS - LONGEST, 1..=LONGEST, prop::bool::weighted(0.1))
                .prop_map(|(first, sectors, forced)| WriterStep::Write { first, sectors, forced }),
            1 => Just(WriterStep::Flush),
        ]
    }

    fn survival() -> impl Strategy<Value = Survival> {
        prop_oneof![
            Just(Survival::Nothing),
            Just(Survival::Writes),
            Just(Survival::Pieces { bytes: 512 }),
            Just(Survival::Pieces { bytes: 4096 }),
        ]
    }

    /// Writes numbered sectors, cuts, and gives what was known of each sector and what is there.
    fn cut_after(steps: &[WriterStep], cut: Cut, lying: bool) -> (HashMap<u64, KnownSector>, Vec<u32>, CutReport) {
        let (image, spool) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        image.set_len(SECTORS * SECTOR).unwrap();
        let mut device = VolatileDevice::new(image.try_clone().unwrap(), spool).unwrap();
        device.fault.lying = lying;
        let known = written(steps, &mut device);
        let report = device.cut(cut).unwrap();
        assert!(matches!(device.flush(), Err(DeviceError::Cut)));
        (known, found(&image), report)
    }

    proptest! {
        #[test]
        fn what_was_flushed_is_never_lost(
            steps in prop::collection::vec(step(), 1..60), survival in survival(), seed in any::<u64>()
        ) {
            let (known, found, report) = cut_after(&steps, Cut { survival, seed }, false);
            for (sector, found) in found.iter().enumerate() {
                let known = known.get(&(sector as u64)).cloned().unwrap_or_default();
                let is_allowed = *found == known.durable
                    || survival != Survival::Nothing && known.since.contains(found);
                prop_assert!(is_allowed, "sector {sector} has {found}, known was {known:?}");
            }
            prop_assert!(report.survived_bytes <= report.unflushed_bytes);
            // A write that a forced one has overtaken in part survives in part.
            let is_forced = steps.iter().any(|step| matches!(step, WriterStep::Write { forced: true, .. }));
            prop_assert!(survival != Survival::Writes || report.torn_writes == 0 || is_forced);
        }

        #[test]
        fn the_same_cut_leaves_the_same(steps in prop::collection::vec(step(), 1..40), seed in any::<u64>()) {
            let cut = Cut { survival: Survival::Pieces { bytes: 4096 }, seed };
            prop_assert_eq!(cut_after(&steps, cut, false).1, cut_after(&steps, cut, false).1);
        }
    }

    #[test]
    fn what_was_not_flushed_is_lost_and_torn_and_overtaken() {
        let write = |first| WriterStep::Write { first, sectors: 8, forced: false };
        let steps = [write(0), write(8), write(16), write(0)];
        let (_, found, report) = cut_after(&steps, Cut { survival: Survival::Nothing, seed: 1 }, false);
        assert!(found.iter().all(|found| *found == 0));
        assert_eq!((report.unflushed_writes, report.unflushed_bytes), (4, 4 * 8 * SECTOR));
        let torn =
            |seed| cut_after(&steps, Cut { survival: Survival::Pieces { bytes: 512 }, seed }, false).2.torn_writes;
        assert!((0..50).any(|seed| torn(seed) > 0));
        let whole = |seed| cut_after(&steps, Cut { survival: Survival::Writes, seed }, false).1;
        assert!((0..50).map(whole).any(|found| found[8] == 0 && found[16] == 3), "a later one survives an earlier one");
        assert!((0..50).map(whole).any(|found| found[0] == 1), "the first version survives the last");
    }

    /// What the writer knows is compared with what is there.
    fn cuts(of: std::ops::Range<u64>) {
        let (mut kept, mut lost) = (0, 0);
        for seed in of {
            let steps = drawn(seed);
            let survivals = [
                Survival::Nothing,
                Survival::Writes,
                Survival::Pieces { bytes: 512 },
                Survival::Pieces { bytes: 4096 },
            ];
            let survival = survivals[(seed % 4) as usize];
            let (known, found, _) = cut_after(&steps, Cut { survival, seed }, false);
            for (sector, found) in found.iter().enumerate() {
                let known = known.get(&(sector as u64)).cloned().unwrap_or_default();
                kept += usize::from(*found == known.durable && known.durable > 0);
                lost += usize::from(known.since.last().is_some_and(|last| found != last));
                let is_allowed =
                    *found == known.durable || survival != Survival::Nothing && known.since.contains(found);
                assert!(is_allowed, "seed {seed}, sector {sector}: {found}, known was {known:?}");
            }
        }
        assert!(kept > 0 && lost > 0, "{kept} flushed sectors were there, {lost} others were not");
    }

    #[test]
    fn hundreds_of_cuts_lose_nothing_that_was_flushed() {
        cuts(0..300);
    }

    #[test]
    #[ignore = "takes a minute; make test-all"]
    fn ten_thousand_cuts_lose_nothing_that_was_flushed() {
        cuts(300..10_300);
    }

    #[test]
    fn a_device_that_lies_loses_what_was_flushed() {
        let steps = [WriterStep::Write { first: 0, sectors: 1, forced: false }, WriterStep::Flush];
        let (known, found, _) = cut_after(&steps, Cut { survival: Survival::Nothing, seed: 1 }, true);
        assert_eq!((known[&0].durable, found[0]), (1, 0));
    }

    #[test]
    fn a_device_whose_power_returns_has_what_was_flushed() {
        let (image, spool) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        image.set_len(4 * SECTOR).unwrap();
        let mut device = VolatileDevice::new(image, spool).unwrap();
        let written = |byte: u8| [byte; SECTOR as usize];
        device.write(0, &written(1), false).unwrap();
        device.flush().unwrap();
        device.write(0, &written(2), false).unwrap();
        device.cut(Cut { survival: Survival::Nothing, seed: 1 }).unwrap();
        let mut found = written(0);
        assert!(device.read(0, &mut found).is_err() && device.write(0, &written(3), false).is_err());
        device.power_returns();
        device.read(0, &mut found).unwrap();
        assert_eq!(found, written(1));
        device.write(0, &written(4), false).unwrap();
    }
}
