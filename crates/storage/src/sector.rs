//! The content of written sectors, so that what is read back identifies itself.

use plimsoll_load::seed::Rng;

/// The smallest block that can be verified, bytes.
pub const SECTOR: usize = 512;
pub(crate) const TRAILER: usize = 24;
pub(crate) const BODY: usize = SECTOR - TRAILER;

/// Fills a buffer with the sectors of write `generation` at `offset`; a rest at the end becomes zeros.
pub(crate) fn stamp(seed: u64, file: u32, offset: u64, generation: u32, buffer: &mut [u8]) {
    let mut sectors = buffer.chunks_exact_mut(SECTOR);
    for (sector, at) in (&mut sectors).zip((offset..).step_by(SECTOR)) {
        let stream = u64::from(file) << 32 | u64::from(generation);
        scramble(&mut Rng::new(seed, stream, at), &mut sector[..BODY]);
        sector[BODY..BODY + 4].copy_from_slice(&file.to_le_bytes());
        sector[BODY + 4..BODY + 8].copy_from_slice(&generation.to_le_bytes());
        sector[BODY + 8..BODY + 16].copy_from_slice(&at.to_le_bytes());
        sector[BODY + 16..BODY + 20].copy_from_slice(&(seed as u32).to_le_bytes());
        let sum = crc32fast::hash(&sector[..SECTOR - 4]);
        sector[SECTOR - 4..].copy_from_slice(&sum.to_le_bytes());
    }
    sectors.into_remainder().fill(0);
}

/// Random bytes.
pub(crate) fn scramble(rng: &mut Rng, buffer: &mut [u8]) {
    let mut words = buffer.chunks_exact_mut(8);
    for word in &mut words {
        word.copy_from_slice(&rng.next_u64().to_le_bytes());
    }
    let rest = words.into_remainder();
    let last = rng.next_u64().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}
