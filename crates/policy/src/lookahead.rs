//! The lookahead algorithm of UCP (Qureshi and Patt, MICRO 2006), on any curve that is better
//! the lower it is.

use alloc::vec::Vec;

use fairways_core::{Curve, MAX_WAYS, Q32};

/// The most useful growth of one curve: how far it falls, over how many ways.
#[derive(Clone, Copy)]
struct Step {
    fall: u64,
    ways: u32,
}

impl Step {
    /// No fall at all.
    const NONE: Self = Self { fall: 0, ways: 1 };

    /// Whether each way of this step is worth more than each way of `other`. Curves stop at
    /// [`Q32::MAX_IN_CURVE`], so neither product overflows.
    const fn beats(self, other: Self) -> bool {
        self.fall * other.ways as u64 > other.fall * self.ways as u64
    }

    /// The step from `owned` ways by at most `free` that falls most a way; the shortest of those.
    fn best(values: &[Q32], owned: usize, free: usize) -> Self {
        let here = values[owned - 1].raw();
        let mut best = Self::NONE;
        for (ways, value) in (1..).zip(&values[owned..values.len().min(owned + free)]) {
            let step = Self {
                fall: here.saturating_sub(value.raw()),
                ways,
            };
            if step.beats(best) {
                best = step;
            }
        }
        best
    }
}

/// Divides `ways` ways among programs so that their curves fall as far as lookahead can make
/// them; writes each one's ways into `owned`.
///
/// Each starts with `unit` ways. Again and again the program whose curve falls most a way,
/// however many ways that takes, gets those ways; of equals the first, and the fewest ways. When
/// no curve falls any more the rest is split evenly, the odd ways to the first programs.
///
/// `curves` start at one way and reach at least to `ways`; `unit * curves.len()` is at most `ways`,
/// and there are at most [`MAX_WAYS`] curves.
pub fn lookahead(curves: &[Curve], ways: u32, unit: u32, owned: &mut Vec<u32>) {
    owned.clear();
    let Ok(count) = u32::try_from(curves.len()) else {
        return;
    };
    debug_assert!(
        count as usize <= MAX_WAYS && count * unit <= ways,
        "more programs than ways"
    );
    owned.resize(curves.len(), unit);
    let mut free = ways.saturating_sub(count * unit);
    // One program gets everything, whatever its curve; two are worth comparing.
    if count > 1 && free > 0 {
        free = climb(curves, free, owned);
    }
    for (ways, more) in owned.iter_mut().zip(crate::split::evenly(free, count)) {
        *ways += more;
    }
}

/// Hands out ways while some curve still falls; returns how many are left.
fn climb(curves: &[Curve], mut free: u32, owned: &mut [u32]) -> u32 {
    let mut steps = [Step::NONE; MAX_WAYS];
    let steps = &mut steps[..curves.len()];
    for ((step, curve), &owned) in steps.iter_mut().zip(curves).zip(&*owned) {
        *step = Step::best(curve.values(), owned as usize, free as usize);
    }
    while free > 0 {
        let (mut winner, mut best) = (0, Step::NONE);
        for (index, &step) in steps.iter().enumerate() {
            if step.beats(best) {
                (winner, best) = (index, step);
            }
        }
        if best.fall == 0 {
            break;
        }
        owned[winner] += best.ways;
        free -= best.ways;
        // The others' best steps stand unless they need more ways than are left.
        for (index, step) in steps.iter_mut().enumerate() {
            if index == winner || step.ways > free {
                let values = curves[index].values();
                *step = Step::best(values, owned[index] as usize, free as usize);
            }
        }
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn curve(values: &[u32]) -> Curve {
        Curve::new(values.iter().map(|&v| Q32::from_int(v))).unwrap()
    }

    fn divide(curves: &[Curve], ways: u32, unit: u32) -> Vec<u32> {
        let mut owned = vec![];
        lookahead(curves, ways, unit, &mut owned);
        owned
    }

    #[test]
    fn it_looks_past_a_plateau() {
        // The first curve gains nothing from a second way and everything from the third; greedy
        // one-way steps would never get there (Qureshi and Patt, §3.3).
        let cliff = curve(&[100, 100, 0, 0, 0]);
        let slope = curve(&[100, 70, 50, 40, 40]);
        assert_eq!(divide(&[cliff, slope], 5, 1), [3, 2]);
    }

    #[test]
    fn equals_go_to_the_first_and_leftovers_are_even() {
        let flat = curve(&[7, 7, 7, 7, 7, 7, 7, 7]);
        assert_eq!(divide(&[flat, flat, flat], 8, 1), [3, 3, 2]);
        let slope = curve(&[9, 8, 8, 8]);
        assert_eq!(divide(&[slope, slope], 3, 1), [2, 1]);
    }

    #[test]
    fn a_rising_curve_gets_no_more_than_the_leftovers() {
        let rising = curve(&[1, 2, 3, 4]);
        let falling = curve(&[4, 3, 2, 1]);
        assert_eq!(divide(&[rising, falling], 4, 1), [1, 3]);
    }

    #[test]
    fn one_program_or_none() {
        assert_eq!(divide(&[curve(&[1, 1, 1])], 3, 1), [3]);
        assert!(divide(&[], 3, 1).is_empty());
    }

    /// Lookahead as `reference/policies.md` words it, recomputed from scratch at every round.
    fn plain(curves: &[Curve], ways: u32, unit: u32) -> Vec<u32> {
        let mut owned = vec![unit; curves.len()];
        let mut free = ways - unit * u32::try_from(curves.len()).unwrap();
        while free > 0 {
            let mut best: Option<(u128, u128, usize)> = None;
            for (index, curve) in curves.iter().enumerate() {
                for more in 1..=free {
                    let here = u128::from(curve.at(owned[index]).raw());
                    let there = u128::from(curve.at(owned[index] + more).raw());
                    let (fall, more) = (here.saturating_sub(there), u128::from(more));
                    let better = best.is_none_or(|(f, m, _)| fall * m > f * more);
                    if fall > 0 && better {
                        best = Some((fall, more, index));
                    }
                }
            }
            let Some((_, more, index)) = best else { break };
            owned[index] += u32::try_from(more).unwrap();
            free -= u32::try_from(more).unwrap();
        }
        let count = u32::try_from(curves.len()).unwrap();
        for (index, ways) in (0..).zip(&mut owned) {
            *ways += free / count + u32::from(index < free % count);
        }
        owned
    }

    proptest! {
        #[test]
        fn the_fast_form_is_the_plain_one(
            tables in prop::collection::vec(prop::collection::vec(0u32..40, 32), 1..12),
            unit in 1u32..3,
            ways in 24u32..33,
        ) {
            let curves: Vec<_> = tables.iter().map(|table| curve(table)).collect();
            let fast = divide(&curves, ways, unit);
            prop_assert_eq!(&fast, &plain(&curves, ways, unit));
            prop_assert_eq!(fast.iter().sum::<u32>(), ways);
        }
    }
}
