//! Figures 1 to 3 and 5: interference, conflicts of pages, and memory accesses as a signature of
//! phases.

use fairways_chip::{ChipError, PageSize, lines_per_set};
use rayon::prelude::*;

use super::claims;
use super::plots::Series;
use super::setup::{CacheMode, DcatBench, tenant};
use crate::paper::Findings;

/// Lines of a megabyte.
const MB: u32 = 1 << 14;

/// Rounds of a steady state: four to warm up, and one that counts.
const ROUNDS: u32 = 5;

/// Figure 1: MLR beside two MLOADs, as a multiple of its latency alone with the whole cache.
pub(super) fn interference(
    bench: DcatBench<'_>,
    findings: &mut Findings,
) -> Result<Series, ChipError> {
    const ITEM: &str = "Figure 1";
    fn noise(mload: &str) -> [fairways_chip::Job; 2] {
        [tenant(mload, 7), tenant(mload, 7)]
    }
    let latency = |size: &str, noisy: bool, under| {
        let mut tenants = vec![tenant(&format!("mlr:{size}"), 6)];
        if noisy {
            tenants.extend(noise(bench.mload));
        }
        bench.run(&tenants, under, ROUNDS).map(|run| 1.0 / run.ipc(0, 1))
    };
    let cases = [
        (false, CacheMode::Shared),
        (true, CacheMode::Shared),
        (false, CacheMode::Static),
        (true, CacheMode::Static),
    ];
    let sizes = ["6M", "16M"];
    let all: Vec<(&str, (bool, CacheMode))> =
        sizes.iter().flat_map(|size| cases.map(|case| (*size, case))).collect();
    let found: Vec<f64> = all
        .par_iter()
        .map(|&(size, (noisy, under))| latency(size, noisy, under))
        .collect::<Result<_, ChipError>>()?;
    let [six, sixteen] = [&found[..4], &found[4..]];
    findings.add(claims::SIX_MB_CAT, six[3] / six[0]);
    findings.add(claims::SIX_MB_SHARED, six[1] / six[0]);
    findings.add(claims::SIXTEEN_MB_CAT, sixteen[3] / sixteen[0]);
    let case = "MLR-16MB: shared with noise over shared without";
    findings.add_beside(ITEM, case, "latency ratio", Some(sixteen[1] / sixteen[0]));
    let way = bench.settings.chip.way_bytes() as f64 / f64::from(1 << 20);
    findings.add_text(claims::CAT_WAYS, format!("6 / {}", 6.0 * way));
    let names = ["shared", "shared, noisy", "CAT, 6 ways", "CAT, noisy"];
    Ok(names
        .into_iter()
        .enumerate()
        .map(|(place, name)| {
            (name.to_owned(), vec![six[place] / six[0], sixteen[place] / sixteen[0]])
        })
        .collect())
}

/// Figure 2: MLR in two ways that it would just fit, by pages; a mean over placements.
pub(super) fn two_ways(
    bench: DcatBench<'_>,
    chip: &str,
    size: &str,
    seeds: u64,
) -> Result<[f64; 2], ChipError> {
    let sum = |pages: PageSize| -> Result<f64, ChipError> {
        let all: Vec<f64> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let mut small = bench.on(chip);
                small.settings.seed = seed;
                small.settings.seed = seed;
                let text = format!("mlr:{size}");
                let ways = small.settings.chip.llc.ways.get();
                let two = small.with_pages(pages).alone(&text, 2, ROUNDS)?;
                Ok(small.alone(&text, ways, ROUNDS)? / two)
            })
            .collect::<Result<_, ChipError>>()?;
        Ok(all.iter().sum::<f64>() / seeds as f64)
    };
    Ok([sum(PageSize::Small)?, sum(PageSize::Huge)?])
}

pub(super) fn conflicts(
    bench: DcatBench<'_>,
    seeds: u64,
    findings: &mut Findings,
) -> Result<(), ChipError> {
    const ITEM: &str = "Figure 2";
    let [small, huge] = two_ways(bench, "xeon-d", "2M", seeds)?;
    findings.add(claims::XEON_D_SMALL_PAGES, small);
    findings.add(claims::XEON_D_HUGE_PAGE, huge);
    let [small, huge] = two_ways(bench, "xeon-e5", "4.5M", seeds)?;
    findings.add(claims::XEON_E5_HUGE_PAGES, huge);
    let case = "Xeon-E5 4.5MB, 2 ways, 4KB pages over full cache";
    findings.add_beside(ITEM, case, "latency ratio", Some(small));
    Ok(())
}

/// Figure 3: the sets with three lines or more of a working set as large as two ways.
pub(super) fn histogram(findings: &mut Findings) {
    const ITEM: &str = "Figure 3";
    const PLACEMENTS: u64 = 2000;
    fn each(size: PageSize, sets: u32, lines: u32) -> Vec<f64> {
        let percent = |seed| {
            let counts = lines_per_set(size, sets, lines, seed);
            100.0 * f64::from(counts.iter().skip(3).sum::<u32>()) / f64::from(sets)
        };
        (0..PLACEMENTS).into_par_iter().map(percent).collect()
    }
    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }
    let (xeon_d, xeon_e5) = (16_384, 36_864);
    let small = mean(&each(PageSize::Small, xeon_d, 2 * MB));
    findings.add(claims::XEON_D_SMALL_CONFLICTS, small);
    findings.add(claims::XEON_D_HUGE_CONFLICTS, mean(&each(PageSize::Huge, xeon_d, 2 * MB)));
    // 4.5 million bytes: docs/decisions.md, dCat 14.
    let decimal = mean(&each(PageSize::Small, xeon_e5, 4_500_000 / 64));
    findings.add(claims::XEON_E5_SMALL_CONFLICTS, decimal);
    let binary = mean(&each(PageSize::Small, xeon_e5, 9 * MB / 2));
    findings.add_beside(ITEM, "Xeon-E5, 4KB pages, 4.5 MiB", "percent", Some(binary));
    let huge = each(PageSize::Huge, xeon_e5, 9 * MB / 2);
    let ninth: Vec<f64> =
        huge.iter().copied().filter(|&share| share > 5.0 && share < 15.0).collect();
    let probability = ninth.len() as f64 / huge.len() as f64;
    findings.add(claims::XEON_E5_HUGE_PROBABILITY, probability);
    findings.add(claims::XEON_E5_HUGE_CONFLICTS, mean(&ninth));
}

/// Figure 5: L1 references per instruction do not depend on the ways.
pub(super) fn references(bench: DcatBench<'_>, findings: &mut Findings) -> Result<(), ChipError> {
    let spread = |text: &&str| -> Result<f64, ChipError> {
        let rate = |ways: u32| {
            let run = bench.run(&[tenant(text, ways)], CacheMode::Static, 1)?;
            let counted = run.0[0][0].counted;
            Ok(counted.l1_references as f64 / counted.instructions as f64)
        };
        let rates: Vec<f64> = (1..=8).map(rate).collect::<Result<_, ChipError>>()?;
        let (low, high) = (
            rates.iter().copied().fold(f64::MAX, f64::min),
            rates.iter().copied().fold(0.0, f64::max),
        );
        Ok(100.0 * (high - low) / low)
    };
    let texts = ["mlr:4M", "mlr:8M", "mlr:16M", "mload:30M", "mload:60M"];
    let spreads: Vec<f64> = texts.par_iter().map(spread).collect::<Result<_, ChipError>>()?;
    findings.add(claims::L1_REFERENCES, spreads.into_iter().fold(0.0, f64::max));
    Ok(())
}
