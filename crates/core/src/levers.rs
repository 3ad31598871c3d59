//! The levers of a machine, which a policy can set.

use crate::{Bandwidth, Llc};

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

impl From<Llc> for Levers {
    /// A machine whose only lever is the cache's ways.
    fn from(llc: Llc) -> Self {
        Self { llc, bandwidth: None }
    }
}

/// How a machine limits memory bandwidth (Linux `Documentation/filesystems/resctrl.rst`, the files
/// of `info/MB`). The machine rounds a limit between two steps, and answers with the rounded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BandwidthLever {
    /// The step between two limits (`bandwidth_gran`). It may be an approximation: the machine's
    /// answer has the limit in force.
    pub step: Bandwidth,
    /// The lowest limit (`min_bandwidth`).
    pub least: Bandwidth,
    /// How many classes of service may each have a limit (`num_closids`); at least 1.
    pub clos: u32,
    /// What a limit is of.
    pub scope: LimitScope,
}

/// What a limit of memory bandwidth is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LimitScope {
    /// Each core of a class, by the distance between its requests (Intel's MBA): a step, not a
    /// share of anything. [`Bandwidth::ALL`] is no limit.
    Core,
    /// All programs of a class together: a share of the domain's peak bandwidth (AMD, MPAM).
    Class,
}

impl BandwidthLever {
    /// The limit in force once this one is set: the next step, and no less than the lowest limit.
    #[must_use]
    pub fn round(self, limit: Bandwidth) -> Bandwidth {
        let step = self.step.get();
        let up = limit.get().div_ceil(step).saturating_mul(step);
        Bandwidth::new(up.max(self.least.get())).unwrap_or(Bandwidth::ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_in_force_is_a_step_and_stays_as_it_is() {
        let tenths = Bandwidth::new(103).unwrap();
        let lever =
            BandwidthLever { step: tenths, least: tenths, clos: 8, scope: LimitScope::Core };
        for (limit, expected) in [(1, 103), (103, 103), (104, 206), (308, 309), (1000, 1024)] {
            let rounded = lever.round(Bandwidth::new(limit).unwrap());
            assert_eq!((rounded.get(), lever.round(rounded)), (expected, rounded));
        }
    }
}
