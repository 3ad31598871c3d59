//! Promises of the chip's operating system: which threads run, where, and for how long.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_chip::program::{Accesses, Mixture, MixturePart, Pattern};
use fairways_chip::{
    Chip, ChipError, Geometry, Job, Phase, PhaseLength, Scheduling, SchedulingClass, Settings,
    SimulatedProgram, StorePath, preset,
};
use fairways_core::{
    Action, AppId, CoRun, EndedTurn, Event, Machine, Q32, ThreadId, Time, WayMask, WindowLength,
};
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

/// A chip of `cores` single-threaded cores with turns of 2 ms, at ticks of 0.1 ms.
fn settings(cpus: u32) -> Settings {
    let chip = Geometry { cores: cpus, threads: 1, ..preset::preset("t1").unwrap() };
    let scheduling =
        Scheduling { quantum: 2 * MS, tick: MS / 10, system: false, ..Scheduling::default() };
    Settings { scheduler: Some(scheduling), ..Settings::new(chip) }
}

fn busy() -> Job {
    Job::new(SimulatedProgram::new(Accesses::Pattern(Pattern::Busy), 1.0, 1.0))
}

/// Runs a chip until `end` and returns all its events; `act` answers them.
fn run(
    settings: Settings,
    jobs: Vec<Job>,
    end: Duration,
    mut act: impl FnMut(Time, &Event, &mut Chip),
) -> Chip {
    let mut chip = Chip::new(settings, jobs).unwrap();
    chip.stop_at(Time::ZERO.after(end));
    while let Some((at, event)) = chip.next_event() {
        act(at, &event, &mut chip);
    }
    chip
}

fn thread(app: u32) -> ThreadId {
    ThreadId::first_of(AppId(app))
}

fn allow(chip: &mut Chip, app: u32, cpus: &[u32]) {
    chip.carry_out(Action::Allow {
        thread: thread(app),
        cpus: cpus.into(),
        reason: "a test".into(),
    });
}

/// The share of a CPU that each job had.
fn shares(chip: &Chip, jobs: usize, of: Duration) -> Vec<f64> {
    let cycles = of.as_secs_f64() * 992e6;
    (0..jobs).map(|job| chip.account(job).cycles() / cycles).collect()
}

#[test]
fn the_machine_reports_its_cpus_and_the_turns_of_threads() {
    let mut reported = Vec::new();
    run(settings(1), vec![busy(), busy()], 9 * MS, |at, event, _| {
        reported.push((at, event.clone()))
    });
    assert!(matches!(reported[0].1, Event::Machine(_)));
    let Event::Cpus(cpus) = reported[1].1 else { panic!("{:?}", reported[1]) };
    assert_eq!((cpus.count, cpus.quantum), (1, 2 * MS));
    let turns = reported.iter().filter_map(|(at, event)| match event {
        Event::QuantumGiven(slice) => Some((*at, *slice)),
        _ => None,
    });
    let turns: Vec<(Time, EndedTurn)> = turns.collect();
    assert_eq!(turns.len(), 4);
    for (index, (at, slice)) in (0u32..).zip(turns) {
        assert_eq!(at, Time::ZERO.after(2 * MS * (index + 1)));
        let turn = EndedTurn { thread: thread(index % 2), cpu: 0, ordered: 2 * MS, ran: 2 * MS };
        assert_eq!(slice, turn);
    }
}

#[test]
fn equals_get_equal_shares_wherever_they_wait() {
    for (cpus, threads) in [(1, 3), (2, 3), (2, 4), (3, 5), (8, 18)] {
        let span = 400 * MS;
        let chip = run(settings(cpus), vec![busy(); threads], span, |_, _, _| {});
        let fair = f64::from(cpus) / threads as f64;
        for share in shares(&chip, threads, span) {
            assert!((share / fair - 1.0).abs() < 0.02, "{cpus} CPUs, {threads}: {share}");
        }
    }
}

/// Solaris' time-sharing class.
fn time_sharing(cpus: u32, system: bool) -> Settings {
    let class = SchedulingClass::TimeSharing;
    let scheduling = Scheduling { class, system, ..Scheduling::default() };
    Settings { scheduler: Some(scheduling), time_scale: 100, ..settings(cpus) }
}

/// By the table of `ts_dptbl(4)`: lower levels have longer turns. A thread that waits when a second
/// begins rises and preempts a lower one, which later uses the rest of its turn.
#[test]
fn time_sharing_is_a_feedback_queue() {
    let mut turns = Vec::new();
    run(time_sharing(1, false), vec![busy(), busy()], 1610 * MS, |_, event, _| {
        if let Event::QuantumGiven(slice) = event {
            assert_eq!(slice.ordered, 200 * MS);
            turns.push((slice.thread.app.0, slice.ran.as_millis()));
        }
    });
    let falling = [(0, 120), (1, 120), (0, 160), (1, 160), (0, 200), (1, 200), (0, 40)];
    let raised = [(1, 40), (1, 40), (1, 80), (1, 120), (1, 160)];
    assert_eq!(turns, [&falling[..], &raised, &[(0, 160)]].concat());
}

#[test]
fn in_time_sharing_nobody_starves_and_shares_differ() {
    let span = Duration::from_secs(4);
    let chip = run(time_sharing(8, true), vec![busy(); 18], span, |_, _, _| {});
    let shares = shares(&chip, 18, span / 100);
    let all: f64 = shares.iter().sum();
    assert!((7.9..=8.0).contains(&all), "{all}");
    assert!(shares.iter().all(|share| (0.2..0.8).contains(share)), "{shares:?}");
    // A thread that an order is for has that turn, whatever its level.
    let mut ran = Vec::new();
    run(time_sharing(1, false), vec![busy(), busy()], 400 * MS, |_, event, chip| match event {
        Event::Started { app, .. } if app.0 == 0 => chip.carry_out(Action::Quantum {
            thread: thread(0),
            time: 50 * MS,
            reason: "a test".into(),
        }),
        Event::QuantumGiven(slice) => ran.push(slice.ran),
        _ => {}
    });
    assert_eq!(ran[..2], [50 * MS, 120 * MS]);
}

fn nap(span: Duration) -> Phase {
    Phase { program: None, length: Some(PhaseLength::Time(span)) }
}

fn work(span: Duration) -> Phase {
    Phase { length: Some(PhaseLength::Time(span)), ..busy().phases[0].clone() }
}

/// A thread that sleeps returns to a higher level than one that only runs, and preempts it.
#[test]
fn in_time_sharing_those_that_sleep_come_first() {
    let sleeper = Job { phases: vec![nap(95 * MS), work(5 * MS)], ..busy() };
    let span = Duration::from_secs(2);
    let mut slept = Vec::new();
    run(time_sharing(1, false), vec![busy(), sleeper], span, |_, event, _| {
        if let Event::QuantumGiven(slice) = event {
            slept.extend((slice.thread == thread(1)).then_some(slice.ran));
        }
    });
    // It has its five milliseconds whenever it wakes, to a tick.
    assert!(slept.len() >= 19, "{slept:?}");
    assert!(slept.iter().all(|ran| *ran >= 4 * MS && *ran <= 15 * MS), "{slept:?}");
}

fn order(chip: &mut Chip, app: u32, time: Duration) {
    chip.carry_out(Action::Quantum { thread: thread(app), time, reason: "a test".into() });
}

/// A thread gets the share of CPU time that a policy orders, on its own CPU and everywhere.
#[test]
fn orders_are_shares_of_time() {
    for (cpus, threads) in [(1, 3), (2, 4), (2, 5)] {
        let span = 600 * MS;
        // Half as much again for one, half for another; each order is for a turn.
        let chip = run(settings(cpus), vec![busy(); threads], span, |_, event, chip| match event {
            Event::Started { app, .. } if app.0 == 0 => order(chip, 0, 3 * MS),
            Event::Started { app, .. } if app.0 == 1 => order(chip, 1, MS),
            Event::QuantumGiven(slice) if slice.thread == thread(0) => {
                assert_eq!((slice.ordered, slice.ran), (3 * MS, 3 * MS));
                order(chip, 0, 3 * MS);
            }
            Event::QuantumGiven(slice) if slice.thread == thread(1) => {
                assert_eq!((slice.ordered, slice.ran), (MS, MS));
                order(chip, 1, MS);
            }
            Event::QuantumGiven(slice) => assert_eq!(slice.ran, 2 * MS),
            _ => {}
        });
        let fair = f64::from(cpus) / threads as f64;
        let expected = (0..threads).map(|job| match job {
            0 => 1.5 * fair,
            1 => 0.5 * fair,
            _ => fair,
        });
        for (share, expected) in shares(&chip, threads, span).into_iter().zip(expected) {
            assert!((share / expected - 1.0).abs() < 0.03, "{cpus}, {threads}: {share} {expected}");
        }
    }
}

#[test]
fn an_order_is_for_one_turn() {
    let mut ran = Vec::new();
    run(settings(1), vec![busy(), busy()], 20 * MS, |_, event, chip| match event {
        Event::Cpus(_) => {}
        Event::Started { app, .. } => chip.carry_out(Action::Quantum {
            thread: ThreadId::first_of(*app),
            time: 3 * MS / 2,
            reason: "a test".into(),
        }),
        Event::QuantumGiven(slice) => ran.push(slice.ran),
        _ => {}
    });
    assert_eq!(ran[..4], [3 * MS / 2, 3 * MS / 2, 2 * MS, 2 * MS]);
    // Turns end at ticks.
    let mut ran = Vec::new();
    run(settings(1), vec![busy(), busy()], 20 * MS, |_, event, chip| match event {
        Event::Started { .. } => chip.carry_out(Action::Quantum {
            thread: thread(0),
            time: MS + MS / 50,
            reason: "a test".into(),
        }),
        Event::QuantumGiven(slice) => ran.push((slice.ordered, slice.ran)),
        _ => {}
    });
    assert_eq!(ran[0], (MS + MS / 50, MS + MS / 10));
}

/// Which thread ran where, from the turns that ended.
fn turns(event: &Event) -> Option<EndedTurn> {
    if let Event::QuantumGiven(slice) = event { Some(*slice) } else { None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Threads run only where they may; and no CPU is idle while a waiting thread may run there.
    #[test]
    fn nobody_runs_where_it_may_not(
        cpus in 1u32..=6,
        bounds in prop::collection::vec((0u32..6, 0u32..6), 1..14),
        change in 0u64..12,
    ) {
        // Nested sets, as CASC's buckets make them: from a CPU on up to the last.
        let set = |bound: u32| (bound.min(cpus - 1)..cpus).collect::<Vec<u32>>();
        let span = 30 * MS;
        let changes = Time::ZERO.after(MS * u32::try_from(change).unwrap());
        let (mut ran, mut is_late) = (Vec::new(), false);
        let chip = run(settings(cpus), vec![busy(); bounds.len()], span, |at, event, chip| {
            match event {
                Event::Started { app, .. } => allow(chip, app.0, &set(bounds[app.0 as usize].0)),
                Event::QuantumGiven(_) if at >= changes && !is_late => {
                    is_late = true;
                    for (app, bound) in (0..).zip(&bounds) {
                        allow(chip, app, &set(bound.1));
                    }
                    ran.clear();
                    return;
                }
                _ => {}
            }
            ran.extend(turns(event).map(|slice| (at, slice)));
        });
        for (at, slice) in &ran {
            let (before, after) = bounds[slice.thread.app.0 as usize];
            let first = set(if is_late { after } else { before })[0];
            // A turn that began before the sets changed ends at once if it may not continue.
            let began = Time::from_nanos(at.nanos() - u64::try_from(slice.ran.as_nanos()).unwrap());
            prop_assert!(slice.cpu >= first || (is_late && began <= changes.after(2 * MS)), "{slice:?}");
        }
        // Nested sets: as many CPUs are busy as a matching can make.
        let busiest = |of: fn(&(u32, u32)) -> u32| {
            let mut least: Vec<u32> = bounds.iter().map(|bound| of(bound).min(cpus - 1)).collect();
            least.sort_unstable();
            let mut free = cpus;
            // Starting with the most restricted: each takes the highest free CPU that it may run
            // on.
            least.iter().rev().filter(|&&first| free > first && { free -= 1; true }).count()
        };
        let cycles: f64 = (0..bounds.len()).map(|job| chip.account(job).cycles()).sum();
        let busy = cycles / (span.as_secs_f64() * 992e6);
        let (before, after) = (busiest(|bound| bound.0) as f64, busiest(|bound| bound.1) as f64);
        let least = if is_late { before.min(after) } else { before };
        prop_assert!(busy > least - 0.01, "{busy} of {least}");
    }
}

#[test]
fn raised_threads_run_before_others() {
    let jobs = vec![busy(); 5];
    let mut raised = false;
    let span = 100 * MS;
    let mut chip = Chip::new(settings(2), jobs).unwrap();
    chip.stop_at(Time::ZERO.after(span));
    let mut at_raise = [0.0; 5];
    let mut last = Vec::new();
    while let Some((at, event)) = chip.next_event() {
        if at >= Time::ZERO.after(20 * MS) && !raised {
            raised = true;
            let threads = [thread(1), thread(3), thread(4)];
            chip.carry_out(Action::Priority {
                threads: (&threads).into(),
                raised: true,
                reason: "a test".into(),
            });
            at_raise = std::array::from_fn(|job| chip.account(job).cycles());
        }
        last.extend(turns(&event));
    }
    let got: Vec<f64> = (0..5).map(|job| chip.account(job).cycles() - at_raise[job]).collect();
    assert!(got[0] < 3e3 && got[2] < 3e3, "{got:?}");
    let all: f64 = got.iter().sum();
    for job in [1, 3, 4] {
        assert!((got[job] / all - 1.0 / 3.0).abs() < 0.05, "{got:?}");
    }
    // All three pairs occurred.
    assert!(last.len() > 60);
}

/// The operating system's own thread runs at once whenever it wakes, and policies see it only in
/// the group's counters.
#[test]
fn the_system_runs_first_and_is_not_reported() {
    let program =
        SimulatedProgram::new(Accesses::Pattern(Pattern::Random { lines: 1 << 13 }), 1.0, 1.0);
    let reader = Job::new(program).phases[0].clone();
    let burst = Phase { length: Some(PhaseLength::Time(MS)), ..reader.clone() };
    let nap = Phase { program: None, length: Some(PhaseLength::Time(4 * MS)) };
    let system = Job { phases: vec![nap, burst], system: true, ..Job::default() };
    let span = 100 * MS;
    let (mut own, mut missed) = (0, 0);
    let chip = run(settings(1), vec![system, busy(), busy()], span, |_, event, chip| match event {
        Event::Cpus(_) => chip.carry_out(Action::WatchTogether { shortest: MS / 10 }),
        Event::Started { app, .. } => {
            assert_ne!(*app, AppId(0));
            // Nor does raising one put it above the system.
            let threads = [ThreadId::first_of(*app)];
            chip.carry_out(Action::Priority {
                threads: (&threads).into(),
                raised: true,
                reason: "a test".into(),
            });
        }
        Event::QuantumGiven(slice) => {
            assert_ne!(slice.thread, thread(0));
            own += 1;
        }
        Event::RanTogether(together) => {
            assert!(together.threads.iter().all(|ran| ran.thread != thread(0)));
            missed += together.group.llc_misses.unwrap();
        }
        _ => {}
    });
    let got = shares(&chip, 3, span);
    assert!((got[0] - 0.2).abs() < 0.005, "{got:?}");
    assert!((got[1] - 0.4).abs() < 0.02 && (got[2] - 0.4).abs() < 0.02, "{got:?}");
    // On one CPU it never runs beside another thread; its turns cut others short.
    assert!(own > 30 && missed == 0, "{own} {missed}");
    // Beside others, its misses are in the group's counters, and in no thread's.
    let always = Job { phases: vec![reader], system: true, ..Job::default() };
    let mut missed = (0, 0);
    run(settings(2), vec![always, busy(), busy()], 20 * MS, |_, event, chip| match event {
        Event::Cpus(_) => chip.carry_out(Action::WatchTogether { shortest: MS / 10 }),
        Event::RanTogether(together) => {
            assert_eq!(together.threads.len(), 1);
            missed.0 += together.threads[0].counters.llc_misses.unwrap();
            missed.1 += together.group.llc_misses.unwrap();
        }
        _ => {}
    });
    assert!(missed.0 == 0 && missed.1 > 1000, "{missed:?}");
}

#[test]
fn co_runs_are_reported_when_other_threads_run() {
    let mut reported: Vec<(Time, CoRun)> = Vec::new();
    run(settings(2), vec![busy(), busy(), busy()], 60 * MS, |at, event, chip| match event {
        Event::Cpus(_) => chip.carry_out(Action::WatchTogether { shortest: MS }),
        Event::RanTogether(together) => reported.push((at, together.clone())),
        _ => {}
    });
    assert!(reported.len() > 20);
    let mut groups = std::collections::BTreeSet::new();
    for (_, together) in &reported {
        let CoRun { threads, group, window } = together;
        assert!(threads.len() == 2 && *window >= MS);
        assert!(threads[0].thread < threads[1].thread);
        groups.insert((threads[0].thread, threads[1].thread));
        let cycles = window.as_secs_f64() * 992e6;
        let sum: u64 = threads.iter().map(|ran| ran.counters.cycles.unwrap()).sum();
        assert_eq!(group.cycles, Some(sum));
        for ran in threads {
            let share = ran.counters.cycles.unwrap() as f64 / cycles;
            assert!((share - 1.0).abs() < 0.01, "{share}");
        }
    }
    assert_eq!(groups.len(), 3);
    // A co-run that never ends is not reported; shorter ones are ignored.
    let mut count = 0;
    run(settings(2), vec![busy(), busy(), busy()], 60 * MS, |_, event, chip| match event {
        Event::Cpus(_) => chip.carry_out(Action::WatchTogether { shortest: 3 * MS }),
        Event::RanTogether(_) => count += 1,
        _ => {}
    });
    assert_eq!(count, 0);
}

#[test]
fn who_sleeps_leaves_its_cpu_and_comes_back() {
    let nap = vec![
        Phase { program: None, length: Some(PhaseLength::Time(5 * MS)) },
        Phase { length: Some(PhaseLength::Time(5 * MS)), ..busy().phases[0].clone() },
    ];
    let sleeper = Job { phases: nap, ..Job::default() };
    let span = 100 * MS;
    let chip = run(settings(1), vec![busy(), sleeper], span, |_, _, _| {});
    let got = shares(&chip, 2, span);
    // Awake half of the time, with half a CPU then.
    assert!((got[0] + got[1] - 1.0).abs() < 0.001, "{got:?}");
    assert!((0.2..0.32).contains(&got[1]), "{got:?}");
}

fn is_of_the_first(event: &&Event) -> bool {
    match event {
        Event::QuantumGiven(slice) => slice.thread == thread(0),
        Event::RanTogether(together) => together.threads[0].thread == thread(0),
        _ => false,
    }
}

#[test]
fn who_exits_frees_its_cpu_and_its_lines() {
    let short = Job { instructions: Some(3_000_000), ..busy() };
    let mut reported = Vec::new();
    let chip = run(settings(1), vec![short, busy(), busy()], 20 * MS, |_, event, chip| {
        if matches!(event, Event::Cpus(_)) {
            chip.carry_out(Action::WatchTogether { shortest: Duration::from_nanos(1) });
        }
        reported.push(event.clone());
    });
    let exit = reported.iter().position(|event| matches!(event, Event::Exited { .. })).unwrap();
    assert_eq!(reported[exit..].iter().filter(is_of_the_first).count(), 0);
    assert!(reported[..exit].iter().filter(is_of_the_first).count() >= 3);
    let busy: f64 = shares(&chip, 3, 20 * MS).iter().sum();
    assert!((busy - 1.0).abs() < 0.001, "{busy}");
}

/// CASC's Figure 1: a thread that runs for 20 % of its time and waits for the rest; four such
/// threads hide each other's waits.
#[test]
fn hardware_threads_hide_each_others_waits() {
    let parts = vec![MixturePart { share: 1.0, lines: 64 }];
    let mixture = Mixture { parts, per_kilo_instructions: 1000.0, stores: 0.0, missed: true };
    let program = SimulatedProgram::new(Accesses::Mixture(mixture), 1.0, 1.0);
    let ipc = |threads: usize| {
        let mut chip = preset::preset("t1").unwrap();
        (chip.cores, chip.latency.llc, chip.latency.l2) = (1, 4, 4);
        let settings = Settings::new(chip);
        let mut chip = Chip::new(settings, vec![Job::new(program.clone()); threads]).unwrap();
        chip.stop_at(Time::ZERO.after(10 * MS));
        while chip.next_event().is_some() {}
        let instructions: u64 = (0..threads).map(|job| chip.account(job).instructions).sum();
        instructions as f64 / (0.01 * 992e6)
    };
    let (one, four) = (ipc(1), ipc(4));
    assert!((one - 0.2).abs() < 0.001 && (four - 0.8).abs() < 0.004, "{one} {four}");
}

#[test]
fn a_pipeline_begins_an_instruction_a_cycle() {
    let mut chip = preset::preset("t1").unwrap();
    chip.cores = 1;
    let mut chip = Chip::new(Settings::new(chip), vec![busy(); 4]).unwrap();
    chip.stop_at(Time::ZERO.after(10 * MS));
    while chip.next_event().is_some() {}
    for job in 0..4 {
        let account = chip.account(job);
        let ipc = account.instructions as f64 / account.cycles();
        assert!((ipc - 0.25).abs() < 0.001, "{ipc}");
    }
}

#[test]
fn stores_wait_for_an_entry_only() {
    let parts = vec![MixturePart { share: 1.0, lines: 16 }];
    let program = |per_kilo_instructions| {
        let mixture =
            Mixture { parts: parts.clone(), per_kilo_instructions, stores: 1.0, missed: false };
        SimulatedProgram::new(Accesses::Mixture(mixture), 1.0, 1.0)
    };
    let run = |per_kilo| {
        let mut chip = preset::preset("t1-single").unwrap();
        chip.stores = StorePath::Through { buffer: 8 };
        let mut chip = Chip::new(Settings::new(chip), vec![Job::new(program(per_kilo))]).unwrap();
        chip.stop_at(Time::ZERO.after(10 * MS));
        while chip.next_event().is_some() {}
        let account = chip.account(0);
        assert_eq!(account.stall_ticks, 0);
        assert_eq!(account.banks.iter().sum::<u64>(), account.llc_references);
        (account.instructions as f64 / account.cycles(), account.store_ticks)
    };
    // 23 cycles each, eight under way: one in three cycles at best, and one in two at every second
    // instruction. One in ten causes no wait.
    let (ipc, waited) = run(1000.0);
    assert!((ipc - 8.0 / 23.0).abs() < 0.01 && waited > 0, "{ipc}");
    let (ipc, waited) = run(100.0);
    assert!((ipc - 1.0).abs() < 0.01 && waited < 1 << 20, "{ipc} {waited}");
}

/// A program that reads at random, and mostly misses.
fn misses() -> Job {
    let accesses = Accesses::Pattern(Pattern::Random { lines: 1 << 16 });
    Job::new(SimulatedProgram::new(accesses, 1.0, 1.0))
}

/// However short turns are: an access that is under way when its turn ends keeps the CPU, and its
/// cycles are counted once.
#[test]
fn cpu_time_is_given_once() {
    for (cpus, quantum) in [(1, 100), (2, 300), (3, 2000)] {
        let quantum = Duration::from_nanos(quantum);
        let scheduling =
            Scheduling { quantum, tick: quantum / 10, system: false, ..Scheduling::default() };
        let settings = Settings { scheduler: Some(scheduling), ..settings(cpus) };
        let span = MS / 4;
        let mut reported = 0;
        let chip = run(settings, vec![misses(); 5], span, |_, event, chip| match event {
            Event::Cpus(_) => chip.carry_out(Action::WatchTogether { shortest: quantum / 100 }),
            Event::Started { app, .. } => {
                let every = WindowLength::Time(Duration::from_nanos(50));
                chip.carry_out(Action::Watch { app: *app, every });
            }
            Event::Sampled(sample) => {
                let (ran, stalled) = (sample.counters.cycles, sample.counters.stalls_l2_miss);
                assert!(ran <= Some(51) && stalled <= Some(51), "{sample:?}");
                reported += ran.unwrap();
            }
            _ => {}
        });
        let all = shares(&chip, 5, span).iter().sum::<f64>() / f64::from(cpus);
        assert!((0.98..=1.001).contains(&all), "{cpus} CPUs, {quantum:?}: {all}");
        // Windows add up, except for the last ones and rounding.
        assert!(reported as f64 > 0.9 * all * f64::from(cpus) * 992.0 * 250.0, "{reported}");
    }
}

#[test]
fn ways_of_a_cpu_are_filled_from_the_first_access_on() {
    for scheduler in [None, settings(2).scheduler] {
        let settings = Settings { scheduler, ..settings(2) };
        let mut chip = Chip::new(settings, vec![misses(), misses()]).unwrap();
        chip.fill_by_cpu(vec![WayMask::span(0, 1), WayMask::span(1, 3)]);
        chip.stop_at(Time::ZERO.after(8 * MS));
        while chip.next_event().is_some() {}
        let held = [0, 1].map(|job| chip.occupancy_of(job));
        assert!(held[0] <= Q32::ONE && held[1] <= Q32::from_int(3), "{held:?}");
        assert!(held[1] > Q32::from_int(2), "{held:?}");
    }
}

/// A line that makes room in a cache that several share goes back to its own set.
#[test]
fn dirty_lines_of_others_go_where_they_belong() {
    let parts = vec![MixturePart { share: 1.0, lines: 1500 }];
    let mixture = Mixture { parts, per_kilo_instructions: 300.0, stores: 0.5, missed: false };
    let program = SimulatedProgram::new(Accesses::Mixture(mixture), 1.0, 1.0);
    let skylake = preset::preset("skylake").unwrap();
    for (threads, scheduler, l2) in [
        (2, None, None),
        (2, None, skylake.l2),
        (1, settings(1).scheduler, None),
        (1, settings(1).scheduler, skylake.l2),
    ] {
        let chip = Geometry { cores: 1, threads, l2, ..skylake };
        let settings = Settings { scheduler, ..Settings::new(chip) };
        let mut chip = Chip::new(settings, vec![Job::new(program.clone()); 2]).unwrap();
        let mut lines = |ms| {
            chip.stop_at(Time::ZERO.after(MS * ms));
            while chip.next_event().is_some() {}
            chip.account(0).lines + chip.account(1).lines
        };
        let (before, after) = (lines(10), lines(20));
        assert_eq!(after - before, 0, "{threads} {scheduler:?} {l2:?}");
    }
}

/// The least important thread must make room.
#[test]
fn the_system_takes_the_place_of_the_lowest() {
    let burst = Phase { length: Some(PhaseLength::Time(MS)), ..busy().phases[0].clone() };
    let nap = Phase { program: None, length: Some(PhaseLength::Time(MS)) };
    let system = Job { phases: vec![burst, nap], system: true, ..Job::default() };
    let span = 100 * MS;
    let chip = run(settings(2), vec![system, busy(), busy()], span, |_, event, chip| {
        let Event::Started { app, .. } = event else { return };
        if app.0 == 1 {
            allow(chip, 1, &[0]);
            let (threads, reason) = ([thread(1)], "a test");
            chip.carry_out(Action::Priority {
                threads: (&threads).into(),
                raised: true,
                reason: reason.into(),
            });
        }
    });
    let got = shares(&chip, 3, span);
    assert!((got[1] - 1.0).abs() < 0.02 && (got[2] - 0.5).abs() < 0.02, "{got:?}");
}

#[test]
fn what_cannot_take_turns_is_refused() {
    let many = Chip::new(settings(2), vec![busy(); 64]).err().unwrap();
    assert_eq!(many.to_string(), "expected at most 63 programs, found 64");
    let with_system = Scheduling { system: true, ..Scheduling::default() };
    let with_system = Settings { scheduler: Some(with_system), ..settings(2) };
    let many = Chip::new(with_system, vec![busy(); 63]).err().unwrap();
    assert_eq!(many.to_string(), "expected at most 62 programs, found 63");
    let none = Scheduling { quantum: Duration::ZERO, ..Scheduling::default() };
    let none = Settings { scheduler: Some(none), ..settings(2) };
    assert_eq!(Chip::new(none, vec![busy()]).err().unwrap(), ChipError::Span("quantum"));
    let alone = Settings { scheduler: None, ..settings(2) };
    let many = Chip::new(alone, vec![busy(); 3]).err().unwrap();
    assert_eq!(many.to_string(), "expected at most 2 programs, one for each CPU, found 3");
}

fn events_of(seed: u64) -> Vec<String> {
    let mut reported = Vec::new();
    let program =
        SimulatedProgram::new(Accesses::Pattern(Pattern::Random { lines: 1 << 13 }), 1.5, 1.0);
    let chip = preset::preset("t1").unwrap();
    let settings = Settings { chip, seed, ..settings(2) };
    run(settings, vec![Job::new(program); 11], 12 * MS, |at, event, chip| {
        if matches!(event, Event::Cpus(_)) {
            chip.carry_out(Action::WatchTogether { shortest: MS / 10 });
        }
        reported.push(format!("{at:?} {event:?}"));
    });
    reported
}

#[test]
fn the_same_seed_gives_the_same_turns() {
    assert_eq!(events_of(1), events_of(1));
    assert_ne!(events_of(1), events_of(2));
}
