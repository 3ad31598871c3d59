//! How a group shares its ways.

use std::{fmt, str::FromStr};

use super::LanguageError;

/// The word in a group's file `mode` (resctrl.rst, "Resource groups").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Other groups may fill the same ways.
    #[default]
    Shareable,
    /// No other group may.
    Exclusive,
    /// About to be pseudo-locked.
    PseudoLocksetup,
    /// Its ways contain memory that stays.
    PseudoLocked,
}

impl Mode {
    const WORDS: [(Self, &'static str); 4] = [
        (Self::Shareable, "shareable"),
        (Self::Exclusive, "exclusive"),
        (Self::PseudoLocksetup, "pseudo-locksetup"),
        (Self::PseudoLocked, "pseudo-locked"),
    ];
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.iter().find(|(mode, _)| mode == self).map_or("", |(_, word)| word);
        f.write_str(word)
    }
}

impl FromStr for Mode {
    type Err = LanguageError;

    fn from_str(text: &str) -> Result<Self, LanguageError> {
        let expected = "`shareable`, `exclusive`, `pseudo-locksetup` or `pseudo-locked`";
        let mode = Self::WORDS.iter().find(|(_, word)| *word == text.trim_end());
        mode.map(|&(mode, _)| mode).ok_or_else(|| LanguageError::new("mode", text, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for (mode, word) in Mode::WORDS {
            assert_eq!(format!("{mode}\n").parse(), Ok(mode), "{word}");
        }
        let error = "Exclusive\n".parse::<Mode>().expect_err("the kernel writes small letters");
        assert!(error.to_string().starts_with("mode `Exclusive`: expected `shareable`"), "{error}");
    }
}
