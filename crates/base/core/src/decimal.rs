//! [`Q32`] in decimals.

use alloc::format;
use core::fmt;
use core::str::FromStr;

use crate::Q32;

/// Decimal digits that distinguish any two neighbouring [`Q32`]: 10^-10 is less than half of 2^-32.
const DIGITS: usize = 10;
const SCALE: u128 = 10_u128.pow(10);

impl fmt::Display for Q32 {
    /// The number in as many decimals as distinguish it from every other.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scaled = (u128::from(self.raw()) * SCALE + (1 << 31)) >> 32;
        let text = format!("{}.{:0DIGITS$}", scaled / SCALE, scaled % SCALE);
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The error for a text that is not a [`Q32`]. Its text names the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number below 2^32 with at most {DIGITS} decimals")
    }
}

impl FromStr for Q32 {
    type Err = NotANumber;

    /// Parses decimals: digits, and at most one point between digits.
    fn from_str(text: &str) -> Result<Self, NotANumber> {
        parse(text).ok_or(NotANumber)
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse(text: &str) -> Option<Q32> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    if !is_digits(whole) || !is_digits(rest) || rest.len() > DIGITS {
        return None;
    }
    let whole: u128 = u32::try_from(whole.parse::<u64>().ok()?).ok()?.into();
    let rest: u128 = format!("{rest:0<DIGITS$}").parse().ok()?;
    let raw = (((whole * SCALE + rest) << 32) + SCALE / 2) / SCALE;
    u64::try_from(raw).ok().map(Q32::from_raw)
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use proptest::prelude::*;

    use super::*;

    fn shown(raw: u64) -> String {
        Q32::from_raw(raw).to_string()
    }

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([0, 1 << 32, 3 << 31].map(shown), ["0", "1", "1.5"]);
        assert_eq!(shown(1), "0.0000000002");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", ".", "1.", ".5", "-1", "1e3", "4294967296", "0.00000000001", "1,5"] {
            assert_eq!(text.parse::<Q32>(), Err(NotANumber), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_number_reads_as_it_was_written(raw: u64) {
            let number = Q32::from_raw(raw);
            prop_assert_eq!(number.to_string().parse(), Ok(number));
        }
    }
}
