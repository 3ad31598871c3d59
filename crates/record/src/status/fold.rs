//! Events and actions, added up.

use fairways_core::{Action, AppId, Counters, Event, Latencies, Levers, Q32, Time, WayMask, Wish};
use fairways_policy::words;
use fairways_resctrl::language::CpuSet;

use super::{Cache, Domain, Objective, Program, Seen, Status};

/// Linux knows no more; a damaged journal may.
const MOST_CPUS: u32 = 8192;

impl Status {
    /// Takes in what happened in a domain; `name` tells what a program that started is called.
    pub fn event(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        seen: &dyn Seen,
        name: impl FnOnce(AppId) -> String,
    ) {
        self.now_ns = at.nanos();
        if !matches!(event, Event::Applied { .. } | Event::Refused { .. })
            && let Some(plans) = self.plans.get_mut(&domain)
        {
            plans.forget();
        }
        match event {
            Event::Machine(Levers { llc, .. }) => {
                let cache = seen.cache(domain).unwrap_or_else(|| {
                    let all = WayMask::full(llc.ways);
                    Cache { all, offered: all, way_bytes: None }
                });
                let of = self.domain(domain);
                (of.ways, of.clos) = (llc.ways.get(), llc.clos);
                of.cache = Some(cache.all.to_string());
                of.offered = Some(cache.offered.to_string());
                of.way_bytes = cache.way_bytes;
            }
            Event::Started { app, wish, .. } => {
                self.end(domain, *app);
                let name = self.index.start(self.programs.len(), domain, app.0, name(*app));
                let mut program = Program { app: app.0, name, domain, ..Program::default() };
                program.wishes(wish);
                self.programs.push(program);
            }
            Event::Wished { app, wish } => {
                if let Some(of) = self.program(domain, *app) {
                    of.wishes(wish);
                }
            }
            Event::Exited { app } => {
                self.end(domain, *app);
            }
            Event::Sampled(sample) => {
                let Some(of) = self.program(domain, sample.app) else { return };
                let Counters { memory_bytes, instructions, llc_misses, .. } = sample.counters;
                of.ipc = sample.counters.ipc().map(real);
                let instructions = instructions.filter(|&count| count > 0);
                of.llcmpki = llc_misses
                    .zip(instructions)
                    .map(|(misses, instructions)| 1000.0 * misses as f64 / instructions as f64);
                of.llcmpkc = sample.counters.llcmpkc().map(real);
                of.occupancy_ways = sample.occupancy.map(real);
                of.memory_bytes = memory_bytes;
                of.window_ns = u64::try_from(sample.window.as_nanos()).ok();
                // Latencies of the same window follow at once, where its source tells any.
                if let Some(objective) = of.objective.as_mut() {
                    objective.unknown();
                }
            }
            Event::Applied { plan, actual } => self.applied(domain, *plan, actual, seen),
            Event::Refused { why, .. } => self.domain(domain).refused = Some(why.to_string()),
            Event::Cpus(cpus) => {
                let of = self.domain(domain);
                of.quantum_ns = u64::try_from(cpus.quantum.as_nanos()).ok();
                if seen.cpus(domain).is_empty() {
                    self.cpus(domain, &(0..cpus.count.min(MOST_CPUS)).collect::<Vec<_>>());
                }
            }
            Event::Latency(latencies) => {
                let of = self.program(domain, latencies.app);
                if let Some(objective) = of.and_then(|of| of.objective.as_mut()) {
                    objective.answered(latencies);
                }
            }
            Event::RanTogether(_) | Event::QuantumGiven(_) | Event::Woke => {}
        }
    }

    /// Takes in what the policy of a domain asks for; `seen` tells what else is known of it.
    pub fn action(&mut self, domain: u32, action: &Action<'_>, seen: &dyn Seen) {
        match action {
            Action::Partition { plan, partition, reason } => {
                let planned = partition.without_bandwidth();
                self.asked(domain, *plan, planned, reason.clone().into_owned());
            }
            Action::Classified { app, class, reason } => {
                if let Some(of) = self.program(domain, *app) {
                    of.estimates.retain(|what, _| words::outlives_class(what));
                    of.class = Some(class.clone().into_owned());
                    of.class_reason = Some(reason.clone().into_owned());
                }
            }
            Action::Allow { thread, cpus, .. } => {
                let there = seen.cpus(domain);
                // Where nobody tells what they are, the policy's numbers are all there is.
                let number = |&cpu: &u32| match there.is_empty() {
                    true => Some(cpu).filter(|cpu| *cpu < MOST_CPUS),
                    false => there.get(usize::try_from(cpu).ok()?).copied(),
                };
                let mut set = CpuSet::new();
                cpus.iter().filter_map(number).for_each(|cpu| set.insert(cpu));
                let all = self.domain(domain).cpus.clone();
                if let Some(of) = self.program(domain, thread.app) {
                    let holds_all = match there.is_empty() {
                        true => all.is_some_and(|all| all == set.to_list()),
                        false => there.iter().all(|&cpu| set.contains(cpu)),
                    };
                    of.cpus = (!set.is_empty() && !holds_all).then(|| set.to_list());
                }
            }
            Action::Priority { threads, raised, .. } => {
                for thread in threads.iter() {
                    if let Some(of) = self.program(domain, thread.app) {
                        of.raised = *raised;
                    }
                }
            }
            Action::Quantum { thread, time, .. } => {
                if let Some(of) = self.program(domain, thread.app) {
                    of.ordered_ns = u64::try_from(time.as_nanos()).ok();
                }
            }
            Action::Estimated { thread, what, value, raw } => {
                if let Some(of) = self.program(domain, thread.app) {
                    of.estimates.insert(what.clone().into_owned(), number(*value, *raw));
                }
            }
            Action::Watch { .. } | Action::Wake { .. } | Action::WatchTogether { .. } => {}
        }
    }

    /// These are a domain's CPUs, as its policy numbers them.
    pub fn cpus(&mut self, domain: u32, cpus: &[u32]) {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.insert(cpu));
        self.domain(domain).cpus = Some(set.to_list());
    }

    /// Threads take turns by this one now.
    pub fn scheduled_by(&mut self, scheduler: Option<&str>) {
        if self.scheduler.as_deref() != scheduler {
            self.scheduler = scheduler.map(str::to_owned);
            self.scheduler_reason = Some("the kernel ended the one before".to_owned());
        }
    }

    /// Forgets the domains that are not there any longer.
    pub fn keep(&mut self, is_there: impl Fn(u32) -> bool) {
        self.domains.retain(|of| is_there(of.id));
    }

    /// A program is over, or begins anew.
    fn end(&mut self, domain: u32, app: AppId) {
        if let Some(place) = self.index.place(&self.programs, domain, app.0) {
            let over = self.programs.remove(place);
            self.index.end(domain, app.0, &over.name);
        }
    }

    pub(super) fn domain(&mut self, id: u32) -> &mut Domain {
        let place = self.domains.binary_search_by_key(&id, |of| of.id).unwrap_or_else(|place| {
            self.domains.insert(place, Domain { id, ..Domain::default() });
            place
        });
        &mut self.domains[place]
    }

    fn program(&mut self, domain: u32, app: AppId) -> Option<&mut Program> {
        let place = self.index.seek(&self.programs, domain, app.0)?;
        self.programs.get_mut(place)
    }
}

/// A name that is not taken: the name itself, or numbered from 2 on.
pub fn unlike(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&name) {
        return name;
    }
    let mut numbered = (2_u64..).map(|number| format!("{name}#{number}"));
    // There are more numbers than programs.
    numbered.find(|name| !is_taken(name)).unwrap_or_default()
}

impl Program {
    /// Its owner asks for this from now on. What an objective was before is forgotten only if it changes.
    fn wishes(&mut self, wish: &Wish) {
        (self.baseline_ways, self.best_effort) = (wish.baseline_ways, wish.best_effort);
        let now = wish.objective.map(|of| Objective {
            percentile: real(of.percentile),
            slo_ns: u64::try_from(of.slo.as_nanos()).unwrap_or(u64::MAX),
            ..Objective::default()
        });
        let asks = |of: Objective| (of.percentile, of.slo_ns);
        if now.map(asks) != self.objective.map(asks) {
            self.objective = now;
        }
    }
}

impl Objective {
    /// Nothing was told of the last window.
    fn unknown(&mut self) {
        (self.latency_ns, self.requests, self.met) = (None, None, None);
    }

    /// Takes in the requests of a window.
    fn answered(&mut self, latencies: &Latencies) {
        let requests = latencies.requests();
        self.unknown();
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
fn real(value: Q32) -> f64 {
    value.raw() as f64 / (1u64 << 32) as f64
}

/// A number that a policy told: as it came out where that is less than nothing, which what it goes by can't be.
#[allow(clippy::cast_precision_loss)] // For people.
pub(super) fn number(value: Q32, raw: i64) -> f64 {
    if raw < 0 { raw as f64 / (1u64 << 32) as f64 } else { real(value) }
}
