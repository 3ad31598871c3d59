//! The cost of a decision of LFOC, LFOC+, KPart and Fairways, from the event to the actions (LFOC,
//! Table 2).
//!
//! The event:
//! - `exit`: a light program ends, and the policy decides for the others, whose classes and tables
//!   it has. LFOC divides the ways as before, so it places the light programs again and no others.
//! - `exit-sensitive`: a sensitive program ends, for LFOC and LFOC+: all of Algorithm 1, which the
//!   authors' Table 2 times, and the actions that report the numbers of those that get its ways.
//! - `exit-drawn`: a program ends that was drawn as those of a `drawn` mix are, for LFOC and LFOC+.
//! - `start`: the last program of the mix starts. The policy reads its profile, classifies it and
//!   computes its slowdown table; then it decides as above.
//!
//! - `alarm`: a policy's alarm rings, and nothing has changed.
//!
//! But for `alarm` the curves of all programs are new at every decision, and the action
//! carries the partition.
//!
//! The state of the caches:
//! - `warm`: the data of the decision was written shortly before.
//! - `cold`: the policy is one of 20,000, whose data no cache holds together; the code is warm.
//! - `evicted`: 64 MB of other memory were written in between, which drives out the code as well,
//!   and the translations of every page.
//!
//! The mix: `drawn` is drawn at random for every decision, with classes as frequent as among the 55
//! SPEC programs that the LFOC authors measured (12 streaming, 28 light, 15 sensitive); `third` has
//! a third sensitive and a quarter streaming; `half` has half sensitive and a quarter streaming;
//! `sensitive` has only sensitive programs. The sensitive ones start last.
//!
//! Fairways decides by every profile at each event, so between two of its decisions only one
//! program is replaced. It is timed with 4, 8, 16 and 64 programs, from 16 on with `drawn` mixes
//! only.
//!
//! Prints CSV in ns: the mean of a warm round, the median otherwise. KPart and Fairways, a thousand
//! times slower, are timed warm only. An argument names the only policy to time; `warm` behind it
//! times that one warm only.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairways_core::{Action, AppId, Event, Llc, Policy, Profile, Time, Ways, Wish};
use fairways_policy::fairways::Fairways;
use fairways_policy::kpart::KPart;
use fairways_policy::lfoc::{Class, Lfoc, Parameters, classify};
use fairways_profiles::generate::{BehaviourKind, MemoryBehaviour, ProfilingMachine};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const ROUNDS: usize = 11;
/// Warm decisions timed together, each of another policy; more share the cost of reading the clock,
/// fewer leave the first-level cache to each.
const TOGETHER: usize = 16;
const WARM_BATCHES: usize = 400;
const WARM_BATCHES_SLOW: usize = 10;
const COLD_POLICIES: usize = 20_000;
const EVICTED_DECISIONS: usize = 25;
const EVICTION_BYTES: usize = 64 << 20;

fn main() {
    println!("bench,event,state,mix,programs,ways,round,ns");
    let mut memory = vec![1u8; EVICTION_BYTES];
    let mut names = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let only = names.next();
    let warm_only = names.next().is_some_and(|state| state == "warm");
    let policies = ["lfoc", "lfoc-plus", "kpart", "fairways"];
    for (ways, sizes) in [(11, vec![4, 5, 6, 7, 8, 9, 10, 11, 16]), (20, vec![16, 64])] {
        let ways = Ways::new(ways).expect("from 1 to 32");
        let mut lab = Lab { llc: Llc::with_ways(ways), pool: Pool::new(ways), warm_only };
        for programs in sizes {
            for policy in policies
                .into_iter()
                .filter(|policy| only.as_ref().is_none_or(|only| only == policy))
            {
                for mix in ["drawn", "third", "half", "sensitive"] {
                    for event in ["exit", "exit-sensitive", "exit-drawn", "start", "alarm"] {
                        let case = Case { policy, mix, event, programs };
                        match policy {
                            "lfoc" => lab.measure(case, Lfoc::default, &mut memory),
                            "lfoc-plus" => {
                                lab.measure(case, || Lfoc::new(Parameters::plus()), &mut memory);
                            }
                            "kpart" => lab.measure(case, KPart::default, &mut memory),
                            _ => lab.measure(case, Fairways::default, &mut memory),
                        }
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Case {
    policy: &'static str,
    mix: &'static str,
    event: &'static str,
    programs: usize,
}

/// Whether a decision of this policy takes long enough to be timed warm only.
fn is_slow(policy: &str) -> bool {
    matches!(policy, "kpart" | "fairways")
}

struct Lab {
    llc: Llc,
    pool: Pool,
    warm_only: bool,
}

impl Lab {
    fn measure<P: Policy>(&mut self, case: Case, make: impl Fn() -> P, memory: &mut [u8]) {
        let Case { policy, mix, event, programs } = case;
        let ways = self.llc.ways;
        let row = |state: &str, round: usize, ns: f64| {
            println!("{policy},{event},{state},{mix},{programs},{ways},{round},{ns:.1}");
        };
        let slow = is_slow(policy) || self.warm_only;
        let is_one_mix =
            matches!(event, "alarm" | "exit-sensitive" | "exit-drawn") && mix != "drawn";
        if (policy == "kpart" && programs > 16) || is_one_mix {
            return;
        }
        if is_slow(policy) && event.starts_with("exit-") {
            return;
        }
        let is_skipped = ![4, 8, 16, 64].contains(&programs) || (programs >= 16 && mix != "drawn");
        if policy == "fairways" && is_skipped {
            return;
        }
        for round in 1..=ROUNDS {
            row("warm", round, self.warm(case, &make));
            if !slow {
                row("evicted", round, self.evicted(case, &make, memory));
            }
        }
        if !slow {
            for (round, ns) in (1..).zip(self.cold(case, &make)) {
                row("cold", round, ns);
            }
        }
    }

    fn warm<P: Policy>(&mut self, case: Case, make: impl Fn() -> P) -> f64 {
        let subjects = match case {
            Case { policy: "fairways", programs: 16.., .. } => 1,
            _ => TOGETHER,
        };
        let mut subjects: Vec<_> = (0..subjects).map(|_| Subject::new(self.llc, make())).collect();
        let mut spent = Duration::ZERO;
        let batches = match case {
            Case { policy, programs: 64.., .. } if is_slow(policy) => 1,
            Case { policy, .. } if is_slow(policy) => WARM_BATCHES_SLOW,
            _ => WARM_BATCHES,
        };
        for _ in 0..batches {
            let events: Vec<_> =
                subjects.iter_mut().map(|subject| subject.prepare(&mut self.pool, case)).collect();
            events.iter().for_each(read);
            let start = Instant::now();
            for (subject, event) in subjects.iter_mut().zip(&events) {
                subject.handle(black_box(event));
            }
            spent += start.elapsed();
        }
        spent.as_nanos() as f64 / (batches * subjects.len()) as f64
    }

    /// The medians of [`ROUNDS`] rounds over different policies.
    fn cold<P: Policy>(&mut self, case: Case, make: impl Fn() -> P) -> Vec<f64> {
        let mut subjects: Vec<_> =
            (0..COLD_POLICIES).map(|_| Subject::new(self.llc, make())).collect();
        for subject in &mut subjects {
            subject.grow(&mut self.pool, case.programs);
        }
        let events: Vec<_> =
            subjects.iter_mut().map(|subject| subject.prepare(&mut self.pool, case)).collect();
        // A stride that visits every policy once, far from the one before.
        let mut index = 0;
        let each = COLD_POLICIES / ROUNDS;
        let mut round = || {
            let times = (0..each).map(|_| {
                index = (index + 7919) % COLD_POLICIES;
                subjects[index].timed(&events[index])
            });
            median(times.collect())
        };
        (0..ROUNDS).map(|_| round()).collect()
    }

    fn evicted<P: Policy>(&mut self, case: Case, make: impl Fn() -> P, memory: &mut [u8]) -> f64 {
        let mut subject = Subject::new(self.llc, make());
        subject.grow(&mut self.pool, case.programs);
        let mut decide = || {
            let event = subject.prepare(&mut self.pool, case);
            for line in memory.chunks_mut(64) {
                line[0] = line[0].wrapping_add(1);
            }
            black_box(&memory);
            // The clock's own code and data are not timed.
            black_box(Instant::now());
            subject.timed(&event)
        };
        median((0..EVICTED_DECISIONS).map(|_| decide()).collect())
    }
}

/// Brings an event's profile into the cache, as if it had just been measured.
fn read(event: &Event) {
    if let Event::Started { profile: Some(profile), .. } = event {
        black_box(Profile::clone(profile));
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A policy and the programs that it manages.
struct Subject<P> {
    policy: P,
    next: u32,
    running: Vec<AppId>,
    /// The class of each program that runs, where programs are replaced one by one.
    classes: Vec<usize>,
}

impl<P: Policy> Subject<P> {
    fn new(llc: Llc, policy: P) -> Self {
        let mut subject = Self { policy, next: 0, running: Vec::new(), classes: Vec::new() };
        subject.handle(&Event::Machine(llc.into()));
        subject
    }

    fn handle(&mut self, event: &Event) {
        self.policy.handle(Time::ZERO, event, &mut |action| {
            let Action::Partition { partition, .. } = action else { return };
            black_box(partition);
        });
    }

    fn timed(&mut self, event: &Event) -> f64 {
        let start = Instant::now();
        self.handle(black_box(event));
        start.elapsed().as_nanos() as f64
    }

    fn started(&mut self, profile: Arc<Profile>) -> Event {
        let app = AppId(self.next);
        self.next += 1;
        self.running.push(app);
        Event::Started { app, wish: Wish::default(), profile: Some(profile) }
    }

    /// Starts as many programs of each class as a mix may have, so that nothing is allocated later.
    fn grow(&mut self, pool: &mut Pool, programs: usize) {
        for class in [STREAMING, LIGHT, SENSITIVE] {
            for _ in 0..=programs {
                let event = self.started(pool.take(class));
                self.handle(&event);
            }
            for app in std::mem::take(&mut self.running) {
                self.handle(&Event::Exited { app });
            }
        }
    }

    /// Replaces the oldest program by another of its class, and prepares an event, which is
    /// returned. The first time, the whole mix starts.
    fn replace(&mut self, pool: &mut Pool, case: Case) -> Event {
        if self.running.is_empty() {
            for (class, count) in pool.mix(case.mix, case.programs).into_iter().enumerate() {
                for _ in 0..count {
                    let event = self.started(pool.take(class));
                    self.handle(&event);
                    self.classes.push(class);
                }
            }
        }
        let oldest = self.running.remove(0);
        self.handle(&Event::Exited { app: oldest });
        let class = self.classes.remove(0);
        self.classes.push(class);
        let started = self.started(pool.take(class));
        match case.event {
            "start" => started,
            "alarm" => {
                self.handle(&started);
                Event::Woke
            }
            _ => {
                self.handle(&started);
                let another = self.started(pool.take(LIGHT));
                self.handle(&another);
                Event::Exited { app: self.running.pop().expect("one has just started") }
            }
        }
    }

    /// Ends the mix and starts another one up to its last event, which is returned.
    fn prepare(&mut self, pool: &mut Pool, case: Case) -> Event {
        if case.policy == "fairways" {
            return self.replace(pool, case);
        }
        for app in std::mem::take(&mut self.running) {
            self.handle(&Event::Exited { app });
        }
        let mut events = Vec::new();
        for (class, count) in pool.mix(case.mix, case.programs).into_iter().enumerate() {
            for _ in 0..count {
                events.push(self.started(pool.take(class)));
            }
        }
        let last = match case.event {
            "start" => events.pop().expect("a mix has a program"),
            "alarm" => Event::Woke,
            _ => {
                let class = match case.event {
                    "exit-sensitive" => SENSITIVE,
                    "exit-drawn" => pool.draw(),
                    _ => LIGHT,
                };
                events.push(self.started(pool.take(class)));
                Event::Exited { app: self.running.pop().expect("one has just started") }
            }
        };
        for event in &events {
            self.handle(event);
        }
        last
    }
}

/// Profiles by class, used one after the other.
struct Pool {
    profiles: [Vec<Arc<Profile>>; 3],
    next: [usize; 3],
    rng: Pcg64Mcg,
}

const STREAMING: usize = 0;
const LIGHT: usize = 1;
const SENSITIVE: usize = 2;

impl Pool {
    fn new(ways: Ways) -> Self {
        const EACH: usize = 2000;
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let platform = ProfilingMachine {
            ways,
            mb_per_way: 27.5 / f64::from(ways.get()),
            ..ProfilingMachine::EMBEDDED
        };
        let mut of_kind = |kind, class| {
            let mut profiles = Vec::new();
            while profiles.len() < EACH {
                let programs: Vec<_> =
                    (0..EACH).map(|_| MemoryBehaviour::random(kind, &mut rng)).collect();
                let table = platform.table(&programs, profiles.len() as u64);
                let all = (0..EACH).map(|program| table.profile(program));
                profiles.extend(
                    all.filter(|p| classify(p, ways, &Parameters::default()) == class)
                        .map(Arc::new),
                );
            }
            profiles
        };
        let profiles = [
            of_kind(BehaviourKind::Streaming, Class::Streaming),
            of_kind(BehaviourKind::Light, Class::Light),
            of_kind(BehaviourKind::Sensitive, Class::Sensitive),
        ];
        Self { profiles, next: [0; 3], rng: Pcg64Mcg::seed_from_u64(2) }
    }

    fn take(&mut self, class: usize) -> Arc<Profile> {
        let profiles = &self.profiles[class];
        self.next[class] = (self.next[class] + 1) % profiles.len();
        Arc::clone(&profiles[self.next[class]])
    }

    /// A class, drawn as often as it is among the measured programs.
    fn draw(&mut self) -> usize {
        match self.rng.next_u32() % 55 {
            0..12 => STREAMING,
            12..40 => LIGHT,
            _ => SENSITIVE,
        }
    }

    /// The number of programs of each class, in the order in which they start.
    fn mix(&mut self, name: &str, programs: usize) -> [usize; 3] {
        let mut counts = [0; 3];
        match name {
            "drawn" => {
                for _ in 0..programs {
                    counts[self.draw()] += 1;
                }
            }
            "third" => {
                let (streaming, sensitive) = (programs.div_ceil(4), programs.div_ceil(3));
                counts = [streaming, programs - streaming - sensitive, sensitive];
            }
            "half" => {
                let (streaming, sensitive) = (programs.div_ceil(4), programs / 2);
                counts = [streaming, programs - streaming - sensitive, sensitive];
            }
            _ => counts[SENSITIVE] = programs,
        }
        counts
    }
}
