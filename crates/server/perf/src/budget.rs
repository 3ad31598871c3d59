//! How many descriptors counters may take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors left for everything but counters: resctrl's files, sockets, logs, a cgroup's file.
pub(super) const RESERVE: usize = 256;

/// The kernel's default `fs.nr_open`, used where the limit is infinite.
const MOST: u64 = 1 << 20;

/// Descriptors that may be open, and how many are.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: usize,
}

impl Budget {
    /// Room for as many descriptors as the process may open (its soft limit is raised to the hard
    /// one), less a reserve of 256, and at most `limit`.
    pub(super) fn new(limit: Option<usize>) -> Self {
        let room = allowed().saturating_sub(RESERVE);
        if let Some(limit) = limit.filter(|&limit| limit > room) {
            tracing::warn!(
                limit,
                room,
                "counters may take fewer descriptors than requested: raise LimitNOFILE"
            );
        }
        Self { limit: limit.map_or(room, |limit| limit.min(room)), used: 0 }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) const fn used(&self) -> usize {
        self.used
    }

    pub(super) const fn fits(&self, descriptors: usize) -> bool {
        descriptors <= self.limit.saturating_sub(self.used)
    }

    pub(super) const fn take(&mut self, descriptors: usize) {
        self.used += descriptors;
    }

    pub(super) const fn give(&mut self, descriptors: usize) {
        self.used = self.used.saturating_sub(descriptors);
    }
}

/// How many descriptors the process may open, its soft limit raised to the hard one.
pub(crate) fn allowed() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() { maximum } else { current };
    usize::try_from(now.unwrap_or(MOST).min(MOST)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_the_process_may_have() {
        let room = Budget::new(None).limit();
        assert_eq!(room, allowed().saturating_sub(RESERVE));
        assert_eq!(Budget::new(Some(usize::MAX)).limit(), room);
        assert_eq!(Budget::new(Some(room.min(7))).limit(), room.min(7));
    }
}
