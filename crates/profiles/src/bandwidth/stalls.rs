//! The `stalls` model.

use super::Demand;

/// The least idle part of memory that is sought. With a demand one rounding below the limit and 10^6
/// programs like it, a part of 10^-28 is idle.
const LEAST_IDLE: f64 = 1e-40;

/// Halvings of the interval in which the idle part is sought, on a logarithmic scale: more bits than
/// a number has.
const HALVINGS: u32 = 64;

/// With demands b in units of the limit, memory is used to a total U in (0, 1), and program j's
/// part u_j of it is the positive root of (u² + u (1 - U)) (1 - 1/b_j) + 1 - U = 0; U is their sum.
/// A program's memory stalls grow by b_j / u_j, and its slowdown as its stalls do. Fails with the
/// index of a program that asks for all there is or more: then no part below U exists.
///
/// The sum of the parts falls as U grows, from above it near 0 to below it near 1, so bisection
/// finds the one U; the simulator's own root finder returns spurious ones here. What is sought is
/// the idle part 1 - U, which keeps its digits where demands come near the limit.
pub(super) fn slow_down(
    limit_mbps: f64,
    demands: &[Demand],
    slowdowns: &mut [f64],
) -> Result<(), usize> {
    if let Some(index) = demands.iter().position(|d| d.mbps / limit_mbps >= 1.0) {
        return Err(index);
    }
    let used = |idle: f64| demands.iter().map(|d| part(d.mbps / limit_mbps, idle)).sum::<f64>();
    let (mut low, mut high) = (LEAST_IDLE, 1.0_f64);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if used(middle) < 1.0 - middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    let idle = (low * high).sqrt();
    for (demand, slowdown) in demands.iter().zip(slowdowns) {
        let share = demand.mbps / limit_mbps;
        if share > 0.0 && demand.stalls > 0.0 {
            let growth = share / part(share, idle);
            *slowdown *= (demand.stalls + demand.memory_stalls * (growth - 1.0)) / demand.stalls;
        }
    }
    Ok(())
}

/// The part u that a program with demand `share` (0 to 1) has of a memory of which `idle` is not
/// used. The root is written so that neither a small demand nor a small `idle` cancels out.
fn part(share: f64, idle: f64) -> f64 {
    if share == 0.0 {
        return 0.0;
    }
    let k = 1.0 / share - 1.0;
    2.0 / (k + (k * k + 4.0 * k / idle).sqrt())
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
                let u = part(share, 1.0 - total);
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

    #[test]
    fn a_demand_for_everything_is_an_error() {
        assert_eq!(slow_down(100.0, &[demand(1.0), demand(100.0)], &mut [1.0; 2]), Err(1));
    }
}
