//! What a machine lets a policy do about what its programs share.

use crate::{Bandwidth, Llc};

/// The levers of a machine: its ways, and what else it can give out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Levers {
    /// The cache, whose ways are given out.
    pub llc: Llc,
    /// Memory bandwidth; `None` if the machine can't limit it.
    pub bandwidth: Option<BandwidthLever>,
}

impl From<Llc> for Levers {
    /// A machine that gives out ways and nothing else.
    fn from(llc: Llc) -> Self {
        Self { llc, bandwidth: None }
    }
}

/// How a machine limits memory bandwidth (Linux `Documentation/filesystems/resctrl.rst`, the files
/// of `info/MB`). A limit between two steps is rounded by the machine, which answers with what it
/// made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BandwidthLever {
    /// The step between two limits (`bandwidth_gran`). It may be an approximation: what is in force
    /// is what the machine answers.
    pub step: Bandwidth,
    /// The least limit (`min_bandwidth`).
    pub least: Bandwidth,
    /// How many classes of service may have limits of their own (`num_closids`); at least 1.
    pub clos: u32,
}
