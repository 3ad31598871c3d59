//! Classes of service from outside: what a program may fill, and under which mark what it fills is counted.

use fairways_core::{Counters, WayMask};

use crate::account::Account;
use crate::cache::LINE;
use crate::geometry::MOST_CORES;
use crate::machine::{Chip, Due};

/// What a program may fill, and what its lines are counted as: a CLOSID's mask and an RMID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The ways that it may fill. A cache has to be able to: an empty mask is taken for way 0.
    pub mask: WayMask,
    /// Under what the lines that it brings in are counted, until they are evicted.
    pub mark: u16,
}

impl Chip {
    /// From now on a job's program is of these classes, by the CPU that it is on: before the partition, as resctrl's
    /// groups know tasks and CPUs. Lines that it holds stay where they are, and keep their marks. From the first call on,
    /// lines are [counted by mark](Self::marked_bytes).
    pub fn set_classes(&mut self, job: usize, by_cpu: Vec<Class>) {
        self.uncore.llc.mark();
        self.jobs[job].classes = by_cpu;
        for index in 0..self.apps.len() {
            if self.apps[index].job == job {
                self.apps[index].runner.fill = self.fill_of(index);
            }
        }
    }

    /// The bytes of the last-level cache whose lines were brought in under a mark, as resctrl's `llc_occupancy`; where
    /// one of so many sets is simulated, so many times what those hold. 0 before the first
    /// [`set_classes`](Self::set_classes).
    #[must_use]
    pub fn marked_bytes(&self, mark: u16) -> u64 {
        u64::from(self.uncore.llc.marked(mark)) * u64::from(self.settings.set_sampling) * LINE
    }

    /// What a job's counters show now, over all its runs: as policies are told it, on their scale of time. What is between
    /// two readings is what a window tells that is as long.
    #[must_use]
    pub fn counters(&self, job: usize) -> Counters {
        let mut all = self.jobs[job].before;
        for app in self.apps.iter().filter(|app| app.job == job) {
            all.add(&app.counted(self.clock(self.now)));
        }
        all.since(&Account::default(), u64::from(self.settings.time_scale))
    }

    /// Whether a job's program runs.
    #[must_use]
    pub fn runs(&self, job: usize) -> bool {
        self.running(job).is_some()
    }

    /// The CPU that a job's program is on; `None` if it is on none.
    #[must_use]
    pub fn cpu(&self, job: usize) -> Option<u32> {
        let cpu = self.apps[self.running(job)?].cpu?;
        u32::try_from(cpu).ok().filter(|&cpu| cpu < MOST_CORES)
    }

    /// Ends a job's program before its run is over, as if somebody killed it: it does not start again, nor does it if it
    /// had not yet. [`Exited`](fairways_core::Event::Exited) is told next; its run is not one that was
    /// [completed](Self::completions).
    pub fn kill(&mut self, job: usize) {
        self.jobs[job].job.then = crate::Then::Exit;
        self.arrivals.retain(|&(_, other)| other != job);
        self.due.retain(|due| !matches!(due, Due::Start(other) if *other == job));
        let Some(index) = self.running(job) else { return };
        let id = self.apps[index].id;
        if !self.due.iter().any(|due| matches!(due, Due::Exit(other) if *other == id)) {
            // What it ran ahead of the others in its turn is not to show later.
            let clock = self.clock(self.now);
            let app = &mut self.apps[index];
            app.account = app.counted(clock);
            app.runner.clock = app.runner.clock.min(clock);
            self.leave(index);
            self.apps[index].runner.end();
            self.due.push(Due::Exit(id));
        }
    }

    /// What a program on its CPU is of; `None` if nobody said.
    pub(crate) fn class_of(&self, index: usize) -> Option<Class> {
        let app = &self.apps[index];
        self.jobs[app.job].classes.get(app.cpu?).copied()
    }

    fn running(&self, job: usize) -> Option<usize> {
        self.apps.iter().position(|app| app.job == job)
    }
}
