//! Programs that stay in their phases end up as fast as in the static model, and the step does not
//! matter.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Action, AppId, Event, Llc, Machine, Partition, PlanId, Time, WayMask, Ways};
use fairways_model::{Job, JobPhase, Model, Settings};
use fairways_profiles::{ProfiledProgram, Scorer, embedded};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn below(rng: &mut Pcg64Mcg, limit: u32) -> u32 {
    rng.next_u32() % limit
}

fn jobs(mix: &[usize], ways: Ways) -> Vec<Job> {
    let phase = |&index: &usize| JobPhase {
        program: Arc::new(ProfiledProgram::new(embedded(), index, ways)),
        instructions: None,
    };
    mix.iter().map(|index| Job::new(vec![phase(index)])).collect()
}

/// Cuts the cache at random places, and deals the programs out to the pieces.
fn random_partition(rng: &mut Pcg64Mcg, programs: u32, ways: Ways) -> Partition {
    let clusters = 1 + below(rng, programs.min(5));
    let mut partition = Partition::default();
    let mut free = ways.get();
    for cluster in 0..clusters {
        let after = clusters - cluster - 1;
        let own = if after == 0 { free } else { 1 + below(rng, free - after) };
        free -= own;
        partition.add_cluster(WayMask::span(free, own));
    }
    for app in 0..programs {
        partition.place(AppId(app), if app < clusters { app } else { below(rng, clusters) });
    }
    partition
}

/// Collects all events up to `time`, and puts a partition in force once all programs have started.
fn run_to(model: &mut Model, time: Time, mut partition: Option<&Partition>) {
    model.stop_at(time);
    while let Some((_, event)) = model.next_event() {
        assert!(!matches!(event, Event::Refused { .. }));
        if let Event::Started { app, .. } = event
            && let Some(partition) =
                partition.take_if(|p| p.placements().last().unwrap().app == app)
        {
            model.carry_out(Action::Partition {
                plan: PlanId(0),
                partition: partition.into(),
                reason: "test".into(),
            });
        }
    }
}

fn second(seconds: u64) -> Time {
    Time::ZERO.after(Duration::from_secs(seconds))
}

/// The slowdown of each program over the seconds `from` to `to`.
fn slowdowns(
    model: &mut Model,
    count: usize,
    partition: &Partition,
    from: u64,
    to: u64,
) -> Vec<f64> {
    run_to(model, second(from), Some(partition));
    let before: Vec<_> = (0..count).map(|job| model.progress(job)).collect();
    run_to(model, second(to), None);
    let slowdown = |(job, &(ran, best)): (usize, &(f64, f64))| {
        let (ran_now, best_now) = model.progress(job);
        (ran_now - ran) / (best_now - best)
    };
    before.iter().enumerate().map(slowdown).collect()
}

#[test]
fn constant_phases_converge_to_the_static_score() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let (mut worst, mut compared) = (0.0f64, 0);
    for _ in 0..60 {
        let ways = Ways::new(11 + 9 * below(&mut rng, 2)).unwrap();
        let count = 2 + below(&mut rng, 9);
        let mix: Vec<usize> = (0..count).map(|_| below(&mut rng, 30) as usize).collect();
        let partition = random_partition(&mut rng, count, ways);
        let masks: Vec<_> = (0..count).map(|app| partition.mask_of(AppId(app)).unwrap()).collect();
        let mut scorer = Scorer::new(embedded(), &mix, ways, None);
        let fixed = scorer.score(&masks).unwrap();
        let mut model = Model::new(Settings::new(Llc::with_ways(ways)), jobs(&mix, ways));
        let live = slowdowns(&mut model, mix.len(), &partition, 600, 601);
        for (live, fixed) in live.iter().zip(fixed) {
            worst = worst.max((live / fixed - 1.0).abs());
            compared += 1;
        }
    }
    println!("{compared} slowdowns, the worst {:.4} % off", 100.0 * worst);
    assert!(compared > 200 && worst < 1e-3, "{worst}");
}

/// A second from a cold start under one partition, then one under another: nothing settles.
fn unsettled(mix: &[usize], ways: Ways, partitions: [&Partition; 2], step: f64) -> Vec<f64> {
    let settings = Settings { step, ..Settings::new(Llc::with_ways(ways)) };
    let mut model = Model::new(settings, jobs(mix, ways));
    run_to(&mut model, Time::ZERO.after(Duration::from_millis(50)), Some(partitions[0]));
    model.carry_out(Action::Partition {
        plan: PlanId(1),
        partition: partitions[1].into(),
        reason: "test".into(),
    });
    run_to(&mut model, Time::ZERO.after(Duration::from_millis(100)), None);
    let slowdown = |job| {
        let (ran, best) = model.progress(job);
        ran / best
    };
    (0..mix.len()).map(slowdown).collect()
}

#[test]
fn half_the_step_gives_the_same_results() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let ways = embedded().ways();
    let (mut worst, mut moved) = (0.0f64, 0.0f64);
    for _ in 0..40 {
        let count = 2 + below(&mut rng, 9);
        let mix: Vec<usize> = (0..count).map(|_| below(&mut rng, 30) as usize).collect();
        let partitions = [0, 1].map(|_| random_partition(&mut rng, count, ways));
        let step = Settings::new(Llc::with_ways(ways)).step;
        let at = |step| unsettled(&mix, ways, partitions.each_ref(), step);
        let (whole, half, coarse) = (at(step), at(step / 2.0), at(step * 32.0));
        for ((whole, half), coarse) in whole.iter().zip(&half).zip(&coarse) {
            worst = worst.max((whole / half - 1.0).abs());
            moved = moved.max((whole / coarse - 1.0).abs());
        }
    }
    println!("half the step: {:.4} %; 32 times the step: {:.4} %", 100.0 * worst, 100.0 * moved);
    assert!(worst < 1e-3, "{worst}");
    assert!(moved > worst, "the step makes no difference: nothing was stepped through");
}
