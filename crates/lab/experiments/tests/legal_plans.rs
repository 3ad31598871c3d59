//! With any machine and any programs, the machine accepts every plan.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use fairways_core::{
    Action, AppId, Curve, Event, Llc, MAX_WAYS, Machine, Partition, Profile, Q32, Time, WayMask,
    Ways, Wish, run,
};
use fairways_experiments::StaticMachine;
use fairways_policy::{POLICIES, by_name};
use proptest::prelude::*;

/// The policies that divide the cache.
fn dividing() -> impl Iterator<Item = &'static str> {
    POLICIES.iter().filter(|policy| !policy.schedules()).map(|policy| policy.name)
}

fn llcs() -> impl Strategy<Value = Llc> {
    (1u32..=32, 0u32..=5, 1u32..=20, any::<bool>()).prop_map(
        |(ways, min_bits, clos, contiguous)| {
            let ways = Ways::new(ways).unwrap();
            Llc { ways, min_bits: min_bits.min(ways.get()), contiguous, clos }
        },
    )
}

/// A curve from a few levels, so that ties and plateaus are common.
fn curves(levels: std::ops::Range<u32>) -> impl Strategy<Value = Curve> {
    prop::collection::vec(levels, 1..=MAX_WAYS)
        .prop_map(|values| Curve::new(values.into_iter().map(Q32::from_int)).unwrap())
}

fn profiles() -> impl Strategy<Value = Profile> {
    let shares = prop::collection::vec(0u64..=50, 1..=MAX_WAYS)
        .prop_map(|values| Curve::new(values.into_iter().map(|v| Q32::ratio(v, 50))).unwrap());
    (curves(1..12), curves(0..50), curves(0..50), curves(0..9000), shares).prop_map(
        |(ipc, llcmpki, llcmpkc, bandwidth_mbps, stalls_l2_miss)| Profile {
            ipc,
            llcmpki,
            llcmpkc,
            bandwidth_mbps,
            stalls_l2_miss,
        },
    )
}

/// A program's profile, if known, and its owner's request.
type StartingProgram = (Option<Arc<Profile>>, Wish);

fn programs() -> impl Strategy<Value = StartingProgram> {
    let wish = prop::option::of(0u32..12)
        .prop_map(|baseline_ways| Wish { baseline_ways, ..Wish::default() });
    (prop::option::weighted(0.8, profiles().prop_map(Arc::new)), wish)
}

/// An event after the programs have started.
#[derive(Clone, Debug)]
enum Later {
    Starts(StartingProgram),
    Exits(prop::sample::Index),
    Machine(Llc),
}

fn later() -> impl Strategy<Value = Later> {
    prop_oneof![
        3 => programs().prop_map(Later::Starts),
        4 => any::<prop::sample::Index>().prop_map(Later::Exits),
        1 => llcs().prop_map(Later::Machine),
    ]
}

/// Logs every plan that the machine is to carry out, and checks it.
struct Witness {
    machine: StaticMachine,
    log: String,
}

impl Machine for Witness {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        self.machine.next_event()
    }

    fn carry_out(&mut self, action: Action<'_>) {
        let asked = format!("{action:?}\n");
        self.machine.carry_out(action);
        assert_eq!(self.machine.refused(), None, "{asked}");
        self.log.push_str(&asked);
    }
}

/// Runs these programs and the later events: returns the machine at the end, the policy's actions,
/// and the events that alone would have led there.
fn history(
    name: &str,
    mut llc: Llc,
    programs: &[StartingProgram],
    later: &[Later],
) -> (StaticMachine, String, Vec<Event>) {
    let mut machine = StaticMachine::new(llc, programs.iter().cloned());
    fn start(app: AppId, (profile, wish): &StartingProgram) -> Event {
        Event::Started { app, wish: *wish, profile: profile.clone() }
    }
    let mut next = (0..).map(AppId);
    let mut running: Vec<(AppId, StartingProgram)> =
        next.by_ref().zip(programs.iter().cloned()).collect();
    // The zip has used one id more than there are programs: ids are never reused, gaps are fine.
    for event in later {
        match event {
            Later::Starts(program) => {
                let app = next.next().unwrap();
                machine.then(start(app, program));
                running.push((app, program.clone()));
            }
            Later::Exits(which) if !running.is_empty() => {
                let (app, _) = running.remove(which.index(running.len()));
                machine.then(Event::Exited { app });
            }
            Later::Exits(_) => {}
            Later::Machine(changed) => {
                llc = *changed;
                machine.then(Event::Machine(llc.into()));
            }
        }
    }
    let alone = std::iter::once(Event::Machine(llc.into()))
        .chain(running.iter().map(|(app, program)| start(*app, program)))
        .collect();
    let (machine, log) = watch(name, machine);
    (machine, log, alone)
}

fn watch(name: &str, machine: StaticMachine) -> (StaticMachine, String) {
    let mut witness = Witness { machine, log: String::new() };
    run(&mut witness, by_name(name).unwrap().as_mut(), &mut []);
    (witness.machine, witness.log)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_are_legal_complete_and_the_same_again(
        llc in llcs(),
        programs in prop::collection::vec(programs(), 0..40),
        later in prop::collection::vec(later(), 0..8),
    ) {
        for name in dividing() {
            let (machine, log, alone) = history(name, llc, &programs, &later);
            prop_assert_eq!(&log, &history(name, llc, &programs, &later).1, "{}", name);
            let Some((partition, _)) = machine.partition() else {
                prop_assert!(alone.len() == 1, "{} planned nothing", name);
                continue;
            };
            // Earlier events leave no trace, except in the position of dCat's and Locpart's masks:
            // these move little.
            let mut afresh = StaticMachine::new(llc, []);
            alone.iter().for_each(|event| afresh.then(event.clone()));
            let afresh = watch(name, afresh).0;
            if alone.len() > 1 && name == "locpart" {
                let widths = |partition: &Partition| {
                    let places = partition.placements().iter();
                    let width = |app| partition.mask_of(app).map(|mask| mask.count());
                    places.map(|place| (place.app, width(place.app))).collect::<BTreeMap<_, _>>()
                };
                prop_assert_eq!(Some(widths(partition)), afresh.partition().map(|plan| widths(plan.0)));
            } else if alone.len() > 1 && name != "dcat" {
                prop_assert_eq!(Some(partition), afresh.partition().map(|plan| plan.0));
            }
            let masks: Vec<WayMask> = partition.masks().collect();
            let contiguous = masks.iter().all(|mask| mask.is_contiguous());
            prop_assert!(contiguous, "{name}: {masks:?}");
            // Only Dunn's partitions overlap.
            let disjoint = (0..masks.len())
                .all(|i| masks[i + 1..].iter().all(|mask| !mask.overlaps(masks[i])));
            prop_assert!(disjoint || name == "dunn", "{name}: {masks:?}");
        }
    }

    /// Every way is used, except by `static`, which leaves the ways outside of baselines free, and
    /// by dCat, which gives spare ways only to programs that have gained from them.
    #[test]
    fn every_way_is_used(
        llc in llcs(),
        programs in prop::collection::vec(programs(), 1..20),
    ) {
        for name in dividing().filter(|name| !["static", "dcat"].contains(name)) {
            let (machine, ..) = history(name, llc, &programs, &[]);
            let (partition, _) = machine.partition().unwrap();
            let used = partition.masks().fold(0, |used, mask| used | mask.bits());
            prop_assert_eq!(used, WayMask::full(llc.ways).bits(), "{}: {:?}", name, partition);
        }
    }

    /// A baseline that fits beside the earlier ones is kept to the way.
    #[test]
    fn static_keeps_its_promises(
        baselines in prop::collection::vec(prop::option::of(1u32..6), 1..12),
        ways in 1u32..=32,
    ) {
        let llc = Llc { clos: 32, ..Llc::with_ways(Ways::new(ways).unwrap()) };
        let programs: Vec<_> =
            baselines.iter().map(|&baseline_ways| (None, Wish { baseline_ways, ..Wish::default() })).collect();
        let (machine, ..) = history("static", llc, &programs, &[]);
        let (partition, _) = machine.partition().unwrap();
        let promised: u32 = baselines.iter().flatten().sum();
        let rest = baselines.iter().any(Option::is_none);
        if promised + u32::from(rest) <= ways {
            for (app, baseline) in (0..).map(AppId).zip(&baselines) {
                if let Some(baseline) = baseline {
                    prop_assert_eq!(partition.mask_of(app).unwrap().count(), *baseline);
                }
            }
        }
    }
}
