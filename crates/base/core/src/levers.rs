//! The levers of a machine, which a policy can set.

use crate::{BandwidthLevel, BandwidthUnit, Llc};

/// The levers of a machine: the ways of its cache, and its memory bandwidth if it can limit that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Levers {
    /// The cache whose ways a policy assigns.
    pub llc: Llc,
    /// Memory bandwidth; `None` if the machine can't limit it.
    pub bandwidth: Option<BandwidthLever>,
}

/// A machine whose only lever is the cache's ways.
impl From<Llc> for Levers {
    fn from(llc: Llc) -> Self {
        Self { llc, bandwidth: None }
    }
}

/// How a machine limits memory bandwidth (Linux `Documentation/filesystems/resctrl.rst`, the files
/// of `info/MB`).
///
/// A policy chooses levels from `least` to `most`. It does not know which of them differ on the
/// machine: steps may be uneven, and neighbours may have one effect. The machine's answer to a plan
/// has the level in force, so compare with that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BandwidthLever {
    /// The unit of levels.
    pub unit: BandwidthUnit,
    /// The lowest level (`min_bandwidth`).
    pub least: BandwidthLevel,
    /// The step between two levels (`bandwidth_gran`), which may be an approximation.
    pub step: BandwidthLevel,
    /// The highest level, which is no limit.
    pub most: BandwidthLevel,
    /// What a level limits.
    pub scope: LimitScope,
    /// What programs can move between the cache and memory together, as calibrated, in MB (10^6
    /// bytes) a second; `None` where that is not known. A policy then can't say whether memory is
    /// the bottleneck.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub capacity_mbps: Option<u32>,
}

/// What a limit of memory bandwidth is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LimitScope {
    /// Each core of a class, by the distance between its requests (Intel's MBA).
    Core,
    /// All programs of a class together (AMD, MPAM, `mba_MBps`).
    Class,
}

impl BandwidthLever {
    /// A step below a level; `None` if that is the lowest one.
    #[must_use]
    pub fn below(self, level: BandwidthLevel) -> Option<BandwidthLevel> {
        let lower = level.get().saturating_sub(self.step.get()).max(self.least.get());
        BandwidthLevel::new(lower).filter(|lower| *lower < level)
    }

    /// A step above a level; `None` if that is no limit.
    #[must_use]
    pub fn above(self, level: BandwidthLevel) -> Option<BandwidthLevel> {
        let higher = level.get().saturating_add(self.step.get()).min(self.most.get());
        BandwidthLevel::new(higher).filter(|higher| *higher > level)
    }

    /// Whether a level is one that the machine accepts.
    #[must_use]
    pub fn accepts(self, level: BandwidthLevel) -> bool {
        (self.least..=self.most).contains(&level)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::LevelInUnit;

    fn level(value: u32) -> BandwidthLevel {
        BandwidthLevel::new(value).unwrap()
    }

    #[test]
    fn steps_end_at_the_lowest_level_and_at_no_limit() {
        let lever = BandwidthLever {
            unit: BandwidthUnit::Percent,
            least: level(10),
            step: level(10),
            most: level(100),
            scope: LimitScope::Core,
            capacity_mbps: None,
        };
        let below = [10, 15, 20, 100].map(|value| lever.below(level(value)).map(|of| of.get()));
        assert_eq!(below, [None, Some(10), Some(10), Some(90)]);
        let above = [10, 95, 100].map(|value| lever.above(level(value)).map(|of| of.get()));
        assert_eq!(above, [Some(20), Some(100), None]);
        assert_eq!(
            [9, 10, 100, 101].map(|value| lever.accepts(level(value))),
            [false, true, true, false]
        );
    }

    #[test]
    fn a_level_is_shown_in_its_unit() {
        use BandwidthUnit::{EighthGbps, MibPerSecond, Percent};
        let shown = [(20, Percent), (17, EighthGbps), (8, EighthGbps), (400, MibPerSecond)]
            .map(|(value, unit)| LevelInUnit(level(value), unit).to_string());
        assert_eq!(shown, ["20 %", "2.125 GB/s", "1 GB/s", "400 MiB/s"]);
    }

    #[test]
    fn a_percent_is_no_number_of_bytes() {
        assert_eq!(BandwidthUnit::Percent.bytes_per_second(level(16)), None);
        assert_eq!(BandwidthUnit::EighthGbps.bytes_per_second(level(16)), Some(2_000_000_000));
        assert_eq!(BandwidthUnit::MibPerSecond.bytes_per_second(level(16)), Some(16_777_216));
    }
}
