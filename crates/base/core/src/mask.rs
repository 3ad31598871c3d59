//! Sets of ways.

use core::fmt;

use crate::{Llc, Ways};

/// A set of ways of one cache; bit `i` is way `i`. resctrl calls it a capacity bit mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WayMask(u32);

impl WayMask {
    /// The ways whose bits are set in `bits`.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Every way of a cache of `ways` ways.
    #[must_use]
    pub const fn full(ways: Ways) -> Self {
        Self(u32::MAX >> (32 - ways.get()))
    }

    /// `ways` neighbouring ways from way `lowest` upward. Ways past way 31 do not exist and are
    /// left out.
    #[must_use]
    pub const fn span(lowest: u32, ways: u32) -> Self {
        if lowest >= 32 || ways == 0 {
            return Self(0);
        }
        let run = if ways >= 32 { u32::MAX } else { (1 << ways) - 1 };
        Self(run << lowest)
    }

    /// The mask as a number, as resctrl writes it.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The number of ways in the mask.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether no way is in the mask.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether way `way` is in the mask.
    #[must_use]
    pub const fn contains(self, way: u32) -> bool {
        way < 32 && self.0 >> way & 1 == 1
    }

    /// Whether the ways are one unbroken run; an empty mask is not.
    #[must_use]
    pub const fn is_contiguous(self) -> bool {
        self.0 != 0 && {
            let run = self.0 >> self.0.trailing_zeros();
            run & run.wrapping_add(1) == 0
        }
    }

    /// Whether some way is in both masks.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether a cache with these rules accepts the mask.
    ///
    /// # Errors
    /// The first rule that the mask breaks, in the order of [`MaskError`].
    pub const fn check(self, llc: &Llc) -> Result<(), MaskError> {
        if self.is_empty() {
            Err(MaskError::Empty)
        } else if self.0 & !Self::full(llc.ways).0 != 0 {
            Err(MaskError::TooWide { mask: self, ways: llc.ways })
        } else if self.count() < llc.min_ways() {
            Err(MaskError::TooNarrow { mask: self, min_bits: llc.min_ways() })
        } else if llc.contiguous && !self.is_contiguous() {
            Err(MaskError::Split { mask: self })
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for WayMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Why a cache does not accept a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MaskError {
    /// No way is set; hardware has no such class of service.
    Empty,
    /// A bit is set for a way that the cache does not have.
    TooWide {
        /// The mask.
        mask: WayMask,
        /// Ways of the cache.
        ways: Ways,
    },
    /// Fewer ways than the cache's `min_cbm_bits`.
    TooNarrow {
        /// The mask.
        mask: WayMask,
        /// The fewest ways accepted.
        min_bits: u32,
    },
    /// The ways are not one run, and the cache requires one.
    Split {
        /// The mask.
        mask: WayMask,
    },
}

impl fmt::Display for MaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the mask has no way"),
            Self::TooWide { mask, ways } => {
                write!(f, "mask {mask} names ways that a cache of {ways} ways does not have")
            }
            Self::TooNarrow { mask, min_bits } => {
                write!(f, "mask {mask} has fewer than {min_bits} ways")
            }
            Self::Split { mask } => write!(f, "mask {mask} is not one run of ways"),
        }
    }
}

impl core::error::Error for MaskError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn llc(ways: u32, min_bits: u32, contiguous: bool) -> Llc {
        Llc { ways: Ways::new(ways).unwrap(), min_bits, contiguous, clos: 16 }
    }

    #[test]
    fn a_span_is_contiguous_and_as_wide_as_asked() {
        for lowest in 0..32 {
            for ways in 1..=32 - lowest {
                let mask = WayMask::span(lowest, ways);
                assert_eq!(mask.count(), ways);
                assert!(mask.is_contiguous());
                assert!(mask.contains(lowest) && mask.contains(lowest + ways - 1));
                assert!(!mask.contains(lowest + ways));
            }
        }
        assert!(WayMask::span(32, 1).is_empty() && WayMask::span(0, 0).is_empty());
    }

    #[test]
    fn each_rule_has_its_error() {
        let mask = WayMask::from_bits;
        assert_eq!(mask(0).check(&llc(11, 1, true)), Err(MaskError::Empty));
        assert_eq!(mask(0x7ff).check(&llc(11, 1, true)), Ok(()));
        assert!(matches!(mask(0x800).check(&llc(11, 1, true)), Err(MaskError::TooWide { .. })));
        assert!(matches!(mask(0x400).check(&llc(11, 2, true)), Err(MaskError::TooNarrow { .. })));
        assert!(matches!(mask(0x5).check(&llc(11, 1, true)), Err(MaskError::Split { .. })));
        assert_eq!(mask(0x5).check(&llc(11, 1, false)), Ok(()));
        assert_eq!(mask(u32::MAX).check(&llc(32, 1, true)), Ok(()));
    }

    #[test]
    fn masks_print_as_resctrl_writes_them() {
        extern crate std;
        assert_eq!(std::format!("{}", WayMask::span(8, 3)), "0x700");
    }
}
