//! How much faster a chip runs than its policy sees.

use std::fmt;
use std::str::FromStr;

use fairways_command_kit::input::real;

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

    /// The largest number of times up to this one, and at least one, whose fraction ends after a
    /// few decimals, so that it can be written down.
    #[must_use]
    pub(super) fn at_most(times: f64) -> Self {
        let ends = |whole: &u32| {
            let without_twos = whole >> whole.trailing_zeros();
            (0..9).any(|power| 5_u32.pow(power) == without_twos)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let most = times.min(f64::from(MOST)) as u32;
        Self((1..=most).rev().find(ends).unwrap_or(1))
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
