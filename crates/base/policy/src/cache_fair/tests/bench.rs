//! A machine whose threads take turns, and miss by a line over their co-runners' misses. Its clock
//! runs at 1 GHz: a cycle is a nanosecond.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, CoRun, Counters, Cpus, EndedTurn, Event, Llc, Policy, Sample, ThreadCounters,
    ThreadId, Time, Ways, WindowLength, Wish,
};

use crate::announce::static_text;
use crate::cache_fair::{CacheFair, Parameters};

pub(super) const MS: u64 = 1_000_000;
pub(super) const MILLION: u64 = 1_000_000;

/// What a program does. Rates are misses per million cycles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Does {
    /// Its rate alone.
    pub(super) alone: u64,
    /// How much of its co-runners' rates alone it adds, in percent.
    pub(super) harmed: u64,
    /// Cycles that a miss stalls it.
    pub(super) latency: u64,
    /// Cycles per 1000 instructions without stalls.
    pub(super) ideal: u64,
    /// References to the last-level cache per million instructions.
    pub(super) references: u64,
    /// It gives its CPU up after so many nanoseconds.
    pub(super) sleeps_after: u64,
    /// What can be counted of it.
    pub(super) shows: fn(Counters) -> Counters,
}

/// Harmed by others: its fair rate with one co-runner is 1000 / (1 - 0.5) = 2000.
pub(super) const VICTIM: Does = Does {
    alone: 1000,
    harmed: 50,
    latency: 200,
    ideal: 2000,
    references: 10_000,
    sleeps_after: u64::MAX,
    shows: |counters| counters,
};
/// Beside it, a `VICTIM` misses 2500 times, and its CPI is 1.2 times the fair one: (1 - 0.4) / (1 -
/// 0.5).
pub(super) const HEAVY: Does = Does { alone: 3000, harmed: 0, latency: 100, ..VICTIM };
/// Beside it, a `VICTIM` misses 1200 times, and its CPI is (1 - 0.4) / (1 - 0.24) = 0.789 of the
/// fair one.
pub(super) const LIGHT: Does = Does { alone: 400, ..HEAVY };

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    cycles: u128,
    /// In millionths.
    pub(super) instructions: u128,
    references: u128,
    misses: u128,
    stalls: u128,
}

impl Done {
    fn counters(&self, before: &Self, shows: fn(Counters) -> Counters) -> Counters {
        let part =
            |now: u128, before: u128| Some(u64::try_from((now - before) / 1_000_000).unwrap());
        let stalls = part(self.stalls, before.stalls);
        shows(Counters {
            instructions: part(self.instructions, before.instructions),
            cycles: Some(u64::try_from(self.cycles - before.cycles).unwrap()),
            llc_references: part(self.references, before.references),
            llc_misses: part(self.misses, before.misses),
            // Three quarters of the stalls are of loads.
            stalls_llc_miss: stalls.map(|all| all - all / 4),
            stalls_store_buffer: stalls.map(|all| all / 4),
            ..Counters::default()
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Runs {
    pub(super) does: Does,
    pub(super) best_effort: bool,
    cpu: usize,
    pub(super) done: Done,
    /// The window: its length in instructions, and where it began.
    watched: Option<(u64, Done)>,
    /// When it went on its CPU, how long it may stay, and how long it was ordered to.
    on: Option<(u64, u64, u64)>,
    since: Done,
    order: Option<u64>,
    pub(super) slices: u64,
    pub(super) ran: u64,
}

pub(super) struct Bench {
    pub(super) policy: CacheFair,
    pub(super) now: u64,
    pub(super) quantum: u64,
    /// Turns are rounded to multiples of it.
    pub(super) tick: u64,
    /// Whether the next thread is on the CPU before the end of the last turn is reported.
    pub(super) hasty: bool,
    queues: Vec<VecDeque<u32>>,
    pub(super) threads: BTreeMap<u32, Runs>,
    /// When the same threads began to run together.
    together: u64,
    shortest: Option<u64>,
    /// What all orders that were not replaced in time are longer than a quantum.
    pub(super) orders: i128,
    /// What all threads ran beyond a quantum a slice.
    pub(super) extra: i128,
    /// For each slice: its end, its app, and by how much it was shorter than a quantum.
    pub(super) lost: Vec<(u64, u32, i128)>,
    pub(super) classified: Vec<(u32, &'static str, &'static str)>,
    pub(super) estimates: Vec<(u32, &'static str, u64, i64)>,
    pub(super) quanta: Vec<(u64, u32, u64)>,
    pub(super) partitions: u32,
}

impl Bench {
    pub(super) fn new(cpus: usize, parameters: Parameters) -> Self {
        let mut bench = Self::silent(cpus, parameters);
        let (count, quantum) = (u32::try_from(cpus).unwrap(), Duration::from_nanos(bench.quantum));
        bench.report(&Event::Cpus(Cpus { count, quantum }));
        bench
    }

    /// A machine that reports no CPUs.
    pub(super) fn silent(cpus: usize, parameters: Parameters) -> Self {
        let mut bench = Self {
            policy: CacheFair::new(parameters),
            now: 0,
            quantum: 10 * MS,
            tick: 1,
            hasty: false,
            queues: alloc::vec![VecDeque::new(); cpus],
            threads: BTreeMap::new(),
            together: 0,
            shortest: None,
            orders: 0,
            extra: 0,
            lost: Vec::new(),
            classified: Vec::new(),
            estimates: Vec::new(),
            quanta: Vec::new(),
            partitions: 0,
        };
        bench.report(&Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()));
        bench
    }

    pub(super) fn start(&mut self, app: u32, cpu: usize, best_effort: bool, does: Does) {
        let runs = Runs {
            does,
            best_effort,
            cpu,
            done: Done::default(),
            watched: None,
            on: None,
            since: Done::default(),
            order: None,
            slices: 0,
            ran: 0,
        };
        self.threads.insert(app, runs);
        let wish = Wish { best_effort, ..Wish::default() };
        self.report(&Event::Started { app: AppId(app), wish, profile: None });
        self.queues[cpu].push_back(app);
        self.dispatch();
    }

    pub(super) fn exit(&mut self, app: u32) {
        let runs = self.threads.remove(&app).unwrap();
        // Time that it was ordered and did not run goes to no other thread.
        self.orders -= runs.order.map_or(0, |order| i128::from(order) - i128::from(self.quantum));
        self.queues[runs.cpu].retain(|&other| other != app);
        self.report(&Event::Exited { app: AppId(app) });
        self.regroup();
        self.dispatch();
    }

    pub(super) fn becomes(&mut self, app: u32, does: Does) {
        self.threads.get_mut(&app).unwrap().does = does;
    }

    fn running(&self) -> Vec<u32> {
        self.threads.iter().filter(|(_, one)| one.on.is_some()).map(|(&app, _)| app).collect()
    }

    fn regroup(&mut self) {
        self.together = self.now;
        for one in self.threads.values_mut() {
            one.since = one.done;
        }
    }

    fn dispatch(&mut self) {
        for queue in 0..self.queues.len() {
            let busy = self.threads.values().any(|one| one.cpu == queue && one.on.is_some());
            let Some(app) = (!busy).then(|| self.queues[queue].pop_front()).flatten() else {
                continue;
            };
            let one = self.threads.get_mut(&app).unwrap();
            let ordered = one.order.take().unwrap_or(self.quantum);
            let ticks = ((ordered + self.tick / 2) / self.tick).max(1);
            let length = (ticks * self.tick).min(one.does.sleeps_after);
            one.on = Some((self.now, length, ordered));
            self.regroup();
        }
    }

    /// Millionths of instructions a cycle, and misses and stalls a million cycles.
    fn rates(&self, app: u32) -> (u64, u64, u64) {
        let one = &self.threads[&app];
        let others = self.running().into_iter().filter(|&other| other != app);
        let others: u64 = others.map(|other| self.threads[&other].does.alone).sum();
        let does = one.does;
        let misses = does.alone + does.harmed * others / 100;
        let stalls = (misses * does.latency).min(900_000);
        ((MILLION - stalls) * 1000 / does.ideal, misses, stalls)
    }

    /// Reports to the policy whatever happens until `until`.
    pub(super) fn run(&mut self, until: u64) {
        while self.now < until {
            self.step(until);
        }
    }

    fn step(&mut self, until: u64) {
        let running = self.running();
        let rates: Vec<(u64, u64, u64)> = running.iter().map(|&app| self.rates(app)).collect();
        let mut next = until;
        for (app, &(ipc, ..)) in running.iter().zip(&rates) {
            let one = &self.threads[app];
            let (began, length, _) = one.on.unwrap();
            next = next.min(began + length);
            if let Some((every, from)) = one.watched {
                let left =
                    u128::from(every) * 1_000_000 - (one.done.instructions - from.instructions);
                let wait = left.div_ceil(u128::from(ipc));
                next = next.min(self.now + u64::try_from(wait).unwrap().max(1));
            }
        }
        let passed = u128::from(next - self.now);
        self.now = next;
        for (app, &(ipc, misses, stalls)) in running.iter().zip(&rates) {
            let one = self.threads.get_mut(app).unwrap();
            let done = &mut one.done;
            done.cycles += passed;
            done.instructions += passed * u128::from(ipc);
            done.references +=
                passed * u128::from(ipc) * u128::from(one.does.references) / 1_000_000;
            done.misses += passed * u128::from(misses);
            done.stalls += passed * u128::from(stalls);
        }
        self.windows(&running);
        self.turns(&running);
    }

    fn windows(&mut self, running: &[u32]) {
        for &app in running {
            let one = self.threads.get_mut(&app).unwrap();
            let Some((every, from)) = one.watched else { continue };
            if one.done.instructions - from.instructions < u128::from(every) * 1_000_000 {
                continue;
            }
            let counters = one.done.counters(&from, one.does.shows);
            one.watched = Some((every, one.done));
            self.report(&Event::Sampled(Sample::new(
                AppId(app),
                counters,
                Duration::from_nanos(1),
            )));
        }
    }

    fn turns(&mut self, running: &[u32]) {
        let turns = running.iter().filter_map(|&app| Some((app, self.threads[&app].on?)));
        let over = turns.filter(|(_, (began, length, _))| began + length == self.now);
        let off: Vec<u32> = over.map(|(app, _)| app).collect();
        if off.is_empty() {
            return;
        }
        let window = self.now - self.together;
        let ran: Vec<ThreadCounters> = running.iter().map(|&app| self.ran(app)).collect();
        let mut slices = Vec::new();
        for &app in &off {
            let one = self.threads.get_mut(&app).unwrap();
            let (began, _, ordered) = one.on.take().unwrap();
            let ran = self.now - began;
            one.slices += 1;
            one.ran += ran;
            self.queues[one.cpu].push_back(app);
            slices.push(EndedTurn {
                thread: ThreadId::first_of(AppId(app)),
                cpu: u32::try_from(one.cpu).unwrap(),
                ordered: Duration::from_nanos(ordered),
                ran: Duration::from_nanos(ran),
            });
            let quantum = if ran == one.does.sleeps_after { ran } else { self.quantum };
            self.lost.push((self.now, app, i128::from(quantum) - i128::from(ran)));
        }
        self.regroup();
        if self.hasty {
            self.dispatch();
        }
        if self.shortest.is_some_and(|shortest| window >= shortest) {
            let group = Counters::default();
            let window = Duration::from_nanos(window);
            self.report(&Event::RanTogether(CoRun { threads: ran, group, window }));
        }
        for (slice, &(.., lost)) in
            slices.iter().zip(&self.lost.clone()[self.lost.len() - off.len()..])
        {
            self.extra -= lost;
            self.report(&Event::QuantumGiven(*slice));
        }
        self.dispatch();
    }

    fn ran(&self, app: u32) -> ThreadCounters {
        let one = &self.threads[&app];
        let counters = one.done.counters(&one.since, one.does.shows);
        ThreadCounters { thread: ThreadId::first_of(AppId(app)), counters }
    }

    fn report(&mut self, event: &Event) {
        let Self { policy, threads, orders, quantum, .. } = self;
        let quantum = i128::from(*quantum);
        policy.handle(Time::from_nanos(self.now), event, &mut |action| match action {
            Action::Watch { app, every: WindowLength::Instructions(every) } => {
                let one = threads.get_mut(&app.0).unwrap();
                one.watched = Some((every, one.done));
            }
            Action::WatchTogether { shortest } => {
                self.shortest = Some(u64::try_from(shortest.as_nanos()).unwrap());
            }
            Action::Quantum { thread, time, .. } => {
                let time = u64::try_from(time.as_nanos()).unwrap();
                let change = i128::from(time) - quantum;
                assert!(change == 0 || change.abs() * 1000 >= quantum, "{action:?}");
                assert!(change >= -quantum / 2 && change <= quantum, "{action:?}");
                self.quanta.push((self.now, thread.app.0, time));
                let one = threads.get_mut(&thread.app.0).unwrap();
                *orders += change;
                *orders -= one.order.replace(time).map_or(0, |old| i128::from(old) - quantum);
            }
            Action::Classified { app, class, reason } => {
                self.classified.push((app.0, static_text(class), static_text(reason)))
            }
            Action::Estimated { thread, what, value, raw } => {
                self.estimates.push((thread.app.0, static_text(what), value.raw(), raw));
            }
            Action::Partition { .. } => self.partitions += 1,
            other => panic!("{other:?}"),
        });
        let books = self.policy.exchange.books();
        if !self.threads.values().any(|one| one.best_effort) {
            // No thread owes another anything, except for time that was taken before and is yet to
            // be given.
            assert_eq!(books.1, 0);
            self.extra = -books.0;
        } else if !self.threads.values().any(|one| one.does.sleeps_after < u64::MAX) {
            assert_eq!(books.0 + self.extra, books.1, "{event:?} at {}", self.now);
        }
    }

    pub(super) fn at(&mut self, seconds: u64) {
        self.run(seconds * 1000 * MS);
    }

    pub(super) fn thread(app: u32) -> ThreadId {
        ThreadId::first_of(AppId(app))
    }

    pub(super) fn is_calibrated(&self, app: u32) -> bool {
        self.policy.is_calibrated(Self::thread(app))
    }

    /// Runs until a thread's reconnaissance has ended.
    pub(super) fn calibrate(&mut self, app: u32) {
        for _ in 0..10_000 {
            if self.is_calibrated(app) {
                return;
            }
            self.run(self.now + MS);
        }
        panic!("no reconnaissance ends");
    }
}
