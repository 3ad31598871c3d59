//! The kernel's performance counters, per program.
//!
//! A program is counted by its cgroup, on each CPU, where it is one and that takes fewer
//! descriptors (or where the host has several domains, which per-CPU events separate); otherwise by
//! its threads. On several domains, a thread's counts are those of the domain on whose CPUs alone
//! it may run; if there is none, the program's counters are missing.
//!
//! A cgroup's events count all its threads and the cgroups below it. A thread's events count only
//! that thread, so that the work of a new thread before [`Source::threads`] reports it is not
//! counted. Inheritance does not help: a group could not be read with one system call then. If a
//! thread's number is reused by another thread of the same program between two calls, that goes
//! unnoticed; the kernel assigns numbers in turn, so this takes `kernel.pid_max` new threads in
//! between.
//!
//! Events are opened in groups that fit on a processor at once. Several groups take turns, and an
//! event's count is scaled by the time that it was on a counter, over all the program's threads and
//! CPUs together: a thread that ran for a moment while its group was not on counters is assumed to
//! behave like the others. A counter whose event was never on a counter is missing.
//!
//! An event costs one descriptor per thread or CPU. When none is left for a program, the program is
//! not counted, and its counters are missing until there are descriptors again; a count of only
//! some of its threads would be too low without any sign of it.

mod budget;
mod counting;
pub mod events;
mod layout;
pub mod on_cpus;
mod part;
mod plausible;
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
use std::path::Path;

use fairways_core::{AppId, Counter, CpuSet};
use fairways_linux::affinity;
use rustix::io::Errno;

pub use plausible::implausible;
pub use probe::{Probe, probe};
pub use source::{EndedWindow, NoCounters, Source, Target};
pub use trouble::paranoid;

use budget::Budget;
use events::{BY_PROCESSOR, ProcessorEvents};
use layout::Fitted;
use part::{CountedPart, Layout, OpenOptions};
use program::{Blind, CountedBy, CountedFor, CountedProgram};
use sampling::{Sampler, Sampling};
use sys::Scope;

/// Descriptors per program on a processor with these events: per thread, or for a cgroup per CPU.
#[must_use]
pub fn cost(chosen: &ProcessorEvents) -> usize {
    layout::expected(chosen).iter().map(Vec::len).sum()
}

/// How many groups these events make, beside the kernel's watchdog; several groups take turns.
#[must_use]
pub fn groups_of(chosen: &ProcessorEvents) -> usize {
    layout::expected(chosen).len()
}

/// Descriptors left for everything that is not a counter.
pub const RESERVE: usize = budget::RESERVE;

/// How counters are read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The events, as a rule those [for the processor](events::for_cpu).
    pub events: ProcessorEvents,
    /// The counters to count, besides instructions and cycles: as a rule those that a policy
    /// reads.
    pub counters: Vec<Counter>,
    /// Each domain's id and its CPUs that are on line.
    pub domains: Vec<(u32, CpuSet)>,
    /// Descriptors that counters may take; `None` for as many as the process may open (its soft
    /// limit is raised to the hard one), less 256.
    pub descriptors: Option<usize>,
}

/// Counters of the kernel's perf events.
pub struct Perf {
    /// The processor's events.
    known: ProcessorEvents,
    /// The counters to count, besides instructions and cycles.
    wanted: Vec<Counter>,
    fitted: Fitted,
    /// The number of groups that each counter is in.
    groups: [u32; BY_PROCESSOR.len()],
    lost: Vec<(Counter, String)>,
    cpus: BTreeMap<i32, u32>,
    /// Whether these are of several domains.
    is_split: bool,
    budget: Budget,
    programs: BTreeMap<AppId, CountedProgram>,
    sampling: Option<Sampling>,
    logged: BTreeSet<String>,
}

impl Perf {
    /// Finds out which of the events can be counted here. None is no error: every counter is
    /// missing then, and [`Perf::lost`] gives the reasons.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings { events: known, counters: wanted, domains, descriptors } = settings;
        let fitted = layout::fit(&known.only(&wanted));
        let mut perf = Self {
            groups: groups(&fitted.layout),
            fitted,
            known,
            wanted,
            lost: Vec::new(),
            cpus: BTreeMap::new(),
            is_split: false,
            budget: Budget::new(descriptors),
            programs: BTreeMap::new(),
            sampling: None,
            logged: BTreeSet::new(),
        };
        perf.name_lost();
        perf.set_domains(&domains);
        if perf.fitted.user_only {
            perf.warn_once(
                "only what programs do outside the kernel may be counted: run with CAP_PERFMON",
            );
        }
        perf
    }

    /// Lets the kernel report when windows by instructions end. Applies to programs begun from now
    /// on that are counted by their cgroup, or on a host with one domain: a thread's events do not
    /// reveal the domain.
    ///
    /// # Errors
    /// If instructions are not counted here, or do not overflow; nothing has changed then.
    pub fn sample_with(&mut self, sampler: Box<dyn Sampler>) -> io::Result<()> {
        if !self.counts_instructions() {
            return Err(io::Error::other("instructions are not counted"));
        }
        let how = OpenOptions { user_only: self.fitted.user_only, sampled: true };
        CountedPart::open(&self.fitted.layout, Scope::Thread(0), how)?;
        self.sampling = Some(Sampling::new(sampler)?);
        Ok(())
    }

    /// Whose a thread's counts are now, by the CPUs on which it may run; `None` if it has ended.
    fn place_of(&self, thread: i32) -> Option<CountedFor> {
        if !self.is_split {
            return Some(CountedFor::Host);
        }
        let allowed = affinity::of_thread(Path::new("/proc"), thread)?;
        let mut only = None;
        for (&cpu, &domain) in &self.cpus {
            if !u32::try_from(cpu).is_ok_and(|cpu| allowed.contains(cpu)) {
                continue;
            }
            if only.is_some_and(|only| only != domain) {
                return Some(CountedFor::Several);
            }
            only = Some(domain);
        }
        Some(only.map_or(CountedFor::Several, CountedFor::Domain))
    }

    /// Whether a program's counts belong to a single domain each.
    fn separates_domains(&self, app: AppId) -> bool {
        let Some(program) = self.programs.get(&app) else { return false };
        program.cgroup().is_some() || !self.is_split
    }

    /// Whether the first event counts instructions, by which a sampler ends windows.
    fn counts_instructions(&self) -> bool {
        let layout = &self.fitted.layout;
        let first = layout.first().and_then(|group| group.first());
        first.is_some_and(|&(field, _)| field == Counter::Instructions)
            && layout.iter().map(Vec::len).sum::<usize>() <= sampling::EVENTS
    }

    /// The counters that are wanted and can't be read on this host, and why.
    #[must_use]
    pub fn lost(&self) -> &[(Counter, String)] {
        &self.lost
    }

    /// Whether a counter is counted, as far as programs can be.
    fn is_open(&self, counter: Counter) -> bool {
        self.fitted.layout.iter().flatten().any(|&(open, _)| open == counter)
    }

    /// Lists the counters that are wanted and can't be read, and logs each once.
    fn name_lost(&mut self) {
        let mut lost = self.known.only(&self.wanted).lost;
        lost.extend(self.fitted.lost.iter().cloned());
        lost.sort_by_key(|&(field, _)| field);
        for (field, why) in lost.iter().filter(|lost| !self.lost.contains(lost)) {
            let (field, table) = (field.name(), self.known.name);
            tracing::info!(field, table, why, "a counter is missing");
        }
        self.lost = lost;
    }

    /// The events with more counters: all of them, or as many as need no more groups.
    fn fit_more(&self, more: &[Counter], may_take_turns: bool) -> (Vec<Counter>, Fitted) {
        let mut best = (self.wanted.clone(), layout::fit(&self.known.only(&self.wanted)));
        let most = best.1.layout.len().max(1);
        for &counter in more {
            let wanted: Vec<Counter> = best.0.iter().copied().chain([counter]).collect();
            let fitted = layout::fit(&self.known.only(&wanted));
            if may_take_turns || fitted.layout.len() <= most {
                best = (wanted, fitted);
            }
        }
        best
    }

    /// Descriptors that counters take now, and may take at most.
    #[must_use]
    pub const fn descriptors(&self) -> (usize, usize) {
        (self.budget.used(), self.budget.limit())
    }

    /// Sets each domain's CPUs that are on line now: programs counted by their cgroup are counted
    /// on the new ones, too, and the counts from CPUs that went off line are kept.
    pub fn set_domains(&mut self, domains: &[(u32, CpuSet)]) {
        let before = std::mem::take(&mut self.cpus);
        for (domain, cpus) in domains {
            let known = cpus.iter().filter_map(|cpu| i32::try_from(cpu).ok());
            self.cpus.extend(known.map(|cpu| (cpu, *domain)));
        }
        if before == self.cpus {
            return;
        }
        let ids: BTreeSet<u32> = self.cpus.values().copied().collect();
        self.is_split = ids.len() > 1;
        let apps: Vec<AppId> = self.programs.keys().copied().collect();
        for app in apps {
            self.with(app, |perf, program| {
                if program.cgroup().is_some() {
                    let ended = program.end_parts(&perf.fitted.layout, |cpu| {
                        perf.cpus.get(&cpu) != before.get(&cpu)
                    });
                    perf.budget.give(ended * perf.slots());
                    perf.open_cpus(app, program);
                }
            });
        }
    }

    /// Descriptors per thread or CPU.
    fn slots(&self) -> usize {
        self.fitted.layout.iter().map(Vec::len).sum::<usize>()
            + usize::from(self.sampling.is_some())
    }

    fn open_options(&self) -> OpenOptions {
        OpenOptions { user_only: self.fitted.user_only, sampled: self.sampling.is_some() }
    }

    fn warn_once(&mut self, what: &str) {
        if self.logged.insert(what.to_owned()) {
            tracing::warn!("{what}");
        }
    }

    /// Takes a program out of the table for a call, so that everything else can be used beside it.
    fn with<T>(
        &mut self,
        app: AppId,
        work: impl FnOnce(&mut Self, &mut CountedProgram) -> T,
    ) -> Option<T> {
        let mut program = self.programs.remove(&app)?;
        let done = work(self, &mut program);
        self.programs.insert(app, program);
        Some(done)
    }

    /// Decides how to count a program: in the cheaper way, or the one that separates domains; in
    /// the other if that does not fit.
    fn choose_way(&mut self, target: &Target) -> CountedBy {
        let Some(path) = &target.cgroup else { return CountedBy::Threads };
        let (by_cpu, by_thread) = (self.cpus.len(), target.threads.len());
        let prefers_cpus =
            by_cpu <= by_thread || self.is_split || !self.budget.fits(by_thread * self.slots());
        if by_cpu == 0 || !prefers_cpus || !self.budget.fits(by_cpu * self.slots()) {
            return CountedBy::Threads;
        }
        let tried = File::open(path).map_err(|error| error.to_string()).and_then(|file| {
            self.try_cgroup(&file).map(|()| file).map_err(|error| trouble::explain(&error))
        });
        match tried {
            Ok(file) => CountedBy::Cgroup(file),
            Err(why) => {
                self.warn_once(&format!(
                    "programs are counted by their threads, not by cgroup: {why}"
                ));
                CountedBy::Threads
            }
        }
    }

    fn try_cgroup(&self, cgroup: &File) -> io::Result<()> {
        use std::os::fd::AsFd as _;
        let Some(&cpu) = self.cpus.keys().next() else { return Ok(()) };
        let scope = Scope::Cgroup(cgroup.as_fd(), cpu);
        match CountedPart::open(&self.fitted.layout, scope, self.open_options()) {
            Err(error) if !trouble::is(&error, Errno::NODEV) => Err(error),
            _ => Ok(()),
        }
    }

    /// Counts a program on every CPU on which it is not counted yet.
    fn open_cpus(&mut self, app: AppId, program: &mut CountedProgram) {
        let missing: Vec<i32> =
            self.cpus.keys().copied().filter(|&cpu| !program.has_part(cpu)).collect();
        self.open(app, program, &missing);
    }

    /// Counts more parts of a program; if one can't be counted, stops counting the whole program.
    fn open(&mut self, app: AppId, program: &mut CountedProgram, keys: &[i32]) {
        let slots = self.slots();
        if !self.budget.fits(keys.len() * slots) {
            self.give_up(app, program, Blind::ForNow, "no descriptors are left for counters");
            return;
        }
        for &key in keys {
            let (scope, counted_for, absent) = match program.cgroup() {
                None => {
                    let counted_for = self.place_of(key).unwrap_or(CountedFor::Several);
                    (Scope::Thread(key), counted_for, Errno::SRCH)
                }
                Some(cgroup) => {
                    let domain = self.cpus.get(&key).copied();
                    let counted_for = domain.map_or(CountedFor::Several, CountedFor::Domain);
                    (Scope::Cgroup(cgroup, key), counted_for, Errno::NODEV)
                }
            };
            match CountedPart::open(&self.fitted.layout, scope, self.open_options()) {
                Ok(part) => {
                    program.join(key, part, counted_for);
                    self.budget.take(slots);
                }
                // The thread has exited, or the CPU went off line, since it was reported.
                Err(error) if trouble::is(&error, absent) => {}
                Err(error) => {
                    self.give_up(
                        app,
                        program,
                        Blind::from_error(&error),
                        &trouble::explain(&error),
                    );
                    return;
                }
            }
        }
        let was_blind = program.blind.take().is_some();
        self.begin_windows(app, program, was_blind);
    }

    /// Lets the kernel report a program's windows by all its parts: windows that begin now, if
    /// `from_scratch`.
    fn begin_windows(&mut self, app: AppId, program: &mut CountedProgram, from_scratch: bool) {
        let Some(mut sampling) = self.sampling.take() else { return };
        let by_cpu = program.cgroup().is_some();
        for domain in sampling.domains(app) {
            let within = |cpu: i32| !by_cpu || self.cpus.get(&cpu) == Some(&domain);
            let parts = program.parts_mut(within);
            let done = if from_scratch {
                sampling.begin(app, domain, parts)
            } else {
                sampling.join(app, domain, parts)
            };
            if let Err(why) = done {
                sampling.forget(app, domain);
                depart(program, within);
                self.warn_once(&format!(
                    "the kernel does not report windows by instructions: {why}"
                ));
            }
        }
        self.sampling = Some(sampling);
    }

    /// Suspends a program's windows: the kernel no longer counts all of it.
    fn pause(&mut self, app: AppId) {
        if let Some(sampling) = &mut self.sampling {
            sampling.domains(app).into_iter().for_each(|domain| sampling.pause(app, domain));
        }
    }

    fn give_up(&mut self, app: AppId, program: &mut CountedProgram, blind: Blind, why: &str) {
        self.pause(app);
        let ended = program.go_blind(blind, &self.fitted.layout);
        self.budget.give(ended * self.slots());
        let name = &program.name;
        match blind {
            Blind::Refused => tracing::warn!(%app, name, why, "the program is not counted"),
            Blind::ForNow => {
                // Logged once, for the first such program.
                if self.logged.insert(why.to_owned()) {
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

    /// Opens every program's events in smaller groups, because one group is never put on counters:
    /// other events occupy those that it needs.
    fn regroup(&mut self, starved: Counter) {
        let before = self.fitted.layout.clone();
        if !self.fitted.shrink() {
            self.warn_once(&format!(
                "{} is never on a counter, even by itself: it is occupied by another event",
                starved.name()
            ));
            return;
        }
        tracing::warn!(
            field = starved.name(),
            groups = self.fitted.layout.len(),
            "an event was on no counter for a second of work: all are counted in smaller groups from now on"
        );
        self.reopen(&before);
    }

    /// Opens every program's events again, in other groups than `before`.
    fn reopen(&mut self, before: &Layout) {
        self.groups = groups(&self.fitted.layout);
        let slots =
            before.iter().map(Vec::len).sum::<usize>() + usize::from(self.sampling.is_some());
        let apps: Vec<AppId> = self.programs.keys().copied().collect();
        let mut all = Vec::new();
        for app in apps {
            self.pause(app);
            let keys = self.with(app, |perf, program| {
                let keys = program.regroup(before);
                perf.budget.give(keys.len() * slots);
                keys
            });
            all.extend(keys.map(|keys| (app, keys)));
        }
        for (app, keys) in all {
            self.with(app, |perf, program| {
                if program.blind.is_none() {
                    perf.open(app, program, &keys);
                    perf.begin_windows(app, program, true);
                }
            });
        }
    }
}

/// Stops ending windows by the counts of these parts of a program.
fn depart(program: &mut CountedProgram, within: impl Fn(i32) -> bool) {
    for part in program.parts_mut(within) {
        // If the event goes on overflowing, the overflow has no effect any more.
        let _ = part.depart();
    }
}

/// The number of groups that each counter is in.
fn groups(layout: &Layout) -> [u32; BY_PROCESSOR.len()] {
    BY_PROCESSOR.map(|field| {
        let of = layout.iter().flatten().filter(|&&(of, _)| of == field).count();
        u32::try_from(of).unwrap_or(u32::MAX)
    })
}

#[cfg(test)]
mod tests;
