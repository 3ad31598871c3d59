//! What placing and dividing together gains over either alone, and how near `fairways` comes to the
//! exact optimum of both, on mixes drawn by seed.
//!
//! `cargo run --release -p fairways-experiments --example fairways_placement -- PROFILES.csv WAYS
//! CPUS PROGRAMS [SEED [MIXES]]`
//!
//! WAYS and CPUS have a number for each cache: `16,6` and `8,8`. Means are over all placements.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;

use fairways_core::{Llc, MachineCache, Ways};
use fairways_experiments::{PlacedSettings, random_mixes, streaming_mixes};
use fairways_optimum::{Goal, PlacedProblem, SharingKind, place};
use fairways_policy::by_name;
use fairways_policy::fairways::Parameters;
use fairways_profiles::{Mix, ProfileTable, read_table};
use rayon::prelude::*;

type Failure = Box<dyn Error + Send + Sync>;

/// The unfairness of a mix under each way to place and to divide it.
#[derive(Clone, Copy, Default)]
struct Unfairness {
    /// Undivided: the mean of all placements, and the best one.
    stock: f64,
    placed_only: f64,
    /// Divided by `fairways`: the mean of all placements, the placement that is best undivided, the
    /// one that `fairways` finds, and the best one.
    divided_only: f64,
    one_after_the_other: f64,
    fairways: f64,
    best_divided: f64,
    exact: f64,
    stp: f64,
    stp_divided: f64,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, ways, cpus, programs, rest @ ..] = &args[..] else {
        return Err("expected PROFILES.csv WAYS CPUS PROGRAMS [SEED [MIXES]]".into());
    };
    let caches = numbers(ways)?.into_iter().zip(numbers(cpus)?).map(|(ways, cpus)| {
        let ways = Ways::new(ways).ok_or("expected 1 to 32 ways")?;
        Ok(MachineCache { llc: Llc::with_ways(ways), cpus })
    });
    let caches = caches.collect::<Result<Vec<MachineCache>, Failure>>()?;
    let settings = PlacedSettings { caches, wishes: Vec::new(), fairways: Parameters::default() };
    let seed = rest.first().map_or(Ok(20_261_130), |text| text.parse())?;
    let count = rest.get(1).map_or(Ok(20), |text| text.parse())?;
    let (programs, table) = (programs.parse()?, read_table(&std::fs::read(file)?, file)?);
    for (kind, mixes) in [
        ("random", random_mixes(&table, &[programs], count, seed)),
        ("a third streams", streaming_mixes(&table, table.ways(), &[programs], count, seed)),
    ] {
        let found = mixes.par_iter().map(|mix| one(&settings, &table, mix));
        let found = found.collect::<Result<Vec<Unfairness>, Failure>>()?;
        show(kind, &found);
    }
    Ok(())
}

/// The numbers between commas.
fn numbers(text: &str) -> Result<Vec<u32>, std::num::ParseIntError> {
    text.split(',').map(str::parse).collect()
}

fn one(settings: &PlacedSettings, table: &ProfileTable, mix: &Mix) -> Result<Unfairness, Failure> {
    let mut of_sets =
        SetSlowdowns { settings, table, mix, stock: BTreeMap::new(), divided: BTreeMap::new() };
    let (mut found, mut count) = (Unfairness::default(), 0.0);
    (found.placed_only, found.best_divided) = (f64::INFINITY, f64::INFINITY);
    for placement in placements(settings, mix.programs.len()) {
        let stock = of_sets.metrics(&placement, false)?.0;
        let (divided, stp) = of_sets.metrics(&placement, true)?;
        count += 1.0;
        found.stock += stock;
        found.divided_only += divided;
        found.stp_divided += stp;
        found.best_divided = found.best_divided.min(divided);
        if stock < found.placed_only {
            (found.placed_only, found.one_after_the_other) = (stock, divided);
        }
    }
    for sum in [&mut found.stock, &mut found.divided_only, &mut found.stp_divided] {
        *sum /= count;
    }
    let placed = settings.placed(table, mix)?;
    (found.fairways, found.stp) = (placed.metrics.unfairness, placed.metrics.stp);
    let problem = PlacedProblem {
        profiles: table,
        mix: &mix.programs,
        caches: &settings.caches,
        kind: SharingKind::Clustering,
        goal: Goal::Unfairness,
    };
    let exact = place(&problem, None, |_, _| ())?;
    found.exact = exact.value;
    Ok(found)
}

fn show(kind: &str, found: &[Unfairness]) {
    println!("{kind}, {} mixes: unfairness, mean", found.len());
    println!("  neither placed nor divided   {:.4}", mean(found, &|one| one.stock));
    println!("  placed only                  {:.4}", mean(found, &|one| one.placed_only));
    println!("  divided only                 {:.4}", mean(found, &|one| one.divided_only));
    println!("  placed, then divided         {:.4}", mean(found, &|one| one.one_after_the_other));
    println!("  fairways                     {:.4}", mean(found, &|one| one.fairways));
    println!("  the best placement, divided  {:.4}", mean(found, &|one| one.best_divided));
    println!("  the optimum                  {:.4}", mean(found, &|one| one.exact));
    let over: &dyn Fn(&Unfairness) -> f64 = &|one| one.fairways / one.exact;
    println!(
        "  fairways over the optimum: {:.5} in the mean, {:.5} at worst",
        mean(found, over),
        most(found, over)
    );
    let gone = mean(found, &|one| one.divided_only - one.fairways)
        / mean(found, &|one| one.divided_only - 1.0);
    println!("  of what dividing alone leaves, {:.1} % is gone", 100.0 * gone);
    let over: &dyn Fn(&Unfairness) -> f64 =
        &|one| one.fairways / one.placed_only.min(one.divided_only);
    println!(
        "  over the better of placing only and dividing only: {:.4} at worst",
        most(found, over)
    );
    println!("  STP over dividing only: {:.4}", mean(found, &|one| one.stp / one.stp_divided));
}

fn mean(found: &[Unfairness], of: &dyn Fn(&Unfairness) -> f64) -> f64 {
    found.iter().map(of).sum::<f64>() / found.len() as f64
}

fn most(found: &[Unfairness], of: &dyn Fn(&Unfairness) -> f64) -> f64 {
    found.iter().map(of).fold(0.0, f64::max)
}

/// Slowdowns of sets of programs on caches, computed once.
struct SetSlowdowns<'a> {
    settings: &'a PlacedSettings,
    table: &'a ProfileTable,
    mix: &'a Mix,
    stock: BTreeMap<(usize, Vec<usize>), Vec<f64>>,
    divided: BTreeMap<(usize, Vec<usize>), Vec<f64>>,
}

impl SetSlowdowns<'_> {
    /// The unfairness and the STP of a placement.
    fn metrics(&mut self, placement: &[usize], is_divided: bool) -> Result<(f64, f64), Failure> {
        let (mut most, mut least, mut stp) = (0.0_f64, f64::INFINITY, 0.0);
        for cache in 0..self.settings.caches.len() {
            let there: Vec<usize> =
                (0..placement.len()).filter(|&at| placement[at] == cache).collect();
            for &slowdown in self.of(cache, there, is_divided)? {
                most = most.max(slowdown);
                least = least.min(slowdown);
                stp += 1.0 / slowdown;
            }
        }
        Ok((most / least, stp))
    }

    fn of(&mut self, cache: usize, set: Vec<usize>, is_divided: bool) -> Result<&[f64], Failure> {
        // Equal caches are alike.
        let caches = &self.settings.caches;
        let alike = caches.iter().position(|other| other.llc == caches[cache].llc).unwrap_or(cache);
        let known = if is_divided { &mut self.divided } else { &mut self.stock };
        let key = (alike, set);
        if !known.contains_key(&key) {
            let policy = if is_divided { "fairways" } else { "stock" };
            let (settings, mix) = (self.settings, self.mix);
            let slowdowns = settings
                .on_one(self.table, mix, alike, &key.1, &|_| by_name(policy).expect("a policy"))?;
            known.insert(key.clone(), slowdowns);
        }
        Ok(&known[&key])
    }
}

/// All placements: the cache of each program.
fn placements(settings: &PlacedSettings, programs: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..programs {
        let longer = all.iter().flat_map(|start: &Vec<usize>| {
            (0..settings.caches.len()).filter_map(move |cache| {
                let there = start.iter().filter(|&&other| other == cache).count();
                let has_room = there < settings.caches[cache].cpus as usize;
                has_room.then(|| [&start[..], &[cache]].concat())
            })
        });
        all = longer.collect();
    }
    all
}
