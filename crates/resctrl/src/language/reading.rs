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

    /// The number, if there is one.
    #[must_use]
    pub const fn value(self) -> Option<u64> {
        match self {
            Self::Value(bytes) => Some(bytes),
            Self::Error | Self::Unavailable | Self::Unassigned => None,
        }
    }
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
