//! The paper's worked examples: dCat with workloads that follow a table.

use std::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Event, Llc, Partition, PlanId, Policy, Sample, Time, Ways, Wish,
};
use fairways_policy::dcat::{Dcat, Parameters, SpareWaysGoal};

use super::claims;
use crate::paper::Findings;

/// A workload of an example.
struct ScriptedWorkload<'a> {
    baseline: u32,
    /// The round in which it starts.
    from: u32,
    /// 128 times its IPC at 1, 2, ... ways; it always misses.
    ipc: &'a [u32],
}

/// dCat on a cache that carries out its plans at once.
struct ScriptedCache {
    policy: Dcat,
    period: Duration,
    ways: Ways,
    plan: Option<(PlanId, Partition)>,
}

impl ScriptedCache {
    fn notify(&mut self, round: u32, event: &Event) {
        let at = Time::ZERO.after(self.period * round);
        self.policy.handle(at, event, &mut |action| {
            if let Action::Partition { plan, partition, .. } = action {
                self.plan = Some((plan, partition.into_owned()));
            }
        });
    }

    /// The ways of a workload: all, if no plan places it.
    fn ways_of(&self, app: AppId) -> u32 {
        let mask = self.plan.as_ref().and_then(|(_, partition)| partition.mask_of(app));
        mask.map_or(self.ways.get(), |mask| mask.count())
    }
}

/// Runs dCat through rounds of these workloads on a cache of this many ways; returns it, and the
/// ways of each workload.
fn play(
    parameters: Parameters,
    ways: u32,
    scripts: &[ScriptedWorkload<'_>],
    rounds: u32,
) -> (Dcat, Vec<u32>) {
    let (policy, period) = (Dcat::new(parameters), parameters.period);
    let ways = Ways::new(ways).expect("from 1 to 32 ways");
    let mut cache = ScriptedCache { policy, period, ways, plan: None };
    cache.notify(0, &Event::Machine(Llc::with_ways(ways).into()));
    for round in 0..=rounds {
        for (app, script) in (0..).map(AppId).zip(scripts).filter(|(_, one)| one.from < round) {
            let place = (cache.ways_of(app) as usize).min(script.ipc.len()) - 1;
            let counters = Counters {
                instructions: Some(u64::from(script.ipc[place]) << 23),
                cycles: Some(1 << 30),
                l1_references: Some(u64::from(script.ipc[place]) << 21),
                llc_references: Some(u64::from(script.ipc[place]) << 20),
                llc_misses: Some(u64::from(script.ipc[place]) << 19),
                ..Counters::default()
            };
            let sample = Sample {
                plan: cache.plan.as_ref().map(|(id, _)| *id),
                ..Sample::new(app, counters, Duration::from_secs(1))
            };
            cache.notify(round, &Event::Sampled(sample));
        }
        for (app, script) in (0..).map(AppId).zip(scripts).filter(|(_, one)| one.from == round) {
            let wish = Wish { baseline_ways: Some(script.baseline), ..Wish::default() };
            cache.notify(round, &Event::Started { app, wish, profile: None });
        }
    }
    let ways = (0..).map(AppId).zip(scripts).map(|(app, _)| cache.ways_of(app)).collect();
    (cache.policy, ways)
}

pub(super) fn findings(findings: &mut Findings) {
    let default = Parameters::default();
    // Table 1: the normalised IPC of 1 to 8 ways, the baseline of 3 at 100.
    let table = [80, 90, 100, 115, 125, 130, 130, 130];
    let script = ScriptedWorkload { baseline: 3, from: 0, ipc: &table };
    let (_, ways) = play(default, 12, &[script], 12);
    findings.add(claims::PREFERRED_WAYS, f64::from(ways[0]));

    let rising = [20, 40, 60, 80, 100, 120, 140, 160];
    let two = [0, 0].map(|from| ScriptedWorkload { baseline: 3, from, ipc: &rising });
    let (_, ways) = play(default, 10, &two, 12);
    let spare = ways.iter().map(|ways| ways - 3).min().unwrap_or(0);
    findings.add(claims::FAIR_SPLIT, f64::from(spare));

    // At the published threshold, steps of 3 % earn no way: the example has no threshold.
    let thorough = Parameters {
        objective: SpareWaysGoal::MaxPerformance,
        ipc_imp_thr: fairways_core::Q32::from_int(1),
        ..default
    };
    let scripts = [
        ScriptedWorkload { baseline: 2, from: 0, ipc: &[90, 100, 105, 108, 112] },
        ScriptedWorkload { baseline: 2, from: 0, ipc: &[90, 100, 110, 120, 125] },
        ScriptedWorkload { baseline: 2, from: 6, ipc: &[100, 100] },
    ];
    let (policy, ways) = play(thorough, 10, &scripts, 7);
    let shown: Vec<String> = ways.iter().map(u32::to_string).collect();
    findings.add_text(claims::MAX_PERFORMANCE, shown.join("/"));
    let normalised = (0..).map(AppId).zip(ways).map(|(app, ways)| {
        let value = policy.normalised_ipc(app, ways);
        value.map_or(f64::NAN, |value| value.raw() as f64 / (1u64 << 32) as f64)
    });
    let normalised: Vec<f64> = normalised.collect();
    // With the digits that the paper prints: fixed-point quotients are rounded down.
    fn printed(sum: f64) -> f64 {
        (sum * 1e6).round() / 1e6
    }
    let sum = normalised[..2].iter().sum();
    findings.add(claims::SUM_OF_A_AND_B, printed(sum));
    findings.add(claims::SUM_WITH_C, printed(normalised.iter().sum()));
}
