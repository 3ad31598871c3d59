//! The `simple` model.

use std::cmp::Ordering;

use super::Demand;

/// With demands b over a limit B, program j gets b_j (1 - mu b_j), where mu = (sum b - B) / sum b²,
/// so that together they get B; its slowdown grows by b_j over that. A program that may use less
/// gets that, and mu is the least with which they fit. The error is the index of a program that
/// would get nothing.
pub(super) fn slow_down(
    limit_mbps: f64,
    demands: &[Demand],
    slowdowns: &mut [f64],
) -> Result<(), usize> {
    let contention = contention(limit_mbps, demands);
    for (index, (demand, slowdown)) in demands.iter().zip(slowdowns).enumerate() {
        let growth = growth(limit_mbps, demand, contention);
        if growth == f64::INFINITY {
            return Err(index);
        }
        *slowdown *= growth;
    }
    Ok(())
}

/// The least contention at which these demands fit under the limit.
///
/// Their use falls with it, in straight lines that get steeper where a program gets less than it
/// may use. So Newton's method from the right ends at the root, after a step for each such program
/// at most.
fn contention(limit_mbps: f64, demands: &[Demand]) -> f64 {
    if demands.iter().map(|demand| demand.mbps * demand.allowed).sum::<f64>() <= limit_mbps {
        return 0.0;
    }
    let mut contention = f64::INFINITY;
    loop {
        let (mut sum, mut squares) = (0.0, 0.0);
        for &Demand { mbps, allowed, .. } in demands {
            if 1.0 - contention * (mbps / limit_mbps) > allowed {
                sum += mbps * allowed;
            } else {
                sum += mbps;
                squares += mbps * mbps;
            }
        }
        let next = (sum - limit_mbps) / squares * limit_mbps;
        if next.partial_cmp(&contention) != Some(Ordering::Less) {
            return contention;
        }
        contention = next;
    }
}

/// `1 / (1 - mu b)`, where contention is mu in units of 1 / limit.
pub(super) fn growth(limit_mbps: f64, demand: &Demand, contention: f64) -> f64 {
    let left = 1.0 - contention * (demand.mbps / limit_mbps);
    demand.slowed(if left > 0.0 { 1.0 / left } else { f64::INFINITY })
}

/// `b (1 - mu b)`, in units of the limit.
pub(super) fn used(limit_mbps: f64, demand: &Demand, contention: f64) -> f64 {
    let share = demand.mbps / limit_mbps;
    demand.capped(share, share * (1.0 - contention * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands<const N: usize>(mbps: [f64; N]) -> [Demand; N] {
        mbps.map(|mbps| Demand { mbps, stalls: 0.0, memory_stalls: 0.0, allowed: 1.0 })
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

    /// Programs of 400 and 300 MB/s on a bus of 500, the first limited to this part of its demand.
    fn slowed(allowed: f64) -> [f64; 2] {
        let mut demands = demands([400.0, 300.0]);
        demands[0].allowed = allowed;
        let mut slowdowns = [1.0; 2];
        slow_down(500.0, &demands, &mut slowdowns).unwrap();
        slowdowns
    }

    /// With the first limited to 250 the other has 250 left. Limited to 390, which it gets less
    /// than, it is as without a limit.
    #[test]
    fn a_limited_program_leaves_the_rest_to_the_others() {
        let [first, second] = slowed(250.0 / 400.0);
        assert!((first - 1.6).abs() < 1e-12 && (second - 1.2).abs() < 1e-12, "{first} {second}");
        assert_eq!(slowed(390.0 / 400.0), slowed(1.0));
        // Together they want no more than there is.
        let [first, second] = slowed(0.5);
        assert!((first - 2.0).abs() < 1e-12 && second == 1.0, "{first} {second}");
    }
}
