//! One quantity by ways, interpolated between the way counts.

use fairways_core::MAX_WAYS;

/// A quantity at 1 to W ways, with entries for fewer and for more ways: entry 0 lies on the line
/// through the first two values, and the entries after W repeat the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaySeries([f64; MAX_WAYS + 3]);

/// The value at 0 ways if the line would not be above 0 there (model of PBBCache).
const FLOOR: f64 = 1e-6;

impl WaySeries {
    /// The series of these values, at least one; the first is for one way.
    pub(crate) fn new(values: impl Iterator<Item = f64>) -> Self {
        let mut all = [0.0; MAX_WAYS + 3];
        let mut last = 0;
        for (slot, value) in all.iter_mut().skip(1).take(MAX_WAYS).zip(values) {
            *slot = value;
            last += 1;
        }
        let end = all[last];
        all[last + 1..].fill(end);
        let below = all[1] + (all[1] - all[2]);
        all[0] = if below > 0.0 { below } else { FLOOR };
        Self(all)
    }

    /// The value for a program that occupies `x` ways of its cluster.
    pub(crate) fn at(&self, x: f64) -> f64 {
        self.between(x, 0)
    }

    /// The value as a pressure, shifted by one way: a program without occupancy has the pressure of
    /// one way.
    pub(crate) fn pressure(&self, x: f64) -> f64 {
        self.between(x, 1)
    }

    fn between(&self, x: f64, offset: usize) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an occupancy is from 0 to MAX_WAYS, up to rounding"
        )]
        let whole = (x as usize).min(MAX_WAYS);
        let rest = x - whole as f64;
        (1.0 - rest) * self.0[whole + offset] + rest * self.0[whole + offset + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_below_and_past_the_way_counts() {
        let series = WaySeries::new([8.0, 6.0, 2.0].into_iter());
        let read = [0.0, 0.5, 1.0, 2.5, 3.0].map(|x| series.at(x));
        assert_eq!(read, [10.0, 9.0, 8.0, 4.0, 2.0]);
        let pressed = [0.0, 0.5, 1.0, 2.5, 3.0].map(|x| series.pressure(x));
        assert_eq!(pressed, [8.0, 7.0, 6.0, 2.0, 2.0]);
    }

    #[test]
    fn the_line_below_one_way_stays_above_zero() {
        assert_eq!(WaySeries::new([1.0, 5.0].into_iter()).at(0.0), FLOOR);
        // With a single way count there is no line to continue.
        assert_eq!(WaySeries::new([3.0].into_iter()).at(0.25), 3.0);
    }

    #[test]
    fn a_full_table_is_read_to_its_end() {
        let series = WaySeries::new((1..=32).map(f64::from));
        assert_eq!((series.at(32.0), series.pressure(32.0)), (32.0, 32.0));
    }
}
