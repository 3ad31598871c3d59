//! The `stalls` model.

use crate::score::Demand;

/// Halvings of the interval in which the load is sought: to the last bit of a number below 1.
const HALVINGS: u32 = 60;

/// With demands b in units of the limit, memory is used to a total U in (0, 1), and program j's
/// part u_j of it is the positive root of (u² + u (1 - U)) (1 - 1/b_j) + 1 - U = 0; U is their sum.
/// A program's memory stalls grow by b_j / u_j, and its slowdown as its stalls do. Fails with the
/// index of a program that asks for all there is or more: then no part below U exists.
///
/// The sum of the parts falls as U grows, from above it near 0 to below it near 1, so bisection
/// finds the one U; the simulator's own root finder returns spurious ones here.
pub(super) fn slow_down(
    limit_mbps: f64,
    demands: &[Demand],
    slowdowns: &mut [f64],
) -> Result<(), usize> {
    if let Some(index) = demands.iter().position(|d| d.mbps >= limit_mbps) {
        return Err(index);
    }
    let used = |total: f64| demands.iter().map(|d| part(d.mbps / limit_mbps, total)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if used(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    let total = (low + high) / 2.0;
    for (demand, slowdown) in demands.iter().zip(slowdowns) {
        let share = demand.mbps / limit_mbps;
        if share > 0.0 && demand.stalls > 0.0 {
            let growth = share / part(share, total);
            *slowdown *= (demand.stalls + demand.memory_stalls * (growth - 1.0)) / demand.stalls;
        }
    }
    Ok(())
}

/// The part u that a program with demand `share` (0 to 1) has of a memory used to `total`. The
/// root is written so that a small demand does not cancel out: u tends to `share`.
fn part(share: f64, total: f64) -> f64 {
    if share == 0.0 {
        return 0.0;
    }
    let idle = 1.0 - total;
    let g = (1.0 / share - 1.0) * idle;
    2.0 * idle / (g + (g * g + 4.0 * g).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(mbps: f64) -> Demand {
        Demand { mbps, stalls: 0.5, memory_stalls: 0.25 }
    }

    #[test]
    fn a_part_is_the_root_of_its_equation() {
        for share in [1e-9, 0.01, 0.3, 0.9] {
            for total in [0.01, 0.5, 0.99] {
                let u = part(share, total);
                let left = (u * u + u * (1.0 - total)) * (1.0 - 1.0 / share) + 1.0 - total;
                assert!(u > 0.0 && left.abs() < 1e-9, "share {share}, total {total}: {left}");
            }
        }
    }

    #[test]
    fn a_program_alone_is_not_slowed_down() {
        for mbps in [1.0, 50.0, 99.0] {
            let mut slowdowns = [1.25];
            slow_down(100.0, &[demand(mbps)], &mut slowdowns).unwrap();
            assert!((slowdowns[0] - 1.25).abs() < 1e-9, "{mbps}: {slowdowns:?}");
        }
    }

    #[test]
    fn the_parts_add_up_and_only_memory_stalls_grow() {
        let demands = [demand(60.0), demand(60.0), demand(0.0)];
        let mut slowdowns = [1.0; 3];
        slow_down(100.0, &demands, &mut slowdowns).unwrap();
        // Two equal programs: U = 2u, and half of the stalls wait for memory.
        let growth = (slowdowns[0] - 1.0) * 2.0 + 1.0;
        let u = 0.6 / growth;
        let left = (u * u + u * (1.0 - 2.0 * u)) * (1.0 - 1.0 / 0.6) + 1.0 - 2.0 * u;
        assert!(left.abs() < 1e-9, "{left}");
        assert!(growth > 1.0 && slowdowns[0] == slowdowns[1] && slowdowns[2] == 1.0);
    }

    #[test]
    fn a_demand_for_everything_is_an_error() {
        assert_eq!(slow_down(100.0, &[demand(1.0), demand(100.0)], &mut [1.0; 2]), Err(1));
    }
}
