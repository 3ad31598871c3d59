//! How programs that share ways divide them: the occupancy sweep of the PBBCache model
//! (LFOC §3), in integers.

use fairways_core::{Curve, Q32};

const ONE: u128 = Q32::ONE.raw() as u128;

/// 10^-6, the least value that the extrapolation below one way gives.
const FLOOR: Q32 = Q32::from_raw(4295);

/// Adds one way to a cluster and divides it: each member gets a part in proportion to its
/// pressure at what it occupies so far. If no member presses, the parts are equal.
///
/// `pressures` are the members' LLCMPKC curves; `occupancy` is in ways, and starts at 0. After
/// the sweep's step t the occupancies sum to t, to within a rounding of 2^-33 a member a step.
pub fn sweep_step<'a>(pressures: impl Iterator<Item = &'a Curve> + Clone, occupancy: &mut [Q32]) {
    let total: u128 = pressures.clone().zip(&*occupancy).map(|(c, &x)| pressure(c, x)).sum();
    let members = occupancy.len() as u128;
    for (curve, x) in pressures.zip(occupancy) {
        let part = match total {
            0 => (ONE + members / 2) / members,
            _ => (pressure(curve, *x) * ONE + total / 2) / total,
        };
        *x = Q32::from_raw(x.raw() + u64::try_from(part).unwrap_or(0));
    }
}

/// The pressure at occupancy `x`, times 2^64. The table is read from its first entry on, as the
/// simulator does: a program that occupies nothing yet presses as with one way. At most 2^90.
fn pressure(curve: &Curve, x: Q32) -> u128 {
    let (whole, rest) = parts(x);
    let [here, next] = [whole + 1, whole + 2].map(|ways| u128::from(curve.at(ways).raw()));
    here * (ONE - rest) + next * rest
}

/// A quantity of a program that occupies `x` ways of its cluster: linear between the way counts
/// of its curve; below one way on the line through the first two, but never below 10^-6.
#[must_use]
pub fn interpolate(curve: &Curve, x: Q32) -> Q32 {
    let (whole, rest) = parts(x);
    let here = if whole == 0 { below_one(curve) } else { curve.at(whole) };
    let [here, next] = [here, curve.at(whole + 1)].map(|value| u128::from(value.raw()));
    let value = (here * (ONE - rest) + next * rest + ONE / 2) / ONE;
    Q32::from_raw(u64::try_from(value).unwrap_or(u64::MAX))
}

/// What the line through one and two ways gives at none.
fn below_one(curve: &Curve) -> Q32 {
    let value = (2 * curve.at(1).raw()).saturating_sub(curve.at(2).raw());
    if value == 0 { FLOOR } else { Q32::from_raw(value) }
}

/// Whole ways, and the rest times 2^32.
fn parts(x: Q32) -> (u32, u128) {
    let whole = u32::try_from(x.raw() >> 32).unwrap_or(u32::MAX - 2);
    (whole, u128::from(x.raw()) % ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[u32]) -> Curve {
        Curve::new(values.iter().map(|&v| Q32::from_int(v))).unwrap()
    }

    fn half(n: u64) -> Q32 {
        Q32::from_raw(n << 31)
    }

    #[test]
    fn interpolation_follows_the_model() {
        let c = curve(&[8, 6, 2]);
        assert_eq!(interpolate(&c, half(0)), Q32::from_int(10));
        assert_eq!(interpolate(&c, half(1)), Q32::from_int(9));
        assert_eq!(interpolate(&c, half(2)), Q32::from_int(8));
        assert_eq!(interpolate(&c, half(5)), Q32::from_int(4));
        assert_eq!(interpolate(&c, half(6)), Q32::from_int(2));
        assert_eq!(interpolate(&curve(&[1, 5]), half(0)), FLOOR);
        assert_eq!(interpolate(&curve(&[3]), half(1)), Q32::from_int(3));
    }

    #[test]
    fn members_divide_by_pressure_and_equally_without_any() {
        let (strong, weak, none) = (curve(&[30, 30]), curve(&[10, 10]), curve(&[0, 0]));
        let mut occupancy = [Q32::default(); 2];
        for _ in 0..2 {
            sweep_step([&strong, &weak].into_iter(), &mut occupancy);
        }
        assert_eq!(occupancy, [half(3), half(1)]);
        let mut occupancy = [Q32::default(); 2];
        sweep_step([&none, &none].into_iter(), &mut occupancy);
        assert_eq!(occupancy, [half(1), half(1)]);
    }
}
