//! The straight line that is nearest to points, in integers.
//!
//! Policies that learn a linear relationship inside a scheduler, such as cache-fair (§3.1, Equation
//! 1), have no floating point: "implementations of linear regression analysis usually require
//! floating-point operations, which are not permitted inside the Solaris kernel" (§4.1).

/// A line y = a x + b, where x and y are whole numbers in any units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    slope: i64,
    at_zero: i64,
}

const BITS: u32 = 32;
const ONE: i128 = 1 << BITS;

impl Line {
    /// The line with this slope, in units of 2^-32, and this value at 0, in y's unit.
    #[must_use]
    pub const fn new(slope: i64, at_zero: i64) -> Self {
        Self { slope, at_zero }
    }

    /// a, in units of 2^-32 of y's unit over x's.
    #[must_use]
    pub const fn slope(&self) -> i64 {
        self.slope
    }

    /// b, in y's unit.
    #[must_use]
    pub const fn at_zero(&self) -> i64 {
        self.at_zero
    }

    /// The y at this x, rounded to the nearest and saturated to an `i64`.
    #[must_use]
    pub fn at(&self, x: i64) -> i64 {
        let product = i128::from(self.slope) * i128::from(x);
        saturate(nearest(product, ONE) + i128::from(self.at_zero))
    }
}

/// The line from which the sum of the squared distances of the points, along y, is least. It takes
/// one pass over N points and four sums (cache-fair §5.6: O(N) steps).
///
/// The slope is the exact one rounded to 2^-32, so within 2^-33 of it. The value at 0 is then
/// within 1/2 + |mean x| 2^-33 of the exact one, and the value [`at`](Line::at) x within 1 + |x -
/// mean x| 2^-33.
///
/// `None` if fewer than two of the x differ, if the slope or the value at 0 does not fit, or if the
/// sums do not fit, which they do for up to 1024 points whose coordinates are below 2^37.
#[must_use]
pub fn least_squares(points: impl IntoIterator<Item = (i64, i64)>) -> Option<Line> {
    let (mut n, mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (0i128, 0i128, 0i128, 0i128, 0i128);
    for (x, y) in points {
        let (x, y) = (i128::from(x), i128::from(y));
        n += 1;
        (sum_x, sum_y) = (sum_x.checked_add(x)?, sum_y.checked_add(y)?);
        sum_xx = sum_xx.checked_add(x * x)?;
        sum_xy = sum_xy.checked_add(x * y)?;
    }
    let rise = product_difference([n, sum_xy], [sum_x, sum_y])?;
    // N squared times the variance of x: 0 only if no two differ.
    let run = product_difference([n, sum_xx], [sum_x, sum_x])?;
    if run <= 0 {
        return None;
    }
    let part = nearest(rise.rem_euclid(run).checked_mul(ONE)?, run);
    let slope = rise.div_euclid(run).checked_mul(ONE)?.checked_add(part)?;
    let above = product_difference([sum_y, ONE], [slope, sum_x])?;
    let at_zero = nearest(above, n * ONE);
    Some(Line { slope: i64::try_from(slope).ok()?, at_zero: i64::try_from(at_zero).ok()? })
}

/// The product of the first two factors less that of the second two; `None` if it does not fit.
const fn product_difference([a, b]: [i128; 2], [c, d]: [i128; 2]) -> Option<i128> {
    match (a.checked_mul(b), c.checked_mul(d)) {
        (Some(first), Some(second)) => first.checked_sub(second),
        _ => None,
    }
}

/// `numerator` / `denominator` rounded to the nearest, halves up; the denominator is above 0.
pub(crate) const fn nearest(numerator: i128, denominator: i128) -> i128 {
    let (whole, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
    if rest >= denominator - rest { whole + 1 } else { whole }
}

/// The number, saturated to an `i64`.
pub(crate) fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_through_two_points_goes_through_them() {
        let line = least_squares([(2, 10), (6, 12)]).unwrap();
        assert_eq!(line, Line::new(1 << 31, 9));
        assert_eq!([0, 2, 6, -18].map(|x| line.at(x)), [9, 10, 12, 0]);
        // By hand: 14 x + 35 is 49, 63, 77 and 91 there, and the errors sum to 0.
        let line = least_squares([(1, 60), (2, 50), (3, 70), (4, 100)]).unwrap();
        assert_eq!((line.slope(), line.at_zero()), (14 << 32, 35));
    }

    #[test]
    fn there_is_no_line_through_too_few_points_or_too_large_ones() {
        assert_eq!(least_squares([]), None);
        assert_eq!(least_squares([(3, 4)]), None);
        assert_eq!(least_squares([(3, 4), (3, 9), (3, -4)]), None);
        let far = [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, 1)];
        assert_eq!(least_squares(far), None);
        // Steeper than the steepest slope.
        assert_eq!(least_squares([(0, 0), (1, 1 << 40)]), None);
    }

    /// The largest coordinate that `least_squares` promises to handle.
    const MOST: i64 = (1 << 37) - 1;

    #[test]
    fn the_largest_that_is_promised_fits() {
        let ends = (0..1024).map(|i| if i % 2 == 0 { (MOST, MOST) } else { (-MOST, -MOST) });
        assert_eq!(least_squares(ends), Some(Line::new(1 << 32, 0)));
    }

    fn points() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let near = (-(1i64 << 33)..1 << 33, -(1i64 << 33)..1 << 33);
        let small = (0i64..10, 0i64..1000);
        prop_oneof![prop::collection::vec(near, 0..24), prop::collection::vec(small, 0..24)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Compares with the exact fractions of the normal equations, with every term over one
        /// denominator.
        #[test]
        fn a_line_is_the_exact_one_within_its_bound(points in points(), x in -(1i64 << 33)..1 << 33) {
            let points_wide: Vec<(i128, i128)> =
                points.iter().map(|&(x, y)| (x.into(), y.into())).collect();
            let n = points_wide.len() as i128;
            let (mut sx, mut sy, mut sxx, mut sxy) = (0, 0, 0, 0);
            for &(x, y) in &points_wide {
                (sx, sy, sxx, sxy) = (sx + x, sy + y, sxx + x * x, sxy + x * y);
            }
            let (run, rise) = (n * sxx - sx * sx, n * sxy - sx * sy);
            let Some(line) = least_squares(points.iter().copied()) else {
                prop_assert!(run == 0 || (rise / run).abs() >= 1 << 31);
                return Ok(());
            };
            let (slope, at_zero) = (i128::from(line.slope()), i128::from(line.at_zero()));
            // |slope / 2^32 - rise / run| <= 2^-33.
            prop_assert!(2 * (slope * run - (rise << 32)).abs() <= run);
            // b = (sy sxx - sx sxy) / run; its bound is 1/2 + |sx / n| / 2^33.
            let exact = sy * sxx - sx * sxy;
            let off = (at_zero * run - exact).abs();
            let bound = run / 2 + (((run / n) * sx.abs()) >> 33) + run / 64;
            prop_assert!(off <= bound, "{off} {bound}");
            // y(x) = (exact + rise x) / run; its bound is 1 + |x - sx / n| / 2^33.
            let x = i128::from(x);
            let off = (i128::from(line.at(saturate(x))) * run - exact - rise * x).abs();
            let bound = run + (((run / n) * (n * x - sx).abs()) >> 33) + run / 64;
            prop_assert!(off <= bound, "{off} {bound}");
        }
    }
}
