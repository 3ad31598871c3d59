//! The content of a file of mon_data.

use std::fmt;

use super::LanguageError;

/// One reading of an event of mon_data, which the kernel may not have. None of the words is a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Bytes: occupied now (`llc_occupancy`), or moved since the group was made (`mbm_total_bytes`,
    /// `mbm_local_bytes`).
    Value(u64),
    /// `Error`: the domain cannot be read.
    Error,
    /// `Unavailable`: not now. Hardware reports so after a counter was given another group, or
    /// another configuration.
    Unavailable,
    /// `Unassigned`: no hardware counter is assigned to the group.
    Unassigned,
}

impl Reading {
    /// Reads a whole file.
    ///
    /// # Errors
    /// If it is neither a number nor one of the three words.
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        match text.trim() {
            "Error" => Ok(Self::Error),
            "Unavailable" => Ok(Self::Unavailable),
            "Unassigned" => Ok(Self::Unassigned),
            number => number.parse().map(Self::Value).map_err(|_| {
                LanguageError::new(
                    "reading",
                    number,
                    "a number of bytes, `Error`, `Unavailable` or `Unassigned`",
                )
            }),
        }
    }

    /// Reads a whole file of an event with decimals, such as `core_energy`, in millionths of its
    /// unit. More decimals are cut.
    ///
    /// # Errors
    /// If it is neither such a number nor one of the three words.
    pub fn parse_millionths(text: &str) -> Result<Self, LanguageError> {
        let text = text.trim();
        if let Some((whole, decimals)) = text.split_once('.') {
            let six: String = decimals.chars().chain("000000".chars()).take(6).collect();
            let value = whole.parse::<u64>().ok().zip(six.parse().ok());
            let value = value.and_then(|(whole, six): (u64, u64)| {
                whole.checked_mul(1_000_000)?.checked_add(six)
            });
            if let Some(value) = value.filter(|_| is_digits(whole) && is_digits(decimals)) {
                return Ok(Self::Value(value));
            }
        }
        match Self::parse(text) {
            Ok(Self::Value(_)) | Err(_) => Err(LanguageError::new(
                "reading",
                text,
                "a number with decimals, `Error`, `Unavailable` or `Unassigned`",
            )),
            word => word,
        }
    }

    /// The number, if there is one.
    #[must_use]
    pub const fn value(self) -> Option<u64> {
        match self {
            Self::Value(bytes) => Some(bytes),
            Self::Error | Self::Unavailable | Self::Unassigned => None,
        }
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// As the kernel writes it, without the line's end.
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(bytes) => write!(f, "{bytes}"),
            Self::Error => f.write_str("Error"),
            Self::Unavailable => f.write_str("Unavailable"),
            Self::Unassigned => f.write_str("Unassigned"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_millionths() {
        for (text, reading) in [
            ("0.022030\n", Reading::Value(22_030)),
            ("12.5\n", Reading::Value(12_500_000)),
            ("3.0000019\n", Reading::Value(3_000_001)),
            ("Unavailable\n", Reading::Unavailable),
        ] {
            assert_eq!(Reading::parse_millionths(text), Ok(reading));
        }
        for text in ["", "12", "1.-5", "+1.5", ".", "99999999999999999999.0", "20000000000000.0"] {
            assert!(Reading::parse_millionths(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_reading_that_is_missing_is_no_number() {
        for (text, reading) in [
            ("0\n", Reading::Value(0)),
            ("18446744073709551615\n", Reading::Value(u64::MAX)),
            ("Unavailable\n", Reading::Unavailable),
            ("Error\n", Reading::Error),
            ("Unassigned\n", Reading::Unassigned),
        ] {
            assert_eq!(Reading::parse(text), Ok(reading));
            assert_eq!(format!("{reading}\n"), text);
            assert_eq!(reading.value().is_some(), text.as_bytes()[0].is_ascii_digit());
        }
        for text in ["", "\n", "-1", "unavailable", "18446744073709551616", "1 2"] {
            assert!(Reading::parse(text).is_err(), "{text:?}");
        }
    }
}
