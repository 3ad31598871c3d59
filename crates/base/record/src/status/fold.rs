//! Adds events and actions up to a status.

use fairways_core::{
    Action, AppId, Counters, CpuSet, Event, Latencies, Levers, Q32, Time, WayMask, Wish,
};
use fairways_policy::words;

use super::{CacheWays, DomainStatus, MachineView, ObjectiveStatus, ProgramStatus, Status};

/// The most CPUs that Linux knows; a damaged journal may name more.
const MOST_CPUS: u32 = 8192;

impl Status {
    /// Records an event in a domain; `name` returns the name of a program that started.
    pub fn record_event(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        seen: &dyn MachineView,
        name: impl FnOnce(AppId) -> String,
    ) {
        self.now_ns = at.nanos();
        if !matches!(event, Event::Applied { .. } | Event::Refused { .. })
            && let Some(plans) = self.plans.get_mut(&domain)
        {
            plans.forget();
        }
        match event {
            Event::Machine(Levers { llc, bandwidth }) => {
                let cache = seen.cache(domain).unwrap_or_else(|| {
                    let all = WayMask::full(llc.ways);
                    CacheWays { all, offered: all, way_bytes: None }
                });
                let entry = self.domain(domain);
                (entry.ways, entry.clos) = (llc.ways.get(), llc.clos);
                entry.bandwidth = *bandwidth;
                entry.cache = Some(cache.all.to_string());
                entry.offered = Some(cache.offered.to_string());
                entry.way_bytes = cache.way_bytes;
            }
            Event::Started { app, wish, .. } => {
                self.remove_program(domain, *app);
                let name = self.index.start(self.programs.len(), domain, app.0, name(*app));
                let mut program =
                    ProgramStatus { app: app.0, name, domain, ..ProgramStatus::default() };
                program.set_wish(wish);
                self.programs.push(program);
            }
            Event::Wished { app, wish } => {
                if let Some(program) = self.program(domain, *app) {
                    program.set_wish(wish);
                }
            }
            Event::Exited { app } => {
                self.remove_program(domain, *app);
            }
            Event::Sampled(sample) => {
                let Some(program) = self.program(domain, sample.app) else { return };
                let Counters { memory_bytes, instructions, llc_misses, .. } = sample.counters;
                program.ipc = sample.counters.ipc().map(to_f64);
                let instructions = instructions.filter(|&count| count > 0);
                program.llcmpki = llc_misses
                    .zip(instructions)
                    .map(|(misses, instructions)| 1000.0 * misses as f64 / instructions as f64);
                program.llcmpkc = sample.counters.llcmpkc().map(to_f64);
                program.occupancy_ways = sample.occupancy.map(to_f64);
                program.occupancy_ways_at_least = sample.occupancy_at_least.map(to_f64);
                program.memory_bytes = memory_bytes;
                program.window_ns = u64::try_from(sample.window.as_nanos()).ok();
                // The latencies of this window, if any, are reported next.
                if let Some(objective) = program.objective.as_mut() {
                    objective.clear_window();
                }
            }
            Event::Applied { plan, actual } => self.answer_plan(domain, *plan, actual, seen),
            Event::Refused { why, .. } => self.domain(domain).refused = Some(why.to_string()),
            Event::Cpus(cpus) => {
                let entry = self.domain(domain);
                entry.quantum_ns = u64::try_from(cpus.quantum.as_nanos()).ok();
                if seen.cpus(domain).is_empty() {
                    self.set_cpus(domain, &(0..cpus.count.min(MOST_CPUS)).collect::<Vec<_>>());
                }
            }
            Event::Latency(latencies) => {
                let program = self.program(domain, latencies.app);
                if let Some(objective) = program.and_then(|program| program.objective.as_mut()) {
                    objective.record_latencies(latencies);
                }
            }
            Event::RanTogether(_) | Event::QuantumGiven(_) | Event::Woke => {}
        }
    }

    /// Records an action of a domain's policy; `view` knows the rest of the machine.
    pub fn record_action(&mut self, domain: u32, action: &Action<'_>, seen: &dyn MachineView) {
        match action {
            Action::Partition { plan, partition, reason } => {
                let planned = partition.clone().into_owned();
                self.add_plan(domain, *plan, planned, reason.clone().into_owned());
            }
            Action::Classified { app, class, reason } => {
                if let Some(program) = self.program(domain, *app) {
                    program.estimates.retain(|what, _| words::outlives_class(what));
                    program.class = Some(class.clone().into_owned());
                    program.class_reason = Some(reason.clone().into_owned());
                }
            }
            Action::Allow { thread, cpus, .. } => {
                let there = seen.cpus(domain);
                // Where the machine does not report its CPUs, the policy's numbers stand for them.
                let mut set = CpuSet::new();
                cpus.iter()
                    .filter_map(|&cpu: &u32| match there.is_empty() {
                        true => Some(cpu).filter(|cpu| *cpu < MOST_CPUS),
                        false => there.get(usize::try_from(cpu).ok()?).copied(),
                    })
                    .for_each(|cpu| set.insert(cpu));
                let all = self.domain(domain).cpus.clone();
                if let Some(program) = self.program(domain, thread.app) {
                    let holds_all = match there.is_empty() {
                        true => all.is_some_and(|all| all == set.to_list()),
                        false => there.iter().all(|&cpu| set.contains(cpu)),
                    };
                    program.cpus = (!set.is_empty() && !holds_all).then(|| set.to_list());
                }
            }
            Action::Priority { threads, raised, .. } => {
                for thread in threads.iter() {
                    if let Some(program) = self.program(domain, thread.app) {
                        program.raised = *raised;
                    }
                }
            }
            Action::Quantum { thread, time, .. } => {
                if let Some(program) = self.program(domain, thread.app) {
                    program.ordered_ns = u64::try_from(time.as_nanos()).ok();
                }
            }
            Action::Estimated { thread, what, value, raw } => {
                if let Some(program) = self.program(domain, thread.app) {
                    let what = words::current(what).to_owned();
                    program.estimates.insert(what, estimate_value(*value, *raw));
                }
            }
            Action::Watch { .. } | Action::Wake { .. } | Action::WatchTogether { .. } => {}
        }
    }

    /// Sets a domain's CPUs, as its policy numbers them.
    pub fn set_cpus(&mut self, domain: u32, cpus: &[u32]) {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.insert(cpu));
        self.domain(domain).cpus = Some(set.to_list());
    }

    /// Sets the scheduler under which threads take turns now.
    pub fn set_scheduler(&mut self, scheduler: Option<&str>) {
        if self.scheduler.as_deref() != scheduler {
            self.scheduler = scheduler.map(str::to_owned);
            self.scheduler_reason = Some("the kernel ended the one before".to_owned());
        }
    }

    /// Drops the domains that no longer exist.
    pub fn keep_domains(&mut self, is_there: impl Fn(u32) -> bool) {
        self.domains.retain(|domain| is_there(domain.id));
    }

    /// Removes a program that ended, or starts again.
    fn remove_program(&mut self, domain: u32, app: AppId) {
        if let Some(place) = self.index.position(&self.programs, domain, app.0) {
            let over = self.programs.remove(place);
            self.index.end(domain, app.0, &over.name);
        }
    }

    pub(super) fn domain(&mut self, id: u32) -> &mut DomainStatus {
        let place =
            self.domains.binary_search_by_key(&id, |domain| domain.id).unwrap_or_else(|place| {
                self.domains.insert(place, DomainStatus { id, ..DomainStatus::default() });
                place
            });
        &mut self.domains[place]
    }

    fn program(&mut self, domain: u32, app: AppId) -> Option<&mut ProgramStatus> {
        let place = self.index.look_up(&self.programs, domain, app.0)?;
        self.programs.get_mut(place)
    }
}

/// A name that is not in use: the name itself, or one numbered from 2 on.
pub fn unique_name(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&name) {
        return name;
    }
    let mut numbered = (2_u64..).map(|number| format!("{name}#{number}"));
    // Always found: there are more numbers than programs.
    numbered.find(|name| !is_taken(name)).unwrap_or_default()
}

impl ProgramStatus {
    /// Sets what the owner requests. The last window of an objective is kept unless the objective
    /// changes.
    fn set_wish(&mut self, wish: &Wish) {
        (self.baseline_ways, self.best_effort) = (wish.baseline_ways, wish.best_effort);
        self.importance = wish.importance;
        let now = wish.objective.map(|objective| ObjectiveStatus {
            percentile: to_f64(objective.percentile),
            slo_ns: u64::try_from(objective.slo.as_nanos()).unwrap_or(u64::MAX),
            ..ObjectiveStatus::default()
        });
        fn asks(objective: ObjectiveStatus) -> (f64, u64) {
            (objective.percentile, objective.slo_ns)
        }
        if now.map(asks) != self.objective.map(asks) {
            self.objective = now;
        }
    }
}

impl ObjectiveStatus {
    /// Marks the last window as unknown.
    fn clear_window(&mut self) {
        (self.latency_ns, self.requests, self.met) = (None, None, None);
    }

    /// Records the latencies of a window.
    fn record_latencies(&mut self, latencies: &Latencies) {
        let requests = latencies.requests();
        self.clear_window();
        self.requests = Some(requests);
        let rank = self.percentile / 100.0 * requests as f64;
        let mut so_far = 0;
        let tail = latencies.answered.iter().find(|answered| {
            so_far += answered.requests;
            so_far as f64 >= rank
        });
        if let Some(tail) = tail {
            let latency = u64::try_from(tail.latency.as_nanos()).unwrap_or(u64::MAX);
            self.latency_ns = Some(latency);
            self.met = Some(latency <= self.slo_ns);
        }
    }
}

#[allow(clippy::cast_precision_loss)] // For people.
fn to_f64(value: Q32) -> f64 {
    value.raw() as f64 / (1u64 << 32) as f64
}

/// An estimate as a number. A negative one is shown as computed, although the policy uses 0
/// instead.
#[allow(clippy::cast_precision_loss)] // For people.
pub(super) fn estimate_value(value: Q32, raw: i64) -> f64 {
    if raw < 0 { raw as f64 / (1u64 << 32) as f64 } else { to_f64(value) }
}
