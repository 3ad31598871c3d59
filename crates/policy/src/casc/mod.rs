//! `casc`: threads that miss much never run all at once (Fedorova, Seltzer, Small and Nussbaum: CASC, a
//! cache-aware scheduling algorithm for multithreaded chip multiprocessors).
//!
//! A group's L2 miss rate is taken for the average of its threads' *partial-cache miss rates* (PCMR,
//! Formula 1), in misses per 100 references. The L2 is the last-level cache here.
//!
//! 1. **Initial measurement** (§4.2.2.1, `initial.rs`): of the first n + 1 threads on n CPUs, raised above
//!    the others, every group of n is watched for 2 ms ([`Parameters::min_runlength`]); the linear system
//!    gives their PCMRs ([`crate::linear`]).
//! 2. **Secondary measurement** (§4.2.2.2, `secondary.rs`): a thread that comes later runs on CPU 0 only,
//!    until one equation among threads that are known gives its PCMR.
//! 3. **Bucketization** (§4.3.1, `buckets.rs`): each CPU gets a `MAX_PCMR`, so that their average is at most
//!    the threshold of 15 ([`Parameters::threshold`]) and no CPU is left idle (`matching.rs`); a thread runs
//!    where its PCMR is at most that (§4.3.2, `enforce.rs`).
//! 4. **Re-measurement** (§4.2.1, ours; `phases.rs`): off unless asked for, as in the paper.
//!
//! The policy makes no partition, and does nothing on a machine that does not tell of its CPUs
//! ([`fairways_core::Event::Cpus`]) or has more than 64. A program counts as its first thread. When the
//! number of CPUs changes, or the cache, all is measured anew: a PCMR is of the cache's n-th part.
//!
//! What the paper leaves open is settled in docs/decisions.md.

pub mod buckets;
mod enforce;
mod initial;
pub mod matching;
mod parameters;
mod phases;
mod rates;
mod secondary;
mod thread;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Action, AppId, Cpus, Event, Llc, Policy, Q32, ThreadId, Time, Together};

use buckets::Assignment;
use initial::Initial;
use thread::Thread;

pub use parameters::{Parameters, Penalty};
pub use thread::Measurement;

/// The number of CPUs up to which the policy does anything.
pub const MOST_CPUS: u32 = 64;

/// Alarms do not follow each other faster, whatever the parameters say.
const SHORTEST: Duration = Duration::from_millis(1);

/// The `casc` policy.
#[derive(Clone, Debug, Default)]
pub struct Casc {
    parameters: Parameters,
    llc: Option<Llc>,
    cpus: Option<Cpus>,
    /// The threads that live, in the order in which they came.
    threads: Vec<Thread>,
    initial: Option<Initial>,
    /// When the last initial measurement began and ended.
    span: Option<(Time, Option<Time>)>,
    raised: Vec<ThreadId>,
    assignment: Option<Assignment>,
    /// The thread whose turn to be re-measured was last, and when the next one's is.
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

    fn thread(&self, thread: ThreadId) -> Option<&Thread> {
        self.threads.iter().find(|one| one.id == thread)
    }

    /// A thread's PCMR in misses per 100 references, 0 to 100; `None` while it is unknown.
    #[must_use]
    pub fn pcmr(&self, thread: ThreadId) -> Option<Q32> {
        Some(self.thread(thread)?.pcmr?.value)
    }

    /// The same as it came out, in units of 2^-32 misses per 100 references: it may be negative, or over
    /// 100.
    #[must_use]
    pub fn raw_pcmr(&self, thread: ThreadId) -> Option<i64> {
        Some(self.thread(thread)?.pcmr?.raw)
    }

    /// Which measurement a thread's PCMR is from; `None` while it is unknown.
    #[must_use]
    pub fn measured_by(&self, thread: ThreadId) -> Option<Measurement> {
        Some(self.thread(thread)?.pcmr?.by)
    }

    /// The miss rate of these threads on as many CPUs, in misses per 100 references: the average of their
    /// PCMRs (Formula 1). `None` of none, or if one is unknown.
    #[must_use]
    pub fn estimate(&self, threads: &[ThreadId]) -> Option<Q32> {
        let pcmrs: Vec<Q32> = threads.iter().map(|&one| self.pcmr(one)).collect::<Option<_>>()?;
        (!pcmrs.is_empty()).then(|| buckets::average(&pcmrs))
    }

    /// The assignment that threads' CPU preferences follow; `None` before the first.
    #[must_use]
    pub const fn assignment(&self) -> Option<&Assignment> {
        self.assignment.as_ref()
    }

    /// Each CPU's `MAX_PCMR` in misses per 100 references, by its number; nothing before the first
    /// bucketization.
    #[must_use]
    pub fn max_pcmrs(&self) -> &[Q32] {
        self.assignment.as_ref().map_or(&[], |assignment| &assignment.max_pcmrs)
    }

    /// The threshold that is in force, in misses per 100 references; `None` before the first bucketization.
    #[must_use]
    pub fn threshold(&self) -> Option<Q32> {
        Some(self.assignment.as_ref()?.threshold)
    }

    /// When the last initial measurement began, and when it ended (`None` while it is under way); `None`
    /// before the first.
    #[must_use]
    pub const fn initial_measurement(&self) -> Option<(Time, Option<Time>)> {
        self.span
    }

    /// The threads that take part in the initial measurement that is under way.
    pub fn taking_part(&self) -> impl Iterator<Item = ThreadId> {
        self.initial.iter().flat_map(Initial::threads)
    }

    /// How many PCMRs are known.
    fn known(&self) -> usize {
        self.threads.iter().filter(|thread| thread.pcmr.is_some()).count()
    }

    /// How many PCMRs must be known for a secondary measurement of the others: n - 1 (§4.2). With no more
    /// threads than CPUs any one will do, for all that are known run at once.
    fn peers_needed(&self) -> usize {
        let n = self.cpus.map_or(1, |cpus| cpus.count as usize);
        if self.threads.len() <= n { 1 } else { n.saturating_sub(1).max(1) }
    }

    /// Whether the linear system is needed: "when the PCMRs of zero or very few threads are known" (§4.2).
    /// A thread that was given up in the last one waits for its secondary measurement.
    fn needs_initial(&self) -> bool {
        let known = self.known();
        let unknown = self.threads.iter().any(|thread| thread.pcmr.is_none() && !thread.given_up);
        !self.threads.is_empty() && (known == 0 || (unknown && known < self.peers_needed()))
    }

    /// Everything is measured anew.
    fn restart(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        self.threads.iter_mut().for_each(Thread::forget);
        self.threads.iter_mut().for_each(|thread| thread.given_up = false);
        (self.initial, self.assignment) = (None, None);
        self.follow(at, act);
    }

    /// Goes on as the threads and what is known of them call for.
    fn follow(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(cpus) = self.cpus else { return };
        if self.initial.is_none() && self.needs_initial() {
            if self.threads.iter().all(|thread| thread.given_up) {
                self.threads.iter_mut().for_each(|thread| thread.given_up = false);
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
            self.overdue(at, act);
        }
        if self.next_turn.is_some_and(|turn| turn <= at) {
            self.next_turn = None;
            self.next_turn();
        }
        self.follow(at, act);
    }

    /// The initial measurement takes long: threads that do not run are replaced, and where nobody is left to
    /// replace them, the rows that ran must do (decisions CASC 9 and 10).
    fn overdue(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(initial) = &mut self.initial else { return };
        let sleepers = initial.sleepers(&self.parameters);
        let taking_part: Vec<ThreadId> = initial.threads().collect();
        let waits = |thread: &&Thread| !thread.given_up && !taking_part.contains(&thread.id);
        let waiting = self.threads.iter().filter(waits).count();
        initial.go_on(at.after(self.parameters.initial_limit.max(SHORTEST)));
        if waiting == 0 || sleepers.is_empty() {
            self.finish_initial(at, act);
            return;
        }
        for &sleeper in sleepers.iter().take(waiting) {
            initial.leave(sleeper);
            let thread = self.threads.iter_mut().find(|thread| thread.id == sleeper);
            thread.into_iter().for_each(|thread| thread.given_up = true);
        }
    }

    /// Solves the system; if no row of it has run, the measurement goes on.
    fn finish_initial(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(initial) = &self.initial else { return };
        let found = initial.solve(&self.parameters);
        if found.is_empty() {
            return;
        }
        let taking_part: Vec<ThreadId> = initial.threads().collect();
        for thread in self.threads.iter_mut().filter(|thread| taking_part.contains(&thread.id)) {
            match found.iter().find(|(id, _)| *id == thread.id) {
                Some(&(_, raw)) => tell(thread, raw, Measurement::Initial, act),
                None => thread.given_up = thread.pcmr.is_none(),
            }
        }
        self.initial = None;
        self.span = self.span.map(|(since, _)| (since, Some(at)));
        self.bucketize();
    }

    /// Bucketization of the threads whose PCMRs are known (§4.3.1).
    fn bucketize(&mut self) {
        let cpus = self.cpus.map_or(0, |cpus| cpus.count as usize);
        self.assignment = Some(buckets::assign(&self.pcmrs(), cpus, &self.parameters));
    }

    fn pcmrs(&self) -> Vec<Q32> {
        self.threads.iter().filter_map(|thread| Some(thread.pcmr?.value)).collect()
    }

    fn ran(&mut self, at: Time, together: &Together, act: &mut dyn FnMut(Action<'_>)) {
        if self.cpus.is_none() || together.window < self.parameters.shortest_interval {
            return;
        }
        let group = together.threads.iter().map(|ran| ran.thread);
        let rate = rates::miss_rate(together);
        if let Some(initial) = &mut self.initial {
            let is_ready = |id| {
                let thread = self.threads.iter().find(|thread| thread.id == id);
                thread.is_some_and(|thread| thread.ran >= self.parameters.delay)
            };
            let rate = rate.filter(|_| group.clone().all(is_ready));
            initial.add(group.clone(), rate, together.window);
            if initial.is_complete(&self.parameters) {
                self.finish_initial(at, act);
                self.follow(at, act);
            }
        } else if let Some(rate) = rate {
            if let Some((index, raw)) = self.measure(together, rate) {
                self.measured(index, raw, act);
                self.follow(at, act);
            } else if self.compare(together, rate) {
                self.follow(at, act);
            }
        }
        for thread in self.threads.iter_mut().filter(|one| group.clone().any(|id| id == one.id)) {
            thread.ran = thread.ran.saturating_add(together.window);
        }
    }

    /// A secondary measurement ended. Bucketization is run again if the new PCMR is larger than all others,
    /// and always if the assignment misses the threshold (§4.3.1; decision CASC 8).
    fn measured(&mut self, index: usize, raw: i64, act: &mut dyn FnMut(Action<'_>)) {
        let largest = self.pcmrs().into_iter().max();
        tell(&mut self.threads[index], raw, Measurement::Secondary, act);
        let new = self.threads[index].pcmr.map(|pcmr| pcmr.value);
        let projected = self.assignment.as_ref().map(Assignment::projected);
        let threshold = Some(self.parameters.threshold);
        // One that has no bucket exceeds all that are known, but for those that are measured again.
        let fits = new.is_some_and(|new| self.max_pcmrs().iter().any(|&max| new <= max));
        if new > largest || projected > threshold || !fits {
            self.bucketize();
        }
    }

    fn exited(&mut self, at: Time, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        let Some(index) = self.threads.iter().position(|thread| thread.id.app == app) else {
            return;
        };
        let thread = self.threads.remove(index);
        if let Some(initial) = &mut self.initial {
            initial.leave(thread.id);
        }
        // Ours: the threads that are left may be too few for the CPUs that the others may not run on.
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

    /// Leaves a machine that it can't serve as it was.
    fn withdraw(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        (self.cpus, self.initial, self.assignment) = (None, None, None);
        (self.alarm, self.next_turn) = (None, None);
        for thread in &mut self.threads {
            thread.forget();
            if thread.allowed.take().is_some() {
                let reason = "there are more CPUs than this policy can tell apart";
                // Where none of a list is there, a thread may run on every CPU.
                act(Action::Allow { thread: thread.id, cpus: &[], reason });
            }
        }
        self.raise(act);
    }
}

/// Takes a PCMR over, and publishes it.
fn tell(thread: &mut Thread, raw: i64, by: Measurement, act: &mut dyn FnMut(Action<'_>)) {
    let value = thread.learn(raw, by);
    let what = "PCMR, misses per 100 L2 references";
    act(Action::Estimated { thread: thread.id, what, value, raw });
}

impl Policy for Casc {
    fn name(&self) -> &'static str {
        "casc"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Machine(llc) => {
                if self.llc.replace(*llc).is_some_and(|before| before != *llc) {
                    self.restart(at, act);
                }
            }
            Event::Cpus(cpus) => self.cpus(at, *cpus, act),
            Event::Started { app, .. } => {
                let thread = ThreadId::first_of(*app);
                // A journal that was tampered with may say so; a machine does not.
                if self.thread(thread).is_none() {
                    self.threads.push(Thread::new(thread));
                    self.follow(at, act);
                }
            }
            Event::Exited { app } => self.exited(at, *app, act),
            Event::RanTogether(together) => self.ran(at, together, act),
            Event::Woke => self.woke(at, act),
            Event::Sampled(_) | Event::QuantumGiven(_) | Event::Refused { .. } => {}
        }
    }
}
