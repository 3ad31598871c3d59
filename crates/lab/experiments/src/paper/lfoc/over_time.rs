//! Figure 7: policies that learn, on the machine over time.

use fairways_policy::by_name;
use fairways_profiles::{Mix, ProgramCatalog};
use rayon::prelude::*;

use super::{ScoredMix, Setting, claims};
use crate::live::{Activity, LiveError, Protocol, compare_live};
use crate::paper::{ClaimName, Findings};

/// A policy that runs, without profiles of the programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct LivePolicy {
    pub(super) name: &'static str,
    title: &'static str,
    /// Whether it tries other ways to learn about programs.
    samples: bool,
}

const fn policy(name: &'static str, title: &'static str, samples: bool) -> LivePolicy {
    LivePolicy { name, title, samples }
}

/// The policies that run.
pub(super) const POLICIES: [LivePolicy; 4] = [
    policy("dunn", "Dunn", false),
    policy("kpart", "KPart-DynaWay", true),
    policy("lfoc", "LFOC", true),
    policy("lfoc-plus", "LFOC+", true),
];

/// Mixes that ran: each policy's result relative to stock, and its activity.
pub(super) type LiveScores = Vec<(ScoredMix, Vec<Activity>)>;

/// Runs every mix under each policy; `done` is called after each mix.
pub(super) fn run(
    programs: &ProgramCatalog,
    mixes: &[Mix],
    setting: &Setting,
    done: &(dyn Fn() + Sync),
) -> Result<LiveScores, LiveError> {
    let protocol = Protocol { scale: setting.time_scale, ..Protocol::default() };
    let machine = fairways_model::Settings { llc: setting.llc, ..setting.machine };
    mixes
        .par_iter()
        .map(|mix| {
            let policies = POLICIES.map(|policy| by_name(policy.name).expect("a policy's name"));
            let found = compare_live(programs, mix, &machine, &protocol, policies)?;
            let over = found.outcomes.iter().map(|outcome| {
                let metrics = &outcome.metrics;
                let unfairness = metrics.unfairness / found.stock.unfairness;
                (outcome.policy, unfairness, metrics.stp / found.stock.stp)
            });
            let scored = ScoredMix { mix: mix.name.clone(), policies: over.collect() };
            let ran =
                (scored, found.outcomes.into_iter().map(|outcome| outcome.activity).collect());
            done();
            Ok(ran)
        })
        .collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn is_phased(mix: &ScoredMix) -> bool {
    mix.mix.starts_with('P')
}

pub(super) fn findings(ran: &LiveScores, findings: &mut Findings) {
    const ITEM: &str = "Figure 7";
    let unfairness = |policy| ran.iter().map(move |(mix, _)| mix.over_stock(policy).0);
    let stp = |policy| ran.iter().map(move |(mix, _)| mix.over_stock(policy).1);
    // The paper's figures are over both kinds of mixes.
    let both = [false, true].map(|kind| ran.iter().any(|(mix, _)| is_phased(mix) == kind));
    let has_both = both == [true, true];
    let mut claimed = |claim: ClaimName, value: Option<f64>| {
        findings.add_if(claim, value.filter(|_| has_both));
    };
    let over_dunn = unfairness("lfoc").zip(unfairness("dunn"));
    let over_dunn: Vec<f64> = over_dunn.map(|(lfoc, dunn)| 100.0 * (1.0 - lfoc / dunn)).collect();
    let best = over_dunn.iter().copied().reduce(f64::max);
    claimed(claims::OVER_DUNN_BEST, best);
    let reduction = mean(over_dunn.iter().copied());
    claimed(claims::OVER_DUNN_MEAN, reduction);
    let better = over_dunn.iter().filter(|reduction| **reduction > 0.0).count() as f64;
    let better = Some(100.0 * better / ran.len() as f64);
    claimed(claims::FAIRER_THAN_DUNN, better);
    let reduction = mean(unfairness("lfoc").map(|unfairness| 100.0 * (1.0 - unfairness)));
    claimed(claims::OVER_STOCK_MEAN, reduction);
    let ratio = mean(stp("lfoc")).zip(mean(stp("dunn"))).map(|(lfoc, dunn)| lfoc / dunn);
    claimed(claims::STP_OVER_DUNN, ratio);
    let [s, p] = [false, true].map(|kind| {
        let of_kind = ran.iter().filter(|(mix, _)| is_phased(mix) == kind);
        mean(of_kind.map(|(mix, _)| mix.over_stock("dunn").0))
    });
    let difference = p.zip(s).map(|(p, s)| p - s);
    claimed(claims::DUNN_ON_P_LESS_S, difference);
    findings.add_if(claims::KPART_ONLINE, mean(unfairness("kpart")));
    for (place, LivePolicy { name, title, samples }) in POLICIES.into_iter().enumerate() {
        let case = format!("{title} online, mean unfairness over stock");
        findings.add_beside(ITEM, &case, "ratio", mean(unfairness(name)));
        let case = format!("{title} online, mean STP over stock");
        findings.add_beside(ITEM, &case, "ratio", mean(stp(name)));
        if !samples {
            continue;
        }
        let mut spent = |what: &str, share: &dyn Fn(&Activity) -> Option<f64>| {
            let shares = ran.iter().filter_map(|(_, all)| Some(100.0 * share(&all[place])?));
            let case = format!("{title} online, {what} in sampling mode");
            findings.add_beside(ITEM, &case, "percent", mean(shares));
        };
        spent("time", &|one| Some(one.sampling_share()));
        spent("instructions", &|one| Some(one.sampling_instructions_share()));
        spent("throughput (STP) lost", &Activity::sampling_loss);
    }
}
