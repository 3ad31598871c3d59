//! `fairways` without profiles: how far it is from an optimum that knows them, what finding out
//! costs beside LFOC, and how it keeps promises. The figures of docs/policies/fairways.md, on fewer
//! mixes and another seed.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;
mod phased;

use fairways_core::{Llc, Policy, Ways};
use fairways_experiments::guarantee::on_model_mixes;
use fairways_experiments::{LiveOutcome, Protocol, draw_workloads, informed, live};
use fairways_model::Settings;
use fairways_policy::fairways::Fairways;
use fairways_policy::lfoc::Lfoc;
use fairways_profiles::{Mix, ProgramCatalog, embedded, embedded_programs};
use rayon::prelude::*;

const SEED: u64 = 77;

/// Over mixes of 8, 12 and 16 programs, steady and phased: the mean unfairness over the informed
/// optimum's, and the instructions while a program was sampled over LFOC's.
fn means(programs: &ProgramCatalog, noise: f64) -> (f64, f64) {
    let llc = Llc::with_ways(programs.table().ways());
    let settings = Settings { seed: SEED, noise, ..Settings::new(llc) };
    let protocol = Protocol { instructions: 75_000_000_000, ..Protocol::default() };
    let mixes = draw_workloads(programs, llc.ways, 1, SEED);
    let each = mixes.par_iter().map(|mix: &Mix| {
        let best = informed(programs, mix, &settings, &protocol, &mut Fairways::default());
        let [ours, lfoc]: [LiveOutcome; 2] =
            [&mut Fairways::default() as &mut dyn Policy, &mut Lfoc::default()]
                .map(|policy| live(programs, mix, &settings, &protocol, policy).unwrap());
        let ratio = ours.metrics.unfairness / best.unfairness;
        let [ours, lfoc] = [ours, lfoc].map(|one| one.activity.sampling_work.instructions);
        println!("{} {ratio:.4} {ours:.3e} {lfoc:.3e}", mix.name);
        [ratio, ours, lfoc]
    });
    let each: Vec<[f64; 3]> = each.collect();
    let [ratio, ours, lfoc] = [0, 1, 2].map(|place| each.iter().map(|one| one[place]).sum::<f64>());
    (ratio / each.len() as f64, ours / lfoc)
}

#[test]
fn embedded_mixes_are_nearly_as_fair_as_with_all_profiles() {
    let (ratio, sampling) = means(embedded_programs(), 0.0);
    println!("{ratio:.4}, {sampling:.3} of LFOC's sampling");
    assert!(ratio <= 1.01 && sampling <= 1.0 / 3.0, "{ratio} {sampling}");
}

#[test]
fn measured_mixes_are_nearly_as_fair_as_with_all_profiles() {
    let Some(programs) = phased::catalog("fairways without profiles") else { return };
    for (noise, most) in [(0.0, 1.01), (0.02, 1.02)] {
        let (ratio, sampling) = means(&programs, noise);
        println!("noise {noise}: {ratio:.4}, {sampling:.3} of LFOC's sampling");
        assert!(ratio <= most && sampling <= 1.0 / 3.0, "{noise}: {ratio} {sampling}");
    }
}

/// LFOC's runs and phases, a tenth as long, in a quarter of the programs of each mix: over LFOC.
/// The example `fairways_phases` tries more.
#[test]
fn phases_that_do_not_last_are_followed() {
    let Some(programs) = phased::catalog("fairways in short phases") else { return };
    let llc = Llc::with_ways(programs.table().ways());
    let settings = Settings { seed: SEED, ..Settings::new(llc) };
    let protocol = Protocol { scale: 0.1, ..Protocol::default() };
    let mixes = draw_workloads(&programs, llc.ways, 2, SEED).into_iter();
    let mixes: Vec<Mix> = mixes.filter(|mix| mix.name.starts_with('P')).collect();
    let ratios = mixes.par_iter().map(|mix| {
        let [ours, lfoc]: [LiveOutcome; 2] =
            [&mut Fairways::default() as &mut dyn Policy, &mut Lfoc::default()]
                .map(|policy| live(&programs, mix, &settings, &protocol, policy).unwrap());
        let ratios = [
            ours.metrics.unfairness / lfoc.metrics.unfairness,
            ours.metrics.stp / lfoc.metrics.stp,
        ];
        println!("{} {ratios:.4?}", mix.name);
        ratios
    });
    let ratios: Vec<[f64; 2]> = ratios.collect();
    let [unfairness, stp] =
        [0, 1].map(|place| ratios.iter().map(|of| of[place]).sum::<f64>() / ratios.len() as f64);
    let most = ratios.iter().map(|of| of[0]).fold(0.0, f64::max);
    assert!(unfairness <= 1.0 && most <= 1.03 && stp >= 1.0, "{unfairness} {most} {stp}");
}

/// Beside the same neighbours, no program does the same work more than 5 % slower than with its
/// promised ways, in any second, whatever is sampled; its phases differ in nothing that windows
/// must show.
#[test]
fn promises_are_kept() {
    let llc = Llc::with_ways(Ways::new(20).unwrap());
    let perfect = Settings::new(llc);
    for settings in [perfect, Settings { noise: 0.02, lost: 0.1, ..perfect }] {
        let kept = on_model_mixes(embedded(), settings, (400, 0.0), 60, 0.05, Fairways::default);
        let rounds: u32 = kept.iter().map(|(.., one)| one.rounds).sum();
        assert!(kept.len() > 1800 && rounds > 50 * 1800, "{} {rounds}", kept.len());
        let broken: Vec<_> = kept.iter().filter(|(.., one)| one.below > 0).collect();
        assert!(broken.is_empty(), "{broken:?}");
    }
}
