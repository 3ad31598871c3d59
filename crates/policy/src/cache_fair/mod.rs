//! `cache-fair`: CPU time for those that a shared cache slows down (Fedorova, Seltzer and Smith, "Cache-fair
//! thread scheduling for multicore processors", Harvard University TR-17-06, 2006).
//!
//! A thread that gets less than an equal share of the cache runs slower than it should. The cache-fair
//! scheduler leaves the cache as it is, and gives such a thread longer turns on its CPU, until it has done as
//! much as it would have done with an equal share; the time is a best-effort thread's
//! ([`fairways_core::Wish::best_effort`]). Threads that are ahead give time back.
//!
//! 1. **Reconnaissance** (§4.1, `recon.rs`): about ten data points, each of a thread beside other co-runners,
//!    give its *fair miss rate* (§3.1): the one that it would have beside co-runners that miss as often.
//! 2. **Fair CPI** (§3.2, `fair_cpi.rs`): cycles per instruction at that miss rate.
//! 3. **Calibration** (§4.2, `calibration.rs`): every ten million instructions, how far its CPI is from that,
//!    and how much longer or shorter its turns are to be. `exchange.rs` promises the opposite to a
//!    best-effort thread, which `best_effort.rs` keeps from losing too much (§5.4).
//! 4. **Repetition** (§4.3, `phase.rs`): a reconnaissance every billion instructions, and when accesses change.
//!
//! What the paper leaves open is settled in docs/decisions.md. It needs a machine that lets policies have a say
//! in scheduling ([`fairways_core::Event::Cpus`]); on others it does nothing. It never partitions the cache.

mod best_effort;
mod calibration;
mod exchange;
mod fair_cpi;
mod parameters;
mod phase;
mod recon;
mod thread;

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use fairways_core::{
    Action, AppId, CoRun, Cpus, Event, Policy, Q32, Sample, ThreadId, Time, WindowLength,
};

use crate::running::{Change, Running};
use crate::table::{Decides, Descriptor, Knows, Request, make};
use best_effort::Losses;
use exchange::{Exchange, Role, Thread};
use thread::Fair;

pub use best_effort::Penalty;
pub use fair_cpi::{MOST_STALLS, fair_cpi, ideal_cpi};
pub use parameters::Parameters;
pub use recon::{
    MOST_POINTS, Point, equation_1, equation_2, fair_miss_rate, memory_stalls, observed_range,
};

const CACHE_FAIR: &str = "cache-fair";
const BEST_EFFORT: &str = "best-effort";
const BY_DEFAULT: &str = "its owner did not call it background work";
const BY_WISH: &str = "its owner calls it background work";
const ALONE: &str = "no best-effort thread to exchange CPU time with: nothing is adjusted";

/// Threads of a program that are told apart; the one that was heard of longest ago is forgotten first. Ours: a
/// thread's end is not told.
const MOST_THREADS: usize = 64;

/// `cache-fair`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Fedorova, Seltzer and Smith, Cache-Fair Thread Scheduling for Multicore Processors, TR-17-06, 2006",
    decides: Decides::Turns,
    knows: Knows::Threads,
    honours: &[Request::BestEffort],
    ..Descriptor::new::<Parameters>(
        "cache-fair",
        "CPU time for those that the shared cache slows down; no partitioning",
        |given| make(Parameters::default(), CacheFair::new, given),
    )
};

/// The `cache-fair` policy.
#[derive(Clone, Debug, Default)]
pub struct CacheFair {
    parameters: Parameters,
    running: Running,
    /// `None` where policies have no say in scheduling.
    cpus: Option<Cpus>,
    exchange: Exchange,
    /// Fair miss rates that need not be estimated.
    known: BTreeMap<AppId, Q32>,
    /// Whether it was said that there is no best-effort thread.
    said: bool,
}

impl CacheFair {
    /// The policy with these parameters; [`Parameters::default`] is what was published, with a bound on what
    /// best-effort threads lose.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// The policy that takes these for the fair miss rates of these programs' threads, misses of the last-level cache
    /// per cycle, instead of estimating them (§3.1): what they are with the cache divided equally, where somebody
    /// could measure that. What its results owe to its estimates is the difference.
    #[must_use]
    pub fn knowing(
        parameters: Parameters,
        fair_miss_rates: impl IntoIterator<Item = (AppId, Q32)>,
    ) -> Self {
        Self { known: fair_miss_rates.into_iter().collect(), ..Self::new(parameters) }
    }

    /// A thread's fair miss rate, misses of the last-level cache per cycle; the mean that was observed where
    /// there was no telling. `None` before the first reconnaissance has ended, and of best-effort threads.
    #[must_use]
    pub fn fair_miss_rate(&self, thread: ThreadId) -> Option<Q32> {
        self.fair(thread)?.rate
    }

    /// A thread's fair CPI, cycles per instruction, as of its last calibration; `None` before the first.
    #[must_use]
    pub fn fair_cpi(&self, thread: ThreadId) -> Option<Q32> {
        self.fair(thread)?.cpi
    }

    /// Whether a thread is in its calibration phase: its first reconnaissance has ended (§4.2).
    #[must_use]
    pub fn is_calibrated(&self, thread: ThreadId) -> bool {
        self.fair(thread).is_some_and(Fair::is_calibrated)
    }

    /// The data points of a thread's reconnaissance that is under way, or of its last; `None` of best-effort
    /// threads.
    #[must_use]
    pub fn points(&self, thread: ThreadId) -> Option<&VecDeque<Point>> {
        self.fair(thread).map(|fair| &fair.points)
    }

    /// What a best-effort thread has lost since it started; `None` of others.
    #[must_use]
    pub fn penalty(&self, thread: ThreadId) -> Option<Penalty> {
        match &self.exchange.threads.get(&thread)?.role {
            Role::BestEffort(losses) => Some(losses.total),
            Role::CacheFair(_) => None,
        }
    }

    fn fair(&self, thread: ThreadId) -> Option<&Fair> {
        match &self.exchange.threads.get(&thread)?.role {
            Role::CacheFair(fair) => Some(fair),
            Role::BestEffort(_) => None,
        }
    }

    /// How threads are scheduled has changed, or is told first.
    fn schedule(&mut self, at: Time, cpus: Cpus, act: &mut dyn FnMut(Action<'_>)) {
        if self.cpus == Some(cpus) {
            return;
        }
        self.cpus = Some(cpus).filter(|cpus| cpus.count > 0 && !cpus.quantum.is_zero());
        self.forget(at);
        self.exchange.begin(cpus.quantum, self.parameters.penalty_limit);
        if self.cpus.is_none() {
            return;
        }
        let shortest = self.parameters.shortest_point.min(cpus.quantum / 2);
        act(Action::WatchTogether { shortest });
        let apps: Vec<AppId> = self.running.programs().iter().map(|one| one.app).collect();
        apps.into_iter().for_each(|app| self.start(at, app, act));
    }

    fn start(&mut self, at: Time, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        if self.cpus.is_none() || self.threads_of(app).next().is_some() {
            return;
        }
        let Some(best_effort) = self.meet(at, ThreadId::first_of(app), act) else { return };
        if best_effort {
            act(Action::Classified { app, class: BEST_EFFORT.into(), reason: BY_WISH.into() });
        } else {
            act(Action::Classified { app, class: CACHE_FAIR.into(), reason: BY_DEFAULT.into() });
            let every = WindowLength::Instructions(self.parameters.calibration.max(1));
            act(Action::Watch { app, every });
        }
    }

    /// A thread was heard of. Whether it is best-effort; `None` if its program does not run.
    fn meet(&mut self, at: Time, id: ThreadId, act: &mut dyn FnMut(Action<'_>)) -> Option<bool> {
        let program = self.running.programs().iter().find(|program| program.app == id.app)?;
        let best_effort = program.wish.best_effort;
        if let Some(thread) = self.exchange.threads.get_mut(&id) {
            thread.seen = at;
            return Some(best_effort);
        }
        if self.threads_of(id.app).count() >= MOST_THREADS {
            let oldest = self.threads_of(id.app).min_by_key(|(_, thread)| thread.seen);
            if let Some(oldest) = oldest.map(|(id, _)| id) {
                self.exchange.leave(at, &[oldest], act);
            }
        }
        let role = if best_effort {
            Role::BestEffort(Box::new(Losses::new()))
        } else {
            Role::CacheFair(Box::new(Fair::new(at, self.known.get(&id.app).copied())))
        };
        self.exchange.threads.insert(id, Thread::new(role, at));
        Some(best_effort)
    }

    fn threads_of(&self, app: AppId) -> impl Iterator<Item = (ThreadId, &Thread)> {
        let all = ThreadId { app, number: 0 }..=ThreadId { app, number: u32::MAX };
        self.exchange.threads.range(all).map(|(&id, thread)| (id, thread))
    }

    fn exit(&mut self, at: Time, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        let gone: Vec<ThreadId> = self.threads_of(app).map(|(id, _)| id).collect();
        self.exchange.leave(at, &gone, act);
    }

    /// A program's owner may have made it of another class: it begins anew.
    fn wished(&mut self, at: Time, app: AppId, best_effort: bool, act: &mut dyn FnMut(Action<'_>)) {
        let is_other = |role: &Role| matches!(role, Role::BestEffort(_)) != best_effort;
        if self.threads_of(app).any(|(_, thread)| is_other(&thread.role)) {
            self.exit(at, app, act);
            self.start(at, app, act);
        }
    }

    /// What was learnt is of another machine.
    fn forget(&mut self, at: Time) {
        for thread in self.exchange.threads.values_mut() {
            if let Role::CacheFair(fair) = &mut thread.role {
                fair.forget(at);
            }
        }
    }

    /// The counters of a window are those of all threads of the program.
    fn sampled(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let Some(cpus) = self.cpus else { return };
        let possible = self.exchange.has_best_effort();
        let most = self.exchange.quantum() * i128::from(self.parameters.most_debt);
        let with = (co_runners(cpus), most, possible);
        let app = sample.app;
        let all = ThreadId { app, number: 0 }..=ThreadId { app, number: u32::MAX };
        let mut in_vain = false;
        for (&id, thread) in self.exchange.threads.range_mut(all) {
            let Role::CacheFair(fair) = &mut thread.role else { continue };
            let mut tell = |what: &'static str, value, raw| {
                act(Action::Estimated { thread: id, what: what.into(), value, raw })
            };
            let adjusts = fair.window(at, &sample.counters, with, &self.parameters, &mut tell);
            in_vain |= adjusts && !possible;
        }
        if in_vain && !self.said {
            act(Action::Classified { app, class: CACHE_FAIR.into(), reason: ALONE.into() });
            self.said = true;
        }
    }

    fn ran_together(&mut self, at: Time, together: &CoRun, act: &mut dyn FnMut(Action<'_>)) {
        let Some(cpus) = self.cpus else { return };
        for ran in &together.threads {
            let id = ran.thread;
            self.meet(at, id, act);
            let thread = self.exchange.threads.get_mut(&id);
            let Some(Role::CacheFair(fair)) = thread.map(|thread| &mut thread.role) else {
                continue;
            };
            if let Some(point) = Point::of(together, id) {
                let mut tell = |what: &'static str, value, raw| {
                    act(Action::Estimated { thread: id, what: what.into(), value, raw })
                };
                fair.ran(at, point, co_runners(cpus), &self.parameters, &mut tell);
            }
        }
    }
}

/// n of Equation 2: "for a processor with n+1 cores".
const fn co_runners(cpus: Cpus) -> u32 {
    cpus.count.saturating_sub(1)
}

impl Policy for CacheFair {
    fn name(&self) -> &'static str {
        "cache-fair"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let before = self.running.llc();
        match self.running.take(event) {
            Some(Change::Machine) if self.running.llc() != before => self.forget(at),
            Some(Change::Exited(app)) => self.exit(at, app, act),
            Some(Change::Machine | Change::Started | Change::Wished { .. }) | None => {}
        }
        match event {
            Event::Cpus(cpus) => self.schedule(at, *cpus, act),
            Event::Started { app, .. } => self.start(at, *app, act),
            Event::Wished { app, wish } => self.wished(at, *app, wish.best_effort, act),
            Event::Sampled(sample) => self.sampled(at, sample, act),
            Event::RanTogether(together) => self.ran_together(at, together, act),
            Event::QuantumGiven(slice) if self.cpus.is_some() => {
                self.meet(at, slice.thread, act);
                self.exchange.slice(at, slice, act);
            }
            _ => {}
        }
    }
}
