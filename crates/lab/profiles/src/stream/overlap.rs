//! An estimate of how many misses a core has under way at once.

/// Instructions that an out-of-order core has under way at once (Skylake; Intel's optimization
/// manual, 2.5).
const UNDER_WAY: u64 = 224;

/// Misses of the second private cache that a core has under way at once (its superqueue; as above).
const MOST: u64 = 16;

/// Counts misses in groups: a group has those that are under way at once if none depends on
/// another.
///
/// QEMU 7.2 does not show a plugin what registers contain, so dependences are unknown, and the
/// estimate is an upper limit: a chase of pointers has an overlap of one whatever its distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverlapEstimate {
    /// The instruction of the group's first miss, and the group's misses.
    first: u64,
    in_group: u64,
    groups: u64,
    misses: u64,
}

impl OverlapEstimate {
    /// A miss at an instruction, counted from the first.
    pub fn miss(&mut self, instruction: u64) {
        self.misses += 1;
        self.in_group += 1;
        if self.groups == 0 || instruction >= self.first + UNDER_WAY || self.in_group > MOST {
            (self.first, self.in_group) = (instruction, 1);
            self.groups += 1;
        }
    }

    /// The mean misses of a group; 1 if there were none.
    #[must_use]
    pub fn value(&self) -> f64 {
        if self.groups == 0 { 1.0 } else { self.misses as f64 / self.groups as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_overlap_while_they_are_near() {
        for (apart, mean) in [(0, 16.0), (112, 2.0), (224, 1.0)] {
            let mut estimate = OverlapEstimate::default();
            (0..160).for_each(|miss| estimate.miss(miss * apart));
            assert_eq!(estimate.value(), mean);
        }
        assert_eq!(OverlapEstimate::default().value(), 1.0);
    }
}
