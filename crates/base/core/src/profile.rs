//! Profiles: measurements of programs before they run.

use crate::Curve;

/// A program measured alone at each number of ways; the tables of LFOC §2.3.1.
///
/// With a profile, a policy decides at once what it would otherwise learn by sampling.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Instructions per cycle; above 0 everywhere.
    pub ipc: Curve,
    /// LLC misses per 1000 instructions.
    pub llcmpki: Curve,
    /// LLC misses per 1000 core cycles.
    pub llcmpkc: Curve,
    /// Memory bandwidth, MB/s.
    pub bandwidth_mbps: Curve,
    /// Share of cycles stalled while an L2 miss is outstanding, 0 to 1
    /// ([`crate::Counters::stalls_l2_miss_share`]).
    pub stalls_l2_miss: Curve,
}
