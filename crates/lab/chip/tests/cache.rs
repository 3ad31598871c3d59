//! Sets, ways, masks and pages, compared with exact values.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::program::{Accesses, MissCurve, Mixture, MixturePart, Pattern};
use fairways_chip::{
    Account, CacheShape, Chip, Job, Phase, PhaseLength, Settings, SimulatedProgram, preset,
};
use fairways_core::{
    Action, AppId, Event, NoPolicy, Partition, PlanId, Policy, Time, WayMask, run,
};

const MB: u32 = 1 << 14;

/// A region with equally likely lines, behind the private caches.
fn region(lines: u32) -> SimulatedProgram {
    let parts = vec![MixturePart { share: 1.0, lines }];
    let mixture = Mixture { parts, per_kilo_instructions: 250.0, stores: 0.0, missed: true };
    SimulatedProgram::new(Accesses::Mixture(mixture), 0.5, 4.0)
}

/// Gives the first program this many ways, and the others the rest, whenever a program starts.
struct First(u32);

impl Policy for First {
    fn name(&self) -> &'static str {
        "first"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Event::Started { app: AppId(last), .. } = event else { return };
        let mut partition = Partition::default();
        let own = partition.add_cluster(WayMask::span(0, self.0));
        partition.place(AppId(0), own);
        if *last > 0 {
            let rest = partition.add_cluster(WayMask::span(self.0, 20 - self.0));
            partition.place_all((1..=*last).map(AppId), rest..=rest);
        }
        let plan = PlanId::default();
        act(Action::Partition { plan, partition: (&partition).into(), reason: "".into() });
    }
}

/// Gives the first program four ways, and from some time on all.
struct Grows(Time);

impl Policy for Grows {
    fn name(&self) -> &'static str {
        "grows"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let ways = match event {
            Event::Started { .. } => {
                act(Action::Wake { at: self.0 });
                4
            }
            Event::Woke => 20,
            _ => return,
        };
        let mut partition = Partition::default();
        let own = partition.add_cluster(WayMask::span(0, ways));
        partition.place(AppId(0), own);
        act(Action::Partition {
            plan: PlanId(ways),
            partition: (&partition).into(),
            reason: "".into(),
        });
    }
}

/// After a mask grows, misses fill it. With lines read at random, e^(-reads / lines) of the missing
/// lines have not been read since.
#[test]
fn a_grown_mask_fills_as_fast_as_misses_do() {
    let chip = preset::preset("xeon-e5").unwrap();
    let lines = f64::from(16 * MB);
    let grown = 20;
    let after = |millis: u64| {
        let job = Job::new(region(16 * MB));
        let mut chip = Chip::new(Settings::new(chip), [job]).unwrap();
        chip.stop_at(Time::ZERO.after(Duration::from_millis(millis)));
        run(&mut chip, &mut Grows(Time::ZERO.after(Duration::from_millis(grown))), &mut []);
        (chip.account(0), chip.occupancy(AppId(0)).unwrap())
    };
    let (start, held) = after(grown);
    let held = held.raw() as f64 / (1u64 << 32) as f64 * f64::from(chip.sets);
    let missing = lines - held;
    assert!((0.4..0.5).contains(&(missing / lines)), "{held}");
    for millis in [21, 22, 24, 28, 40] {
        let (account, occupancy) = after(millis);
        let reads = (account.llc_references - start.llc_references) as f64;
        let filled = (account.llc_misses - start.llc_misses) as f64;
        let expected = missing * (1.0 - (-reads / lines).exp());
        println!("{millis} ms: {filled} lines of {expected:.0}");
        assert!((filled - expected).abs() < 0.01 * lines, "{millis} ms: {filled} {expected}");
        let now = occupancy.raw() as f64 / (1u64 << 32) as f64 * f64::from(chip.sets);
        assert!((now - held - filled).abs() < 0.002 * lines, "{millis} ms: {now} {held} {filled}");
    }
}

/// Idle until 2 ms, busy for two million instructions, and idle again.
#[test]
fn phases_end_by_time_and_by_instructions() {
    let busy = Arc::new(region(MB));
    let phases = vec![
        Phase { program: None, length: Some(PhaseLength::Time(Duration::from_millis(2))) },
        Phase { program: Some(busy), length: Some(PhaseLength::Instructions(2_000_000)) },
        Phase { program: None, length: None },
    ];
    let job = Job { phases, ..Job::default() };
    let at = |micros: u64| {
        let chip = preset::preset("xeon-e5").unwrap();
        let mut chip = Chip::new(Settings::new(chip), [job.clone()]).unwrap();
        chip.stop_at(Time::ZERO.after(Duration::from_micros(micros)));
        run(&mut chip, &mut First(20), &mut []);
        chip.account(0)
    };
    assert_eq!(at(1999), Account::default());
    let early = at(2010);
    assert!(early.instructions > 0 && early.cycles() < 11.0 * 2300.0);
    let late = at(60_000);
    assert!((2_000_000..2_010_000).contains(&late.instructions), "{late:?}");
    assert_eq!(late, at(90_000));
}

/// An array that is read from end to end.
fn stream(lines: u32, overlap: f64) -> SimulatedProgram {
    let accesses = Accesses::Pattern(Pattern::Sequential { lines });
    SimulatedProgram::new(accesses, 0.5, overlap)
}

/// The counts of jobs in `ms` ms.
fn after(settings: Settings, jobs: &[Job], millis: u64) -> Vec<Account> {
    let mut chip = Chip::new(settings, jobs.iter().cloned()).unwrap();
    chip.stop_at(Time::ZERO.after(Duration::from_millis(millis)));
    run(&mut chip, &mut First(20), &mut []);
    (0..jobs.len()).map(|job| chip.account(job)).collect()
}

/// Phases of one program and another, in turn.
fn in_turn(programs: [SimulatedProgram; 2], lengths: [PhaseLength; 2]) -> Job {
    let phase =
        |(program, length)| Phase { program: Some(Arc::new(program)), length: Some(length) };
    Job { phases: programs.into_iter().zip(lengths).map(phase).collect(), ..Job::default() }
}

const BUSY: SimulatedProgram = SimulatedProgram::new(Accesses::Pattern(Pattern::Busy), 0.5, 1.0);

/// A stream that is interrupted continues where it was, and does not repeat lines.
#[test]
fn a_phase_goes_on_where_it_was_left() {
    let settings = Settings::new(preset::preset("xeon-e5").unwrap());
    let lengths =
        [PhaseLength::Time(Duration::from_millis(1)), PhaseLength::Time(Duration::from_micros(10))];
    let job = in_turn([stream(60 * MB, 8.0), BUSY], lengths);
    let account = &after(settings, &[job], 16)[0];
    let ratio = account.llc_misses as f64 / account.llc_references as f64;
    assert!(ratio > 0.98, "{ratio}");
}

/// However short phases are, no time is lost between them.
#[test]
fn short_phases_fill_the_time() {
    let settings = Settings::new(preset::preset("xeon-e5").unwrap());
    let whole = after(settings, &[Job::new(BUSY)], 5)[0];
    for count in [1, 10, 1000, 12_345] {
        let job = in_turn([BUSY, BUSY], [PhaseLength::Instructions(count); 2]);
        let parts = after(settings, &[job], 5)[0];
        let off = parts.instructions as f64 / whole.instructions as f64 - 1.0;
        assert!(off.abs() < 1e-3, "{count}: {parts:?} {whole:?}");
    }
}

/// A program that hardly accesses memory is not ahead of its time.
#[test]
fn instructions_are_counted_when_they_run() {
    let settings = Settings::new(preset::preset("xeon-e5").unwrap());
    let parts = vec![MixturePart { share: 1.0, lines: MB }];
    let mixture = Mixture { parts, per_kilo_instructions: 0.001, stores: 0.0, missed: true };
    let rare = SimulatedProgram::new(Accesses::Mixture(mixture), 0.5, 1.0);
    for millis in [1, 2, 3] {
        let account = after(settings, &[Job::new(rare.clone())], millis)[0];
        let expected = millis as f64 * 2.3e6 / 0.5;
        let off = account.instructions as f64 / expected - 1.0;
        assert!(off.abs() < 0.01, "{millis} ms: {account:?}");
    }
}

/// Whatever waits, and however many misses are under way, the bus moves no more than its bandwidth.
#[test]
fn nothing_exceeds_the_bus() {
    let chip = preset::preset("xeon-e5").unwrap();
    for (count, overlap) in [(4, 8.0), (18, 8.0), (18, 64.0)] {
        let jobs: Vec<Job> = (0..count).map(|_| Job::new(stream(60 * MB, overlap))).collect();
        let lines: u64 = after(Settings::new(chip), &jobs, 4).iter().map(|all| all.lines).sum();
        let mbps = lines as f64 * 64.0 / 4e-3 / 1e6;
        println!("{count} streams, overlap {overlap}: {mbps:.0} MB/s");
        assert!(mbps < 1.01 * chip.bandwidth_mbps, "{mbps}");
        assert!(count < 18 || mbps > 0.85 * chip.bandwidth_mbps, "{mbps}");
    }
}

/// Sets that are sampled are as full as they can be, and no fuller.
#[test]
fn occupancy_is_at_most_all_ways() {
    let mut chip = preset::preset("t1").unwrap();
    (chip.sets, chip.l1) = (100, CacheShape { sets: 1, ways: 1 });
    for set_sampling in [1, 3, 7, 64, 100] {
        let settings = Settings { set_sampling, ..Settings::new(chip) };
        let mut chip = Chip::new(settings, [Job::new(region(MB)), Job::new(region(MB))]).unwrap();
        chip.stop_at(Time::ZERO.after(Duration::from_millis(2)));
        run(&mut chip, &mut NoPolicy, &mut []);
        let held: f64 = (0..2).map(|job| chip.occupancy_of(job).raw() as f64).sum();
        let ways = held / (1u64 << 32) as f64;
        assert!((11.5..=12.0 + 1e-6).contains(&ways), "one of {set_sampling}: {ways}");
    }
}

/// The counts of the first job from `from` to `to`, in ms.
fn counted(settings: Settings, jobs: Vec<Job>, ways: u32, from: u64, to: u64) -> Account {
    let mut chip = Chip::new(settings, jobs).unwrap();
    let mut until = |end: u64| {
        chip.stop_at(Time::ZERO.after(Duration::from_millis(end)));
        run(&mut chip, &mut First(ways), &mut []);
        chip.account(0)
    };
    let (before, after) = (until(from), until(to));
    Account {
        instructions: after.instructions - before.instructions,
        ticks: after.ticks - before.ticks,
        llc_references: after.llc_references - before.llc_references,
        llc_misses: after.llc_misses - before.llc_misses,
        ..Account::default()
    }
}

fn hit_ratio(account: &Account) -> f64 {
    1.0 - account.llc_misses as f64 / account.llc_references as f64
}

/// E[min(K, w)] / lambda, where K, the lines of a set, is binomial: 576 colours of pages of 4 KB.
fn exact(mb: u32, ways: u32) -> f64 {
    let (pages, colours) = (mb * 256, 576.0);
    let mean = f64::from(pages) / colours;
    let mut likely = (1.0_f64 - 1.0 / colours).powi(i32::try_from(pages).unwrap());
    let mut held = 0.0;
    let mut beyond = 1.0;
    for lines in 0..ways {
        held += f64::from(lines) * likely;
        beyond -= likely;
        likely *= f64::from(pages - lines) / f64::from(lines + 1) / (colours - 1.0);
    }
    (held + f64::from(ways) * beyond) / mean
}

/// A random reader of 4 to 16 MB in 1 to 12 ways of a Xeon E5 v4.
#[test]
fn random_readers_hit_as_the_binomial_says() {
    // Some of the values that are known beforehand, to three digits.
    for (mb, ways, known) in [(4, 2, 0.766), (8, 4, 0.845), (8, 7, 0.987), (16, 10, 0.969)] {
        assert!((exact(mb, ways) - known).abs() < 6e-4, "{mb} MB, {ways} ways");
    }
    let chip = preset::preset("xeon-e5").unwrap();
    for mb in [4, 8, 16] {
        for ways in [1, 2, 4, 7, 12] {
            let settings = Settings { seed: u64::from(mb), ..Settings::new(chip) };
            let account = counted(settings, vec![Job::new(region(mb * MB))], ways, 20, 30);
            let (found, exact) = (hit_ratio(&account), exact(mb, ways));
            // The placement of pages is one of many: of 576 colours, each filled at random.
            let off = found - exact;
            println!("{mb} MB, {ways} ways: {found:.3}, {exact:.3}");
            assert!(off.abs() < 0.02, "{mb} MB, {ways} ways: {found} {exact}");
        }
    }
}

/// A program follows its miss curve with any number of ways, and whatever the sets.
#[test]
fn a_curve_is_followed() {
    let mpki = [40.0, 22.0, 22.0, 15.0, 9.0, 8.5, 6.0, 3.0, 2.5, 2.0, 1.0];
    for (name, ways) in [("xeon-e5", [1, 2, 3, 5, 8, 11, 20]), ("xeon-d", [1, 2, 4, 6, 7, 9, 11])] {
        let mut chip = preset::preset(name).unwrap();
        // Fewer sets are as good, and warm sooner.
        chip.sets = 4096;
        for ways in ways {
            let accesses = Accesses::Curve(MissCurve::new(50.0, &mpki).unwrap());
            let job = Job::new(SimulatedProgram::new(accesses, 0.5, 4.0));
            let account = counted(Settings::new(chip), vec![job], ways, 30, 45);
            let per_kilo = |count: u64| 1000.0 * count as f64 / account.instructions as f64;
            let misses = per_kilo(account.llc_misses);
            let asked = mpki[(ways as usize).min(11) - 1];
            println!("{name}, {ways} ways: {misses:.2} of {asked}");
            assert!((per_kilo(account.llc_references) - 50.0).abs() < 0.01);
            assert!((misses - asked).abs() < 0.02 * 50.0, "{name}, {ways}: {misses}, {asked}");
        }
    }
}
