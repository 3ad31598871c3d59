//! Quantities of a program by its number of ways.

use core::fmt;

use crate::{MAX_WAYS, Ways};

/// A non-negative number with 32 bits after the binary point, in 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Q32(u64);

/// Comparisons for as many bits of a quotient take less time than a division.
const FEW_BITS: u32 = 3;

impl Q32 {
    /// 1.
    pub const ONE: Self = Self(1 << 32);

    /// The largest number a [`Curve`] may have, 2^24: two differences of its values, each over a
    /// number of ways, are then compared by cross-multiplication in 64 bits.
    pub const MAX_IN_CURVE: Self = Self(1 << 56);

    /// The number whose 2^32-fold is `raw`.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The whole number `value`.
    #[must_use]
    pub const fn from_int(value: u32) -> Self {
        Self((value as u64) << 32)
    }

    const fn bits(self) -> u32 {
        u64::BITS - self.0.leading_zeros()
    }

    /// `numerator / denominator`, rounded down; the largest number that fits if the quotient is too
    /// large or the denominator is 0.
    #[must_use]
    pub const fn ratio(numerator: u64, denominator: u64) -> Self {
        if denominator == 0 {
            return Self(u64::MAX);
        }
        // As many bits as fit are divided first, the rest with the remainder: two divisions of 64
        // bits take a fraction of one of 128.
        let first = if numerator.leading_zeros() < 32 { numerator.leading_zeros() } else { 32 };
        let rest = 32 - first;
        let (whole, left) =
            ((numerator << first) / denominator, (numerator << first) % denominator);
        if whole.leading_zeros() >= rest && denominator.leading_zeros() >= rest {
            // What is left is below the denominator. So a few more bits are compared, not divided.
            if rest > FEW_BITS {
                return Self((whole << rest) | ((left << rest) / denominator));
            }
            let (mut quotient, mut left, mut bits) = (whole, left, rest);
            while bits > 0 {
                left <<= 1;
                let bit = left >= denominator;
                left -= if bit { denominator } else { 0 };
                quotient = (quotient << 1) | bit as u64;
                bits -= 1;
            }
            return Self(quotient);
        }
        let quotient = ((numerator as u128) << 32) / denominator as u128;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the other branch is for what does not fit"
        )]
        Self(if quotient > u64::MAX as u128 { u64::MAX } else { quotient as u64 })
    }

    /// 2^32 times the number.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }
}

/// One quantity of a program as a function of the ways it has, from 1 way up.
///
/// [`crate::Profile`] names the unit of each of its curves. Curves need not be monotone: 42 of the
/// 55 IPC curves that the LFOC authors measured are not.
#[derive(Clone, Copy)]
pub struct Curve {
    len: u32,
    bits: u32,
    values: [Q32; MAX_WAYS],
}

impl Curve {
    /// The curve through `values`, the first of which is for one way.
    ///
    /// # Errors
    /// If there is no value, there are more than [`MAX_WAYS`], or one exceeds
    /// [`Q32::MAX_IN_CURVE`].
    pub fn new(values: impl IntoIterator<Item = Q32>) -> Result<Self, CurveError> {
        let mut curve = Self { len: 0, bits: 0, values: [Q32::default(); MAX_WAYS] };
        for value in values {
            let slot = curve.values.get_mut(curve.len as usize).ok_or(CurveError::TooLong)?;
            if value > Q32::MAX_IN_CURVE {
                return Err(CurveError::TooLarge { ways: curve.len + 1 });
            }
            *slot = value;
            curve.len += 1;
            curve.bits = curve.bits.max(value.bits());
        }
        if curve.len == 0 { Err(CurveError::Empty) } else { Ok(curve) }
    }

    /// The number of bits of the largest raw value: each is below 2^`bits`.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// The values from one way upward.
    #[must_use]
    pub fn values(&self) -> &[Q32] {
        &self.values[..self.len as usize]
    }

    /// The value at `ways` ways; below 1 way the first value, past the last way count the last.
    #[must_use]
    pub fn at(&self, ways: u32) -> Q32 {
        self.values[(ways.clamp(1, self.len) - 1) as usize]
    }

    /// The curve that has the value `value(w)` at each of 1 to `ways` ways, computed in this order;
    /// a value above [`Q32::MAX_IN_CURVE`] becomes that.
    #[must_use]
    pub fn from_fn(ways: Ways, mut value: impl FnMut(u32) -> Q32) -> Self {
        let mut curve = Self { len: ways.get(), bits: 0, values: [Q32::default(); MAX_WAYS] };
        for (ways, slot) in (1..=curve.len).zip(&mut curve.values) {
            *slot = value(ways).min(Q32::MAX_IN_CURVE);
            curve.bits = curve.bits.max(slot.bits());
        }
        curve
    }

    /// The same curve for a cache of `ways` ways: cut off, or extended by its last value.
    #[must_use]
    pub fn resized(&self, ways: Ways) -> Self {
        if self.len == ways.get() { *self } else { Self::from_fn(ways, |ways| self.at(ways)) }
    }
}

impl PartialEq for Curve {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

impl Eq for Curve {}

impl fmt::Debug for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values()).finish()
    }
}

/// Why numbers do not make a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveError {
    /// No values.
    Empty,
    /// More than [`MAX_WAYS`] values.
    TooLong,
    /// A value is above [`Q32::MAX_IN_CURVE`].
    TooLarge {
        /// The way count of that value.
        ways: u32,
    },
}

impl fmt::Display for CurveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a curve needs at least one value"),
            Self::TooLong => write!(f, "a curve has at most {MAX_WAYS} values"),
            Self::TooLarge { ways } => {
                write!(f, "the value at {ways} ways is above {}", Q32::MAX_IN_CURVE.0 >> 32)
            }
        }
    }
}

impl core::error::Error for CurveError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn curve(values: &[u32]) -> Curve {
        Curve::new(values.iter().map(|&v| Q32::from_int(v))).unwrap()
    }

    #[test]
    fn a_curve_reads_from_one_way_and_holds_its_ends() {
        let c = curve(&[5, 3, 2]);
        assert_eq!([0, 1, 2, 3, 9].map(|w| c.at(w).raw() >> 32), [5, 5, 3, 2, 2]);
        assert_eq!((c.bits(), curve(&[0, 0]).bits()), (32 + 3, 0));
    }

    fn ways(n: u32) -> Ways {
        Ways::new(n).unwrap()
    }

    #[test]
    fn resizing_cuts_or_repeats_the_last_value() {
        assert_eq!(curve(&[5, 3, 2]).resized(ways(2)), curve(&[5, 3]));
        assert_eq!(curve(&[5, 3]).resized(ways(4)), curve(&[5, 3, 3, 3]));
    }

    proptest! {
        /// Numbers of every magnitude, so that both branches of the division run.
        #[test]
        fn a_ratio_is_rounded_down_and_held(
            numerator: u64, denominator: u64, shifts in (0u32..64, 0u32..64)
        ) {
            let (n, d) = (numerator >> shifts.0, (denominator >> shifts.1).max(1));
            let exact = (u128::from(n) << 32) / u128::from(d);
            prop_assert_eq!(u128::from(Q32::ratio(n, d).raw()), exact.min(u128::from(u64::MAX)));
            prop_assert_eq!(Q32::ratio(n, 0).raw(), u64::MAX);
        }
    }

    #[test]
    fn bad_curves_are_refused() {
        assert_eq!(Curve::new([]), Err(CurveError::Empty));
        assert_eq!(Curve::new([Q32::ONE; 33]), Err(CurveError::TooLong));
        let huge = Q32::from_raw(Q32::MAX_IN_CURVE.raw() + 1);
        assert_eq!(Curve::new([Q32::ONE, huge]), Err(CurveError::TooLarge { ways: 2 }));
    }
}
