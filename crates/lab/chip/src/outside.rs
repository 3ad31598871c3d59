//! Controls and readings from outside, beside the policy.

use fairways_core::{Counters, WayMask};

use crate::account::Account;
use crate::agenda::DueEvent;
use crate::fills::FillClass;
use crate::geometry::LINE;
use crate::geometry::MOST_CORES;
use crate::job::AfterRun;
use crate::machine::Chip;
use crate::stops::PausePoint;

impl Chip {
    /// Sets the classes of a job's program, by the CPU that it is on. They come before the
    /// partition, as resctrl's groups have tasks and CPUs. Its lines stay where they are, and keep
    /// their marks. From the first call on, lines are [counted by mark](Self::marked_bytes).
    pub fn set_classes(&mut self, job: usize, by_cpu: Vec<FillClass>) {
        self.cores.uncore.llc.mark();
        self.fills.classes[job] = by_cpu;
        self.apps.iter_mut().for_each(|app| self.fills.allow(app));
    }

    /// Sets the ways that programs outside the partition may fill, by the CPU that they are on, as
    /// with resctrl's `cpus` files.
    pub fn fill_by_cpu(&mut self, masks: Vec<WayMask>) {
        self.fills.by_cpu = masks;
        self.apps.iter_mut().for_each(|app| self.fills.allow(app));
    }

    /// Stops reporting events once one of these points is reached, until the next call.
    pub fn pause_at(&mut self, pause: PausePoint) {
        self.stops.pause = pause;
    }

    /// The bytes of the last-level cache whose lines were brought in under a mark, as in resctrl's
    /// `llc_occupancy`. With set sampling, the simulated sets are extrapolated. 0 before the first
    /// [`set_classes`](Self::set_classes).
    #[must_use]
    pub fn marked_bytes(&self, mark: u16) -> u64 {
        u64::from(self.cores.uncore.llc.marked(mark)) * u64::from(self.settings.set_sampling) * LINE
    }

    /// A job's counters now, over all its runs, on the policies' scale of time. The difference of
    /// two readings equals that of a window of the same span.
    #[must_use]
    pub fn counters(&self, job: usize) -> Counters {
        let mut all = self.jobs[job].before;
        self.apps.of_job(job).for_each(|app| all.add(&app.account_at(self.clock.ticks())));
        all.since(&Account::default(), self.clock.scale)
    }

    /// Whether a job's program runs.
    #[must_use]
    pub fn is_running(&self, job: usize) -> bool {
        self.apps.of_job(job).next().is_some()
    }

    /// The CPU that a job's program is on; `None` if it is on none.
    #[must_use]
    pub fn cpu(&self, job: usize) -> Option<u32> {
        let cpu = self.apps.of_job(job).next()?.cpu?;
        u32::try_from(cpu).ok().filter(|&cpu| cpu < MOST_CORES)
    }

    /// Kills a job's program before its run is over. It does not start again; if it had not
    /// started, it never does. [`Exited`](fairways_core::Event::Exited) is reported next; the run
    /// does not count as [completed](Self::completions).
    pub fn kill(&mut self, job: usize) {
        self.jobs[job].job.then = AfterRun::Exit;
        self.agenda.cancel(job);
        let Some(app) = self.apps.iter_mut().find(|app| app.job == job) else { return };
        let id = app.id;
        if self.agenda.is_ending(id) {
            return;
        }
        // Time that it ran ahead of the others in its turn must not show later.
        let clock = self.clock.ticks();
        app.account = app.account_at(clock);
        app.runner.clock = app.runner.clock.min(clock);
        if let Some((scheduler, mut threads)) = self.scheduling() {
            scheduler.leave(&mut threads, id);
        }
        self.apps.find_mut(id).into_iter().for_each(|app| app.runner.end());
        self.agenda.due.push(DueEvent::Exit(id));
    }
}
