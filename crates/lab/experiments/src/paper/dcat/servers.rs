//! Tables 4 to 6: Redis, PostgreSQL and Elasticsearch, modelled by their use of the last-level
//! cache.
//!
//! A request has a fixed number of instructions, and references regions as written here. Clients
//! wait for their answers (a closed loop): throughput is that of a busy server, latency the
//! requests under way over it. The sizes are those of the published set-ups (records, tables,
//! indexes); the hot parts are estimated, and not adjusted to the results.

use std::time::Duration;

use fairways_chip::{Chip, ChipError, Job};
use fairways_core::Time;
use rayon::prelude::*;

use super::claims;
use super::setup::{CacheMode, DcatBench, ROUND, among, tenant};
use super::spec::{BASELINE, Length, beside, three};
use crate::paper::Findings;

/// A GET of 1 M records of 128 bytes: client buffers and hot keys, one of 2^20 buckets, and the
/// record itself, each waited for.
pub(super) const REDIS: &str = "regions:7.2:6%12M:1%8.4M:6%230M:cpi=0.7:overlap=1";
const REDIS_INSTRUCTIONS: f64 = 1800.0;
/// 8 threads, 50 connections each, 30 requests in each connection's pipeline.
const REDIS_WAITING: f64 = 12_000.0;

/// A SELECT among 10 M tuples: code and catalogue, the upper levels of the index, and leaves.
pub(super) const POSTGRESQL: &str = "regions:10:70%4M:22%12M:8%1.5G:cpi=0.9:overlap=2";
const POSTGRESQL_INSTRUCTIONS: f64 = 200_000.0;
const POSTGRESQL_CLIENTS: f64 = 4.0;
const VCPUS: f64 = 2.0;

/// A read of one of 100 K records of 1 KB: code and heap, and records as YCSB's Zipf picks them: 62
/// % go to the first hundredth, 19 % to the rest of the first tenth, 19 % to the others.
pub(super) const ELASTICSEARCH: &str =
    "regions:8:50%4M:30%16M:12.4%1M:3.8%9M:3.8%90M:cpi=1.0:overlap=2";
const ELASTICSEARCH_INSTRUCTIONS: f64 = 120_000.0;

pub(super) fn run(
    bench: DcatBench<'_>,
    length: Length,
    findings: &mut Findings,
) -> Result<(), ChipError> {
    let hertz = f64::from(bench.settings.chip.mhz) * 1e6;
    let target = |text| beside(bench, &tenant(text, BASELINE));
    // Seconds of a request: shared, static, dCat.
    let seconds = |text, instructions: f64| -> Result<([f64; 3], u32), ChipError> {
        let (_, ipc, ceiling) = three(bench, &target(text), length)?;
        Ok((ipc.map(|ipc| instructions / ipc / hertz), ceiling))
    };
    let (redis, ceiling) = seconds(REDIS, REDIS_INSTRUCTIONS)?;
    for ([throughput, latency], seconds) in [
        [claims::REDIS_SHARED, claims::REDIS_SHARED_LATENCY],
        [claims::REDIS_STATIC, claims::REDIS_STATIC_LATENCY],
        [claims::REDIS_DCAT, claims::REDIS_DCAT_LATENCY],
    ]
    .into_iter()
    .zip(redis)
    {
        findings.add(throughput, 1.0 / seconds);
        findings.add(latency, 1e3 * REDIS_WAITING * seconds);
    }
    findings.add(claims::REDIS_OVER_SHARED, redis[0] / redis[2]);
    findings.add(claims::REDIS_OVER_STATIC, redis[1] / redis[2]);
    findings.add(claims::REDIS_STATIC_OVER_SHARED, redis[0] / redis[1]);
    findings.add(claims::REDIS_CEILING, f64::from(ceiling));

    let (postgresql, ceiling) = seconds(POSTGRESQL, POSTGRESQL_INSTRUCTIONS)?;
    for ([throughput, latency], seconds) in [
        [claims::POSTGRESQL_SHARED, claims::POSTGRESQL_SHARED_LATENCY],
        [claims::POSTGRESQL_STATIC, claims::POSTGRESQL_STATIC_LATENCY],
        [claims::POSTGRESQL_DCAT, claims::POSTGRESQL_DCAT_LATENCY],
    ]
    .into_iter()
    .zip(postgresql)
    {
        findings.add(throughput, VCPUS / seconds);
        findings.add(latency, 1e3 * POSTGRESQL_CLIENTS / VCPUS * seconds);
    }
    findings.add(claims::POSTGRESQL_OVER_SHARED, postgresql[0] / postgresql[2]);
    let reduction = 100.0 * (1.0 - postgresql[2] / postgresql[1]);
    findings.add(claims::POSTGRESQL_LATENCY_REDUCTION, reduction);
    findings.add(claims::POSTGRESQL_STATIC_OVER_SHARED, postgresql[0] / postgresql[1]);
    findings.add(claims::POSTGRESQL_CEILING, f64::from(ceiling));

    let three_instances = among(
        &[POSTGRESQL, POSTGRESQL, POSTGRESQL, bench.mload].map(|text| tenant(text, BASELINE)),
        1,
        BASELINE,
    );
    let (runs, ..) = three(bench, &three_instances, length)?;
    let [a, b, c] = [0, 1, 2].map(|tenant| {
        runs[2].ipc(tenant, length.counted) / runs[1].ipc(tenant, length.counted) - 1.0
    });
    let each = a.min(b).min(c);
    let one = postgresql[1] / postgresql[2] - 1.0;
    findings.add(claims::THREE_POSTGRESQL, each / one);

    elasticsearch(bench, length, findings)
}

/// Table 6: the times that single requests take.
fn elasticsearch(
    bench: DcatBench<'_>,
    length: Length,
    findings: &mut Findings,
) -> Result<(), ChipError> {
    let tenants = beside(bench, &tenant(ELASTICSEARCH, BASELINE));
    let run = bench.run(&tenants, CacheMode::Dcat(bench.dcat), length.dcat)?;
    let ceiling = run.most_ways(0, 0);
    // The claims of the mean, and of the 95th and 99th percentile.
    let cases = [
        (
            CacheMode::Shared,
            length.fixed,
            [
                claims::ELASTICSEARCH_SHARED_MEAN,
                claims::ELASTICSEARCH_SHARED_P95,
                claims::ELASTICSEARCH_SHARED_P99,
            ],
        ),
        (
            CacheMode::Static,
            length.fixed,
            [
                claims::ELASTICSEARCH_STATIC_MEAN,
                claims::ELASTICSEARCH_STATIC_P95,
                claims::ELASTICSEARCH_STATIC_P99,
            ],
        ),
        (
            CacheMode::Dcat(bench.dcat),
            length.dcat,
            [
                claims::ELASTICSEARCH_DCAT_MEAN,
                claims::ELASTICSEARCH_DCAT_P95,
                claims::ELASTICSEARCH_DCAT_P99,
            ],
        ),
    ];
    let found: Vec<[f64; 3]> = cases
        .par_iter()
        .map(|&(under, rounds, _)| {
            let mut times = requests(bench, &tenants, under, rounds, ELASTICSEARCH_INSTRUCTIONS)?;
            times.sort_unstable_by(f64::total_cmp);
            fn at(percent: usize, times: &[f64]) -> f64 {
                times[(times.len() - 1) * percent / 100]
            }
            Ok([times.iter().sum::<f64>() / times.len() as f64, at(95, &times), at(99, &times)]
                .map(|seconds| 1e6 * seconds))
        })
        .collect::<Result<_, ChipError>>()?;
    for ((.., claims), micros) in cases.into_iter().zip(&found) {
        for (claim, micros) in claims.into_iter().zip(micros) {
            findings.add(claim, *micros);
        }
    }
    let reduction = |what: usize, over: usize| 100.0 * (1.0 - found[2][what] / found[over][what]);
    findings.add(claims::ELASTICSEARCH_MEAN_OVER_STATIC, reduction(0, 1));
    findings.add(claims::ELASTICSEARCH_MEAN_OVER_SHARED, reduction(0, 0));
    findings.add(claims::ELASTICSEARCH_P99_OVER_STATIC, reduction(2, 1));
    findings.add(claims::ELASTICSEARCH_P99_OVER_SHARED, reduction(2, 0));
    findings.add(claims::ELASTICSEARCH_CEILING, f64::from(ceiling));
    Ok(())
}

/// The seconds of the first tenant's requests, one after the other, after this many rounds.
fn requests(
    bench: DcatBench<'_>,
    tenants: &[Job],
    under: CacheMode,
    rounds: u32,
    instructions: f64,
) -> Result<Vec<f64>, ChipError> {
    const REQUESTS: f64 = 1000.0;
    let mut policy = under.policy();
    let mut chip = Chip::new(bench.settings, tenants.iter().cloned())?;
    let mut instructions_at = |end: Time| {
        chip.stop_at(end);
        fairways_core::run(&mut chip, policy.as_mut(), &mut []);
        chip.account(0).instructions as f64
    };
    let begin = Time::ZERO.after(ROUND * rounds);
    let mut before = instructions_at(begin);
    let first = before;
    // A step is a few hundredths of a request.
    let step = Duration::from_micros(2) * bench.settings.time_scale;
    let (mut steps, mut last, mut times) = (0u32, 0.0, Vec::new());
    while before < first + REQUESTS * instructions {
        steps += 1;
        let now = instructions_at(begin.after(step * steps));
        let mut end = first + (times.len() + 1) as f64 * instructions;
        while end <= now {
            let at = f64::from(steps - 1) + (end - before) / (now - before);
            times.push((at - last) * 2e-6);
            last = at;
            end += instructions;
        }
        before = now;
    }
    Ok(times)
}
