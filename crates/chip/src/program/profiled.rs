//! A profiled program, as LLC references that follow its curves.

use fairways_core::Ways;
use fairways_profiles::{ProfileMetric, ProfileTable};

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
    let count = ways.get() as usize;
    let [ipc, llcrpki, llcmpki] =
        [ProfileMetric::Ipc, ProfileMetric::Llcrpki, ProfileMetric::Llcmpki]
            .map(|metric| table.values(index, metric).take(count).collect::<Vec<f64>>());
    let references = mean(&llcrpki).max(llcmpki.first().copied().unwrap_or(0.0));
    let curve = MissCurve::new(references, &llcmpki)?;
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
