//! A policy reads no counter but those that it declares: a host counts no others for it.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_chip::program::named;
use fairways_chip::{Chip, Scheduling, preset};
use fairways_core::{
    Action, Counter, Counters, Event, Llc, Machine, Policy, Time, Ways, Wish, run,
};
use fairways_experiments::job;
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_policy::{Descriptor, POLICIES, descriptor};
use fairways_profiles::{BandwidthModel, MemoryBandwidth, embedded_programs};

/// The event without the counters that a host would not count.
fn uncounted(event: &Event, counters: &[Counter]) -> Event {
    fn strip(all: &mut Counters, counters: &[Counter]) {
        *all =
            Counters::from_fn(|counter| all.get(counter).filter(|_| counters.contains(&counter)));
    }
    let mut event = event.clone();
    match &mut event {
        Event::Sampled(sample) => strip(&mut sample.counters, counters),
        Event::RanTogether(together) => {
            strip(&mut together.group, counters);
            together.threads.iter_mut().for_each(|ran| strip(&mut ran.counters, counters));
        }
        _ => {}
    }
    event
}

/// A policy beside the same policy that gets no counters but these.
struct ComparedPolicy<'a> {
    whole: Box<dyn Policy>,
    part: Box<dyn Policy>,
    counters: &'a [Counter],
    /// How many windows there were.
    windows: usize,
    /// The first event that they answer differently.
    differs: Option<String>,
}

impl Policy for ComparedPolicy<'_> {
    fn name(&self) -> &'static str {
        self.whole.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.windows += usize::from(matches!(event, Event::Sampled(_) | Event::RanTogether(_)));
        let (mut all, mut alike) = (Vec::new(), Vec::new());
        self.whole.handle(at, event, &mut |action| {
            all.push(format!("{action:?}"));
            act(action);
        });
        let stripped = uncounted(event, self.counters);
        self.part.handle(at, &stripped, &mut |action| alike.push(format!("{action:?}")));
        if all != alike && self.differs.is_none() {
            self.differs = Some(format!("{} at {at}: {event:?}: {all:?} {alike:?}", self.name()));
        }
    }
}

/// Lets a policy decide on a machine, beside the same policy that gets no counters but these.
/// Returns how many windows there were, and the first event that they answer differently.
fn compare(
    policy: &Descriptor,
    counters: &[Counter],
    machine: &mut dyn Machine,
) -> (usize, Option<String>) {
    let [whole, part] = [0, 1].map(|_| policy.make(&[]).policy);
    let mut compared = ComparedPolicy { whole, part, counters, windows: 0, differs: None };
    run(machine, &mut compared, &mut []);
    (compared.windows, compared.differs)
}

fn model() -> Model {
    let ways = Ways::new(11).unwrap();
    let jobs = (0..6).map(|index| Job {
        then: AfterRun::Restart,
        wish: Wish { baseline_ways: Some(1), ..Wish::default() },
        ..job(embedded_programs(), index, ways, 0.05)
    });
    let bandwidth = MemoryBandwidth::new(20_000.0, BandwidthModel::Stalls);
    let settings = Settings { bandwidth, ..Settings::new(Llc::with_ways(ways)) };
    let mut model = Model::new(settings, jobs);
    model.stop_at(Time::ZERO.after(Duration::from_secs(30)));
    model
}

#[test]
fn a_policy_decides_alike_without_the_counters_that_it_does_not_declare() {
    for policy in POLICIES.iter().filter(|policy| !policy.schedules()) {
        let (windows, differs) = compare(policy, policy.counters, &mut model());
        assert_eq!(differs, None);
        assert!(windows > 0 || !policy.learns(), "{}", policy.name);
    }
}

/// The comparison finds a counter that is read and not declared.
#[test]
fn without_a_counter_that_it_reads_a_policy_decides_otherwise() {
    for (name, counter) in [
        ("lfoc", Counter::LlcMisses),
        ("dunn", Counter::StallsL2Miss),
        ("dcat", Counter::LlcReferences),
        ("kpart", Counter::LlcMisses),
        ("fairways", Counter::LlcMisses),
    ] {
        let policy = descriptor(name).unwrap();
        let others: Vec<Counter> =
            policy.counters.iter().copied().filter(|of| *of != counter).collect();
        let (_, differs) = compare(policy, &others, &mut model());
        assert!(differs.is_some(), "{name} without {}", counter.name());
    }
}

#[test]
fn a_policy_that_schedules_does_so_too() {
    for policy in POLICIES.iter().filter(|policy| policy.schedules()) {
        let names = ["art-like", "berkeley-db-like", "berkeley-db-like"];
        let jobs = (0..12).map(|thread| fairways_chip::Job::new(named(names[thread % 3]).unwrap()));
        let settings = fairways_chip::Settings {
            time_scale: 20,
            scheduler: Some(Scheduling { system: false, ..Scheduling::default() }),
            ..fairways_chip::Settings::new(preset::preset("t1").unwrap())
        };
        let mut chip = Chip::new(settings, jobs.collect::<Vec<_>>()).unwrap();
        chip.stop_at(Time::ZERO.after(Duration::from_secs(3)));
        let (windows, differs) = compare(policy, policy.counters, &mut chip);
        assert_eq!(differs, None);
        assert!(windows > 0, "{}", policy.name);
    }
}
