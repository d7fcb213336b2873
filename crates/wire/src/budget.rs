//! Bounds the memory for answers of all connections of this process, however many there are and however long each
//! answer is.
//!
//! A buffer counts as far as it is larger than [`FREE`]; such a buffer is freed as soon as it is used up. So
//! connections that are idle, or have short answers, count nothing and never touch the sum.

use crate::error::WireError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most that all buffers together may hold beyond what is free, in bytes.
pub const LIMIT: usize = 256 << 20;
/// What a buffer may hold without being counted, in bytes.
pub const FREE: usize = 32 << 10;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// The part of the sum that one buffer has; released when dropped.
#[derive(Debug, Default)]
pub struct Share {
    counted: usize,
}

impl Share {
    /// Announces the size of the buffer before it grows.
    ///
    /// # Errors
    /// [`WireError::OverBudget`] if all buffers together were to hold more than [`LIMIT`]; then it must not grow.
    pub fn resize(&mut self, bytes: usize) -> Result<(), WireError> {
        let wanted = bytes.saturating_sub(FREE);
        let more = wanted.saturating_sub(self.counted);
        if more > 0 && HELD.fetch_add(more, Ordering::Relaxed) + more > LIMIT {
            HELD.fetch_sub(more, Ordering::Relaxed);
            return Err(WireError::OverBudget { limit: LIMIT });
        }
        HELD.fetch_sub(self.counted.saturating_sub(wanted), Ordering::Relaxed);
        self.counted = wanted;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        HELD.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

/// Makes room for `bytes` in all, at least twice as many as there are, and counts it first.
pub(crate) fn reserve(buffer: &mut Vec<u8>, share: &mut Share, bytes: usize) -> Result<(), WireError> {
    let capacity = bytes.max(2 * buffer.capacity());
    share.resize(capacity)?;
    buffer.reserve_exact(capacity - buffer.len());
    Ok(())
}

/// Empties a buffer, and frees it if it is large.
pub(crate) fn clear(buffer: &mut Vec<u8>, share: &mut Share) {
    buffer.clear();
    if buffer.capacity() > FREE {
        *buffer = Vec::new();
        *share = Share::default();
    }
}
