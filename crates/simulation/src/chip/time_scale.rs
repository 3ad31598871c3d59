//! How much faster a chip runs than its policy sees.

use std::str::FromStr;

use fairways_command_kit::input::real;

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
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 10^6")]
        Ok(Self(whole as u32))
    }
}

impl FromStr for TimeScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(real(1e-6, 1.0)(text)?)
    }
}
