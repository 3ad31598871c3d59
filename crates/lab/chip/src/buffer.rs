//! The store buffer of a hardware thread.

/// Stores on their way to the last-level cache; all times in ticks.
#[derive(Clone, Debug)]
pub(crate) struct StoreBuffer {
    /// When each entry's store ends, the oldest at `oldest`.
    ends: Vec<u64>,
    oldest: usize,
    last: u64,
}

impl StoreBuffer {
    /// An empty buffer of `entries` entries, at least 1.
    pub(crate) fn new(entries: u32) -> Self {
        Self { ends: vec![0; entries.max(1) as usize], oldest: 0, last: 0 }
    }

    /// Adds a store that takes `takes` ticks; returns how long it waits for an entry. Stores
    /// overlap, and end in their order (total store order).
    pub(crate) fn put(&mut self, now: u64, takes: u64) -> u64 {
        let waits = self.ends[self.oldest].saturating_sub(now);
        self.last = self.last.max(now + waits + takes);
        self.ends[self.oldest] = self.last;
        self.oldest = if self.oldest + 1 < self.ends.len() { self.oldest + 1 } else { 0 };
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_until_it_is_full() {
        let mut buffer = StoreBuffer::new(2);
        assert_eq!((buffer.put(0, 100), buffer.put(1, 10)), (0, 0));
        // The first ends at 100, and the second not before it.
        assert_eq!(buffer.put(40, 10), 60);
        assert_eq!(buffer.put(100, 10), 0);
        assert_eq!(buffer.put(100, 10), 10);
        assert_eq!(buffer.put(500, 10), 0);
    }
}
