//! Interpolates curves between the sizes at which a program was observed.

use fairways_core::{Curve, Q32, Ways};

use super::rates::{ObservedRates, SIZES};

/// A rise of cycles per instruction with more ways counts as noise below one part in this many.
const NOISE: u64 = 64;

/// The points of a curve, in the order of their sizes.
pub(crate) struct CurvePoints {
    points: [CurvePoint; SIZES],
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct CurvePoint {
    nanos: u64,
    occupancy: u64,
    cpi: u64,
    llcmpkc: u64,
}

impl Default for CurvePoints {
    fn default() -> Self {
        Self { points: [CurvePoint::default(); SIZES], count: 0 }
    }
}

impl CurvePoints {
    /// Adds a point. More ways do not slow a program down: neighbouring points that seem to say so,
    /// within noise, are replaced by their mean.
    pub(crate) fn push(&mut self, rates: &ObservedRates) {
        self.points[self.count] = CurvePoint {
            nanos: rates.nanos,
            occupancy: rates.occupancy.raw(),
            cpi: rates.cpi.raw(),
            llcmpkc: rates.llcmpkc.raw(),
        };
        self.count += 1;
        let (mut sum, mut weights, mut first) = (0u128, 0u128, self.count);
        while first > 0 {
            let CurvePoint { nanos, cpi, .. } = self.points[first - 1];
            // The mean of the points after it is slower, but only within noise.
            let rises = weights == 0
                || (sum > u128::from(cpi) * weights
                    && sum - u128::from(cpi) * weights < u128::from(cpi / NOISE) * weights);
            if !rises {
                break;
            }
            sum += u128::from(cpi) * u128::from(nanos);
            weights += u128::from(nanos);
            first -= 1;
        }
        let mean = u64::try_from(sum / weights.max(1)).unwrap_or(u64::MAX);
        self.points[first..self.count].iter_mut().for_each(|point| point.cpi = mean);
    }

    /// IPC and LLCMPKC with each number of ways; `filled` returns how many of these the program
    /// fills. `None` if there is no point.
    pub(crate) fn curves(&self, ways: Ways, filled: impl Fn(u32) -> Q32) -> Option<[Curve; 2]> {
        if self.count == 0 {
            return None;
        }
        Some([
            Curve::from_fn(ways, |ways| self.ipc(filled(ways))),
            Curve::from_fn(ways, |ways| {
                Q32::from_raw(self.at(filled(ways), |point| point.llcmpkc))
            }),
        ])
    }

    /// The IPC if these ways are filled.
    pub(crate) fn ipc(&self, filled: Q32) -> Q32 {
        let cpi = self.at(filled, |point| point.cpi);
        Q32::ratio(Q32::ONE.raw(), cpi.max(1)).max(Q32::from_raw(1))
    }

    /// A quantity if these ways are filled: interpolated, or extrapolated beyond the ends. Beyond
    /// the last point it continues for up to a way with 3/4 of the slope before, but no further
    /// than to where no misses are left at that rate; then nothing changes.
    fn at(&self, filled: Q32, quantity: impl Fn(&CurvePoint) -> u64) -> u64 {
        let points = &self.points[..self.count];
        let x = filled.raw();
        let after = points.partition_point(|point| point.occupancy < x);
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0 };
        if after == 0 {
            let second = points.iter().find(|point| point.occupancy >= first.occupancy + HALF);
            let Some(second) = second else { return quantity(first) };
            let ends = [quantity(first), quantity(second)];
            let span = second.occupancy - first.occupancy;
            return extend(ends, span, (first.occupancy - x).min(2 * HALF));
        }
        if after == points.len() {
            let before =
                points.iter().rev().find(|point| point.occupancy + 3 * HALF <= last.occupancy);
            let Some(before) = before else { return quantity(last) };
            let ends = [quantity(last), quantity(before)];
            let span = last.occupancy - before.occupancy;
            let further =
                ((x - last.occupancy).min(2 * HALF) / 4 * 3).min(to_no_misses(before, last));
            return extend(ends, span, further);
        }
        let [before, after] = [&points[after - 1], &points[after]];
        let span = u128::from(after.occupancy - before.occupancy).max(1);
        let part = u128::from(x - before.occupancy);
        let value =
            u128::from(quantity(before)) * (span - part) + u128::from(quantity(after)) * part;
        u64::try_from(value / span).unwrap_or(u64::MAX)
    }
}

/// How far beyond the second of two points no misses are left, if each line saves as many as
/// before; without limit if the misses do not fall.
fn to_no_misses(before: &CurvePoint, last: &CurvePoint) -> u64 {
    let [more, fewer] =
        [before, last].map(|point| u128::from(point.llcmpkc) * u128::from(point.cpi));
    let span = u128::from(last.occupancy - before.occupancy);
    let Some(gone) = more.checked_sub(fewer).filter(|&gone| gone > 0) else { return u64::MAX };
    // Both are below 2^112.
    u64::try_from((fewer >> 32) * span / (gone >> 32).max(1)).unwrap_or(u64::MAX)
}

/// Half a way.
const HALF: u64 = 1 << 31;

/// Extrapolates beyond the first of two values, which are `span` apart, by `further`; the result
/// stays between half and twice the first value.
fn extend([end, inner]: [u64; 2], span: u64, further: u64) -> u64 {
    let change = u128::from(end.abs_diff(inner)) * u128::from(further) / u128::from(span.max(1));
    let change = u64::try_from(change).unwrap_or(u64::MAX);
    if end > inner { end.saturating_add(change.min(end)) } else { end - change.min(end / 2) }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::fairways::observed::tests::rates;

    /// Cycles per 1000 instructions with 1 to 5 ways, from points at quarters of a way.
    fn cycles(points: &[(u64, u64)]) -> Vec<u64> {
        let mut all = CurvePoints::default();
        for &(quarters, cycles) in points {
            all.push(&rates(quarters, cycles, 4));
        }
        let [ipc, llcmpkc] = all.curves(Ways::new(5).unwrap(), Q32::from_int).unwrap();
        assert!(llcmpkc.values().iter().all(|value| (value.raw() + (1 << 30)) >> 32 == 4));
        ipc.values().iter().map(|ipc| ((1000 << 32) + ipc.raw() / 2) / ipc.raw()).collect()
    }

    #[test]
    fn a_curve_goes_through_what_was_observed() {
        assert_eq!(cycles(&[(4, 2000), (12, 1000), (20, 900)]), [2000, 1500, 1000, 950, 900]);
    }

    #[test]
    fn a_curve_goes_on_for_a_way() {
        // Down by 200 for a way; then by 3/4 of 100, and no further.
        assert_eq!(cycles(&[(6, 1500), (8, 1400), (14, 1250)]), [1600, 1400, 1300, 1213, 1175]);
        assert_eq!(cycles(&[(8, 1500)]), [1500; 5]);
    }

    /// By two ways to half the cycles, and nearly all misses are gone.
    #[test]
    fn a_curve_goes_on_no_further_than_to_where_no_misses_are_left() {
        for (misses, left) in [(10, 313), (1, 474), (0, 500)] {
            let mut all = CurvePoints::default();
            all.push(&rates(4, 1000, 10));
            all.push(&rates(12, 500, misses));
            let [ipc, _] = all.curves(Ways::new(5).unwrap(), Q32::from_int).unwrap();
            assert_eq!(((1000 << 32) + ipc.at(5).raw() / 2) / ipc.at(5).raw(), left, "{misses}");
        }
    }

    #[test]
    fn a_small_rise_is_noise_and_a_large_one_is_not() {
        assert_eq!(cycles(&[(4, 1200), (8, 1000), (12, 1010), (16, 1005)])[1..4], [1005; 3]);
        assert_eq!(cycles(&[(4, 1200), (8, 1000), (12, 1100)])[..3], [1200, 1000, 1100]);
    }
}
