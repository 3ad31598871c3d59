//! The `stalls` model.

use super::Demand;

/// The least idle part of memory that is sought. With a demand one rounding below the limit and
/// 10^6 programs like it, a part of 10^-28 is idle.
pub(super) const LEAST_IDLE: f64 = 1e-40;

/// The number of halvings in the search for the idle part, on a logarithmic scale: more than the
/// bits of a number.
const HALVINGS: u32 = 64;

/// With demands b in units of the limit, memory is used to a total U in (0, 1), and program j's
/// part u_j of it is the positive root of (u² + u (1 - U)) (1 - 1/b_j) + 1 - U = 0; U is their sum.
/// A program's memory stalls grow by b_j / u_j, and its slowdown as its stalls do. A program that
/// may use less than u_j uses that. The error is the index of a program that demands the whole
/// limit or more, whatever it may use: then no part below U exists.
///
/// The sum of the parts falls as U grows, from above it near 0 to below it near 1, so bisection
/// finds the one U; the simulator's own root finder returns spurious ones here. The search is for
/// the idle part 1 - U, which keeps its digits where demands come near the limit.
pub(super) fn slow_down(
    limit_mbps: f64,
    demands: &[Demand],
    slowdowns: &mut [f64],
) -> Result<(), usize> {
    if let Some(index) = demands.iter().position(|d| d.mbps >= limit_mbps) {
        return Err(index);
    }
    let (mut low, mut high) = (LEAST_IDLE, 1.0_f64);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        let all_used: f64 = demands.iter().map(|demand| used(limit_mbps, demand, middle)).sum();
        if all_used < 1.0 - middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    let idle = (low * high).sqrt();
    for (demand, slowdown) in demands.iter().zip(slowdowns) {
        *slowdown *= growth(limit_mbps, demand, idle);
    }
    Ok(())
}

/// By how much a program's slowdown grows when `idle` of memory is not used.
pub(super) fn growth(limit_mbps: f64, demand: &Demand, idle: f64) -> f64 {
    if demand.mbps >= limit_mbps {
        return f64::INFINITY;
    }
    if demand.stalls <= 0.0 {
        return demand.slowed(1.0);
    }
    let longer = longer(demand.mbps, limit_mbps, idle);
    demand.slowed((demand.stalls + demand.memory_stalls * (longer - 1.0)) / demand.stalls)
}

/// u, the part of memory that a program uses when `idle` of it is not used.
pub(super) fn used(limit_mbps: f64, demand: &Demand, idle: f64) -> f64 {
    if demand.mbps >= limit_mbps {
        return 1.0;
    }
    let share = demand.mbps / limit_mbps;
    demand.capped(share, share / longer(demand.mbps, limit_mbps, idle))
}

/// `b / u`, by how much a program's misses take longer when `idle` of memory is not used: the root
/// of the equation above, solved for it. It keeps its digits for any demand below the limit.
fn longer(mbps: f64, limit_mbps: f64, idle: f64) -> f64 {
    let left = (limit_mbps - mbps) / limit_mbps;
    (left + (left * left + 4.0 * left * (mbps / limit_mbps) / idle).sqrt()) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(mbps: f64) -> Demand {
        Demand { mbps, stalls: 0.5, memory_stalls: 0.25, allowed: 1.0 }
    }

    #[test]
    fn a_part_is_the_root_of_its_equation() {
        for share in [1e-9, 0.01, 0.3, 0.9] {
            for total in [0.01, 0.5, 0.99] {
                let u = share / longer(share, 1.0, 1.0 - total);
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

    /// The closer to the limit, the slower, without a jump, down to the last representable number.
    #[test]
    fn demands_next_to_the_limit_are_served() {
        for count in [1, 2, 8] {
            let mut before = 0.0;
            for left in [1e-3, 1e-6, 1e-9, 1e-12, 1e-15, f64::EPSILON / 2.0] {
                let mut slowdowns = vec![1.0; count];
                let mbps = 100.0 * (1.0 - left);
                slow_down(100.0, &vec![demand(mbps); count], &mut slowdowns).unwrap();
                let all_alike = slowdowns.iter().all(|&slowdown| slowdown == slowdowns[0]);
                assert!(all_alike && slowdowns[0].is_finite(), "{count}, {left}: {slowdowns:?}");
                assert!(slowdowns[0] > before - 1e-9, "{count}, {left}: {slowdowns:?}");
                before = slowdowns[0];
            }
            // Each of n gets an n-th, and its memory stalls, half of all, grow n-fold.
            let expected = 1.0 + (count as f64 - 1.0) / 2.0;
            assert!((before - expected).abs() < 1e-6, "{count}: {before}");
        }
    }

    /// Against 80 digits: next to the limit beside a smaller demand, and far below it.
    #[test]
    fn unequal_demands_keep_their_digits() {
        for (left, expected) in
            [(f64::EPSILON / 2.0, 41_943_040.75), (1e-15, 15_852_980.0), (1e-12, 499_996.3)]
        {
            let mut slowdowns = [1.0, 1.0];
            slow_down(100.0, &[demand(100.0 * (1.0 - left)), demand(50.0)], &mut slowdowns)
                .unwrap();
            let growth = (slowdowns[1] - 1.0) * 2.0 + 1.0;
            assert!((growth / expected - 1.0).abs() < 1e-6, "{left}: {growth}");
        }
        let mut slowdowns = [1.0, 1.0];
        slow_down(1e200, &[demand(5000.0), demand(1e-310)], &mut slowdowns).unwrap();
        assert!(slowdowns.iter().all(|slowdown| (slowdown - 1.0).abs() < 1e-12), "{slowdowns:?}");
    }

    #[test]
    fn a_demand_for_everything_is_an_error() {
        assert_eq!(slow_down(100.0, &[demand(1.0), demand(100.0)], &mut [1.0; 2]), Err(1));
    }
}
