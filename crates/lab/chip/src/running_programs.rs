//! The programs that run.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use fairways_core::AppId;

use crate::account::Account;
use crate::clock::Clock;
use crate::geometry::MOST_CORES;
use crate::job::Job;
use crate::program::Supply;
use crate::record::JobRecord;
use crate::running_program::RunningProgram;
use crate::settings::Settings;

/// How long to wait for a program that is asleep before looking at others.
const NAP: Duration = Duration::from_millis(1);

/// The programs that run, in the order in which they started, which is the order of their ids.
#[derive(Default)]
pub(crate) struct RunningPrograms {
    running: Vec<RunningProgram>,
    next_id: u32,
}

impl Deref for RunningPrograms {
    type Target = [RunningProgram];

    fn deref(&self) -> &[RunningProgram] {
        &self.running
    }
}

impl DerefMut for RunningPrograms {
    fn deref_mut(&mut self) -> &mut [RunningProgram] {
        &mut self.running
    }
}

impl RunningPrograms {
    pub(crate) fn find(&self, id: AppId) -> Option<&RunningProgram> {
        self.iter().find(|app| app.id == id)
    }

    pub(crate) fn find_mut(&mut self, id: AppId) -> Option<&mut RunningProgram> {
        self.iter_mut().find(|app| app.id == id)
    }

    /// The programs of a job: it may have started again before the exit of its last run is
    /// reported.
    pub(crate) fn of_job(&self, job: usize) -> impl Iterator<Item = &RunningProgram> {
        self.iter().filter(move |app| app.job == job)
    }

    /// A job's counts so far, over all its runs.
    pub(crate) fn account(&self, jobs: &[JobRecord], job: usize) -> Account {
        let mut all = jobs[job].before;
        self.of_job(job).for_each(|app| all.add(&app.account));
        all
    }

    /// Starts a job on a free CPU; returns its index. It has not begun its phase.
    pub(crate) fn start(
        &mut self,
        settings: &Settings,
        clock: Clock,
        index: usize,
        job: &Job,
    ) -> usize {
        let (id, place) = (AppId(self.next_id), self.free_place(settings));
        self.next_id += 1;
        self.running.push(RunningProgram::new(settings, clock, id, place, (index, job)));
        self.len() - 1
    }

    fn is_free(&self, place: usize) -> bool {
        self.iter().all(|app| app.place != place)
    }

    fn free_place(&self, settings: &Settings) -> usize {
        let threads = settings.chip.threads as usize;
        let place = if settings.scheduler.is_some() {
            (0..MOST_CORES as usize).find(|place| self.is_free(*place))
        } else {
            // On the core with the fewest programs.
            let cpus = 0..settings.chip.cores as usize * threads;
            cpus.filter(|cpu| self.is_free(*cpu)).min_by_key(|cpu| {
                self.iter().filter(|app| app.place / threads == cpu / threads).count()
            })
        };
        place.unwrap_or(0)
    }

    pub(crate) fn remove(&mut self, id: AppId) -> Option<RunningProgram> {
        let index = self.iter().position(|app| app.id == id)?;
        Some(self.running.remove(index))
    }

    /// While all programs that run are asleep, the chip's time passes like real time. Returns the
    /// time that passed.
    pub(crate) fn sleep(&mut self) -> Duration {
        let (mut sleepers, mut others) = (0, 0);
        for RunningProgram { runner, .. } in self.iter() {
            sleepers += usize::from(runner.supply == Supply::Asleep);
            others += usize::from(runner.supply == Supply::More && runner.now.source.is_some());
        }
        if sleepers == 0 || others > 0 {
            return Duration::ZERO;
        }
        let since = Instant::now();
        let sleeper = self.iter_mut().find(|app| app.runner.supply == Supply::Asleep);
        if let Some(source) = sleeper.and_then(|app| app.runner.now.source.as_mut()) {
            source.wait(NAP);
        }
        since.elapsed()
    }
}
