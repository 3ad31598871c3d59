//! How programs that share ways divide them: the occupancy sweep of the PBBCache model (LFOC §3),
//! in integers.

use alloc::vec::Vec;

use fairways_core::{Curve, Q32};

/// Ways that a program occupies, with 56 bits after the binary point.
///
/// If pressure falls steeply, the next steps of a sweep magnify a rounding error by as much as two
/// neighbouring values of the curve differ; 32 bits would be too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy(u64);

const ONE: u128 = 1 << 56;

impl Occupancy {
    /// 2^56 times the ways.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Whole ways, and the rest times 2^56.
    fn parts(self) -> (u32, u128) {
        let whole = u32::try_from(self.0 >> 56).unwrap_or(u32::MAX - 2);
        (whole, u128::from(self.0) % ONE)
    }
}

/// Adds one way to a cluster and divides it among the members in proportion to their pressures at
/// their occupancies so far; evenly if no member has a pressure.
///
/// `pressures` are the members' LLCMPKC curves; occupancies start at 0. After step t of the sweep
/// they sum to t, to within a rounding of 2^-56 for each member and step. There are as many
/// pressures as occupancies, fewer than 2^15, and at most 255 steps.
pub fn sweep_step<'a>(
    pressures: impl Iterator<Item = &'a Curve> + Clone,
    occupancy: &mut [Occupancy],
) {
    let total: u128 = pressures.clone().zip(&*occupancy).map(|(c, &x)| pressure(c, x)).sum();
    // A pressure is below 2^113; 72 bits of the total leave room for 56 more.
    let spare = (u128::BITS - total.leading_zeros()).saturating_sub(72);
    let members = occupancy.len() as u128;
    for (curve, x) in pressures.zip(occupancy) {
        let part = match total >> spare {
            0 => ONE / members,
            total => (pressure(curve, *x) >> spare) * ONE / total,
        };
        x.0 += u64::try_from(part).unwrap_or(0);
    }
}

/// The pressure at occupancy `x`, times 2^88. As in the simulator, a program that occupies nothing
/// yet has the pressure that it has with one way.
fn pressure(curve: &Curve, x: Occupancy) -> u128 {
    let (whole, rest) = x.parts();
    let [here, next] = [whole + 1, whole + 2].map(|ways| u128::from(curve.at(ways).raw()));
    here * (ONE - rest) + next * rest
}

/// The value of a program's curve at `x` ways: linear between the curve's way counts. Below one way
/// it continues the line through the first two values; if that line does not start above 0, it
/// starts at 10^-6.
#[must_use]
pub fn interpolate(curve: &Curve, x: Occupancy) -> Q32 {
    let (whole, rest) = x.parts();
    let here = if whole == 0 { below_one(curve) } else { curve.at(whole) };
    let [here, next] = [here, curve.at(whole + 1)].map(|value| u128::from(value.raw()));
    let value = (here * (ONE - rest) + next * rest + ONE / 2) / ONE;
    Q32::from_raw(u64::try_from(value).unwrap_or(u64::MAX))
}

/// 10^-6: where the line below one way starts if it would not start above 0.
const FLOOR: Q32 = Q32::from_raw(4295);

/// The value at 0 of the line through one and two ways.
pub(crate) fn below_one(curve: &Curve) -> Q32 {
    let value = (2 * curve.at(1).raw()).saturating_sub(curve.at(2).raw());
    if value == 0 { FLOOR } else { Q32::from_raw(value) }
}

/// The same sweep with 32 bits after the binary point, which needs only one 64-bit division: for
/// decisions that compare many clusters and report none of the values.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuickSweep<'a> {
    members: Vec<SweepMember<'a>>,
}

/// A member of a cluster that is swept.
#[derive(Clone, Copy, Debug)]
struct SweepMember<'a> {
    curve: &'a Curve,
    /// The ways that it occupies, times 2^32.
    occupancy: u64,
    /// Its pressure when the last way was divided.
    pressure: u64,
}

impl<'a> QuickSweep<'a> {
    /// Starts again with members that have these pressures.
    pub(crate) fn restart(&mut self, curves: impl Iterator<Item = &'a Curve>) {
        self.members.clear();
        self.members.extend(curves.map(|curve| SweepMember { curve, occupancy: 0, pressure: 0 }));
    }

    /// Divides one more way.
    pub(crate) fn step(&mut self) {
        let mut bits = 0;
        for SweepMember { curve, occupancy, pressure } in &mut self.members {
            *pressure = read_ahead(curve, *occupancy, 1);
            bits |= *pressure;
        }
        // Each has 31 bits: sums of 2^15 members, and 32 bits more for one, fit.
        let spare = (u64::BITS - bits.leading_zeros()).saturating_sub(31);
        let total: u64 = self.members.iter().map(|member| member.pressure >> spare).sum();
        let even = (1 << 32) / self.members.len().max(1) as u64;
        for SweepMember { occupancy, pressure, .. } in &mut self.members {
            *occupancy += ((*pressure >> spare) << 32).checked_div(total).unwrap_or(even);
        }
    }

    /// The ways that each member occupies, times 2^32.
    pub(crate) fn occupancy(&self) -> impl Iterator<Item = u64> {
        self.members.iter().map(|member| member.occupancy)
    }

    /// The sum of the members' curves at their occupancies.
    pub(crate) fn pressure(&self) -> u64 {
        let values =
            self.members.iter().map(|member| interpolate_raw(member.curve, member.occupancy));
        values.sum()
    }
}

/// One step of a [`QuickSweep`] of two members.
pub(crate) fn divide_way(curves: [&Curve; 2], occupancy: &mut [u64; 2]) {
    let [a, b] = [0, 1].map(|place| read_ahead(curves[place], occupancy[place], 1));
    let spare = (u64::BITS - (a | b).leading_zeros()).saturating_sub(31);
    let (a, b) = (a >> spare, b >> spare);
    let part = (a << 32).checked_div(a + b).unwrap_or(1 << 31);
    occupancy[0] += part;
    occupancy[1] += (1 << 32) - part;
}

/// A quantity of a program that occupies `x` / 2^32 ways: [`interpolate`] for a [`QuickSweep`].
pub(crate) fn interpolate_raw(curve: &Curve, x: u64) -> u64 {
    read_ahead(curve, x, 0)
}

/// The largest value of an interpolated curve whose value at 0 ways is `at_none`.
pub(crate) fn most_raw(at_none: u64, curve: &Curve) -> u64 {
    curve.values().iter().map(|value| value.raw()).fold(at_none, u64::max)
}

/// A lower bound, times 2^32, on the ways at which an interpolated curve is at most `most`;
/// `at_none` is its value at 0 ways. More ways than any cache has if the curve never is.
pub(crate) fn least_raw(at_none: u64, curve: &Curve, most: u64) -> u64 {
    let mut here = at_none;
    for (whole, next) in (0..).zip(curve.values()) {
        let next = next.raw();
        if here <= most {
            return whole << 32;
        }
        if next <= most {
            // Values are rounded down, so they may be up to 1 higher. A bound need not be exact: a
            // division of 64 bits suffices.
            let spare = (u64::BITS - (here - next).leading_zeros()).saturating_sub(32);
            let part = ((here - most - 1) >> spare << 32) / (((here - next) >> spare) + 1);
            return (whole << 32) + part;
        }
        here = next;
    }
    BEYOND_EVERY_CACHE
}

/// More ways than any cache has, times 2^32; small enough that 64 of these can be added.
const BEYOND_EVERY_CACHE: u64 = 64 << 32;

/// The value of a curve, `further` ways beyond `x` / 2^32.
fn read_ahead(curve: &Curve, x: u64, further: u32) -> u64 {
    let whole = u32::try_from(x >> 32).unwrap_or(u32::MAX - 2) + further;
    let here = if whole == 0 { below_one(curve) } else { curve.at(whole) };
    between(here.raw(), curve.at(whole + 1).raw(), x & 0xffff_ffff)
}

/// The value at the fraction `rest` / 2^32 between two neighbouring values.
pub(crate) fn between(here: u64, next: u64, rest: u64) -> u64 {
    if (here | next) >> 40 == 0 {
        // 24 bits of the rest are plenty for values below 2^8.
        let rest = rest >> 8;
        return (here * ((1 << 24) - rest) + next * rest) >> 24;
    }
    let (here, next, rest) = (u128::from(here), u128::from(next), u128::from(rest));
    let value = (here * ((1 << 32) - rest) + next * rest) >> 32;
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[u32]) -> Curve {
        Curve::new(values.iter().map(|&v| Q32::from_int(v))).unwrap()
    }

    fn half(n: u64) -> Occupancy {
        Occupancy(n << 55)
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

    /// 63 members of the largest possible pressure, and one of so small a pressure that its part
    /// needs all 56 bits.
    #[test]
    fn the_largest_totals_keep_the_smallest_parts() {
        let most = Curve::new([Q32::MAX_IN_CURVE; 2]).unwrap();
        let least = Curve::new([Q32::from_raw(1 << 8); 2]).unwrap();
        let mut curves = [&most; 64];
        curves[63] = &least;
        let mut occupancy = [Occupancy::default(); 64];
        sweep_step(curves.into_iter(), &mut occupancy);
        // 2^8 of 63 * 2^56 + 2^8, times 2^56, rounded down; and the rest in 63 parts.
        let total = (63_u128 << 56) + (1 << 8);
        assert_eq!(u128::from(occupancy[63].raw()), (1_u128 << 64) / total);
        let large = (1_u128 << 112) / total;
        assert!(u128::from(occupancy[0].raw()).abs_diff(large) <= 1, "{:?}", occupancy[0]);
    }

    /// The bound never exceeds an occupancy at which the program is no slower.
    #[test]
    fn the_least_occupancy_is_a_bound() {
        for values in [[9, 6, 4, 2], [4, 9, 3, 5], [8, 8, 7, 7], [2, 3, 9, 1]] {
            let values = values.map(|value| Q32::from_raw((value << 32) + 12_345));
            let curve = Curve::new(values).unwrap();
            for most in (1..=10 << 4).map(|most| most << 28) {
                let bound = least_raw(below_one(&curve).raw(), &curve, most);
                let fits =
                    (0..=5 << 10).map(|x| x << 22).find(|&x| interpolate_raw(&curve, x) <= most);
                let Some(first) = fits else {
                    assert!(bound > 3 << 32, "{values:?} {most} {bound}");
                    continue;
                };
                // Not far below it, either: it must rule steps out.
                assert!(bound <= first && first - bound <= 1 << 23, "{values:?} {most} {bound}");
            }
        }
    }

    #[test]
    fn members_divide_by_pressure_and_equally_without_any() {
        let (strong, weak, none) = (curve(&[30, 30]), curve(&[10, 10]), curve(&[0, 0]));
        let mut occupancy = [Occupancy::default(); 2];
        for _ in 0..2 {
            sweep_step([&strong, &weak].into_iter(), &mut occupancy);
        }
        assert_eq!(occupancy, [half(3), half(1)]);
        let mut occupancy = [Occupancy::default(); 2];
        sweep_step([&none, &none].into_iter(), &mut occupancy);
        assert_eq!(occupancy, [half(1), half(1)]);
    }
}
