//! Figure 7: policies that learn, on the machine over time.

use fairways_policy::by_name;
use fairways_profiles::{Mix, ProgramCatalog};
use rayon::prelude::*;

use super::{ScoredMix, Setting};
use crate::live::{Activity, LiveError, Protocol, compare_live};
use crate::paper::Findings;

/// The policies that run, without profiles of the programs.
pub(super) const POLICIES: [&str; 4] = ["dunn", "kpart", "lfoc", "lfoc-plus"];

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
        .map(|mix: &Mix| {
            let policies = POLICIES.map(|name| by_name(name).expect("a policy's name"));
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

pub(super) fn findings(ran: &LiveScores, findings: &mut Findings) {
    const ITEM: &str = "Figure 7";
    fn mean(values: &[f64]) -> Option<f64> {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
    fn phased(mix: &ScoredMix) -> bool {
        mix.mix.starts_with('P')
    }
    fn each(value: &dyn Fn(&ScoredMix) -> f64, ran: &[(ScoredMix, Vec<Activity>)]) -> Vec<f64> {
        ran.iter().map(|(mix, _)| value(mix)).collect()
    }
    // The paper's figures are over both kinds of mixes.
    let kinds = [false, true].map(|kind| ran.iter().any(|(mix, _)| phased(mix) == kind));
    let both = kinds == [true, true];
    fn claimed(case: &str, value: Option<f64>, both: bool, findings: &mut Findings) {
        findings.add_if(ITEM, case, value.filter(|_| both));
    }
    let over_dunn =
        each(&|mix| 100.0 * (1.0 - mix.over_stock("lfoc").0 / mix.over_stock("dunn").0), ran);
    claimed(
        "LFOC over Dunn, best (P4), unfairness reduction",
        over_dunn.iter().copied().reduce(f64::max),
        both,
        findings,
    );
    claimed("LFOC over Dunn, mean unfairness reduction, S and P", mean(&over_dunn), both, findings);
    let better = over_dunn.iter().filter(|reduction| **reduction > 0.0).count() as f64;
    claimed(
        "mixes where LFOC unfairness is below Dunn",
        Some(100.0 * better / ran.len() as f64),
        both,
        findings,
    );
    claimed(
        "LFOC over stock, mean unfairness reduction, S and P",
        mean(&each(&|mix| 100.0 * (1.0 - mix.over_stock("lfoc").0), ran)),
        both,
        findings,
    );
    let stp = |policy| mean(&each(&|mix| mix.over_stock(policy).1, ran));
    let ratio = stp("lfoc").zip(stp("dunn")).map(|(lfoc, dunn)| lfoc / dunn);
    claimed("LFOC mean STP over Dunn mean STP", ratio, both, findings);
    fn dunn(wanted: bool, ran: &[(ScoredMix, Vec<Activity>)]) -> Option<f64> {
        let of_kind = ran.iter().filter(|(mix, _)| phased(mix) == wanted);
        mean(&of_kind.map(|(mix, _)| mix.over_stock("dunn").0).collect::<Vec<_>>())
    }
    claimed(
        "Dunn mean unfairness over stock on P minus the same on S",
        dunn(true, ran).zip(dunn(false, ran)).map(|(p, s)| p - s),
        both,
        findings,
    );
    findings.add_if(
        ITEM,
        "KPart-DynaWay online",
        mean(&each(&|mix| mix.over_stock("kpart").0, ran)),
    );
    for (place, (policy, name)) in
        POLICIES.into_iter().zip(["Dunn", "KPart-DynaWay", "LFOC", "LFOC+"]).enumerate()
    {
        let unfairness = mean(&each(&|mix| mix.over_stock(policy).0, ran));
        let case = format!("{name} online, mean unfairness over stock");
        findings.add_beside(ITEM, &case, "ratio", unfairness);
        let stp = mean(&each(&|mix| mix.over_stock(policy).1, ran));
        findings.add_beside(ITEM, &format!("{name} online, mean STP over stock"), "ratio", stp);
        if policy == "dunn" {
            continue;
        }
        let mut spent = |what: &str, share: &dyn Fn(&Activity) -> Option<f64>| {
            let shares = ran.iter().filter_map(|(_, all)| Some(100.0 * share(&all[place])?));
            let case = format!("{name} online, {what} in sampling mode");
            findings.add_beside(ITEM, &case, "percent", mean(&shares.collect::<Vec<_>>()));
        };
        spent("time", &|one| Some(one.sampling_share()));
        spent("instructions", &|one| Some(one.sampling_instructions_share()));
        spent("throughput (STP) lost", &Activity::sampling_loss);
    }
}
