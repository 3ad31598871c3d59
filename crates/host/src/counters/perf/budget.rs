//! How many descriptors counters may take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors left for everything that is not a counter: resctrl's files, sockets, logs, a cgroup's file each.
const RESERVE: usize = 256;

/// The kernel's default `fs.nr_open`, taken where the limit is infinite.
const MOST: u64 = 1 << 20;

/// Descriptors that may be open, and are.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: usize,
}

impl Budget {
    /// `limit` descriptors; else as many as the process may have, its soft limit raised to the hard one, but for a reserve of 256.
    pub(super) fn new(limit: Option<usize>) -> Self {
        let limit = limit.unwrap_or_else(|| allowed().saturating_sub(RESERVE));
        Self { limit, used: 0 }
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

fn allowed() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let now = if setrlimit(Resource::Nofile, raised).is_ok() { maximum } else { current };
    usize::try_from(now.unwrap_or(MOST).min(MOST)).unwrap_or(usize::MAX)
}
