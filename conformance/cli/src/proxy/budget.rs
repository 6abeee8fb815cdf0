//! A bound on the memory that copies of messages take, from when they are made to when they are judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum memory of all copies together, in bytes.
const MOST: usize = 64 * 1024 * 1024;

/// The memory that is left.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicUsize>);

impl Default for Budget {
    fn default() -> Budget {
        Budget(Arc::new(AtomicUsize::new(MOST)))
    }
}

/// Memory that is reserved, until this value is dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// A reservation of 0 bytes, which can grow.
    pub(super) fn reserve(&self) -> Reserved {
        Reserved { budget: self.clone(), bytes: 0 }
    }
}

impl Reserved {
    /// Reserves this many more bytes, and returns true if they were available.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let taken = |left: usize| left.checked_sub(bytes);
        let is_available = self.budget.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
        self.bytes += if is_available { bytes } else { 0 };
        is_available
    }

    /// Gives all reserved memory back.
    pub(super) fn release(&mut self) {
        self.budget.0.fetch_add(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_reserved_than_there_is_and_what_is_dropped_is_given_back() {
        let budget = Budget::default();
        let (mut one, mut other) = (budget.reserve(), budget.reserve());
        assert!(one.grow(MOST - 10) && other.grow(10) && !other.grow(1));
        drop((one, other));
        assert!(budget.reserve().grow(MOST));
    }
}
