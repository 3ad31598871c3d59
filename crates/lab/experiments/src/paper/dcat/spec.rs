//! Figure 17 and Table 3: SPEC programs beside two MLOADs.

use std::sync::Arc;

use fairways_chip::{ChipError, Job, Phase, program};
use fairways_core::Wish;
use rayon::prelude::*;

use super::benchmarks::{BENCHMARKS, SpecPrograms, SpecRow};
use super::claims;
use super::setup::{CacheMode, DcatBench, TenantRun, tenant};
use crate::paper::Findings;

/// The baseline of each tenant in these experiments (§5.2).
pub(super) const BASELINE: u32 = 4;

/// One benchmark: its speed with static ways and with dCat over that with a shared cache, and the
/// most ways that dCat gave it.
#[derive(Clone, Debug)]
pub(super) struct SpecOutcome {
    pub(super) row: SpecRow,
    pub(super) fixed: f64,
    pub(super) dcat: f64,
    ceiling: u32,
}

/// Rounds in all, and those at the end that count: in the paper's long runs, the search for the
/// best ways weighs little.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// With dCat.
    pub dcat: u32,
    /// Shared, and with static ways.
    pub fixed: u32,
    /// Those at the end that count.
    pub counted: u32,
}

/// The target of an experiment beside two tenants that stream and two that only compute.
pub(super) fn beside(bench: DcatBench<'_>, target: &Job) -> Vec<Job> {
    let mut tenants = vec![target.clone()];
    tenants.extend(
        [bench.mload, bench.mload, "lookbusy", "lookbusy"].map(|text| tenant(text, BASELINE)),
    );
    tenants
}

/// Speeds and ceiling of the first of these tenants: shared, static, dCat.
pub(super) fn three(
    bench: DcatBench<'_>,
    tenants: &[Job],
    length: Length,
) -> Result<(Vec<TenantRun>, [f64; 3], u32), ChipError> {
    let cases = [
        (CacheMode::Shared, length.fixed),
        (CacheMode::Static, length.fixed),
        (CacheMode::Dcat(bench.dcat), length.dcat),
    ];
    let runs: Vec<TenantRun> = cases
        .par_iter()
        .map(|(under, rounds)| bench.run(tenants, *under, *rounds))
        .collect::<Result<_, ChipError>>()?;
    let ipc = [0, 1, 2].map(|place| runs[place].ipc(0, length.counted));
    let ceiling = runs[2].most_ways(0, 0);
    Ok((runs, ipc, ceiling))
}

/// The result of each program with its name. Several rows may share a profile, which runs once.
pub(super) fn each<T: Clone + Send>(
    bench: DcatBench<'_>,
    programs: &SpecPrograms<'_>,
    what: impl Fn(&Job) -> Result<T, ChipError> + Sync,
) -> Result<Vec<(SpecRow, T)>, ChipError> {
    let SpecPrograms { tables, rows } = programs;
    let mut profiles: Vec<(usize, usize)> = rows.iter().map(|row| row.profile).collect();
    profiles.sort_unstable();
    profiles.dedup();
    let found: Vec<Option<T>> = profiles
        .par_iter()
        .map(|&(table, index): &(usize, usize)| -> Result<Option<T>, ChipError> {
            let (table, chip) = (tables[table], bench.settings.chip);
            let ways = table.ways().min(chip.llc.ways);
            let Ok(program) = program::profiled(table, index, ways, chip.latency) else {
                // The program never references the cache.
                return Ok(None);
            };
            let job = Job {
                phases: vec![Phase { program: Some(Arc::new(program)), length: None }],
                wish: Wish { baseline_ways: Some(BASELINE), ..Wish::default() },
                ..Job::default()
            };
            what(&job).map(Some)
        })
        .collect::<Result<_, ChipError>>()?;
    Ok(rows
        .iter()
        .filter_map(|row| {
            let place = profiles.binary_search(&row.profile).ok()?;
            Some((row.clone(), found[place].clone()?))
        })
        .collect())
}

/// Runs the programs beside noisy tenants.
pub(super) fn run(
    bench: DcatBench<'_>,
    programs: &SpecPrograms<'_>,
    length: Length,
) -> Result<Vec<SpecOutcome>, ChipError> {
    let found = each(bench, programs, |target| {
        let (_, [shared, fixed, dcat], ceiling) = three(bench, &beside(bench, target), length)?;
        Ok((fixed / shared, dcat / shared, ceiling))
    })?;
    let outcomes = found.into_iter().map(|(row, (fixed, dcat, ceiling))| SpecOutcome {
        row,
        fixed,
        dcat,
        ceiling,
    });
    Ok(outcomes.collect())
}

pub(super) fn findings(fared: &[SpecOutcome], findings: &mut Findings) {
    const ITEM: &str = "Figure 17";
    fn mean(value: &dyn Fn(&SpecOutcome) -> f64, fared: &[SpecOutcome]) -> f64 {
        let sum: f64 = fared.iter().map(|one| value(one).ln()).sum();
        100.0 * ((sum / fared.len() as f64).exp() - 1.0)
    }
    fn most(value: &dyn Fn(&SpecOutcome) -> f64, fared: &[SpecOutcome]) -> f64 {
        100.0 * (fared.iter().map(value).fold(0.0, f64::max) - 1.0)
    }
    fn over_static(one: &SpecOutcome) -> f64 {
        one.dcat / one.fixed
    }
    // The rows are only meaningful with all benchmarks.
    let measured = fared.iter().all(|one| one.row.ceiling.is_some());
    if !measured {
        let case = "geometric mean, programs of the table";
        findings.add_beside(
            ITEM,
            &format!("{case}, over shared"),
            "percent",
            Some(mean(&|one| one.dcat, fared)),
        );
        findings.add_beside(
            ITEM,
            &format!("{case}, over static"),
            "percent",
            Some(mean(&over_static, fared)),
        );
    } else if fared.len() == BENCHMARKS.len() {
        findings.add(claims::MEAN_OVER_SHARED, mean(&|one| one.dcat, fared));
        findings.add(claims::MEAN_OVER_STATIC, mean(&over_static, fared));
        findings.add(claims::LARGEST_OVER_STATIC, most(&over_static, fared));
        findings.add(claims::LARGEST_OVER_SHARED, most(&|one| one.dcat, fared));
        let below = fared.iter().filter(|one| over_static(one) < 0.98).count() as f64;
        findings.add(claims::BELOW_STATIC, below);
    } else {
        let rows = fared.len();
        for (over, value) in
            [("shared", mean(&|one| one.dcat, fared)), ("static", mean(&over_static, fared))]
        {
            let case = format!("geometric mean over {over}, the {rows} rows with a program");
            findings.add_beside(ITEM, &case, "percent", Some(value));
        }
    }
    for one in fared {
        let SpecRow { name, ceiling, .. } = &one.row;
        if let Some(claim) = ceiling {
            findings.add(*claim, f64::from(one.ceiling));
        }
        let case = format!("{name}, dCat over static");
        findings.add_beside(ITEM, &case, "percent", Some(100.0 * (over_static(one) - 1.0)));
        let case = format!("{name}, dCat over shared");
        findings.add_beside(ITEM, &case, "percent", Some(100.0 * (one.dcat - 1.0)));
    }
    findings.add(claims::SPEC_BASELINE, f64::from(BASELINE));
}
