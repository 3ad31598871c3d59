//! How much rows depend on the ground: the same experiments on grounds that differ in one point,
//! and static partitions that no policy can beat. Nothing here is judged.

use fairways_chip::{ChipError, Job};
use fairways_core::Wish;
use rayon::prelude::*;

use super::benchmarks::SpecPrograms;
use super::setup::{CacheMode, DcatBench, among, tenant};
use super::spec::{BASELINE, beside, three};
use super::{Length, servers, spec, timelines as drawn};
use crate::paper::{self, DCAT, Findings};

/// MLOAD with few misses under way, like `mload:60M`: 3.2 GB/s alone.
const SLOW: &str = "mload:60M";

/// A host's own work: 1 GB/s on the chip's clock, 24 MB in a round that is 40 times as short.
const HOST: &str = "mload:1G:cpi=4";

/// Programs that are executed with the private caches simulated.
const EXECUTED: [&str; 4] = ["mcf-like", "twolf-like", "gcc-like", "vortex-like"];

/// Figures 12 to 16.
pub(super) fn timelines(bench: DcatBench<'_>, beside: &mut Findings) -> Result<(), ChipError> {
    let claims = paper::claims(DCAT).expect("the data of this project");
    let mut own = Findings::default();
    let bits = bench.on("xeon-e5:replacement=bit-plru");
    drawn::run(bits, &mut own)?;
    drawn::latencies(bits, &mut own)?;
    beside.add_ground(&claims, &own.0, "bit-plru");

    let mut own = Findings::default();
    drawn::latencies(DcatBench { host: Some(HOST), ..bench }, &mut own)?;
    beside.add_ground(&claims, &own.0, "beside a host");
    splits(bench, beside)
}

/// Figure 17 and Tables 4 to 6.
pub(super) fn tables(
    bench: DcatBench<'_>,
    programs: &SpecPrograms<'_>,
    length: Length,
    beside: &mut Findings,
) -> Result<(), ChipError> {
    let mut own = Findings::default();
    let slow = DcatBench { mload: SLOW, ..bench };
    let fared = spec::run(slow, programs, length)?;
    spec::findings(&fared, &mut own);
    servers::run(slow, length, &mut own)?;
    let claims = paper::claims(DCAT).expect("the data of this project");
    beside.add_ground(
        &claims,
        own.0.iter().filter(|finding| {
            let is_mean = finding.case.contains("mean") || finding.case.contains("largest");
            let has_ways = finding.case.contains("ceiling");
            is_mean || finding.item != "Figure 17" && finding.item != "§5.2" && !has_ways
        }),
        "MLOADs of 3.2 GB/s",
    );

    oracles(bench, programs, length, beside)?;
    private_caches(bench, length, beside)
}

/// Figure 14: the two MLRs on 12 ways, divided in every way.
fn splits(bench: DcatBench<'_>, findings: &mut Findings) -> Result<(), ChipError> {
    let ipc = |first: u32, second: u32| -> Result<[f64; 2], ChipError> {
        let two = [tenant("mlr:8M", first), tenant("mlr:12M", second)];
        let run = bench.run(&among(&two, 4, 1), CacheMode::Static, 6)?;
        Ok([run.ipc(0, 3), run.ipc(1, 3)])
    };
    let unit = ipc(3, 3)?;
    let sums: Vec<(u32, f64)> = (3..=9_u32)
        .into_par_iter()
        .map(|first| {
            let [a, b] = ipc(first, 12 - first)?;
            Ok((first, a / unit[0] + b / unit[1]))
        })
        .collect::<Result<_, ChipError>>()?;
    for (first, sum) in sums {
        let case = format!("MLR-8MB with {first} ways and MLR-12MB with {}, IPC", 12 - first);
        findings.add_beside("Figure 14", &case, "sum over that with 3", Some(sum));
    }
    Ok(())
}

/// The gain of a target over static ways if all other tenants had one way.
fn oracle(bench: DcatBench<'_>, target: &Job, rounds: u32) -> Result<f64, ChipError> {
    fn with(job: &Job, ways: u32) -> Job {
        Job { wish: Wish { baseline_ways: Some(ways), ..job.wish }, ..job.clone() }
    }
    let jobs = beside(bench, target);
    let others: u32 = jobs[1..].iter().map(|_| 1).sum();
    let all = bench.settings.chip.llc.ways.get() - others;
    let most: Vec<Job> = std::iter::once(with(&jobs[0], all))
        .chain(jobs[1..].iter().map(|job| with(job, 1)))
        .collect();
    let [most, own] = [&most, &jobs].map(|jobs| bench.run(jobs, CacheMode::Static, rounds));
    Ok(100.0 * (most?.ipc(0, 3) / own?.ipc(0, 3) - 1.0))
}

/// Figure 17 and Tables 4 to 6: the most that any policy can gain over static ways.
fn oracles(
    bench: DcatBench<'_>,
    programs: &SpecPrograms<'_>,
    length: Length,
    findings: &mut Findings,
) -> Result<(), ChipError> {
    let gains = spec::each(bench, programs, |job| oracle(bench, job, length.fixed))?;
    let logarithms: f64 = gains.iter().map(|(_, gain)| (1.0 + gain / 100.0).ln()).sum();
    let mean = 100.0 * ((logarithms / gains.len() as f64).exp() - 1.0);
    let largest = gains.iter().map(|(_, gain)| *gain).fold(0.0, f64::max);
    let mut rows =
        vec![("Figure 17", "geometric mean", mean), ("Figure 17", "largest gain", largest)];
    for (item, name, text) in [
        ("Table 4", "Redis", servers::REDIS),
        ("Table 5", "PostgreSQL", servers::POSTGRESQL),
        ("Table 6", "Elasticsearch", servers::ELASTICSEARCH),
    ] {
        rows.push((item, name, oracle(bench, &tenant(text, BASELINE), length.fixed)?));
    }
    for (item, what, gain) in rows {
        let case = format!("{what} over static, everybody else with one way");
        findings.add_beside(item, &case, "percent", Some(gain));
    }
    Ok(())
}

/// Programs behind private caches of 256 KB, as the paper's, and of 1 MB, as the profiles'.
fn private_caches(
    bench: DcatBench<'_>,
    length: Length,
    findings: &mut Findings,
) -> Result<(), ChipError> {
    for (chip, size) in [("xeon-e5", "256 KB"), ("xeon-e5:l2=1024/16", "1 MB")] {
        let bench = bench.on(chip);
        let gain = |text: &&str| {
            let (_, [shared, fixed, dcat], _) =
                three(bench, &beside(bench, &tenant(text, BASELINE)), length)?;
            Ok([dcat / shared, dcat / fixed])
        };
        let gains: Vec<[f64; 2]> =
            EXECUTED.par_iter().map(gain).collect::<Result<_, ChipError>>()?;
        for (place, over) in ["shared", "static"].into_iter().enumerate() {
            let sum: f64 = gains.iter().map(|gain| gain[place].ln()).sum();
            let mean = 100.0 * ((sum / gains.len() as f64).exp() - 1.0);
            let case = format!("geometric mean over {over}, executed programs behind {size}");
            findings.add_beside("Figure 17", &case, "percent", Some(mean));
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::setup::FinishedRuns;
    use super::*;

    /// Each ground has rows, and no two rows have the same name.
    #[test]
    fn every_ground_has_rows_of_its_own() {
        let finished = FinishedRuns::default();
        let bench = DcatBench::new("xeon-e5", 2000, 1, &finished);
        let length = Length { dcat: 3, fixed: 3, counted: 1 };
        let mut rows = Findings::default();
        timelines(bench, &mut rows).unwrap();
        let programs = SpecPrograms::of(fairways_profiles::embedded());
        tables(bench, &programs, length, &mut rows).unwrap();
        let mut names: Vec<_> = rows.0.iter().map(|row| (&row.item, &row.case)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let grounds = [
            "bit-plru",
            "beside a host",
            "MLOADs of 3.2 GB/s",
            "everybody else with one way",
            "behind 256 KB",
            "behind 1 MB",
            "MLR-8MB with 8 ways and MLR-12MB with 4, IPC",
        ];
        for ground in grounds {
            assert!(names.iter().any(|(_, case)| case.ends_with(ground)), "{ground}");
        }
    }
}
