//! The content of `info/L3/bit_usage`.

use std::fmt::{self, Write as _};

use super::{LanguageError, by_domain};

/// What may fill one way (resctrl.rst, "bit_usage").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// `0`: nothing.
    Unused,
    /// `H`: hardware alone, such as devices that write into the cache.
    Hardware,
    /// `X`: hardware, and groups too.
    HardwareAndGroups,
    /// `S`: groups that share.
    Shareable,
    /// `E`: one group only.
    Exclusive,
    /// `P`: pseudo-locked.
    PseudoLocked,
}

impl Use {
    const LETTERS: [(Self, char); 6] = [
        (Self::Unused, '0'),
        (Self::Hardware, 'H'),
        (Self::HardwareAndGroups, 'X'),
        (Self::Shareable, 'S'),
        (Self::Exclusive, 'E'),
        (Self::PseudoLocked, 'P'),
    ];

    /// The letter that the kernel writes.
    #[must_use]
    pub fn letter(self) -> char {
        Self::LETTERS.iter().find(|(of, _)| *of == self).map_or('0', |&(_, letter)| letter)
    }
}

/// What may fill which way, for each domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitUsage {
    /// By domain id, ascending; each with the highest way first, as in the file.
    pub domains: Vec<(u32, Vec<Use>)>,
}

impl BitUsage {
    /// Reads the file.
    ///
    /// # Errors
    /// If it is not `domain=letters` for some domains, each once.
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        let what = "bit_usage";
        let domains = by_domain(what, text, |letters| {
            let of =
                |letter| Use::LETTERS.iter().find(|(_, known)| *known == letter).map(|&(of, _)| of);
            letters
                .chars()
                .map(|letter| {
                    of(letter)
                        .ok_or_else(|| LanguageError::new(what, letters, "letters of `0HXSEP`"))
                })
                .collect()
        })?;
        Ok(Self { domains })
    }
}

/// As the kernel writes it, without the line's end.
impl fmt::Display for BitUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (id, ways)) in self.domains.iter().enumerate() {
            if at > 0 {
                f.write_char(';')?;
            }
            write!(f, "{id}=")?;
            ways.iter().try_for_each(|of| f.write_char(of.letter()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        let text = "0=HHSSSSSSEEEE;8=XXP0EEEESSSS";
        let usage = BitUsage::parse(&format!("{text}\n")).expect("the kernel's own form");
        assert_eq!(usage.to_string(), text);
        assert_eq!(usage.domains[0].1[0], Use::Hardware, "the highest way first");
        assert_eq!(usage.domains[1].0, 8);
        for text in ["0", "0=Q", "a=S", "0=S;0=S"] {
            assert!(BitUsage::parse(text).is_err(), "{text}");
        }
    }
}
