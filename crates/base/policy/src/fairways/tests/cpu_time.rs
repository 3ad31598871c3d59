//! Turns for what the ways leave unfair: threads that run one after the other on one CPU.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Counters, Cpus, Curve, EndedTurn, Llc, Objective as Slo, Profile, Q32, Sample, ThreadId, Ways,
    Wish,
};

use crate::fairways::*;

const QUANTUM: u64 = 10_000_000;

/// Alone, each program takes a cycle per instruction. Here it takes so many hundredths.
struct TurnBench {
    policy: Fairways,
    now: u64,
    hundredths: BTreeMap<u32, u64>,
    orders: BTreeMap<u32, u64>,
    /// The time that each had.
    ran: BTreeMap<u32, u64>,
    /// What all had beyond a quantum a turn.
    extra: i128,
}

const BEST_EFFORT: Wish =
    Wish { best_effort: true, baseline_ways: None, objective: None, importance: None };

impl TurnBench {
    fn new(parameters: Parameters, programs: &[(u64, Wish)]) -> Self {
        let mut bench = Self {
            policy: Fairways::new(parameters),
            now: 0,
            hundredths: BTreeMap::new(),
            orders: BTreeMap::new(),
            ran: BTreeMap::new(),
            extra: 0,
        };
        bench.report(&Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()));
        bench.report(&Event::Cpus(Cpus { count: 1, quantum: Duration::from_nanos(QUANTUM) }));
        for (app, &(hundredths, wish)) in (0..).zip(programs) {
            bench.hundredths.insert(app, hundredths);
            let ways = Ways::new(8).unwrap();
            let [one, none] = [Q32::ONE, Q32::default()].map(|rate| Curve::from_fn(ways, |_| rate));
            let profile = Some(Arc::new(Profile {
                ipc: one,
                llcmpki: none,
                llcmpkc: none,
                bandwidth_mbps: none,
                stalls_l2_miss: none,
            }));
            bench.report(&Event::Started { app: AppId(app), wish, profile });
        }
        bench
    }

    fn report(&mut self, event: &Event) {
        let Self { policy, now, orders, .. } = self;
        policy.handle(Time::from_nanos(*now), event, &mut |action| {
            if let Action::Quantum { thread, time, reason } = action {
                assert!(!reason.is_empty());
                let time = u64::try_from(time.as_nanos()).unwrap();
                assert!((QUANTUM / 2..=2 * QUANTUM).contains(&time), "{time}");
                orders.insert(thread.app.0, time);
            }
        });
    }

    /// Each program has so many turns.
    fn turns(&mut self, count: u32) {
        for _ in 0..count {
            for (app, hundredths) in self.hundredths.clone() {
                let ran = self.orders.remove(&app).unwrap_or(QUANTUM);
                self.now += ran;
                *self.ran.entry(app).or_default() += ran;
                self.extra += i128::from(ran) - i128::from(QUANTUM);
                let counters = Counters {
                    cycles: Some(ran),
                    instructions: Some(ran * 100 / hundredths),
                    ..Counters::default()
                };
                self.report(&Event::QuantumGiven(EndedTurn {
                    thread: ThreadId::first_of(AppId(app)),
                    cpu: 0,
                    ordered: Duration::from_nanos(ran),
                    ran: Duration::from_nanos(ran),
                }));
                self.report(&Event::Sampled(Sample::new(
                    AppId(app),
                    counters,
                    Duration::from_nanos(ran),
                )));
            }
        }
    }

    /// After a second, the time that each had in the next 200 turns, in thousandths of a quantum a
    /// turn.
    fn settled(&mut self) -> Vec<u64> {
        self.turns(100);
        self.ran.clear();
        self.turns(200);
        let (promised, carry) = self.policy.cpu_time.books();
        assert_eq!(promised + self.extra, carry, "what is given is taken from another");
        self.ran.values().map(|ran| ran / (QUANTUM / 1000 * 200)).collect()
    }
}

/// A slowdown of 1.2 and 1.3, and a tenth of the time of one best-effort thread: 2.5 = 2.1 x 1.19,
/// so that the faster one keeps its share, and the slower one gets 1.3 over 1.2.
#[test]
fn a_slower_program_gets_time_of_best_effort_work() {
    let programs = [(120, Wish::default()), (130, Wish::default()), (100, BEST_EFFORT)];
    let [faster, slower, rest] = TurnBench::new(Parameters::default(), &programs).settled()[..]
    else {
        panic!()
    };
    assert!(faster.abs_diff(1000) < 10, "{faster}");
    assert!(slower.abs_diff(1083) < 10, "{slower}");
    assert!(rest.abs_diff(917) < 10, "{rest}");
}

/// What best-effort work may lose is not enough: the faster program gives the rest.
#[test]
fn beyond_the_bound_the_faster_programs_give() {
    let programs = [(100, Wish::default()), (200, Wish::default()), (100, BEST_EFFORT)];
    let [faster, slower, rest] = TurnBench::new(Parameters::default(), &programs).settled()[..]
    else {
        panic!()
    };
    // Half of the progress a turn, in nearly twice the time.
    assert!(slower.abs_diff(2 * faster) < slower / 20, "{faster} {slower}");
    assert!((895..=1005).contains(&rest), "{rest}");
}

#[test]
fn a_promised_program_never_gives_time_and_a_service_takes_no_part() {
    let objective = Slo { slo: Duration::from_millis(1), percentile: Q32::from_int(99) };
    let promised = Wish { baseline_ways: Some(2), ..Wish::default() };
    let service = Wish { objective: Some(objective), ..Wish::default() };
    let programs = [(100, promised), (200, Wish::default()), (150, service), (100, BEST_EFFORT)];
    let time = TurnBench::new(Parameters::default(), &programs).settled();
    assert!(time[0] >= 995 && time[2] == 1000, "{time:?}");
    assert!(time[1] > 1050 && time[3] >= 895, "{time:?}");
}

/// No best-effort work, none but that, another objective, and what turns it off.
#[test]
fn turns_are_as_usual_where_nothing_is_to_be_done() {
    let unequal = [(100, Wish::default()), (200, Wish::default()), (100, BEST_EFFORT)];
    let off = Parameters { compensate_cpu: false, ..Parameters::default() };
    let stp = Parameters { objective: Objective::Stp, ..Parameters::default() };
    for (parameters, programs) in [
        (Parameters::default(), &unequal[..2]),
        (Parameters::default(), &unequal[2..]),
        (off, &unequal[..]),
        (stp, &unequal[..]),
    ] {
        let time = TurnBench::new(parameters, programs).settled();
        assert!(time.iter().all(|&time| time == 1000), "{time:?}");
    }
}

/// Which only lets the slower one get all that it needs.
#[test]
fn without_a_bound_best_effort_work_pays_for_all() {
    let programs = [(100, Wish::default()), (140, Wish::default()), (100, BEST_EFFORT)];
    let free = Parameters { penalty_limit: 0, ..Parameters::default() };
    let time = TurnBench::new(free, &programs).settled();
    assert!(time[0].abs_diff(1000) < 10 && time[1].abs_diff(1400) < 10, "{time:?}");
    assert!(time[2].abs_diff(600) < 10, "{time:?}");
}

#[test]
fn an_exit_and_another_wish_end_the_part_of_a_program() {
    let programs = [(120, Wish::default()), (130, Wish::default()), (100, BEST_EFFORT)];
    let mut bench = TurnBench::new(Parameters::default(), &programs);
    bench.turns(100);
    bench.hundredths.remove(&2);
    bench.report(&Event::Exited { app: AppId(2) });
    bench.turns(4);
    // Without best-effort work, what was given and not taken is forgotten.
    bench.extra = 0;
    let time = bench.settled();
    assert!(time.iter().all(|time| time.abs_diff(1000) <= 1), "{time:?}");
    // One of the two is background work now.
    bench.report(&Event::Wished { app: AppId(0), wish: BEST_EFFORT });
    let time = bench.settled();
    assert!(time.iter().all(|time| time.abs_diff(1000) <= 1), "{time:?}");
}
