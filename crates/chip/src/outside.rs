//! What is steered and read from outside, beside the policy.

use fairways_core::{Counters, WayMask};

use crate::account::Account;
use crate::agenda::Due;
use crate::cache::LINE;
use crate::fills::Class;
use crate::geometry::MOST_CORES;
use crate::job::Then;
use crate::machine::Chip;
use crate::stops::Pause;

impl Chip {
    /// From now on a job's program is of these classes, by the CPU that it is on: before the
    /// partition, as resctrl's groups know tasks and CPUs. Lines that it holds stay where they are,
    /// and keep their marks. From the first call on, lines are [counted by
    /// mark](Self::marked_bytes).
    pub fn set_classes(&mut self, job: usize, by_cpu: Vec<Class>) {
        self.cores.uncore.llc.mark();
        self.fills.classes[job] = by_cpu;
        self.apps.iter_mut().for_each(|app| self.fills.allow(app));
    }

    /// From now on, who has no place in the partition fills the ways of the CPU that it is on, as
    /// with resctrl's `cpus` files.
    pub fn fill_by_cpu(&mut self, masks: Vec<WayMask>) {
        self.fills.by_cpu = masks;
        self.apps.iter_mut().for_each(|app| self.fills.allow(app));
    }

    /// Nothing more is told once one of these has come, until it is called again.
    pub fn pause_at(&mut self, pause: Pause) {
        self.stops.pause = pause;
    }

    /// The bytes of the last-level cache whose lines were brought in under a mark, as resctrl's
    /// `llc_occupancy`; where one of so many sets is simulated, so many times what those hold. 0
    /// before the first [`set_classes`](Self::set_classes).
    #[must_use]
    pub fn marked_bytes(&self, mark: u16) -> u64 {
        u64::from(self.cores.uncore.llc.marked(mark)) * u64::from(self.settings.set_sampling) * LINE
    }

    /// What a job's counters show now, over all its runs: as policies are told it, on their scale
    /// of time. What is between two readings is what a window tells that is as long.
    #[must_use]
    pub fn counters(&self, job: usize) -> Counters {
        let mut all = self.jobs[job].before;
        self.apps.of(job).for_each(|app| all.add(&app.counted(self.clock.ticks())));
        all.since(&Account::default(), self.clock.times)
    }

    /// Whether a job's program runs.
    #[must_use]
    pub fn runs(&self, job: usize) -> bool {
        self.apps.of(job).next().is_some()
    }

    /// The CPU that a job's program is on; `None` if it is on none.
    #[must_use]
    pub fn cpu(&self, job: usize) -> Option<u32> {
        let cpu = self.apps.of(job).next()?.cpu?;
        u32::try_from(cpu).ok().filter(|&cpu| cpu < MOST_CORES)
    }

    /// Ends a job's program before its run is over, as if somebody killed it: it does not start
    /// again, nor does it if it had not yet. [`Exited`](fairways_core::Event::Exited) is told next;
    /// its run is not one that was [completed](Self::completions).
    pub fn kill(&mut self, job: usize) {
        self.jobs[job].job.then = Then::Exit;
        self.agenda.cancel(job);
        let Some(app) = self.apps.iter_mut().find(|app| app.job == job) else { return };
        let id = app.id;
        if self.agenda.ends(id) {
            return;
        }
        // What it ran ahead of the others in its turn is not to show later.
        let clock = self.clock.ticks();
        app.account = app.counted(clock);
        app.runner.clock = app.runner.clock.min(clock);
        if let Some((scheduler, mut threads)) = self.scheduling() {
            scheduler.leave(&mut threads, id);
        }
        self.apps.find_mut(id).into_iter().for_each(|app| app.runner.end());
        self.agenda.due.push(Due::Exit(id));
    }
}
