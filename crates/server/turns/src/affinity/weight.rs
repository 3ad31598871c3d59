//! Shares of time as nice values.

/// The weight of each nice value from -20 to 19 (`sched_prio_to_weight` of the kernel's
/// kernel/sched/core.c): a step is about 1.25 times.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// The nice value of the largest weight.
pub(super) const FIRST: i32 = -20;

fn weight(nice: i32) -> u32 {
    let index = usize::try_from(nice.saturating_sub(FIRST)).unwrap_or(0);
    WEIGHTS[index.min(WEIGHTS.len() - 1)]
}

/// The nice value whose weight is nearest to `numerator / denominator` times that of `nice`, by the
/// quotient of the two. Of two that are equally near, the one with the smaller weight. Neither part
/// is 0.
pub(super) fn times(nice: i32, numerator: u64, denominator: u64) -> i32 {
    let (wanted, unit) =
        (u128::from(weight(nice)) * u128::from(numerator), u128::from(denominator));
    let mut best = FIRST;
    for level in FIRST + 1..=19 {
        // The next weight is nearer where the wanted one is at most the geometric mean of both.
        let (above, below) = (u128::from(weight(level - 1)), u128::from(weight(level)));
        let (square, product) = (
            wanted.saturating_mul(wanted),
            (above * below).saturating_mul(unit.saturating_mul(unit)),
        );
        if square > product {
            break;
        }
        best = level;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiple_is_the_nearest_weight() {
        let ratio = |nice, numerator, denominator| {
            f64::from(weight(times(nice, numerator, denominator))) / f64::from(weight(nice))
        };
        for nice in -20..20 {
            assert_eq!(times(nice, 7, 7), nice);
            for (numerator, denominator) in [(1, 2), (2, 1), (3, 2), (4, 1), (1, 4), (13, 10)] {
                let wanted = numerator as f64 / denominator as f64;
                let got = ratio(nice, numerator, denominator) / wanted;
                // No weight is nearer, and in the middle of the table it is near.
                let nearest = (-20..20)
                    .map(|level| {
                        (f64::from(weight(level)) / f64::from(weight(nice)) / wanted).ln().abs()
                    })
                    .fold(f64::INFINITY, f64::min);
                assert!((got.ln().abs() - nearest).abs() < 1e-12, "{nice} times {wanted}");
                assert!(
                    !(-10..10).contains(&nice) || (0.88..1.13).contains(&got),
                    "{nice} times {wanted}: {got}"
                );
            }
        }
        assert_eq!((times(0, 2, 1), times(0, 1, 2), times(0, 4, 1)), (-3, 3, -6));
        assert_eq!((times(0, u64::MAX, 1), times(0, 1, u64::MAX)), (-20, 19));
    }
}
