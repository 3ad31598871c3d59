//! The lookahead algorithm of UCP (Qureshi and Patt, MICRO 2006), on any curve where lower is
//! better.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

use fairways_core::Curve;

use crate::split::evenly;

/// Lookahead with its working memory, so that a division allocates none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookahead {
    owned: Vec<u32>,
    /// By program: the step that it would take next.
    heads: Vec<Step>,
}

impl Lookahead {
    /// Divides `ways` ways among programs with lookahead, so that the curves fall as far as it can
    /// make them; returns the ways of each.
    ///
    /// Each program starts with `min_ways` ways. In each round, the program whose curve falls most
    /// for each way, over any number of ways, gets those ways; of equals, the first program and the
    /// fewest ways win. When no curve falls any more, the rest is split evenly, and the odd ways go
    /// to the first programs.
    ///
    /// `curves` start at one way and reach at least to `ways`; `min_ways` is at least 1, and
    /// `min_ways * curves.len()` at most `ways`.
    pub(crate) fn divide(&mut self, curves: &[Curve], ways: u32, min_ways: u32) -> &[u32] {
        self.owned.clear();
        self.owned.resize(curves.len(), min_ways);
        let count = u32::try_from(curves.len()).unwrap_or(u32::MAX);
        debug_assert!(count.saturating_mul(min_ways) <= ways, "more programs than ways");
        let mut free = ways.saturating_sub(count.saturating_mul(min_ways));
        // A single program gets everything, whatever its curve.
        if count > 1 && free > 0 {
            let narrow = curves.iter().all(|curve| curve.bits() <= NARROW_BITS);
            free = if narrow && free as usize <= NARROW_WAYS {
                self.climb(curves, free)
            } else {
                climb_wide(&mut self.owned, curves, free)
            };
        }
        if free > 0 {
            for (ways, more) in self.owned.iter_mut().zip(evenly(free, count)) {
                *ways += more;
            }
        }
        &self.owned
    }

    /// The result of the last [`Self::divide`].
    pub(crate) fn owned(&self) -> &[u32] {
        &self.owned
    }

    /// Hands out ways while some curve still falls; returns how many are left.
    ///
    /// No branch here depends on a curve's values, except for the number of rounds: curves are new
    /// at every decision, and a processor mispredicts such branches.
    fn climb(&mut self, curves: &[Curve], mut free: u32) -> u32 {
        let Self { owned, heads } = self;
        heads.clear();
        heads.extend(
            curves.iter().zip(&*owned).map(|(curve, &owned)| Step::from(curve, owned, free)),
        );
        while free > 0 {
            let (mut winner, mut best) = (0, Step::NONE);
            for (index, &step) in heads.iter().enumerate() {
                let better = step.beats(best);
                winner = select_unpredictable(better, index, winner);
                best = select_unpredictable(better, step, best);
            }
            if !best.falls() {
                break;
            }
            let owned = &mut owned[winner];
            // A step computed when more ways were left may need too many now.
            if best.ways() <= free {
                *owned += best.ways();
                free -= best.ways();
            }
            heads[winner] = Step::from(&curves[winner], *owned, free);
        }
        free
    }
}

/// Up to this many ways, and for values below 2^7 (slowdowns and MPKIs are), a [`Step`] is exact in
/// 64 bits: 39 for a value, 20 for [`COMMON`], 5 for the ways.
const NARROW_WAYS: usize = 16;
const NARROW_BITS: u32 = 39;

/// The least common multiple of 1 to [`NARROW_WAYS`]: falls times `COMMON / ways` compare as falls
/// over ways do, exactly and without a division.
const COMMON: u64 = 720_720;

/// `COMMON / ways`, by `ways - 1`, with room for the ways below.
static PER_WAY: [u64; NARROW_WAYS] = {
    let mut shares = [0; NARROW_WAYS];
    let mut ways = 1;
    while ways <= NARROW_WAYS {
        shares[ways - 1] = COMMON / ways as u64 * (WAYS_MASK + 1);
        ways += 1;
    }
    shares
};

/// The bits of a [`Step`] that contain how far its ways are below this.
const WAYS_MASK: u64 = 31;

/// A step along a curve, as a number that is larger the better the step is: how far the curve falls
/// for each way, and below that, how few ways the step takes.
#[derive(Clone, Copy, Debug)]
struct Step(u64);

impl Step {
    const NONE: Self = Self(0);

    /// The step from `owned` ways by at most `free` that falls most for each way; the shortest of
    /// equals.
    fn from(curve: &Curve, owned: u32, free: u32) -> Self {
        let reach = &curve.values()[owned as usize - 1..(owned + free) as usize];
        let Some((here, there)) = reach.split_first() else { return Self::NONE };
        let few = (0..WAYS_MASK).rev();
        let steps = there.iter().zip(&PER_WAY).zip(few).map(|((value, &per_way), few)| {
            here.raw().saturating_sub(value.raw()).wrapping_mul(per_way) | few
        });
        Self(steps.fold(0, u64::max))
    }

    /// Whether each way of this step is worth more than each way of `other`.
    const fn beats(self, other: Self) -> bool {
        self.0 | WAYS_MASK > other.0 | WAYS_MASK
    }

    const fn falls(self) -> bool {
        self.0 > WAYS_MASK
    }

    const fn ways(self) -> u32 {
        let few = (self.0 & WAYS_MASK) as u32;
        31 - few
    }
}

/// [`Lookahead::climb`] for any curves, which takes wider numbers: hands out ways while some curve
/// still falls, and returns how many are left.
fn climb_wide(owned: &mut [u32], curves: &[Curve], mut free: u32) -> u32 {
    while free > 0 {
        let (mut winner, mut best) = (0, (0, 1));
        for (index, (curve, &owned)) in curves.iter().zip(&*owned).enumerate() {
            let here = curve.at(owned).raw();
            for ways in 1..=free {
                let fall = here.saturating_sub(curve.at(owned + ways).raw());
                // Values stop at 2^56 (Q32::MAX_IN_CURVE) and ways at 32: no product overflows.
                if fall * u64::from(best.1) > best.0 * u64::from(ways) {
                    (winner, best) = (index, (fall, ways));
                }
            }
        }
        if best.0 == 0 {
            break;
        }
        owned[winner] += best.1;
        free -= best.1;
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use fairways_core::Q32;
    use proptest::prelude::*;

    fn curve(values: &[u32]) -> Curve {
        Curve::new(values.iter().map(|&v| Q32::from_int(v))).unwrap()
    }

    fn divide(curves: &[Curve], ways: u32, min_ways: u32) -> Vec<u32> {
        Lookahead::default().divide(curves, ways, min_ways).to_vec()
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

    #[test]
    fn the_largest_fall_that_the_narrow_form_holds() {
        let most = Q32::from_raw((1 << NARROW_BITS) - 1);
        let cliff = Curve::new([most, Q32::default(), Q32::default()]).unwrap();
        let slope = curve(&[127, 1, 0]);
        assert_eq!((cliff.bits(), divide(&[slope, cliff], 3, 1)), (NARROW_BITS, [1, 2].into()));
    }

    /// Lookahead as Qureshi and Patt describe it, recomputed from scratch in every round.
    fn plain(curves: &[Curve], ways: u32, min_ways: u32) -> Vec<u32> {
        let mut owned = vec![min_ways; curves.len()];
        let mut free = ways - min_ways * u32::try_from(curves.len()).unwrap();
        while free > 0 {
            let mut best: Option<(i128, i128, usize)> = None;
            for (index, curve) in curves.iter().enumerate() {
                for more in 1..=free {
                    let here = i128::from(curve.at(owned[index]).raw());
                    let there = i128::from(curve.at(owned[index] + more).raw());
                    let (fall, more) = (here.saturating_sub(there), i128::from(more));
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
            tables in prop::collection::vec(prop::collection::vec(0u32..40, 32), 1..9),
            // Up to 117, the last that fits the narrow form; up to 624, which takes the wide one.
            scale in prop_oneof![Just(3), Just(16)],
            min_ways in 1u32..3,
            ways in 16u32..33,
        ) {
            let scaled = tables.iter().map(|table| table.iter().map(|v| v * scale));
            let curves: Vec<_> = scaled.map(|table| curve(&table.collect::<Vec<_>>())).collect();
            let fast = divide(&curves, ways, min_ways);
            prop_assert_eq!(&fast, &plain(&curves, ways, min_ways));
            prop_assert_eq!(fast.iter().sum::<u32>(), ways);
        }
    }
}
