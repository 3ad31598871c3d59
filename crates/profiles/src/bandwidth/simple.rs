//! The `simple` model.

use super::Demand;

/// With demands b over a limit B, program j gets b_j (1 - mu b_j), where mu = (sum b - B) / sum b²,
/// so that together they get B; its slowdown grows by b_j over that. The error is the index of a
/// program that would get nothing.
pub(super) fn slow_down(
    limit_mbps: f64,
    demands: &[Demand],
    slowdowns: &mut [f64],
) -> Result<(), usize> {
    let sum: f64 = demands.iter().map(|d| d.mbps).sum();
    if sum <= limit_mbps {
        return Ok(());
    }
    let squares: f64 = demands.iter().map(|d| d.mbps * d.mbps).sum();
    let contention = (sum - limit_mbps) / squares * limit_mbps;
    for (index, (demand, slowdown)) in demands.iter().zip(slowdowns).enumerate() {
        let growth = growth(limit_mbps, demand, contention);
        if growth == f64::INFINITY {
            return Err(index);
        }
        *slowdown *= growth;
    }
    Ok(())
}

/// `1 / (1 - mu b)`, where contention is mu in units of 1 / limit.
pub(super) fn growth(limit_mbps: f64, demand: &Demand, contention: f64) -> f64 {
    let left = 1.0 - contention * (demand.mbps / limit_mbps);
    if left > 0.0 { 1.0 / left } else { f64::INFINITY }
}

/// `b (1 - mu b)`, in units of the limit.
pub(super) fn used(limit_mbps: f64, demand: &Demand, contention: f64) -> f64 {
    let share = demand.mbps / limit_mbps;
    share * (1.0 - contention * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands<const N: usize>(mbps: [f64; N]) -> [Demand; N] {
        mbps.map(|mbps| Demand { mbps, stalls: 0.0, memory_stalls: 0.0 })
    }

    #[test]
    fn nothing_happens_below_the_limit() {
        let mut slowdowns = [1.5, 2.0];
        slow_down(300.0, &demands([100.0, 200.0]), &mut slowdowns).unwrap();
        assert_eq!(slowdowns, [1.5, 2.0]);
    }

    #[test]
    fn beyond_it_bandwidths_are_cut_to_fit() {
        // The form that the simulator computes: Q = sum b² / max b, x = (B + Q - sum b) / Q,
        // b' = b (1 - b / max b (1 - x)).
        let (b, limit) = ([100.0, 200.0, 400.0], 600.0);
        let q = b.map(|b| b * b).iter().sum::<f64>() / 400.0;
        let x = (limit + q - 700.0) / q;
        let cut = b.map(|b| b * (1.0 - b / 400.0 * (1.0 - x)));
        assert!((cut.iter().sum::<f64>() - limit).abs() < 1e-9);
        let mut slowdowns = [1.0, 1.1, 1.2];
        slow_down(limit, &demands(b), &mut slowdowns).unwrap();
        for (((slowdown, before), b), cut) in slowdowns.iter().zip([1.0, 1.1, 1.2]).zip(b).zip(cut)
        {
            assert!((slowdown - before * b / cut).abs() < 1e-12);
        }
    }

    #[test]
    fn a_demand_that_leaves_nothing_is_an_error() {
        assert_eq!(slow_down(10.0, &demands([1.0, 1000.0]), &mut [1.0; 2]), Ok(()));
        let many = [400.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        assert_eq!(slow_down(10.0, &demands(many), &mut [1.0; 7]), Err(0));
    }
}
