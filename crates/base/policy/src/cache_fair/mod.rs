//! `cache-fair`: more CPU time for threads that the shared cache slows down (Fedorova, Seltzer and
//! Smith, "Cache-fair thread scheduling for multicore processors", Harvard University TR-17-06,
//! 2006).
//!
//! A thread whose co-runners take most of the cache runs slower than it should, and by how much
//! depends on the co-runners. The cache-fair scheduler leaves the cache as it is. Instead, it gives
//! such a thread longer turns on its CPU, until it has done as much as it would have done with an
//! equal share of the cache. The time comes from a best-effort thread
//! ([`fairways_core::Wish::best_effort`]), for instance background work. Threads that are ahead
//! give time back.
//!
//! To know who is behind, it estimates each thread's CPI with an equal share, without ever giving
//! it one:
//!
//! 1. **Reconnaissance** (§4.1, `recon.rs`): about ten data points, each of the thread beside other
//!    co-runners, show how its misses depend on theirs. A line through them gives its *fair miss
//!    rate* (§3.1): the one that it would have beside co-runners that miss as often as itself.
//! 2. **Fair CPI** (§3.2, `fair_cpi.rs`): the cycles per instruction at that miss rate.
//! 3. **Calibration** (§4.2, `calibration.rs`): every ten million instructions, its CPI is compared
//!    with the fair CPI. The difference decides how much longer or shorter its turns become.
//!    `exchange.rs` promises the opposite to a best-effort thread, and `best_effort.rs` limits what
//!    that can lose (§5.4).
//! 4. **Repetition** (§4.3, `phase.rs`): reconnaissance is repeated every billion instructions, and
//!    when the thread's accesses change.
//!
//! It needs a machine that lets policies schedule ([`fairways_core::Event::Cpus`]), does nothing on
//! others, and never partitions the cache. docs/decisions.md settles what the paper leaves open.

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
    Action, AppId, CoRun, Counter, Cpus, Event, Policy, Q32, Sample, ThreadId, Time, WindowLength,
};

use crate::running::{Change, RunningPrograms};
use crate::table::{DecisionScope, Descriptor, KnowledgeSource, OwnerRequest, make};
use thread::FairThread;

pub use best_effort::Penalty;
pub(crate) use calibration::Account;
pub(crate) use exchange::{Exchange, Role};
pub use fair_cpi::{MOST_STALLS, fair_cpi, ideal_cpi};
pub use parameters::Parameters;
pub use recon::{
    DataPoint, MOST_POINTS, equation_1, equation_2, fair_miss_rate, memory_stalls, observed_range,
};

const CACHE_FAIR: &str = "cache-fair";
const BEST_EFFORT: &str = "best-effort";
const BY_DEFAULT: &str = "its owner did not call it background work";
const BY_WISH: &str = "its owner calls it background work";
const ALONE: &str = "no best-effort thread to exchange CPU time with: nothing is adjusted";

/// `cache-fair`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Fedorova, Seltzer and Smith, Cache-Fair Thread Scheduling for Multicore Processors, TR-17-06, 2006",
    decides: DecisionScope::Turns,
    knows: KnowledgeSource::Threads,
    honours: &[OwnerRequest::BestEffort],
    counters: &[
        Counter::Instructions,
        Counter::Cycles,
        Counter::LlcReferences,
        Counter::LlcMisses,
        Counter::StallsL2Miss,
        Counter::StallsLlcMiss,
        Counter::StallsStoreBuffer,
    ],
    ..Descriptor::new::<Parameters>(
        "cache-fair",
        "more CPU time for threads that the shared cache slows down; no partitioning",
        &|settings| make(Parameters::default(), CacheFair::new, settings),
    )
};

/// The `cache-fair` policy.
#[derive(Clone, Debug, Default)]
pub struct CacheFair {
    parameters: Parameters,
    running: RunningPrograms,
    /// `None` on a machine that does not let policies schedule.
    cpus: Option<Cpus>,
    exchange: Exchange<Box<FairThread>>,
    /// Known fair miss rates, which need no estimate.
    known: BTreeMap<AppId, Q32>,
    /// Whether the lack of best-effort threads was announced.
    has_announced_alone: bool,
}

impl CacheFair {
    /// The policy with these parameters; [`Parameters::default`] is what was published, with a
    /// bound on the losses of best-effort threads.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// The policy with known fair miss rates of these programs' threads, in misses of the
    /// last-level cache per cycle, instead of estimates (§3.1). They can be measured where the
    /// cache can be divided equally. The comparison shows how much a result depends on the
    /// estimates.
    #[must_use]
    pub fn with_known_rates(
        parameters: Parameters,
        fair_miss_rates: impl IntoIterator<Item = (AppId, Q32)>,
    ) -> Self {
        Self { known: fair_miss_rates.into_iter().collect(), ..Self::new(parameters) }
    }

    /// A thread's fair miss rate, in misses of the last-level cache per cycle; the mean of the
    /// observed rates where no estimate was possible. `None` before the first reconnaissance has
    /// ended, and for best-effort threads.
    #[must_use]
    pub fn fair_miss_rate(&self, thread: ThreadId) -> Option<Q32> {
        self.fair(thread)?.rate
    }

    /// A thread's fair CPI as of its last calibration, cycles per instruction; `None` before the
    /// first.
    #[must_use]
    pub fn fair_cpi(&self, thread: ThreadId) -> Option<Q32> {
        self.fair(thread)?.cpi
    }

    /// Whether a thread is in its calibration phase: its first reconnaissance has ended (§4.2).
    #[must_use]
    pub fn is_calibrated(&self, thread: ThreadId) -> bool {
        self.fair(thread).is_some_and(FairThread::is_calibrated)
    }

    /// The data points of a thread's current or last reconnaissance; `None` for best-effort
    /// threads.
    #[must_use]
    pub fn points(&self, thread: ThreadId) -> Option<&VecDeque<DataPoint>> {
        self.fair(thread).map(|fair| &fair.points)
    }

    /// The losses of a best-effort thread since it started; `None` for others.
    #[must_use]
    pub fn penalty(&self, thread: ThreadId) -> Option<Penalty> {
        match &self.exchange.threads.get(&thread)?.role {
            Role::BestEffort(losses) => Some(losses.total),
            Role::Fair(..) => None,
        }
    }

    fn fair(&self, thread: ThreadId) -> Option<&FairThread> {
        match &self.exchange.threads.get(&thread)?.role {
            Role::Fair(_, fair) => Some(fair),
            Role::BestEffort(_) => None,
        }
    }

    /// Handles a first or another report of how threads are scheduled.
    fn schedule(&mut self, at: Time, cpus: Cpus, act: &mut dyn FnMut(Action<'_>)) {
        if self.cpus == Some(cpus) {
            return;
        }
        self.cpus = Some(cpus).filter(|cpus| cpus.count > 0 && !cpus.quantum.is_zero());
        self.forget(at);
        self.exchange.begin(cpus.quantum, self.parameters.penalty_limit, Some(BEST_EFFORT));
        if self.cpus.is_none() {
            return;
        }
        let shortest = self.parameters.shortest_point.min(cpus.quantum / 2);
        act(Action::WatchTogether { shortest });
        let apps: Vec<AppId> = self.running.programs().iter().map(|one| one.app).collect();
        apps.into_iter().for_each(|app| self.start(at, app, act));
    }

    fn start(&mut self, at: Time, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        if self.cpus.is_none() || self.exchange.threads_of(app).next().is_some() {
            return;
        }
        let Some(best_effort) = self.note_thread(at, ThreadId::first_of(app), act) else { return };
        if best_effort {
            act(Action::Classified { app, class: BEST_EFFORT.into(), reason: BY_WISH.into() });
        } else {
            act(Action::Classified { app, class: CACHE_FAIR.into(), reason: BY_DEFAULT.into() });
            let every = WindowLength::Instructions(self.parameters.calibration.max(1));
            act(Action::Watch { app, every });
        }
    }

    /// Notes that an event reported this thread. Whether it is best-effort; `None` if its program
    /// does not run.
    fn note_thread(
        &mut self,
        at: Time,
        id: ThreadId,
        act: &mut dyn FnMut(Action<'_>),
    ) -> Option<bool> {
        let program = self.running.programs().iter().find(|program| program.app == id.app)?;
        let best_effort = program.wish.best_effort;
        let known = self.known.get(&id.app).copied();
        let role = || {
            if best_effort {
                return Role::best_effort();
            }
            Role::Fair(Account::default(), Box::new(FairThread::new(at, known)))
        };
        self.exchange.note(at, id, role, act);
        Some(best_effort)
    }

    /// Handles a request of a program's owner: if it changes the program's class, the program
    /// starts again.
    fn wished(&mut self, at: Time, app: AppId, best_effort: bool, act: &mut dyn FnMut(Action<'_>)) {
        let mut threads = self.exchange.threads_of(app);
        if threads.any(|(_, thread)| thread.is_best_effort() != best_effort) {
            drop(threads);
            self.exchange.exit(at, app, act);
            self.start(at, app, act);
        }
    }

    /// Forgets what was learnt, as it is about another machine.
    fn forget(&mut self, at: Time) {
        for thread in self.exchange.threads.values_mut() {
            if let Role::Fair(account, fair) = &mut thread.role {
                account.pass();
                fair.forget(at);
            }
        }
    }

    /// Handles a window; its counters are those of all threads of the program.
    fn sampled(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let Some(cpus) = self.cpus else { return };
        let has_best_effort = self.exchange.has_best_effort();
        let most = self.exchange.quantum() * i128::from(self.parameters.most_debt);
        let (app, beside, to) = (sample.app, co_runners(cpus), &self.parameters);
        let mut is_in_vain = false;
        for (id, role) in self.exchange.roles_of(app) {
            let Role::Fair(account, fair) = role else { continue };
            let judged = fair.window(at, &sample.counters, beside, to, &mut |what, value, raw| {
                act(Action::Estimated { thread: id, what: what.into(), value, raw });
            });
            match judged.filter(|_| has_best_effort) {
                Some((cycles, fair_cycles)) => account.window(cycles, fair_cycles, most),
                None => account.pass(),
            }
            is_in_vain |= judged.is_some() && !has_best_effort;
        }
        if is_in_vain && !self.has_announced_alone {
            act(Action::Classified { app, class: CACHE_FAIR.into(), reason: ALONE.into() });
            self.has_announced_alone = true;
        }
    }

    fn ran_together(&mut self, at: Time, together: &CoRun, act: &mut dyn FnMut(Action<'_>)) {
        let Some(cpus) = self.cpus else { return };
        for ran in &together.threads {
            let id = ran.thread;
            self.note_thread(at, id, act);
            let thread = self.exchange.threads.get_mut(&id);
            let Some(Role::Fair(_, fair)) = thread.map(|thread| &mut thread.role) else {
                continue;
            };
            if let Some(point) = DataPoint::from_group(together, id) {
                let to = &self.parameters;
                fair.ran(at, point, co_runners(cpus), to, &mut |what, value, raw| {
                    act(Action::Estimated { thread: id, what: what.into(), value, raw });
                });
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
        match self.running.update(event) {
            Some(Change::Machine) if self.running.llc() != before => self.forget(at),
            Some(Change::Exited(app)) => self.exchange.exit(at, app, act),
            Some(Change::Machine | Change::Started | Change::Wish { .. }) | None => {}
        }
        match event {
            Event::Cpus(cpus) => self.schedule(at, *cpus, act),
            Event::Started { app, .. } => self.start(at, *app, act),
            Event::Wished { app, wish } => self.wished(at, *app, wish.best_effort, act),
            Event::Sampled(sample) => self.sampled(at, sample, act),
            Event::RanTogether(together) => self.ran_together(at, together, act),
            Event::QuantumGiven(slice) if self.cpus.is_some() => {
                self.note_thread(at, slice.thread, act);
                self.exchange.slice(at, slice, act);
            }
            _ => {}
        }
    }
}
