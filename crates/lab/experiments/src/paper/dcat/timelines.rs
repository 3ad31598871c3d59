//! Figures 7 and 10 to 16: dCat's ways round by round for tenants that read arrays.

use std::time::{Duration, Instant};

use fairways_chip::{ChipError, Job};
use fairways_core::{Action, Event, Policy, Time};
use fairways_policy::dcat::{Dcat, Parameters, SpareWaysGoal};
use rayon::prelude::*;

use super::claims;
use super::plots::{DrawnTimeline, Series};
use super::setup::{CacheMode, DcatBench, ROUND, TenantRun, among, later, tenant};
use crate::executed::timeline;
use crate::paper::{Findings, Line};

/// The baseline of each tenant in these experiments (§5.1).
const BASELINE: u32 = 3;

/// A line's points by round.
fn points(values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
    (1..).map(f64::from).zip(values).collect()
}

/// Lines of the ways and of the normalised IPC of some tenants.
fn drawn(
    file: &'static str,
    title: &'static str,
    run: &TenantRun,
    tenants: &[(usize, &str)],
) -> DrawnTimeline {
    let lines = tenants.iter().flat_map(|&(place, name)| {
        let ways = run.ways(place).into_iter().map(f64::from);
        [
            Line { name: format!("{name}, ways"), points: points(ways) },
            Line {
                name: format!("{name}, normalised IPC"),
                points: points(run.normalised(place, BASELINE)),
            },
        ]
    });
    (file, title, lines.collect())
}

/// The five scenarios of a single tenant, two tenants, and neighbours that come later.
pub(super) fn run(
    bench: DcatBench<'_>,
    findings: &mut Findings,
) -> Result<Vec<DrawnTimeline>, ChipError> {
    let fair = bench.dcat;
    let fast = Parameters { objective: SpareWaysGoal::MaxPerformance, ..fair };
    fn alone(text: &str) -> Vec<Job> {
        among(&[tenant(text, BASELINE)], 5, BASELINE)
    }
    fn both(other: &str, polite: usize) -> Vec<Job> {
        let two = [tenant("idle@1s+mlr:8M", BASELINE), tenant(other, BASELINE)];
        among(&two, polite, BASELINE)
    }
    let mut fourteen = both("idle@1s+mlr:12M", 4);
    fourteen.extend((0..4).map(|_| later(14, tenant("lookbusy", 1))));
    let streams = format!("idle@1s+{}", bench.mload);
    let scenarios: [(Vec<Job>, Parameters, u32); 6] = [
        (alone("idle@2s+mlr:8M@12s+idle@4s+mlr:8M@7s"), fair, 24),
        (alone(&format!("idle@2s+{}", bench.mload)), fair, 14),
        (alone("idle@1s+mlr:8M@13s+idle@5s+mlr:8M@7s+idle@100s"), fair, 29),
        (alone(&streams), fair, 16),
        (fourteen, fast, 24),
        (both(&streams, 5), fair, 16),
    ];
    let runs: Vec<TenantRun> = scenarios
        .par_iter()
        .map(|(jobs, parameters, rounds)| bench.run(jobs, CacheMode::Dcat(*parameters), *rounds))
        .collect::<Result<_, ChipError>>()?;
    again(&runs[2], findings);
    streaming(&runs[3], findings);
    two_readers(&runs[4], findings);
    reader_and_stream(&runs[5], findings);
    Ok(vec![
        drawn("figure7a", "Figure 7 (a): a workload that comes back", &runs[0], &[(0, "MLR-8MB")]),
        drawn("figure7b", "Figure 7 (b): one that streams", &runs[1], &[(0, "MLOAD-60MB")]),
        drawn(
            "figure12",
            "Figure 12: the second run of a known phase",
            &runs[2],
            &[(0, "MLR-8MB")],
        ),
        drawn("figure13", "Figure 13: MLOAD", &runs[3], &[(0, "MLOAD-60MB")]),
        drawn(
            "figure14",
            "Figure 14: two MLRs, the largest total performance; four more tenants at 14 s",
            &runs[4],
            &[(0, "MLR-8MB"), (1, "MLR-12MB")],
        ),
        drawn(
            "figure15",
            "Figure 15: MLR beside MLOAD",
            &runs[5],
            &[(0, "MLR-8MB"), (1, "MLOAD-60MB")],
        ),
    ])
}

/// Figure 12.
fn again(run: &TenantRun, findings: &mut Findings) {
    const ITEM: &str = "Figure 12";
    let busy: Vec<bool> = run.0[0].iter().map(|moment| moment.counted.instructions > 0).collect();
    let turns: Vec<usize> = busy
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0] != pair[1])
        .map(|(at, _)| at + 1)
        .collect();
    // It starts, ends, starts, ends.
    let [_, first_end, second, second_end] = turns[..] else { return };
    let shown = format!("{first_end}/{second}/{second_end}");
    findings.add_text(claims::SCHEDULE, shown);
    let ways = run.ways(0);
    let reached = ways[second_end - 2];
    findings.add(claims::SECOND_RUN_WAYS, f64::from(reached));
    let rounds = ways[second..].iter().position(|&ways| ways == reached).map(|at| (at + 1) as f64);
    findings.add_if(claims::SECOND_RUN_ROUNDS, rounds);
    let case = "the first run's preferred ways";
    findings.add_beside(ITEM, case, "ways", Some(f64::from(ways[first_end - 2])));
}

/// Figure 13.
fn streaming(run: &TenantRun, findings: &mut Findings) {
    let most = run.most_ways(0, 1);
    let last = run.final_ways(0);
    findings.add(claims::STREAMING_AT, f64::from(most));
    findings.add(claims::STREAMING_AFTERWARDS, f64::from(last));
    let normalised = run.normalised(0, BASELINE);
    let at_most = run
        .ways(0)
        .iter()
        .position(|&ways| ways == most)
        .and_then(|at| normalised.get(at + 1).copied());
    let change = at_most.map(|ipc| 100.0 * (ipc - 1.0));
    findings.add_if(claims::STREAMING_IPC_CHANGE, change);
    findings.add(claims::WAYS_SAVED, f64::from(BASELINE) - f64::from(last));
}

/// Figure 14.
fn two_readers(run: &TenantRun, findings: &mut Findings) {
    let at = |tenant: usize, second: usize| run.ways(tenant)[second - 1];
    let (eight, twelve) = (at(0, 13), at(1, 13));
    if eight == twelve {
        findings.add(claims::BOTH_BEFORE_14_S, f64::from(eight));
    } else {
        findings.add_text(claims::BOTH_BEFORE_14_S, format!("{eight}/{twelve}"));
    }
    let others: u32 = (2..run.0.len()).map(|tenant| run.final_ways(tenant)).sum();
    findings.add(claims::LEFT_FOR_BOTH, 20.0 - f64::from(others));
    findings.add(claims::EIGHT_MB_AFTER, f64::from(run.final_ways(0)));
    findings.add(claims::TWELVE_MB_AFTER, f64::from(run.final_ways(1)));
}

/// Figure 15.
fn reader_and_stream(run: &TenantRun, findings: &mut Findings) {
    let at_six = [run.ways(0)[5], run.ways(1)[5]];
    if at_six[0] == at_six[1] {
        findings.add(claims::BOTH_AT_6_S, f64::from(at_six[0]));
    } else {
        findings.add_text(claims::BOTH_AT_6_S, format!("{}/{}", at_six[0], at_six[1]));
    }
    let most = run.most_ways(1, 1);
    findings.add(claims::MLOAD_TAKES, f64::from(most));
    findings.add(claims::MLOAD_RELEASES, f64::from(most - run.final_ways(1)));
    findings.add(claims::EIGHT_MB_AT_THE_END, f64::from(run.final_ways(0)));
}

/// Figures 10 and 11: one MLR of each size among five tenants that only compute. Returns the ways
/// and normalised IPC of each, and its latency with dCat and with its baseline over that with the
/// whole cache.
pub(super) fn sizes(
    bench: DcatBench<'_>,
    findings: &mut Findings,
) -> Result<(Vec<DrawnTimeline>, Series), ChipError> {
    const SIZES: [u32; 4] = [4, 8, 12, 16];
    const ROUNDS: u32 = 18;
    fn text(size: u32) -> String {
        format!("mlr:{size}M")
    }
    let run = |&size: &u32| {
        let target = tenant(&format!("idle@1s+{}", text(size)), BASELINE);
        bench.run(&among(&[target], 5, BASELINE), CacheMode::Dcat(bench.dcat), ROUNDS)
    };
    let runs: Vec<TenantRun> = SIZES.par_iter().map(run).collect::<Result<_, ChipError>>()?;
    let polite = (1..=5).map(|tenant| runs[1].final_ways(tenant)).max().unwrap_or(0);
    findings.add(claims::LOOKBUSY_WAYS, f64::from(polite));
    // From its start, a second after the beginning.
    fn time(place: usize, runs: &[TenantRun]) -> f64 {
        runs[place].seconds_to_enough(0) - 1.0
    }
    findings.add(claims::EIGHT_MB_TIME, time(1, &runs));
    findings.add(claims::SIXTEEN_MB_TIME, time(3, &runs));
    findings.add(claims::EIGHT_MB_SETTLES, f64::from(runs[1].final_ways(0)));
    let step = runs[3].ways(0).windows(2).skip(2).map(|pair| pair[1].saturating_sub(pair[0])).max();
    findings.add_if(claims::STEP, step.map(f64::from));
    findings.add(claims::SIXTEEN_MB_SETTLES, f64::from(runs[3].final_ways(0)));
    findings.add_text(claims::MLR_EXPERIMENTS, format!("{} x {BASELINE}", runs[1].0.len()));

    let latencies: Vec<[f64; 2]> = SIZES
        .par_iter()
        .zip(&runs)
        .map(|(&size, run): (&u32, &TenantRun)| -> Result<[f64; 2], ChipError> {
            let ways = bench.settings.chip.llc.ways.get();
            let full = bench.alone(&text(size), ways, 6)?;
            Ok([full / run.ipc(0, 3), full / bench.alone(&text(size), BASELINE, 6)?])
        })
        .collect::<Result<_, ChipError>>()?;
    let worst = latencies.iter().map(|one| one[0]).fold(0.0, f64::max);
    findings.add(claims::OVER_FULL_CACHE, worst);
    let larger = latencies[1..].iter().map(|one| one[1] / one[0]).fold(f64::MAX, f64::min);
    findings.add(claims::STATIC_OVER_DCAT, larger);
    let bars = ["dCat", "static, 3 ways"]
        .into_iter()
        .enumerate()
        .map(|(place, name)| (name.to_owned(), latencies.iter().map(|one| one[place]).collect()));
    let (mut ways, mut ipc) = (Vec::new(), Vec::new());
    for (size, run) in SIZES.iter().zip(&runs) {
        let name = format!("MLR-{size}MB");
        let by_round = run.ways(0).into_iter().map(f64::from);
        ways.push(Line { name: name.clone(), points: points(by_round) });
        ipc.push(Line { name, points: points(run.normalised(0, BASELINE)) });
    }
    let drawn = vec![
        ("figure10", "Figure 10: ways of MLR", ways),
        ("figure10-ipc", "Figure 10: IPC of MLR over that with 3 ways", ipc),
    ];
    Ok((drawn, bars.collect()))
}

/// Figure 16: MLR beside MLOAD under dCat, with static ways, and shared.
pub(super) fn latencies(
    bench: DcatBench<'_>,
    findings: &mut Findings,
) -> Result<Series, ChipError> {
    const ITEM: &str = "Figure 16";
    let tenants = among(&[tenant("mlr:8M", BASELINE), tenant(bench.mload, BASELINE)], 5, BASELINE);
    let cases = [CacheMode::Shared, CacheMode::Static, CacheMode::Dcat(bench.dcat)];
    let runs: Vec<TenantRun> = cases
        .par_iter()
        .map(|under| bench.run(&tenants, *under, 16))
        .collect::<Result<_, ChipError>>()?;
    // By run, of MLR and of MLOAD.
    let ipc: Vec<[f64; 2]> = runs.iter().map(|run| [run.ipc(0, 3), run.ipc(1, 3)]).collect();
    let improvement =
        |tenant: usize, over: usize| 100.0 * (ipc[2][tenant] / ipc[over][tenant] - 1.0);
    findings.add(claims::MLR_IMPROVEMENT, improvement(0, 1));
    let case = "MLR-8MB improvement by dCat over shared";
    findings.add_beside(ITEM, case, "percent", Some(improvement(0, 0)));
    findings.add(claims::MLOAD_CHANGE, improvement(1, 1));
    let case = "MLOAD change by dCat over shared";
    findings.add_beside(ITEM, case, "percent", Some(improvement(1, 0)));
    let ways = bench.settings.chip.llc.ways.get();
    let full = [bench.alone("mlr:8M", ways, 6)?, bench.alone(bench.mload, ways, 6)?];
    let names = ["shared", "static, 3 ways", "dCat"];
    let latencies = names.into_iter().zip(ipc).map(|(name, [reader, stream])| {
        (name.to_owned(), vec![full[0] / reader, full[1] / stream])
    });
    Ok(latencies.collect())
}

/// dCat, with the time that it took.
struct TimedDcat {
    policy: Dcat,
    spent: Duration,
}

impl Policy for TimedDcat {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let (start, mut elsewhere) = (Instant::now(), Duration::ZERO);
        self.policy.handle(at, event, &mut |action| {
            // The machine's part does not count as dCat's work.
            let start = Instant::now();
            act(action);
            elsewhere += start.elapsed();
        });
        self.spent += start.elapsed().saturating_sub(elsewhere);
    }
}

/// §5.1: the share of a core that dCat's own work takes.
pub(super) fn overhead(bench: DcatBench<'_>, findings: &mut Findings) -> Result<(), ChipError> {
    const ROUNDS: u32 = 10;
    let tenants = among(&[tenant("mlr:8M", BASELINE)], 5, BASELINE);
    let mut timed = TimedDcat { policy: Dcat::new(bench.dcat), spent: Duration::ZERO };
    timeline(bench.settings, &tenants, &mut timed, ROUND, ROUNDS)?;
    let share = timed.spent.as_secs_f64() / (ROUND * ROUNDS).as_secs_f64();
    findings.add(claims::DAEMON_CPU, 100.0 * share);
    Ok(())
}
