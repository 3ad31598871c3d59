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
}
