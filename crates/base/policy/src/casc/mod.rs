//! `casc`: threads that miss much never run all at once (CASC, a cache-aware operating system
//! scheduling algorithm for multithreaded chip multiprocessors; Fedorova, Seltzer, Small and
//! Nussbaum).
//!
//! CASC does not partition the cache: it decides which threads run together. If many cache-greedy
//! threads run at once, the whole chip waits for memory; if each runs beside frugal ones, the miss
//! rate stays low. So each thread gets a score, its *partial-cache miss rate* (PCMR): the L2 misses
//! per 100 references with its n-th part of the cache on n CPUs. The miss rate of a group of
//! threads is assumed to be the average of their PCMRs (Formula 1). The L2 is the last-level cache
//! here.
//!
//! 1. **Initial measurement** (§4.2.2.1, `initial.rs`): the first n + 1 threads on n CPUs are
//!    raised above the others, and every group of n of them is watched for 2 ms
//!    ([`Parameters::min_runlength`]). Formula 1 for each group makes a linear system, whose
//!    solution is the PCMRs ([`crate::solve`]).
//! 2. **Secondary measurement** (§4.2.2.2, `secondary.rs`): a thread that comes later runs on CPU 0
//!    only, until one equation among measured threads gives its PCMR.
//! 3. **Bucketization** (§4.3.1, `buckets.rs`): each CPU gets a `MAX_PCMR`, so that their average
//!    is at most the threshold of 15 ([`Parameters::threshold`]) and no CPU is left idle
//!    (`matching.rs`). A thread may run on the CPUs whose `MAX_PCMR` is at least its PCMR (§4.3.2,
//!    `enforce.rs`). So greedy threads share few CPUs, whatever the scheduler does.
//! 4. **Re-measurement** (§4.2.1, ours; `phases.rs`): off by default, as in the paper.
//!
//! The policy does nothing on a machine that does not report its CPUs
//! ([`fairways_core::Event::Cpus`]) or has more than 64. A program counts as its first thread. When
//! the number of CPUs or the cache changes, everything is measured again, since a PCMR is about the
//! n-th part of the cache. docs/decisions.md settles what the paper leaves open.

pub mod buckets;
mod enforce;
mod initial;
pub mod matching;
mod measure;
mod parameters;
mod phases;
mod rates;
mod scores;
mod secondary;
mod thread;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, Counter, Cpus, Event, Levers, Llc, Policy, Q32, ThreadId, Time,
};

use crate::table::{DecisionScope, Descriptor, KnowledgeSource, make};

use buckets::Assignment;
use initial::Initial;
use thread::MeasuredThread;

pub use parameters::{Parameters, PenaltyRule};
pub use thread::Measurement;

/// The policy does nothing on machines with more CPUs than this.
pub const MOST_CPUS: u32 = 64;

/// The shortest time between alarms, whatever the parameters are.
const SHORTEST: Duration = Duration::from_millis(1);

/// `casc`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Fedorova, Seltzer, Small and Nussbaum, CASC",
    decides: DecisionScope::Turns,
    knows: KnowledgeSource::Threads,
    counters: &[Counter::LlcReferences, Counter::LlcMisses],
    ..Descriptor::new::<Parameters>(
        "casc",
        "threads that miss much on few CPUs, never all at once; no partitioning",
        &|settings| make(Parameters::default(), Casc::new, settings),
    )
};

/// The `casc` policy.
#[derive(Clone, Debug, Default)]
pub struct Casc {
    parameters: Parameters,
    llc: Option<Llc>,
    cpus: Option<Cpus>,
    /// The threads that run, in the order in which they started.
    threads: Vec<MeasuredThread>,
    initial: Option<Initial>,
    /// Whether the last initial measurement had fewer than n + 1 threads.
    is_incomplete: bool,
    /// When the last initial measurement began and ended.
    span: Option<(Time, Option<Time>)>,
    raised: Vec<ThreadId>,
    assignment: Option<Assignment>,
    /// The thread that was re-measured last, and when the next one is due.
    turn: Option<ThreadId>,
    next_turn: Option<Time>,
    alarm: Option<Time>,
}

impl Casc {
    /// The policy with these parameters; [`Parameters::default`] is what was published.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// Starts again: everything is measured from scratch.
    fn restart(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        self.threads.iter_mut().for_each(MeasuredThread::forget);
        self.threads.iter_mut().for_each(|thread| thread.is_given_up = false);
        (self.initial, self.assignment, self.is_incomplete) = (None, None, false);
        self.follow(at, act);
    }

    /// Goes on as the threads and their PCMRs require.
    fn follow(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(cpus) = self.cpus else { return };
        if self.initial.is_none() && self.needs_initial() {
            if self.threads.iter().all(|thread| thread.is_given_up) {
                self.threads.iter_mut().for_each(|thread| thread.is_given_up = false);
            }
            let deadline = at.after(self.parameters.initial_limit.max(SHORTEST));
            self.initial = Some(Initial::new(cpus.count, deadline));
            self.span = Some((at, None));
            self.assignment = None;
        }
        if self.threads.is_empty() {
            (self.initial, self.assignment) = (None, None);
        }
        if let Some(initial) = &mut self.initial {
            initial.fill(&self.threads);
        }
        self.enforce(act);
        self.set_alarm(at, act);
    }

    fn set_alarm(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let every = self.parameters.remeasure_every;
        let periodic = !every.is_zero() && self.initial.is_none() && !self.threads.is_empty();
        self.next_turn = periodic.then(|| self.next_turn.unwrap_or(at.after(every.max(SHORTEST))));
        let deadline = self.initial.as_ref().map(|initial| initial.deadline);
        let next = deadline.into_iter().chain(self.next_turn).min();
        if let Some(next) = next.filter(|&next| self.alarm != Some(next)) {
            self.alarm = Some(next);
            act(Action::Wake { at: next });
        }
    }

    fn woke(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        self.alarm = None;
        if self.initial.as_ref().is_some_and(|initial| initial.deadline <= at) {
            self.extend_initial(at, act);
        }
        if self.next_turn.is_some_and(|turn| turn <= at) {
            self.next_turn = None;
            self.next_turn();
        }
        self.follow(at, act);
    }

    /// Runs bucketization for the threads whose PCMRs are known (§4.3.1).
    fn bucketize(&mut self) {
        let cpus = self.cpus.map_or(0, |cpus| cpus.count as usize);
        self.assignment = Some(buckets::assign(&self.pcmrs(), cpus, &self.parameters));
    }

    fn pcmrs(&self) -> Vec<Q32> {
        self.threads.iter().filter_map(|thread| Some(thread.pcmr?.value)).collect()
    }

    fn exited(&mut self, at: Time, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        let Some(index) = self.threads.iter().position(|thread| thread.id.app == app) else {
            return;
        };
        let thread = self.threads.remove(index);
        if let Some(initial) = &mut self.initial {
            initial.leave(thread.id);
        }
        // Ours: the remaining threads may be too few for the CPUs that the others may not use.
        let pcmrs = self.pcmrs();
        let m = self.parameters.m;
        if self.assignment.is_some() && !matching::keeps_busy(self.max_pcmrs(), &pcmrs, m) {
            self.bucketize();
        }
        self.follow(at, act);
    }

    fn cpus(&mut self, at: Time, cpus: Cpus, act: &mut dyn FnMut(Action<'_>)) {
        let before = self.cpus.replace(cpus);
        if before.map(|before| before.count) == Some(cpus.count) {
            return;
        }
        if cpus.count == 0 || cpus.count > MOST_CPUS {
            self.withdraw(act);
            return;
        }
        if before.is_none() {
            act(Action::WatchTogether { shortest: self.parameters.shortest_interval });
        }
        self.restart(at, act);
    }

    /// Withdraws from a machine that it can't serve, and leaves it as it was.
    fn withdraw(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        (self.cpus, self.initial, self.assignment) = (None, None, None);
        (self.alarm, self.next_turn) = (None, None);
        for thread in &mut self.threads {
            thread.forget();
            if thread.allowed.take().is_some() {
                let reason = "the machine has more CPUs than this policy can manage";
                // If no CPU of a list exists, a thread may run on every CPU.
                act(Action::Allow {
                    thread: thread.id,
                    cpus: (&[][..]).into(),
                    reason: reason.into(),
                });
            }
        }
        self.raise(act);
    }
}

impl Policy for Casc {
    fn name(&self) -> &'static str {
        "casc"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Machine(Levers { llc, .. }) => {
                if self.llc.replace(*llc).is_some_and(|before| before != *llc) {
                    self.restart(at, act);
                }
            }
            Event::Cpus(cpus) => self.cpus(at, *cpus, act),
            Event::Started { app, .. } => {
                let thread = ThreadId::first_of(*app);
                // A damaged journal may report a program twice; a machine does not.
                if self.thread(thread).is_none() {
                    self.threads.push(MeasuredThread::new(thread));
                    self.follow(at, act);
                }
            }
            Event::Exited { app } => self.exited(at, *app, act),
            Event::RanTogether(together) => self.ran(at, together, act),
            Event::Woke => self.woke(at, act),
            Event::Wished { .. }
            | Event::Sampled(_)
            | Event::Latency(_)
            | Event::QuantumGiven(_)
            | Event::Applied { .. }
            | Event::Refused { .. } => {}
        }
    }
}
