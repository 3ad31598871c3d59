//! How much faster a chip runs than its policy sees.

use std::fmt;
use std::str::FromStr;

use fairways_command_kit::input::real;

/// Every fraction that is written with three digits is a number of billionths.
const BILLION: u32 = 1_000_000_000;

/// The most times.
const MOST: u32 = 1_000_000;

/// How many times as fast a chip runs as its policy sees: 10, read from `0.1`.
#[derive(Clone, Copy, Debug)]
pub struct TimeScale(
    /// The number.
    pub u32,
);

impl TimeScale {
    /// No difference.
    pub const ONE: Self = Self(1);

    /// Makes it from the fraction of the policy's time that the chip takes.
    ///
    /// # Errors
    /// If it is not one over a whole number.
    pub fn new(share: f64) -> Result<Self, String> {
        let whole = (1.0 / share).round();
        if share > 1.0 || (1.0 / share - whole).abs() > 1e-6 * whole {
            let expected = "a chip's scale is one over a whole number, such as 0.1 or 0.01";
            return Err(format!("{expected}, found \"{share}\""));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to MOST")]
        Ok(Self(whole as u32))
    }

    /// The largest number of times up to this one, and at least one, whose fraction users can write
    /// with three digits.
    #[must_use]
    pub(super) fn at_most(times: f64) -> Self {
        let is_short = |whole: &u32| {
            let mut digits = BILLION / whole;
            while digits.is_multiple_of(10) {
                digits /= 10;
            }
            BILLION.is_multiple_of(*whole) && digits < 1000
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let most = times.min(f64::from(MOST)) as u32;
        Self((1..=most).rev().find(is_short).unwrap_or(1))
    }

    /// The fraction of the policy's time that the chip takes.
    #[must_use]
    pub fn share(self) -> f64 {
        1.0 / f64::from(self.0)
    }
}

/// The fraction, as users write it.
impl fmt::Display for TimeScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.share().fmt(f)
    }
}

impl FromStr for TimeScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(real(1.0 / f64::from(MOST), 1.0)(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_least_scale_is_one_that_users_can_write() {
        for (times, text) in [
            (0.0, "1"),
            (0.7, "1"),
            (3.9, "0.5"),
            (15.9, "0.1"),
            (16.0, "0.0625"),
            (39.0, "0.04"),
            (257.0, "0.004"),
            (999.0, "0.00125"),
            (f64::INFINITY, "0.000001"),
        ] {
            let scale = TimeScale::at_most(times);
            assert_eq!(scale.to_string(), text, "{times}");
            assert_eq!(text.parse::<TimeScale>().unwrap().0, scale.0);
        }
    }
}
