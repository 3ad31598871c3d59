//! On the static model, with every profile known.

use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_core::{Llc, Policy, Ways};
use fairways_policy::by_name;
use fairways_policy::fairways::Objective;
use fairways_profiles::{BandwidthModel, MemoryBandwidth, Mix, ProfileTable};
use rayon::prelude::*;

use super::scored::{self, MixScores, OURS, RULES, mean};
use super::{EvaluationSize, claims};
use crate::best_static::{BestStatic, OPTIMUM};
use crate::compare::{ComparisonSettings, compare};
use crate::draw::{random_mixes, streaming_mixes};
use crate::gap::{GapError, optimum_gap};
use crate::paper::{ClaimName, Findings};

/// The policies that decide from profiles.
const POLICIES: [&str; 6] = ["dunn", "ucp", "kpart", "lfoc", RULES, OURS];

/// The numbers of programs in a mix; with 16, the optimum is computed for up to 11 ways only.
const SIZES: [usize; 4] = [4, 8, 12, 16];
const MOST_WAYS_OF_SIXTEEN: u32 = 11;

/// The models of limited memory bandwidth, the limit in MB/s, and the programs in a mix.
pub(super) const MODELS: [BandwidthModel; 2] = [BandwidthModel::Simple, BandwidthModel::Stalls];
const LIMIT_MBPS: f64 = 12_000.0;
const LIMITED_SIZES: [usize; 2] = [4, 8];

/// The aims for a cache with this many ways: unfairness relative to the optimum, in the mean and in
/// the worst mix; STP relative to that of the rules; and STP relative to the optimum with STP as
/// the objective.
const AIMS: [(u32, [ClaimName; 4]); 2] = [
    (
        11,
        [
            claims::MEAN_ON_11_WAYS,
            claims::WORST_ON_11_WAYS,
            claims::STP_ON_11_WAYS,
            claims::OPTIMUM_STP_ON_11_WAYS,
        ],
    ),
    (
        20,
        [
            claims::MEAN_ON_20_WAYS,
            claims::WORST_ON_20_WAYS,
            claims::STP_ON_20_WAYS,
            claims::OPTIMUM_STP_ON_20_WAYS,
        ],
    ),
];

/// The results of policies on the mixes of a cache, and how far STP is below the optimum with STP
/// as the objective.
#[derive(Clone, Debug)]
pub(super) struct StaticScores {
    pub(super) mixes: Vec<MixScores>,
    throughput: Vec<f64>,
}

/// The mixes of a cache: at random, and with a third of streaming programs.
fn mixes(table: &ProfileTable, ways: Ways, size: EvaluationSize) -> Vec<Mix> {
    let [many, some, few] = size.mixes;
    let counts = [many, many, some, few];
    let sizes = SIZES.into_iter().zip(counts);
    let sizes = sizes.filter(|&(programs, _)| programs < 16 || ways.get() <= MOST_WAYS_OF_SIXTEEN);
    let mixes = sizes.flat_map(|(programs, count)| {
        let mut mixes = random_mixes(table, &[programs], count, size.seed);
        mixes.extend(streaming_mixes(table, ways, &[programs], count, size.seed));
        mixes
    });
    mixes.collect()
}

/// Scores the policies on the mixes of a cache.
pub(super) fn score(
    table: &ProfileTable,
    ways: Ways,
    size: EvaluationSize,
    step: &str,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<StaticScores, GapError> {
    let llc = Llc::with_ways(ways);
    let settings = ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() };
    let mixes = mixes(table, ways, size);
    let done = AtomicUsize::new(0);
    let found: Vec<(MixScores, f64)> = mixes
        .par_iter()
        .map(|mix| {
            let mut policies: Vec<Box<dyn Policy>> =
                POLICIES.iter().filter_map(|name| by_name(name)).collect();
            policies.push(Box::new(BestStatic::new(table, &mix.programs, llc, None, &[])?));
            let found = compare(table, mix, &settings, policies)?;
            let outcomes = found.outcomes.iter().map(|of| (of.policy, &of.metrics));
            let scores = MixScores::new(&mix.name, &found.stock, outcomes);
            let throughput = optimum_gap(table, mix, &settings, Objective::Stp, None)?.ratio;
            progress(step, 1 + done.fetch_add(1, Ordering::Relaxed), mixes.len());
            Ok((scores, throughput))
        })
        .collect::<Result<_, GapError>>()?;
    let (mixes, throughput) = found.into_iter().unzip();
    Ok(StaticScores { mixes, throughput })
}

/// Reports the aims, and the results of every policy.
pub(super) fn findings(ways: Ways, scores: &StaticScores, findings: &mut Findings) {
    let item = format!("static, {ways} ways");
    let over = scores.mixes.iter().filter_map(|mix| {
        let [ours, best, rules] = [mix.result(OURS)?, mix.result(OPTIMUM)?, mix.result(RULES)?];
        Some((ours.0 / best.0, ours.1 / rules.1))
    });
    let (over_best, over_rules): (Vec<f64>, Vec<f64>) = over.unzip();
    let most = over_best.iter().copied().reduce(f64::max);
    let throughput = scores.throughput.iter().copied().reduce(f64::max);
    let values = [mean(&over_best), most, mean(&over_rules), throughput];
    match AIMS.into_iter().find(|(of, _)| *of == ways.get()) {
        Some((_, aims)) => {
            aims.into_iter().zip(values).for_each(|(aim, value)| findings.add_if(aim, value));
        }
        // The same values, for which no aim was set.
        None => {
            for (aim, value) in AIMS[0].1.into_iter().zip(values) {
                findings.add_beside(&item, aim.case, "", value);
            }
        }
    }
    scored::findings(&item, &scores.mixes, findings);
}

/// Reports the aim with limited memory bandwidth, on one of the models.
pub(super) fn limited(
    table: &ProfileTable,
    ways: Ways,
    model: BandwidthModel,
    size: EvaluationSize,
    findings: &mut Findings,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<(), GapError> {
    let bandwidth = MemoryBandwidth::new(LIMIT_MBPS, model);
    let settings = ComparisonSettings { llc: Llc::with_ways(ways), bandwidth, wishes: Vec::new() };
    let mut mixes = random_mixes(table, &LIMITED_SIZES, size.limited, size.seed);
    mixes.extend(streaming_mixes(table, ways, &LIMITED_SIZES, size.limited, size.seed));
    let (model, aim) = match model {
        BandwidthModel::Simple => ("simple", claims::LIMITED_SIMPLE),
        BandwidthModel::Stalls => ("stalls", claims::LIMITED_STALLS),
    };
    let step = format!("mixes on memory of 12,000 MB/s, {model}");
    let done = AtomicUsize::new(0);
    let gaps: Vec<_> = mixes
        .par_iter()
        .map(|mix| {
            let gap = optimum_gap(table, mix, &settings, Objective::Unfairness, None);
            progress(&step, 1 + done.fetch_add(1, Ordering::Relaxed), mixes.len());
            gap
        })
        .collect();
    // A mix has no ratio if memory can't serve it at all, or not under a policy's plan.
    let ratios: Vec<f64> = gaps.iter().flatten().map(|gap| gap.ratio).collect();
    findings.add_if(aim, mean(&ratios));
    let item = aim.item;
    let case = format!("fairways, unfairness over the optimum, worst mix, {model}");
    let most = ratios.iter().copied().reduce(f64::max);
    findings.add_beside(item, &case, "ratio", most);
    let case = format!("mixes that memory can't serve, {model}");
    findings.add_beside(item, &case, "mixes", Some((gaps.len() - ratios.len()) as f64));
    Ok(())
}
