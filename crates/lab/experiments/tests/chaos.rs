//! Random runs of LFOC, KPart and Dunn on the machine over time: programs come, go, restart and
//! change phase, plans are refused, samples are lost, counters are off. No panic, no illegal plan,
//! no sampling mode without an end. A failure is one seed: `FAIRWAYS_SEED=n cargo test -p
//! fairways-experiments --test chaos`.
//!
//! `FAIRWAYS_RUNS` sets the number of runs (SPECIFICATION.md states 10 000); 400 without it.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fairways_core::{Action, AppId, Event, Levers, Llc, Observer, Policy, Time, Ways, Wish};
use fairways_experiments::job;
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_policy::dcat::{self, Dcat, SpareWaysGoal};
use fairways_policy::dunn::Dunn;
use fairways_policy::kpart::{self, KPart};
use fairways_policy::lfoc::{self, Lfoc, Parameters};
use fairways_profiles::{BandwidthModel, MemoryBandwidth, ProgramCatalog, embedded_programs};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SPAN: Duration = Duration::from_secs(20);

struct Dice(Pcg64Mcg);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    fn from(&mut self, least: u32, most: u32) -> u32 {
        least + u32::try_from(self.below(u64::from(most - least + 1))).unwrap()
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }

    fn share(&mut self, most: f64) -> f64 {
        most * f64::from(self.0.next_u32()) / f64::from(u32::MAX)
    }

    /// 0 half of the time.
    fn some(&mut self, most: f64) -> f64 {
        if self.one_in(2) { 0.0 } else { self.share(most) }
    }

    fn time(&mut self) -> Time {
        Time::ZERO
            .after(Duration::from_millis(self.below(u64::try_from(SPAN.as_millis()).unwrap())))
    }

    fn llc(&mut self, ways: Ways) -> Llc {
        let min_bits = if self.one_in(3) { self.from(1, 4).min(ways.get()) } else { 1 };
        Llc { ways, min_bits, contiguous: true, clos: self.from(1, 16) }
    }

    fn settings(&mut self, ways: Ways) -> Settings {
        let limit = 60_000.0 + self.share(60_000.0);
        let bandwidth = MemoryBandwidth::new(limit, BandwidthModel::Stalls);
        Settings {
            bandwidth: bandwidth.filter(|_| self.one_in(3)),
            noise: self.some(0.1),
            lost: self.some(0.7),
            overshoot: 1.0 + self.some(5.0),
            refusals: self.some(0.5),
            seed: self.0.next_u64(),
            ..Settings::new(self.llc(ways))
        }
    }

    fn job(&mut self, programs: &ProgramCatalog, ways: Ways) -> Job {
        let index = usize::try_from(self.below(programs.len() as u64)).unwrap();
        let scale = 0.005 + self.share(1.0);
        let instructions = self.one_in(2).then(|| 50_000_000 + self.below(20_000_000_000));
        Job {
            instructions,
            then: if self.one_in(2) { AfterRun::Restart } else { AfterRun::Exit },
            at: if self.one_in(2) { Time::ZERO } else { self.time() },
            wish: Wish::default(),
            profile: self.one_in(8).then(|| programs.profile(index, 1_000_000_000).into()),
            ..job(programs, index, ways, scale)
        }
    }
}

/// Counts of a run, so that runs without activity are noticed.
#[derive(Default)]
struct RunCounts {
    samplings: u64,
    refusals: u64,
    exits: u64,
    classified: u64,
}

impl RunCounts {
    fn and(&self, other: &Self) -> Self {
        Self {
            samplings: self.samplings + other.samplings,
            refusals: self.refusals + other.refusals,
            exits: self.exits + other.exits,
            classified: self.classified + other.classified,
        }
    }
}

fn run(seed: u64) -> RunCounts {
    let mut dice = Dice(Pcg64Mcg::seed_from_u64(seed));
    let programs = embedded_programs();
    let ways = Ways::new(dice.from(1, 20)).unwrap();
    let settings = dice.settings(ways);
    let count = dice.from(1, 20);
    let jobs: Vec<Job> = (0..count).map(|_| dice.job(programs, ways)).collect();
    let mut model = Model::new(settings, jobs);
    model.stop_at(Time::ZERO.after(SPAN));
    while dice.one_in(3) {
        let llc = dice.llc(ways);
        model.change(dice.time(), llc);
    }
    let parameters = Parameters {
        discarded_windows: dice.from(0, 3),
        windows_per_size: dice.from(1, 3),
        ..Parameters::default()
    };
    // A size takes a few windows, or is given up after this time without a usable window.
    let longest = parameters.decision_period * (parameters.sampling_patience + 4);
    match seed % 5 {
        0 => {
            let published = kpart::Parameters::default();
            let profile_period = 1_000_000_000;
            let mut policy = KPart::new(kpart::Parameters { profile_period, ..published });
            check(&mut model, &settings, &mut policy, kpart::SAMPLING, longest, |_, _, _| ()).0
        }
        4 => {
            let reclaim_on_ipc = dice.one_in(2);
            let objective = if dice.one_in(2) {
                SpareWaysGoal::MaxFairness
            } else {
                SpareWaysGoal::MaxPerformance
            };
            let published = dcat::Parameters::default();
            let mut policy = Dcat::new(dcat::Parameters { reclaim_on_ipc, objective, ..published });
            check(&mut model, &settings, &mut policy, "", longest, |_, _, _| ()).0
        }
        1 if dice.one_in(2) => {
            check(&mut model, &settings, &mut Dunn::default(), "", longest, |_, _, _| ()).0
        }
        _ => {
            let mut policy = Lfoc::new(parameters);
            let (done, state) = check(
                &mut model,
                &settings,
                &mut policy,
                lfoc::SAMPLING,
                longest,
                |policy: &Lfoc, at: Time, sampled: Option<AppId>| {
                    assert_eq!(policy.sampling(), sampled, "{at}");
                },
            );
            if settings.lost == 0.0 && settings.refusals == 0.0 {
                every_program_is_known(&model, &policy, &state);
            }
            done
        }
    }
}

/// The machine at the end.
struct State {
    llc: Llc,
    running: Vec<(AppId, Time)>,
    last_change: Time,
}

/// Without losses and refusals, every program is known at the end, or one is being sampled.
fn every_program_is_known(model: &Model, policy: &Lfoc, state: &State) {
    let (end, settled) = (model.now(), Duration::from_secs(15));
    let waiting = policy.sampling().is_some();
    if waiting || state.llc.max_clusters() < 2 || end.since(state.last_change) <= settled {
        return;
    }
    for &(app, since) in &state.running {
        let known = policy.class(app).is_some() || end.since(since) < settled;
        assert!(known, "{app} runs since {since} and is unknown at {end}");
    }
}

/// Runs a policy whose plans with this reason sample a program, with one number of ways not longer
/// than `longest`; `inspect` is called after each event with the program that is sampled.
fn check<P: Policy>(
    model: &mut Model,
    settings: &Settings,
    policy: &mut P,
    sampling: &str,
    longest: Duration,
    inspect: impl FnMut(&P, Time, Option<AppId>),
) -> (RunCounts, State) {
    let mut checks = Checks {
        refuses: settings.refusals > 0.0,
        sampling,
        longest,
        inspect,
        state: State { llc: settings.llc, running: Vec::new(), last_change: Time::ZERO },
        done: RunCounts::default(),
        session: None,
    };
    fairways_core::run(model, policy, &mut [&mut checks]);
    assert_eq!(model.failure(), None);
    (checks.done, checks.state)
}

/// What [`check`] checks.
struct Checks<'a, F> {
    /// Whether the machine refuses plans.
    refuses: bool,
    sampling: &'a str,
    longest: Duration,
    inspect: F,
    state: State,
    done: RunCounts,
    /// The program that is sampled, its ways, and since when.
    session: Option<(AppId, u32, Time)>,
}

impl<P, F: FnMut(&P, Time, Option<AppId>)> Observer<Model, P> for Checks<'_, F> {
    fn event(&mut self, at: Time, event: &Event, _: &Model) {
        let State { llc, running, last_change } = &mut self.state;
        match event {
            Event::Machine(Levers { llc: now, .. }) => (*llc, *last_change) = (*now, at),
            Event::Started { app, .. } => running.push((*app, at)),
            Event::Exited { app } => {
                running.retain(|(other, _)| other != app);
                self.done.exits += 1;
            }
            Event::Refused { why, .. } => {
                assert!(self.refuses, "{at}: an illegal plan: {why}");
                self.done.refusals += 1;
            }
            Event::Cpus(_)
            | Event::Wished { .. }
            | Event::Sampled(_)
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_)
            | Event::Applied { .. }
            | Event::Woke => {}
        }
    }

    fn action(&mut self, at: Time, action: &Action<'_>, _: &Model) {
        match action {
            Action::Partition { partition, reason, .. } => {
                let State { llc, running, .. } = &self.state;
                let legal = partition.check(llc, running.iter().map(|&(app, _)| app));
                assert_eq!(legal, Ok(()), "{at}: {partition:?}");
                if *reason == self.sampling {
                    let app = partition.placements()[0].app;
                    let own = partition.mask_of(app).unwrap().count();
                    if self.session.is_none_or(|(who, ways, _)| (who, ways) != (app, own)) {
                        self.session = Some((app, own, at));
                        self.done.samplings += 1;
                    }
                } else {
                    self.session = None;
                }
            }
            // The class before any measurement is no classification.
            Action::Classified { class, .. } => {
                self.done.classified += u64::from(*class != "unknown");
            }
            Action::Watch { .. }
            | Action::Wake { .. }
            | Action::WatchTogether { .. }
            | Action::Allow { .. }
            | Action::Priority { .. }
            | Action::Quantum { .. }
            | Action::Estimated { .. } => {}
        }
    }

    fn handled(&mut self, at: Time, _: &Event, _: &Model, policy: &P) {
        (self.inspect)(policy, at, self.session.map(|(app, ..)| app));
        if let Some((app, ways, since)) = self.session {
            assert!(
                at.since(since) < self.longest,
                "{at}: {app} is sampled at {ways} ways since {since}"
            );
        }
    }
}

#[test]
fn random_runs() {
    fn number(name: &str) -> Option<u64> {
        std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap())
    }
    if let Some(seed) = number("FAIRWAYS_SEED") {
        run(seed);
        return;
    }
    let runs = number("FAIRWAYS_RUNS").unwrap_or(400);
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = |first: u64| {
        (first..runs).step_by(usize::try_from(threads).unwrap()).fold(
            RunCounts::default(),
            |sum, seed| match catch_unwind(AssertUnwindSafe(|| run(seed))) {
                Ok(done) => sum.and(&done),
                Err(_) => panic!("run again with FAIRWAYS_SEED={seed}"),
            },
        )
    };
    let total = std::thread::scope(|scope| {
        let shares: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        shares.into_iter().fold(RunCounts::default(), |sum, share| sum.and(&share.join().unwrap()))
    });
    let RunCounts { samplings, refusals, exits, classified } = total;
    println!(
        "{runs} runs: {samplings} sizes sampled, {classified} classifications, {refusals} \
         refusals, {exits} exits"
    );
    assert!(samplings > runs && classified > runs && refusals > runs && exits > runs);
}
