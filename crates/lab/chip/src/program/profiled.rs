//! A profiled program, as LLC references that follow its curves.

use fairways_core::Ways;
use fairways_profiles::{ProfileMetric, ProfileTable, between_ways};

use crate::account::MOST_OVERLAP;
use crate::geometry::MissLatency;

use super::accesses::{Accesses, SimulatedProgram};
use super::curve::{MissCurve, MissCurveError};

/// The least cycles per instruction without misses.
const LEAST_CPI: f64 = 0.1;

/// A program of a table with its measured references and misses of the last-level cache, for each
/// number of ways up to `ways`. Its speed is as close as the [account](crate::Account) of cycles
/// allows: its CPI without misses and the misses' overlap are fitted to its IPC (least squares).
///
/// # Errors
/// If it never references the last-level cache: [`MissCurveError`].
pub fn profiled(
    table: &ProfileTable,
    index: usize,
    ways: Ways,
    latency: MissLatency,
) -> Result<SimulatedProgram, MissCurveError> {
    profiled_resized(table, index, ways, latency, 1.0)
}

/// The same on a cache whose ways have `size` times the bytes of those of the profile: between the
/// measured sizes, misses are on the line between them; below the first way, on the line to a
/// program without cache, which misses always.
///
/// # Errors
/// If it never references the last-level cache: [`MissCurveError`].
pub fn profiled_resized(
    table: &ProfileTable,
    index: usize,
    ways: Ways,
    latency: MissLatency,
    size: f64,
) -> Result<SimulatedProgram, MissCurveError> {
    let measured = (1..=table.ways().get())
        .filter(|&measured| f64::from(measured - 1) < size * f64::from(ways.get()));
    let count = measured.count();
    let [ipc, llcrpki, llcmpki] =
        [ProfileMetric::Ipc, ProfileMetric::Llcrpki, ProfileMetric::Llcmpki]
            .map(|metric| table.values(index, metric).take(count).collect::<Vec<f64>>());
    let references = mean(&llcrpki).max(llcmpki.first().copied().unwrap_or(0.0));
    let by_ways =
        (1..=ways.get()).map(|ways| between_ways(references, &llcmpki, f64::from(ways) * size));
    let curve = MissCurve::new(references, &by_ways.collect::<Vec<f64>>())?;
    // CPI is a linear function of the cycles that misses would take one after the other.
    let latencies: Vec<f64> = llcmpki
        .iter()
        .map(|&misses| {
            let misses = misses.clamp(0.0, references);
            let hits = (references - misses) * f64::from(latency.llc);
            (hits + misses * f64::from(latency.memory)) / 1000.0
        })
        .collect();
    let cpi: Vec<f64> = ipc.iter().map(|ipc| 1.0 / ipc).collect();
    let (mean_x, mean_y) = (mean(&latencies), mean(&cpi));
    let spread: f64 = latencies.iter().map(|x| (x - mean_x).powi(2)).sum();
    let both: f64 = latencies.iter().zip(&cpi).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let slope = if spread > 1e-12 { both / spread } else { 0.0 };
    // Misses can't take more than all cycles.
    let most = ((mean_y - LEAST_CPI) / mean_x.max(1e-12)).clamp(0.0, 1.0);
    let slope = slope.clamp(0.0, most).max(1.0 / MOST_OVERLAP);
    let base_cpi = (mean_y - slope * mean_x).max(LEAST_CPI);
    Ok(SimulatedProgram::new(Accesses::Curve(curve), base_cpi, 1.0 / slope))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways of half the size: two of them are as good as one that was measured.
    #[test]
    fn a_curve_is_read_at_the_size_of_the_ways() {
        let table = fairways_profiles::embedded();
        let latency = MissLatency { l2: 12, llc: 45, memory: 209 };
        let [ten, twenty] = [10, 20].map(|ways| Ways::new(ways).expect("ways"));
        let index = table.find("hash-join").expect("an embedded program");
        let whole = profiled(table, index, ten, latency).expect("it references the cache");
        let half = profiled_resized(table, index, twenty, latency, 0.5).expect("it does here too");
        let (Accesses::Curve(whole), Accesses::Curve(half)) = (&whole.accesses, &half.accesses)
        else {
            panic!("curves");
        };
        for ways in 1..=10 {
            assert!((whole.hit_ratio(ways) - half.hit_ratio(2 * ways)).abs() < 1e-9, "{ways}");
        }
    }
}
