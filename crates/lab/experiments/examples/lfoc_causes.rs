//! Why rows of LFOC's Figures 2 and 6 differ here: each cause is removed, to see the remaining
//! difference (docs/paper.md, "What misses, and why").
//!
//! `cargo run --release -p fairways-experiments --example lfoc_causes [-- PROFILES.csv PHASES.csv]`

#![allow(clippy::print_stdout)]

mod programs;

use std::error::Error;
use std::sync::Arc;

use fairways_core::{AppId, Curve, Policy, Profile, Q32, WayMask, Ways, Wish, run};
use fairways_experiments::paper::lfoc::Setting;
use fairways_experiments::{
    BestStatic, StaticMachine, classes, composition, draw_workloads, random_mixes,
};
use fairways_policy::dunn::Dunn;
use fairways_policy::kpart::KPart;
use fairways_policy::lfoc::{Class, Lfoc, Parameters};
use fairways_policy::stock::Stock;
use fairways_profiles::{FairnessMetrics, Mix, ProfileTable, ProgramCatalog, Scorer};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

/// The seeds of mixes, as in `fairways-lab paper lfoc`.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// Mixes of Figure 2, and programs in each.
const MIXES: usize = 20;
const PROGRAMS: usize = 10;

/// Mixes of each size in Figure 6.
const WORKLOADS: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    let programs = &*programs::from_arguments()?;
    let setting = Setting::new(programs.table(), false);
    println!("{} programs, {} ways", programs.len(), setting.llc.ways);
    clusters(programs.table(), &setting)?;
    let scored = scored(programs, &setting)?;
    dunn_extremes(&scored);
    throughput(&scored);
    best_static(&scored);
    Ok(())
}

/// A name, and which numbers of sensitive programs belong to it.
type Kind = (&'static str, fn(usize) -> bool);

/// The classes of a table's programs.
struct Classes(Vec<Class>);

impl Classes {
    fn new(table: &ProfileTable, setting: &Setting) -> Self {
        Self(classes(table, setting.llc.ways))
    }

    /// A phased program has no class.
    fn is(&self, program: usize, class: Class) -> bool {
        self.0.get(program) == Some(&class)
    }

    fn sensitive(&self, mix: &Mix) -> usize {
        mix.programs.iter().filter(|&&program| self.is(program, Class::Sensitive)).count()
    }
}

/// §3 and Figure 2 by the number of sensitive programs in a mix, with the first seed.
fn clusters(table: &ProfileTable, setting: &Setting) -> Result<(), Box<dyn Error>> {
    let known = Classes::new(table, setting);
    println!("\nFairest clusterings of {MIXES} random mixes of {PROGRAMS}, seed 1:");
    println!("  sensitive programs   in 4 ways or more, %   most ways for streaming clusters");
    let kinds: [Kind; 4] = [
        ("none", |count| count == 0),
        ("one or two", |count| count == 1 || count == 2),
        ("three", |count| count == 3),
        ("four or more", |count| count > 3),
    ];
    for (name, holds) in kinds {
        // Random mixes in their order; those with the right number of sensitive programs count.
        let drawn = random_mixes(table, &[PROGRAMS], 100 * MIXES, 1).into_iter();
        let mixes: Vec<Mix> = drawn.filter(|mix| holds(known.sensitive(mix))).take(MIXES).collect();
        let found = composition(table, &mixes, setting.llc, setting.machine.bandwidth)?;
        let wide = found.share(Class::Sensitive, |ways| ways >= 4);
        let wide = wide.map_or("-".into(), |wide| format!("{:.1}", 100.0 * wide));
        let most = found.streaming_ways.iter().max().unwrap_or(&0);
        println!("  {name:18} {wide:>21}   {most:32}");
    }
    Ok(())
}

/// The results of a mix under stock and under policies with profiles.
struct Scores {
    seed: u64,
    sensitive: usize,
    name: String,
    stock: FairnessMetrics,
    /// As in Figure 6.
    dunn: FairnessMetrics,
    kpart: FairnessMetrics,
    lfoc: FairnessMetrics,
    plus: FairnessMetrics,
    best: FairnessMetrics,
    /// Dunn with profiles in which streaming programs do not stall, so that it can recognise them.
    dunn_informed: FairnessMetrics,
    /// KPart and LFOC with tables in which each number is up to this share off.
    noisy: Vec<(f64, FairnessMetrics, FairnessMetrics)>,
}

/// The largest error of a table, as a share: 2 % is the noise of docs/lfoc-online.md.
const NOISE: [f64; 3] = [0.01, 0.02, 0.05];

/// Figure 6 with five seeds.
fn scored(programs: &ProgramCatalog, setting: &Setting) -> Result<Vec<Scores>, Box<dyn Error>> {
    let (table, ways) = (programs.table(), setting.llc.ways);
    let known = &Classes::new(table, setting);
    let mut all = Vec::new();
    for seed in SEEDS {
        let mut mixes = draw_workloads(programs, ways, WORKLOADS, seed);
        mixes.retain(|mix| mix.name.starts_with('S'));
        all.extend(
            mixes
                .par_iter()
                .map(|mix: &Mix| -> Result<Scores, String> {
                    let bandwidth = setting.machine.bandwidth;
                    let best = BestStatic::new(table, &mix.programs, setting.llc, bandwidth, &[]);
                    let best = best.map_err(|why| why.to_string())?;
                    let exact: Vec<Profile> =
                        mix.programs.iter().map(|&index| table.profile(index)).collect();
                    let score = |policy: &mut dyn Policy, profiles: &[Profile]| {
                        score(table, mix, setting, policy, profiles)
                    };
                    let informed = mix.programs.iter().zip(&exact).map(|(&program, exact)| {
                        let streams = known.is(program, Class::Streaming);
                        let none = Curve::from_fn(ways, |_| Q32::default());
                        let stalls_l2_miss = if streams { none } else { exact.stalls_l2_miss };
                        Profile { stalls_l2_miss, ..exact.clone() }
                    });
                    let informed: Vec<Profile> = informed.collect();
                    let noisy = NOISE.map(|noise| {
                        let mut random = Pcg64Mcg::seed_from_u64(seed);
                        let off: Vec<Profile> =
                            exact.iter().map(|exact| blurred(exact, noise, &mut random)).collect();
                        let kpart = score(&mut KPart::default(), &off)?;
                        Ok((noise, kpart, score(&mut Lfoc::default(), &off)?))
                    });
                    Ok(Scores {
                        seed,
                        sensitive: known.sensitive(mix),
                        name: mix.name.clone(),
                        stock: score(&mut Stock::default(), &exact)?,
                        dunn: score(&mut Dunn::default(), &exact)?,
                        kpart: score(&mut KPart::default(), &exact)?,
                        lfoc: score(&mut Lfoc::default(), &exact)?,
                        plus: score(&mut Lfoc::new(Parameters::plus()), &exact)?,
                        best: score(&mut best.clone(), &exact)?,
                        dunn_informed: score(&mut Dunn::default(), &informed)?,
                        noisy: noisy.into_iter().collect::<Result<_, String>>()?,
                    })
                })
                .collect::<Result<Vec<_>, _>>()?,
        );
    }
    Ok(all)
}

/// Scores, by the true profiles, the decision of a policy that has these profiles.
fn score(
    table: &ProfileTable,
    mix: &Mix,
    setting: &Setting,
    policy: &mut dyn Policy,
    profiles: &[Profile],
) -> Result<FairnessMetrics, String> {
    let programs =
        profiles.iter().map(|profile| (Some(Arc::new(profile.clone())), Wish::default()));
    let mut machine = StaticMachine::new(setting.llc, programs);
    run(&mut machine, policy, &mut []);
    let (partition, _) = machine.partition().ok_or("no plan")?;
    let masks = (0..)
        .take(profiles.len())
        .map(|app| partition.mask_of(AppId(app)).ok_or("no place"))
        .collect::<Result<Vec<WayMask>, _>>()?;
    let mut scorer = Scorer::new(table, &mix.programs, setting.llc.ways, setting.machine.bandwidth);
    Ok(FairnessMetrics::from_slowdowns(scorer.score(&masks).map_err(|why| why.to_string())?))
}

/// A profile in which each number is up to the share `noise` off; all errors are equally likely.
fn blurred(exact: &Profile, noise: f64, random: &mut Pcg64Mcg) -> Profile {
    Profile {
        ipc: blur(&exact.ipc, noise, random),
        llcmpki: blur(&exact.llcmpki, noise, random),
        llcmpkc: blur(&exact.llcmpkc, noise, random),
        ..exact.clone()
    }
}

fn blur(curve: &Curve, noise: f64, random: &mut Pcg64Mcg) -> Curve {
    let ways = Ways::new(u32::try_from(curve.values().len()).unwrap_or(1));
    Curve::from_fn(ways.expect("a curve has a way"), |ways| {
        let unit = f64::from(random.next_u32()) / f64::from(u32::MAX);
        let value = curve.at(ways).raw() as f64 * (1.0 + noise * (2.0 * unit - 1.0));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a curve's number is at least 0 and far below 2^64"
        )]
        Q32::from_raw(value as u64)
    })
}

/// A number for each seed.
fn by_seed(scored: &[Scores], value: impl Fn(&[&Scores]) -> f64) -> String {
    SEEDS
        .map(|seed| {
            let mixes: Vec<&Scores> = scored.iter().filter(|one| one.seed == seed).collect();
            format!("{:8.3}", value(&mixes))
        })
        .collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Figure 6, Dunn's best mix.
fn dunn_extremes(scored: &[Scores]) {
    println!("\nDunn, unfairness over stock, by seed:");
    fn sorted(mixes: &[&Scores], of: fn(&Scores) -> f64) -> Vec<f64> {
        let mut all: Vec<f64> = mixes.iter().map(|one| of(one) / one.stock.unfairness).collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }
    fn dunn(one: &Scores) -> f64 {
        one.dunn.unfairness
    }
    fn informed(one: &Scores) -> f64 {
        one.dunn_informed.unfairness
    }
    println!("  best mix               {}", by_seed(scored, |mixes| sorted(mixes, dunn)[0]));
    println!("  second-best mix        {}", by_seed(scored, |mixes| sorted(mixes, dunn)[1]));
    println!("  best mix, streaming known {}", by_seed(scored, |mixes| sorted(mixes, informed)[0]));
    let means = by_seed(scored, |mixes| mean(sorted(mixes, dunn).into_iter()));
    println!("  mean                   {means}");
    let means = by_seed(scored, |mixes| mean(sorted(mixes, informed).into_iter()));
    println!("  mean, streaming known {means}");
    fn over(one: &Scores) -> f64 {
        one.dunn.unfairness / one.stock.unfairness
    }
    if let Some(least) = scored.iter().min_by(|a, b| over(a).total_cmp(&over(b))) {
        let Scores { seed, name, stock, dunn, kpart, lfoc, best, .. } = least;
        let [dunn, kpart, lfoc, best] =
            [dunn, kpart, lfoc, best].map(|one| one.unfairness / stock.unfairness);
        println!(
            "  the best of all, {name} of seed {seed}: dunn {dunn:.3}, kpart {kpart:.3}, lfoc {lfoc:.3}, optimum {best:.3}"
        );
    }
}

/// Figure 6, STP of LFOC and KPart.
fn throughput(scored: &[Scores]) {
    println!("\nMixes where LFOC's STP is at least KPart's, percent, by seed:");
    fn share(mixes: &[&Scores], holds: &dyn Fn(&Scores) -> bool) -> f64 {
        100.0 * mean(mixes.iter().map(|one| f64::from(u8::from(holds(one)))))
    }
    let row = |name: &str, holds: &dyn Fn(&Scores) -> bool| {
        println!("  {name:32} {}", by_seed(scored, |mixes| share(mixes, holds)));
    };
    row("exact tables", &|one| one.lfoc.stp >= one.kpart.stp);
    row("the same, within 1 % of it", &|one| one.lfoc.stp >= 0.99 * one.kpart.stp);
    for (index, noise) in NOISE.into_iter().enumerate() {
        let name = format!("tables up to {:.0} % off", 100.0 * noise);
        row(&name, &|one| one.noisy[index].2.stp >= one.noisy[index].1.stp);
    }
    println!(
        "  best STP over stock: kpart {}",
        by_seed(scored, |mixes| {
            mixes.iter().map(|one| one.kpart.stp / one.stock.stp).fold(0.0, f64::max)
        })
    );
    println!(
        "                       lfoc  {}",
        by_seed(scored, |mixes| {
            mixes.iter().map(|one| one.lfoc.stp / one.stock.stp).fold(0.0, f64::max)
        })
    );
    println!(
        "                    optimum  {}",
        by_seed(scored, |mixes| {
            mixes.iter().map(|one| one.best.stp / one.stock.stp).fold(0.0, f64::max)
        })
    );
}

/// A policy's mean gap to Best-Static, percent: in unfairness, and in STP.
fn gap_to_best(mixes: &[&Scores], of: fn(&Scores) -> FairnessMetrics) -> (f64, f64) {
    let unfairness = mean(mixes.iter().map(|one| of(one).unfairness / one.best.unfairness));
    let stp = mean(mixes.iter().map(|one| of(one).stp / one.best.stp));
    (100.0 * (unfairness - 1.0), 100.0 * (1.0 - stp))
}

/// Figure 6, the distance from Best-Static.
fn best_static(scored: &[Scores]) {
    println!("\nMean gap to Best-Static, percent; all seeds:");
    println!(
        "  {:16} mixes   lfoc: unfairness      STP   lfoc-plus: unfairness      STP",
        "sensitive"
    );
    let kinds: [Kind; 5] = [
        ("any", |_| true),
        ("three or fewer", |count| count <= 3),
        ("four or five", |count| count == 4 || count == 5),
        ("six or seven", |count| count == 6 || count == 7),
        ("eight or more", |count| count >= 8),
    ];
    for (name, holds) in kinds {
        let mixes: Vec<&Scores> = scored.iter().filter(|one| holds(one.sensitive)).collect();
        if mixes.is_empty() {
            continue;
        }
        let (lfoc, plus) =
            (gap_to_best(&mixes, |one| one.lfoc), gap_to_best(&mixes, |one| one.plus));
        println!(
            "  {name:16} {:5}   {:16.1} {:8.2}   {:21.1} {:8.2}",
            mixes.len(),
            lfoc.0,
            lfoc.1,
            plus.0,
            plus.1
        );
    }
}
