//! Whether memory is the bottleneck. The bus is full once its use has reached a share of its
//! capacity for some spans in a row, and free once its use has been below a lower share for as many
//! spans. Between the two nothing changes.

use super::parameters::Parameters;

/// The use of the bus in the last spans.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusGate {
    /// How many of the last spans were full, and how many were free, in a row.
    full: u32,
    free: u32,
    is_open: bool,
    needed: u32,
}

impl BusGate {
    /// Adds a span in which programs moved `used` of `capacity` bytes per second.
    pub(super) fn observe(&mut self, p: &Parameters, used: u64, capacity: u64) {
        let (used, capacity) = (u128::from(used) * 100, u128::from(capacity));
        let is_full = used >= capacity * u128::from(p.full_percent);
        let is_free = used < capacity * u128::from(p.free_percent);
        self.full = if is_full { self.full.saturating_add(1) } else { 0 };
        self.free = if is_free { self.free.saturating_add(1) } else { 0 };
        self.needed = p.gate_spans;
        if self.full >= self.needed {
            self.is_open = true;
        } else if self.free >= self.needed {
            self.is_open = false;
        }
    }

    /// Whether limits may be lowered.
    pub(super) const fn is_full(&self) -> bool {
        self.is_open && self.full > 0
    }

    /// Whether the last span was full.
    pub(super) const fn is_full_now(&self) -> bool {
        self.full > 0
    }

    /// Whether limits may be raised.
    pub(super) const fn is_free(&self) -> bool {
        self.needed > 0 && self.free >= self.needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_and_closes_after_spans_in_a_row_and_holds_between() {
        let p = Parameters {
            full_percent: 90,
            free_percent: 75,
            gate_spans: 3,
            ..Parameters::default()
        };
        let mut gate = BusGate::default();
        // Use that varies around the threshold never opens the gate.
        for used in [90, 90, 89, 90, 90, 88].repeat(4) {
            gate.observe(&p, used, 100);
            assert!(!gate.is_full() && !gate.is_free());
        }
        for (used, is_full, is_free) in [
            (95, false, false),
            (95, false, false),
            (90, true, false),
            // The gate is open, but no limit is lowered while the bus is not full.
            (80, false, false),
            (91, true, false),
            (74, false, false),
            (75, false, false),
            (74, false, false),
            (74, false, false),
            (70, false, true),
            (99, false, false),
        ] {
            gate.observe(&p, used, 100);
            assert_eq!((gate.is_full(), gate.is_free()), (is_full, is_free), "{used}");
        }
    }
}
