//! Programs alone on the chip: profiles that come back, caches that warm up, sets that stand for
//! others.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;

use std::time::Duration;

use fairways_chip::program::{Accesses, Mixture, MixturePart, profiled};
use fairways_chip::{Job, Settings, SimulatedProgram, preset};
use fairways_core::Ways;
use fairways_experiments::{Rate, measure};
use fairways_profiles::{ProfileMetric, ProfileTable, embedded};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Runs every program of a table through the generator that follows curves, measures it again with
/// some numbers of ways, and returns the mean and the largest error of IPC, as a share, and of LLC
/// misses, as a share of references.
fn round_trip(table: &ProfileTable, ways: Ways) -> [(f64, f64); 2] {
    let mut chip = preset::preset("skylake").unwrap();
    // Fewer sets miss as the curve does too, and warm up sooner.
    chip.sets = 2048;
    chip.bandwidth_mbps = 1e9;
    let settings = Settings::new(chip);
    let (mut ipc_off, mut misses_off) = (Vec::new(), Vec::new());
    for (index, name) in table.names().iter().enumerate() {
        let Ok(program) = profiled(table, index, ways, chip.latency) else {
            let references: f64 = table.values(index, ProfileMetric::Llcrpki).sum();
            assert!(references == 0.0, "{name}");
            continue;
        };
        for count in [1, 3, 8] {
            let job = Job::new(program.clone());
            let found = measure(settings, &job, count, millis(30), millis(10)).unwrap();
            let was = |metric| table.values(index, metric).nth(count as usize - 1).unwrap();
            let references =
                table.values(index, ProfileMetric::Llcrpki).take(11).fold(0.0, f64::max);
            ipc_off.push((found.ipc / was(ProfileMetric::Ipc) - 1.0).abs());
            misses_off
                .push((found.llcmpki - was(ProfileMetric::Llcmpki)).abs() / references.max(1.0));
        }
    }
    [ipc_off, misses_off].map(|off| {
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        (mean, off.iter().copied().fold(0.0, f64::max))
    })
}

#[test]
fn embedded_profiles_come_back() {
    let [ipc, misses] = round_trip(embedded(), Ways::new(11).unwrap());
    println!("embedded: IPC {ipc:?}, misses {misses:?}");
    assert!(ipc.0 < 0.02 && misses.0 < 0.01, "{ipc:?} {misses:?}");
}

#[test]
fn measured_profiles_come_back() {
    let Some(shared) = common::shared("profiles on the chip") else { return };
    let (table, _) = common::spec(&shared);
    let [ipc, misses] = round_trip(&table, table.ways());
    println!("measured: IPC {ipc:?}, misses {misses:?}");
    assert!(ipc.0 < 0.02 && misses.0 < 0.01, "{ipc:?} {misses:?}");
}

/// A random reader of this many MB, behind the private caches.
fn region(mb: u32) -> Job {
    let parts = vec![MixturePart { share: 1.0, lines: mb << 14 }];
    let mixture = Mixture { parts, per_kilo_instructions: 250.0, stores: 0.0, missed: true };
    Job::new(SimulatedProgram::new(Accesses::Mixture(mixture), 0.5, 4.0))
}

/// A cache fills no faster than its misses bring lines: if an array is read at random, the share
/// that has not been read yet after n reads is e^(-n / lines).
#[test]
fn a_cache_warms_up_as_misses_fill_it() {
    let settings = Settings::new(preset::preset("xeon-e5").unwrap());
    let lines = f64::from(16 << 14);
    for (from, to) in [(1, 2), (3, 4), (8, 9)] {
        let rate =
            |warm_up, span| measure(settings, &region(16), 20, millis(warm_up), millis(span));
        // The reads so far, and in this millisecond.
        fn reads(rate: Rate, ms: u64) -> f64 {
            rate.instructions_per_second * ms as f64 / 1e3 * rate.llcrpki / 1e3
        }
        let before = reads(rate(0, from).unwrap(), from);
        let now = rate(from, to - from).unwrap();
        let during = reads(now, to - from);
        let missed = lines * ((-before / lines).exp() - (-(before + during) / lines).exp());
        let expected = missed / during;
        let found = now.llcmpki / now.llcrpki;
        println!("{from} ms: {found:.4}, {expected:.4}");
        assert!((found - expected).abs() < 0.02, "{from} ms: {found} {expected}");
    }
}

/// One in 16 sets represents all.
#[test]
fn some_sets_stand_for_all() {
    let whole = Settings::new(preset::preset("xeon-e5").unwrap());
    for (mb, ways) in [(8, 4), (16, 6), (60, 10)] {
        let [all, some] = [1, 16].map(|set_sampling| {
            let settings = Settings { set_sampling, ..whole };
            let rate = measure(settings, &region(mb), ways, millis(30), millis(10)).unwrap();
            rate.llcmpki / rate.llcrpki
        });
        println!("{mb} MB, {ways} ways: {all:.4}, one of 16 sets {some:.4}");
        assert!((all - some).abs() < 0.02, "{mb} MB, {ways} ways: {all} {some}");
    }
}
