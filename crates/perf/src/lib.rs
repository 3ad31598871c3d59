//! The kernel's performance counters, a program at a time.
//!
//! A program is counted by its cgroup, on each CPU, where it is one and that takes fewer
//! descriptors (or where the host has several domains, which only CPUs tell apart); else by its
//! threads. A cgroup's events count what its threads do, whichever they are, and those of cgroups
//! below it; a thread's count it alone, so that what a new thread does before [`Source::threads`]
//! tells of it is not counted. Inheritance is no remedy: a group can't be read with one system call
//! then. That a thread's number was given to another of the same program from one call to the next
//! is not noticed; the kernel gives numbers in turn, so it takes `kernel.pid_max` new threads in
//! between.
//!
//! Events are opened in groups that a processor holds at once. Where there are several, they take turns, and what an event
//! counted is scaled by the time that it was on a counter, of all the program's threads and CPUs together: a thread that ran a
//! moment while its group was not on is taken to be like the others. What was on no counter at all is missing.
//!
//! An event costs a descriptor a thread, or a CPU. When there are none left for a program, it is not counted, and its counters are
//! missing, until there are; a count that holds some of its threads would be too small without a word.

mod budget;
mod counting;
pub mod events;
mod layout;
pub mod on_cpus;
mod part;
mod probe;
mod program;
mod sampler;
pub mod sampling;
mod source;
pub mod switches;
mod sys;
mod tally;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;

use fairways_core::{AppId, Counter};
use fairways_resctrl::language::CpuSet;
use rustix::io::Errno;

pub use probe::{Probe, probe};
pub use source::{Ended, Nothing, Source, Target};
pub use trouble::paranoid;

use budget::Budget;
use events::{BY_PROCESSOR, Chosen};
use layout::Fitted;
use part::{How, Layout, Part};
use program::{Blind, By, Program};
use sampling::{Sampler, Sampling};
use sys::Whom;

/// Descriptors that a program of a processor with these events costs: for each of its threads, or of a cgroup for each CPU.
#[must_use]
pub fn cost(chosen: &Chosen) -> usize {
    layout::cost(chosen)
}

/// Descriptors that are left for everything that is not a counter.
pub const RESERVE: usize = budget::RESERVE;

/// How the counters are to be read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The events, as a rule those [of the processor](events::for_cpu).
    pub events: Chosen,
    /// Each domain's id and its CPUs that are on line.
    pub domains: Vec<(u32, CpuSet)>,
    /// Descriptors that counters may take; `None` for what the process may have (its soft limit is raised to the hard one), but for
    /// 256.
    pub descriptors: Option<usize>,
}

/// Counters of the kernel's perf events.
pub struct Perf {
    fitted: Fitted,
    /// In how many groups each counter is.
    groups: [u32; BY_PROCESSOR.len()],
    lost: Vec<(Counter, String)>,
    cpus: BTreeMap<i32, u32>,
    budget: Budget,
    programs: BTreeMap<AppId, Program>,
    sampling: Option<Sampling>,
    said: BTreeSet<String>,
}

impl Perf {
    /// Finds out which of the events can be counted here. None is no error: every counter is missing then, and [`Perf::lost`] says why.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let fitted = layout::fit(&settings.events);
        let mut lost = settings.events.lost;
        lost.extend(fitted.lost.iter().cloned());
        lost.sort_by_key(|&(field, _)| field);
        for (field, why) in &lost {
            tracing::info!(
                field = field.name(),
                table = settings.events.name,
                why,
                "a counter is missing"
            );
        }
        let mut perf = Self {
            groups: groups(&fitted.layout),
            fitted,
            lost,
            cpus: BTreeMap::new(),
            budget: Budget::new(settings.descriptors),
            programs: BTreeMap::new(),
            sampling: None,
            said: BTreeSet::new(),
        };
        perf.set_domains(&settings.domains);
        if perf.fitted.user_only {
            perf.say_once(
                "only what programs do outside the kernel may be counted: run with CAP_PERFMON",
            );
        }
        perf
    }

    /// Lets the kernel tell when windows by instructions end: of programs that are begun from now on, and counted by their cgroup or on a host
    /// of one domain. Of others a thread's events tell nothing of the domain.
    ///
    /// # Errors
    /// If instructions are not counted here, or do not overflow; nothing has changed then.
    pub fn sample_with(&mut self, sampler: Box<dyn Sampler>) -> io::Result<()> {
        if !self.counts_instructions() {
            return Err(io::Error::other("instructions are not counted"));
        }
        let how = How { user_only: self.fitted.user_only, sampled: true };
        Part::open(&self.fitted.layout, Whom::Thread(0), how)?;
        self.sampling = Some(Sampling::new(sampler)?);
        Ok(())
    }

    /// Whether what a program's parts count is of one domain.
    fn tells_apart(&self, app: AppId) -> bool {
        let by_cpu = |program: &Program| program.cgroup().is_some();
        let domains: BTreeSet<&u32> = self.cpus.values().collect();
        self.programs.get(&app).is_some_and(|program| by_cpu(program) || domains.len() < 2)
    }

    /// Whether instructions are what a sampler is told of.
    fn counts_instructions(&self) -> bool {
        let layout = &self.fitted.layout;
        let first = layout.first().and_then(|group| group.first());
        first.is_some_and(|&(field, _)| field == Counter::Instructions)
            && layout.iter().map(Vec::len).sum::<usize>() <= sampling::EVENTS
    }

    /// The counters that can't be read on this host, and why.
    #[must_use]
    pub fn lost(&self) -> &[(Counter, String)] {
        &self.lost
    }

    /// Descriptors that counters hold now, and may hold at most.
    #[must_use]
    pub const fn descriptors(&self) -> (usize, usize) {
        (self.budget.used(), self.budget.limit())
    }

    /// Each domain's CPUs that are on line now: of programs counted by their cgroup, those that came are counted too, and what those
    /// that went counted is kept.
    pub fn set_domains(&mut self, domains: &[(u32, CpuSet)]) {
        let before = std::mem::take(&mut self.cpus);
        for (domain, cpus) in domains {
            let known = cpus.iter().filter_map(|cpu| i32::try_from(cpu).ok());
            self.cpus.extend(known.map(|cpu| (cpu, *domain)));
        }
        if before == self.cpus {
            return;
        }
        let apps: Vec<AppId> = self.programs.keys().copied().collect();
        for app in apps {
            self.with(app, |perf, program| {
                if program.cgroup().is_some() {
                    let moved = |cpu: i32| perf.cpus.get(&cpu) != before.get(&cpu);
                    let domain = |cpu: i32| before.get(&cpu).copied();
                    let ended = program.part_with(&perf.fitted.layout, domain, moved);
                    perf.budget.give(ended * perf.slots());
                    perf.open_cpus(app, program);
                }
            });
        }
    }

    /// Descriptors a thread or CPU costs.
    fn slots(&self) -> usize {
        self.fitted.layout.iter().map(Vec::len).sum::<usize>()
            + usize::from(self.sampling.is_some())
    }

    fn how(&self) -> How {
        How { user_only: self.fitted.user_only, sampled: self.sampling.is_some() }
    }

    fn say_once(&mut self, what: &str) {
        if self.said.insert(what.to_owned()) {
            tracing::warn!("{what}");
        }
    }

    /// Lends a program out of the table, so that all else can be reached beside it.
    fn with<T>(
        &mut self,
        app: AppId,
        work: impl FnOnce(&mut Self, &mut Program) -> T,
    ) -> Option<T> {
        let mut program = self.programs.remove(&app)?;
        let done = work(self, &mut program);
        self.programs.insert(app, program);
        Some(done)
    }

    /// How to count a program: by the cheaper way, or by the one that tells domains apart; by the other if that does not fit.
    fn way(&mut self, target: &Target) -> By {
        let Some(path) = &target.cgroup else { return By::Threads };
        let domains: BTreeSet<u32> = self.cpus.values().copied().collect();
        let (by_cpu, by_thread) = (self.cpus.len(), target.threads.len());
        let fits = |parts: usize| self.budget.fits(parts * self.slots());
        let cheaper = by_cpu <= by_thread || domains.len() > 1;
        if by_cpu == 0 || !(cheaper && fits(by_cpu) || !fits(by_thread) && fits(by_cpu)) {
            return By::Threads;
        }
        let tried = File::open(path).map_err(|error| error.to_string()).and_then(|file| {
            self.try_cgroup(&file).map(|()| file).map_err(|error| trouble::line(&error))
        });
        match tried {
            Ok(file) => By::Cgroup(file),
            Err(why) => {
                self.say_once(&format!(
                    "programs are counted by their threads, not by cgroup: {why}"
                ));
                By::Threads
            }
        }
    }

    fn try_cgroup(&self, cgroup: &File) -> io::Result<()> {
        use std::os::fd::AsFd as _;
        let Some(&cpu) = self.cpus.keys().next() else { return Ok(()) };
        let whom = Whom::Cgroup(cgroup.as_fd(), cpu);
        match Part::open(&self.fitted.layout, whom, self.how()) {
            Err(error) if !trouble::is(&error, Errno::NODEV) => Err(error),
            _ => Ok(()),
        }
    }

    /// Counts a program on every CPU that it is not counted on yet.
    fn open_cpus(&mut self, app: AppId, program: &mut Program) {
        let missing: Vec<i32> =
            self.cpus.keys().copied().filter(|&cpu| !program.holds(cpu)).collect();
        self.open(app, program, &missing);
    }

    /// Counts more of a program; or all of it no longer, if some of it can't be.
    fn open(&mut self, app: AppId, program: &mut Program, keys: &[i32]) {
        let slots = self.slots();
        if !self.budget.fits(keys.len() * slots) {
            self.give_up(app, program, Blind::ForNow, "no descriptors are left for counters");
            return;
        }
        for &key in keys {
            let (whom, domain, absent) = match program.cgroup() {
                None => (Whom::Thread(key), None, Errno::SRCH),
                Some(cgroup) => {
                    (Whom::Cgroup(cgroup, key), self.cpus.get(&key).copied(), Errno::NODEV)
                }
            };
            match Part::open(&self.fitted.layout, whom, self.how()) {
                Ok(part) => {
                    program.join(key, part, domain);
                    self.budget.take(slots);
                }
                // The thread has exited, or the CPU went off line, since somebody told of it.
                Err(error) if trouble::is(&error, absent) => {}
                Err(error) => {
                    self.give_up(app, program, Blind::of(&error), &trouble::line(&error));
                    return;
                }
            }
        }
        let was_blind = program.blind.take().is_some();
        self.windows(app, program, was_blind);
    }

    /// Lets the kernel tell of a program's windows by all its parts, or of windows that begin now.
    fn windows(&mut self, app: AppId, program: &mut Program, anew: bool) {
        let Some(mut sampling) = self.sampling.take() else { return };
        let by_cpu = program.cgroup().is_some();
        for domain in sampling.domains(app) {
            let within = |cpu: i32| !by_cpu || self.cpus.get(&cpu) == Some(&domain);
            let parts = program.parts_mut(within);
            let done = if anew {
                sampling.begin(app, domain, parts)
            } else {
                sampling.join(app, domain, parts)
            };
            if let Err(why) = done {
                sampling.forget(app, domain);
                depart(program, within);
                self.say_once(&format!(
                    "the kernel does not tell of windows by instructions: {why}"
                ));
            }
        }
        self.sampling = Some(sampling);
    }

    /// What the kernel tells of a program's windows is no longer all of it.
    fn pause(&mut self, app: AppId) {
        if let Some(sampling) = &mut self.sampling {
            sampling.domains(app).into_iter().for_each(|domain| sampling.pause(app, domain));
        }
    }

    fn give_up(&mut self, app: AppId, program: &mut Program, blind: Blind, why: &str) {
        self.pause(app);
        let by_cpu = program.cgroup().is_some();
        let domain = |key: i32| by_cpu.then(|| self.cpus.get(&key).copied()).flatten();
        let ended = program.go_blind(blind, &self.fitted.layout, domain);
        self.budget.give(ended * self.slots());
        let name = &program.name;
        match blind {
            Blind::Refused => tracing::warn!(%app, name, why, "the program is not counted"),
            Blind::ForNow => {
                // Whichever program is the first.
                if self.said.insert(why.to_owned()) {
                    let limit = self.budget.limit();
                    tracing::warn!(
                        name,
                        why,
                        "programs are not counted for now; of {limit} descriptors there may be too few: raise LimitNOFILE"
                    );
                }
            }
        }
    }

    /// Opens every program's events in smaller groups, as one is never put on counters: other events hold those that it needs.
    fn regroup(&mut self, starved: Counter) {
        let before = self.fitted.layout.clone();
        if !self.fitted.shrink() {
            self.say_once(&format!(
                "{} is never on a counter, even by itself: somebody else holds it",
                starved.name()
            ));
            return;
        }
        tracing::warn!(
            field = starved.name(),
            groups = self.fitted.layout.len(),
            "an event was on no counter for a second of work: all are counted in smaller groups from now on"
        );
        self.groups = groups(&self.fitted.layout);
        let slots =
            before.iter().map(Vec::len).sum::<usize>() + usize::from(self.sampling.is_some());
        let apps: Vec<AppId> = self.programs.keys().copied().collect();
        let mut all = Vec::new();
        for app in apps {
            self.pause(app);
            let keys = self.with(app, |perf, program| {
                let by_cpu = program.cgroup().is_some();
                let domain = |key: i32| by_cpu.then(|| perf.cpus.get(&key).copied()).flatten();
                let keys = program.regroup(&before, domain);
                perf.budget.give(keys.len() * slots);
                keys
            });
            all.extend(keys.map(|keys| (app, keys)));
        }
        for (app, keys) in all {
            self.with(app, |perf, program| {
                if program.blind.is_none() {
                    perf.open(app, program, &keys);
                    perf.windows(app, program, true);
                }
            });
        }
    }
}

/// Lets no window end by what these parts of a program count.
fn depart(program: &mut Program, within: impl Fn(i32) -> bool) {
    for part in program.parts_mut(within) {
        // An event that goes on to overflow runs nothing any longer.
        let _ = part.depart();
    }
}

/// In how many groups each counter is.
fn groups(layout: &Layout) -> [u32; BY_PROCESSOR.len()] {
    BY_PROCESSOR.map(|field| {
        let of = layout.iter().flatten().filter(|&&(of, _)| of == field).count();
        u32::try_from(of).unwrap_or(u32::MAX)
    })
}

#[cfg(test)]
mod tests;
